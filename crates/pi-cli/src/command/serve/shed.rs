//! Gives back the pages of our own code that are not needed now.
//!
//! Starting (reading settings and manifests, opening the journal), making a session and answering a prompt call functions all over
//! the binary, and the kernel maps sixteen pages around each. They would stay for the life of a server that idles. The kernel has
//! them in its cache still and maps again what is called (ADR 330).

use pi_server::bustle::Lulls;

/// Lets go of all code, now and whenever nothing is done any more. What cannot be let go of stays; nothing depends on it. Ends when
/// nothing will be done any more.
pub(super) async fn code_at(mut lulls: Lulls) {
    loop {
        // The kernel looks at every page to tell of them: nobody else waits for that.
        #[cfg(target_os = "linux")]
        if tokio::task::spawn_blocking(linux::shed).await.is_err() {
            return;
        }
        tracing::trace!("code that is not needed now is given back");
        if lulls.next().await.is_none() {
            return;
        }
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::{fs, ops::Range, path::Path};

    use rustix::mm::{Advice, madvise};

    #[expect(clippy::disallowed_methods, reason = "what the kernel tells of this process is no file of anybody")]
    pub(super) fn shed() {
        let (Ok(maps), Ok(program)) = (fs::read_to_string("/proc/self/smaps"), fs::read_link("/proc/self/exe")) else {
            return;
        };
        for code in code_of(&program, &maps) {
            let_go(&code);
        }
    }

    /// Where the code of this program is: what is executable, cannot be written and is as its own file has it. Breakpoints and probes
    /// are changes, which would be lost.
    pub(super) fn code_of(program: &Path, maps: &str) -> Vec<Range<usize>> {
        let (mut found, mut code) = (Vec::new(), None);
        for line in maps.lines() {
            match line.strip_prefix("Anonymous:").map(str::trim) {
                Some("0 kB") => found.extend(code.take()),
                Some(_) => code = None,
                None => code = mapping(program, line).or(code),
            }
        }
        found
    }

    /// The code that a line tells of, if it is the first of a mapping.
    fn mapping(program: &Path, line: &str) -> Option<Range<usize>> {
        let mut words = line.splitn(6, ' ').map(str::trim);
        let (place, rights, path) = (words.next()?, words.next()?, words.nth(3)?);
        let (start, end) = place.split_once('-')?;
        let number = |text| usize::from_str_radix(text, 16).ok();
        (rights == "r-xp" && Path::new(path) == program).then_some(number(start)?..number(end)?)
    }

    #[expect(unsafe_code, reason = "the kernel is told about pages that the compiler knows nothing of")]
    fn let_go(code: &Range<usize>) {
        let start = std::ptr::without_provenance_mut(code.start);
        // SAFETY: `code` is a private mapping of our own file that nobody can write to and of which no page was changed, so every page is what
        // the file has. The kernel forgets that they are mapped and reads them again when one is touched, as it does by
        // itself when memory is short. A mapping does not move between the reading of its place and here: nobody
        // unmaps the program's own code.
        let told = unsafe { madvise(start, code.len(), Advice::LinuxDontNeed) };
        if let Err(error) = told {
            tracing::debug!(%error, "the code of the start stays in memory");
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn only_code_of_the_program_is_let_go_of() {
            let mapped = |place: &str, rights: &str, path: &str, anonymous: usize| {
                format!(
                    "{place} {rights} 00001000 fe:00 12                         {path}\nSize:  12 kB\nAnonymous:  {anonymous} kB\nVmFlags: rd ex\n"
                )
            };
            let maps = [
                mapped("1000-2000", "r--p", "/usr/bin/pi", 0),
                mapped("2000-5000", "r-xp", "/usr/bin/pi", 0),
                mapped("5000-6000", "rw-p", "/usr/bin/pi", 8),
                mapped("7000-8000", "rwxp", "/usr/bin/pi", 0),
                mapped("9000-a000", "r-xp", "/usr/lib/a library.so", 0),
                mapped("b000-c000", "r-xp", "", 0),
                mapped("d000-e000", "r-xp", "[vdso]", 0),
                // Somebody has set a breakpoint.
                mapped("e000-f000", "r-xp", "/usr/bin/pi", 4),
            ]
            .concat();
            let maps = maps.as_str();
            let places = |program: &str, maps: &str| -> Vec<(usize, usize)> {
                code_of(Path::new(program), maps).into_iter().map(|code| (code.start, code.end)).collect()
            };
            assert_eq!(places("/usr/bin/pi", maps), [(0x2000, 0x5000)]);
            assert_eq!(places("/usr/lib/a library.so", maps), [(0x9000, 0xa000)]);
            assert_eq!(places("/usr/bin/pi", "nonsense\n\n-"), []);
        }
    }
}
