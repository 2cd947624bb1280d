//! Finds what belongs to a tree of processes, also what left its group, its session or its parent: to kill it, and to see how
//! much memory it has.
//!
//! A process belongs to the tree if it is in the group, if its parent does, or if the mark stands in the environment that it
//! was started with. Only one that does all of this escapes: leave the group, lose its parent, and start with an empty
//! environment.
//!
//! While a process becomes another program, the kernel shows no environment of it. Whoever is seen without one, and is not
//! older than the tree, is looked at again before the tree counts as dead.

use std::{collections::HashMap, path::PathBuf, time::Duration};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// Whoever forks faster than this is seen again in the next round. All of them take a third of a second.
const ROUNDS: u32 = 24;
/// So long it takes until most of the killed are gone and do not count any more; longer with every round.
const DYING: Duration = Duration::from_millis(1);
/// The kernel's own threads are children of this process, and never have an environment.
const KERNEL: i32 = 2;

/// Kills all members, until a look around finds none.
pub(super) fn kill(group: Pid, mark: &str) {
    kill_all(Some(group), mark, began(group).unwrap_or_default());
}

/// Kills a tree of which only the mark is known, and that it began no earlier than this.
pub(super) fn kill_marked(mark: &str, began: u64) {
    kill_all(None, mark, began);
}

fn kill_all(group: Option<Pid>, mark: &str, began: u64) {
    for round in 1..=ROUNDS {
        // Before the group dies: afterwards its children are somebody else's.
        let look = Look::around(group, mark, began);
        if let Some(group) = group {
            // The error that there is no such group is what we want.
            let _ = kill_process_group(group, Signal::KILL);
        }
        if look.members.is_empty() && !look.is_unsure {
            return;
        }
        for member in look.members {
            // And so is this one.
            let _ = kill_process(member, Signal::KILL);
        }
        std::thread::sleep(DYING * round);
    }
    tracing::debug!(?group, "killed processes do not end, start others all the time, or a stranger has no environment");
}

/// Bytes of memory of all members together, each with its share of what it shares with others. Nothing if none is left, or
/// none shows it.
pub(super) fn memory(group: Option<Pid>, mark: &str) -> Option<u64> {
    let members = Look::around(group, mark, 0).members;
    members.into_iter().filter_map(|member| share(member.as_raw_nonzero().get())).reduce(u64::saturating_add)
}

struct Known {
    parent: i32,
    group: i32,
    /// In ticks since the system was started.
    began: u64,
}

/// What was seen of a tree.
struct Look {
    /// Those that live.
    members: Vec<Pid>,
    /// Somebody may belong to it, and cannot be told yet.
    is_unsure: bool,
}

impl Look {
    fn around(group: Option<Pid>, mark: &str, began: u64) -> Self {
        let known = all();
        let root = group.map(|group| group.as_raw_nonzero().get());
        let own = i32::try_from(std::process::id()).unwrap_or_default();
        let descends = |id: i32| {
            let mut next = id;
            // A look around is not one moment: a circle is possible.
            for _ in 0..known.len() {
                match known.get(&next) {
                    _ if Some(next) == root => return true,
                    Some(process) => next = process.parent,
                    None => return false,
                }
            }
            false
        };
        let mut look = Self { members: Vec::new(), is_unsure: false };
        for (id, process) in known.iter().filter(|(id, _)| **id != own) {
            let environment = environment(*id);
            let is_marked = environment.as_deref().is_some_and(|all| holds(all, mark));
            if is_marked || Some(process.group) == root || descends(*id) {
                look.members.extend(Pid::from_raw(*id));
            } else if environment.is_some_and(|all| all.is_empty()) {
                look.is_unsure |= process.parent != KERNEL && *id != KERNEL && process.began >= began;
            }
        }
        look
    }
}

fn path(id: i32, file: &str) -> PathBuf {
    PathBuf::from(format!("/proc/{id}/{file}"))
}

#[expect(clippy::disallowed_methods, reason = "the kernel shows its processes as files")]
fn stat(id: i32) -> Option<String> {
    std::fs::read_to_string(path(id, "stat")).ok()
}

/// When the first of a group was started, in ticks since the system was. It has the number of the group, and keeps it until
/// it is waited for.
pub(super) fn began(group: Pid) -> Option<u64> {
    Fields::read(&stat(group.as_raw_nonzero().get())?).map(|fields| fields.known.began)
}

#[expect(clippy::disallowed_methods, reason = "the kernel shows its processes as files")]
fn all() -> HashMap<i32, Known> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return HashMap::new() };
    let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let fields = ids.filter_map(|id| Some((id, Fields::read(&stat(id)?)?)));
    fields.filter(|(_, fields)| !fields.is_dead).map(|(id, fields)| (id, fields.known)).collect()
}

struct Fields {
    is_dead: bool,
    known: Known,
}

impl Fields {
    /// They stand behind the name, which is in parentheses and may hold anything.
    fn read(stat: &str) -> Option<Self> {
        let mut fields = stat.rsplit_once(") ")?.1.split(' ');
        let is_dead = ["Z", "X"].contains(&fields.next()?);
        let (parent, group) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        let began = fields.nth(16)?.parse().ok()?;
        Some(Self { is_dead, known: Known { parent, group, began } })
    }
}

/// Nothing if it is another user's, or gone.
#[expect(clippy::disallowed_methods, reason = "the kernel shows the environment of our processes as files")]
fn environment(id: i32) -> Option<Vec<u8>> {
    std::fs::read(path(id, "environ")).ok()
}

/// The memory of a process by its shares. Nothing if it is another user's, or gone.
#[expect(clippy::disallowed_methods, reason = "the kernel shows the memory of our processes as files")]
fn share(id: i32) -> Option<u64> {
    let rollup = std::fs::read_to_string(path(id, "smaps_rollup")).ok()?;
    shared_kibibytes(&rollup).map(|kibibytes| kibibytes.saturating_mul(1024))
}

fn shared_kibibytes(rollup: &str) -> Option<u64> {
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

fn holds(environment: &[u8], mark: &str) -> bool {
    let marks = |variable: &'_ [u8]| -> Option<bool> {
        let marks = variable.strip_prefix(super::MARK.as_bytes())?.strip_prefix(b"=")?;
        Some(marks.split(|byte| *byte == b'.').any(|known| known == mark.as_bytes()))
    };
    environment.split(|byte| *byte == 0).find_map(marks).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_a_process_may_hold_anything() {
        let read = |name: &str, state: &str| {
            let stat = format!("7 ({name}) {state} 1 5 5 0 -1 4194560 99 0 0 0 0 0 0 0 20 0 1 0 4711 2203648 80");
            let fields = Fields::read(&stat)?;
            Some((fields.is_dead, fields.known.parent, fields.known.group, fields.known.began))
        };
        assert_eq!(read("sleep", "S"), Some((false, 1, 5, 4711)));
        assert_eq!(read("a) S 9 9", "R"), Some((false, 1, 5, 4711)));
        assert_eq!(read("gone", "Z"), Some((true, 1, 5, 4711)));
        assert!(Fields::read("7 (cut").is_none());
    }

    #[test]
    fn memory_is_the_sum_of_shares() {
        let rollup = "00400000-7ffc Rss\nRss:  9000 kB\nPss:                1234 kB\nPss_Dirty:  900 kB\n";
        assert_eq!(shared_kibibytes(rollup), Some(1234));
        assert_eq!(shared_kibibytes("Rss: 1 kB\n"), None);
    }

    #[test]
    fn mark_is_one_of_those_of_a_command_and_its_parents() {
        for (environment, expected) in [
            (&b"HOME=/\0PI_CALL=ab\0"[..], true),
            (b"PI_CALL=cd.ab\0", true),
            (b"PI_CALL=ab.cd\0", true),
            (b"HOME=/\0PI_CALL=abc\0", false),
            (b"PI_CALLS=ab\0", false),
            (b"", false),
        ] {
            assert_eq!(holds(environment, "ab"), expected, "{environment:?}");
        }
    }
}
