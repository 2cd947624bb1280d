//! Whether a terminal that goes away ends a run.

/// Whether whoever started the process wants it to outlive its terminal, as `nohup` does: then a hangup must stay
/// ignored, and nobody may listen for it. Ask before anything listens. Where the system does not tell, it counts as
/// ignored, so that it stays as it is.
pub(super) fn is_ignored() -> bool {
    #[expect(clippy::disallowed_methods, reason = "the system tells of signals in a file")]
    let status = std::fs::read_to_string("/proc/self/status");
    status.map_or(true, |status| is_hangup_in(&status))
}

/// `SigIgn` is a number with a bit for each signal that is ignored; a hangup is the first.
fn is_hangup_in(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_none_or(|mask| mask & 1 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mask_tells_whether_hangups_are_ignored() {
        for (status, expected) in [
            ("Name:\tpi\nSigIgn:\t0000000000001001\n", true),
            ("Name:\tpi\nSigIgn:\t0000000000001000\n", false),
            ("Name:\tpi\n", true),
        ] {
            assert_eq!(is_hangup_in(status), expected, "{status:?}");
        }
    }
}
