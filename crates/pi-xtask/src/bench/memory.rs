//! Peak memory of a program.

use std::path::Path;

use anyhow::Result;

/// Peak resident memory in KiB of a program whose last act is to print a line; nothing where there is no `/proc`.
///
/// `wait4` would be simpler and wrong: the kernel counts the peak of the starting program into that of the started one, so
/// anything smaller than this xtask would look as large as it. Instead the program gets a full pipe as stdout: it stops
/// where it would print, and the high-water mark of its own memory can be read at leisure.
#[cfg(target_os = "linux")]
pub(super) fn peak(program: &Path, arguments: &[&str]) -> Result<Option<u64>> {
    use std::io::{Write, pipe};

    use anyhow::Context;
    use nix::fcntl::{FcntlArg, fcntl};

    use crate::process::Program;

    // The reader is never read, and lives until the program has ended.
    let (_reader, mut writer) = pipe().context("cannot make a pipe")?;
    let capacity = fcntl(&writer, FcntlArg::F_GETPIPE_SZ).context("cannot ask for the size of a pipe")?;
    writer.write_all(&vec![b'\n'; usize::try_from(capacity)?]).context("cannot fill a pipe")?;
    let mut child = Program::new(program).args(arguments).start(writer)?;
    let peak = settled(child.id());
    child.kill().context("cannot end the program that was measured")?;
    child.wait().context("cannot wait for the program that was measured")?;
    peak.map(Some)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn peak(_program: &Path, _arguments: &[&str]) -> Result<Option<u64>> {
    Ok(None)
}

/// Peak resident memory in KiB of a process that runs; nothing where there is no `/proc`.
pub(super) fn peak_so_far(process: u32) -> Option<u64> {
    let status = crate::files::read(Path::new(&format!("/proc/{process}/status"))).ok()?;
    peak_in(&status)
}

/// Waits until the process sleeps with the same peak in several looks.
#[cfg(target_os = "linux")]
fn settled(process: u32) -> Result<u64> {
    use std::time::Duration;

    const LOOKS: usize = 2_000;
    const SAME: usize = 10;
    let (mut last, mut same) = (None, 0);
    for _ in 0..LOOKS {
        let status = crate::files::read(Path::new(&format!("/proc/{process}/status")))?;
        let now = sleeping_peak(&status);
        same = if now.is_some() && now == last { same + 1 } else { 0 };
        last = now;
        if let (Some(peak), SAME) = (now, same) {
            return Ok(peak);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    anyhow::bail!("process {process} never came to rest before printing")
}

/// The peak from a `/proc/…/status`, when the process sleeps.
#[cfg(any(target_os = "linux", test))]
fn sleeping_peak(status: &str) -> Option<u64> {
    let asleep = field(status, "State:").is_some_and(|state| state.starts_with('S'));
    peak_in(status).filter(|_| asleep)
}

fn peak_in(status: &str) -> Option<u64> {
    field(status, "VmHWM:")?.strip_suffix("kB")?.trim().parse().ok()
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_sleeping_process_has_settled() {
        let status = |state: &str| format!("Name:\tpi\nState:\t{state}\nVmPeak:\t  9000 kB\nVmHWM:\t  3120 kB\n");
        assert_eq!(sleeping_peak(&status("S (sleeping)")), Some(3120));
        assert_eq!(sleeping_peak(&status("R (running)")), None);
        assert_eq!(sleeping_peak("State:\tZ (zombie)\n"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_small_program_is_not_charged_for_the_one_that_starts_it() {
        // Touched, so that this process is certainly larger than echo.
        let ballast = vec![1_u8; 32 << 20];
        let peak = peak(Path::new("/bin/echo"), &["x"]).expect("echo starts").expect("there is /proc");
        assert!(peak > 100 && peak < 16 << 10, "{peak} KiB");
        assert_eq!(ballast.iter().map(|byte| usize::from(*byte)).sum::<usize>(), 32 << 20);
    }
}
