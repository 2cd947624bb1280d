//! Refusing the worst frames takes memory in proportion to the limits, not to what the bytes would spell.
//!
//! A program of its own: the peak of a process is shared by all its tests.

use pi_wire::{Limits, parse};

const MEBIBYTE: usize = 1024 * 1024;

/// The most memory that this process ever held, in KiB.
#[expect(clippy::disallowed_methods, reason = "the kernel tells it in a file")]
fn peak() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.trim().parse().ok())
}

/// Frames that would spell millions of values, or many levels, or one huge text: beginning, repeated part, end.
const WORST: [(&str, &str, &str); 9] = [
    ("{\"type\":\"health_check\",\"a\":[0", ",0", "]}"),
    ("{\"type\":\"health_check\",\"a\":[[]", ",[]", "]}"),
    ("{\"type\":\"health_check\",\"a\":[{}", ",{}", "]}"),
    ("{\"type\":\"health_check\",\"a\":[\"\"", ",\"\"", "]}"),
    ("{\"type\":\"health_check\",\"a\":", "[", ""),
    ("{\"type\":\"health_check\",\"a\":", "{\"a\":", ""),
    ("{\"type\":\"health_check\",\"a\":\"", "\\u00e9", "\"}"),
    ("{\"type\":\"prompt\",\"sessionId\":\"s\",\"message\":\"", "\\n", "\"}"),
    ("{\"", "k", "\":1}"),
];

#[test]
fn the_worst_frames_are_read_within_sixty_mebibytes() {
    let Some(before) = peak() else {
        eprintln!("SKIPPED: this system does not tell the peak of a process in /proc/self/status");
        return;
    };
    for (open, part, close) in WORST {
        let room = 10 * MEBIBYTE - open.len() - close.len();
        let frame = [open, &part.repeat(room / part.len()), close].concat();
        let _ = parse(frame.as_bytes(), &Limits::default()).map_err(|reject| reject.response());
    }
    let grown = (peak().expect("it was told before") - before) / 1024;
    assert!(grown < 60, "the peak grew by {grown} MiB, 20 of them to write the frame down");
}
