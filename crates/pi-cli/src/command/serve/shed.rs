//! Gives back the pages of our own code that are not needed now.
//!
//! Starting (reading settings and manifests, opening the journal) and making a session call functions all over the binary, and the
//! kernel maps sixteen pages around each. They would stay for the life of a server that idles. The kernel has them in
//! its cache still and maps again what is called (ADR 330).

/// Lets go of all code. What cannot be let go of stays; nothing depends on it.
pub(super) fn code() {
    #[cfg(target_os = "linux")]
    linux::shed();
}

#[cfg(target_os = "linux")]
mod linux {
    use std::{fs, ops::Range, path::Path};

    use rustix::mm::{Advice, madvise};

    #[expect(clippy::disallowed_methods, reason = "what the kernel tells of this process is no file of anybody")]
    pub(super) fn shed() {
        let read =
            || Some((fs::read_to_string("/proc/self/status").ok()?, fs::read_to_string("/proc/self/maps").ok()?));
        let (Some((status, maps)), Ok(program)) = (read(), fs::read_link("/proc/self/exe")) else { return };
        // A debugger's breakpoints are changes of these pages and would be lost.
        if !status.lines().any(|line| line == "TracerPid:\t0") {
            return;
        }
        for code in code_of(&program, &maps) {
            let_go(&code);
        }
    }

    /// Where the code of this program is: what is executable and cannot be written of its own file.
    pub(super) fn code_of(program: &Path, maps: &str) -> Vec<Range<usize>> {
        maps.lines()
            .filter_map(|line| {
                let mut words = line.splitn(6, ' ').map(str::trim);
                let (place, rights, path) = (words.next()?, words.next()?, words.nth(3)?);
                let (start, end) = place.split_once('-')?;
                let number = |text| usize::from_str_radix(text, 16).ok();
                (rights == "r-xp" && Path::new(path) == program).then_some(number(start)?..number(end)?)
            })
            .collect()
    }

    #[expect(unsafe_code, reason = "the kernel is told about pages that the compiler knows nothing of")]
    fn let_go(code: &Range<usize>) {
        let start = std::ptr::without_provenance_mut(code.start);
        // SAFETY: `code` is a mapping of our own file that nobody can write to and nobody has changed (there is no debugger, and
        // code is not relocated), so every page of it is what the file has, and the file of a program that runs cannot be
        // written. The kernel forgets the mapping of the pages and reads the same bytes when one is touched again. A mapping does not move
        // between the reading of its place and here: nobody unmaps the program's own code.
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
            let maps = "\
1000-2000 r--p 00000000 fe:00 12                         /usr/bin/pi
2000-5000 r-xp 00001000 fe:00 12                         /usr/bin/pi
5000-6000 rw-p 00004000 fe:00 12                         /usr/bin/pi
7000-8000 rwxp 00000000 fe:00 12                         /usr/bin/pi
9000-a000 r-xp 00000000 fe:00 13                         /usr/lib/a library.so
b000-c000 r-xp 00000000 00:00 0
d000-e000 r-xp 00000000 00:00 0                          [vdso]
";
            let places = |program: &str, maps: &str| -> Vec<(usize, usize)> {
                code_of(Path::new(program), maps).into_iter().map(|code| (code.start, code.end)).collect()
            };
            assert_eq!(places("/usr/bin/pi", maps), [(0x2000, 0x5000)]);
            assert_eq!(places("/usr/lib/a library.so", maps), [(0x9000, 0xa000)]);
            assert_eq!(places("/usr/bin/pi", "nonsense\n\n-"), []);
        }
    }
}
