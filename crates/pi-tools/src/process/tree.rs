//! Finds what belongs to a tree of processes, also what left its group, its session or its parent.
//!
//! A process belongs to the tree if it is in the group, if its parent does, or if the mark stands in the environment that it
//! was started with. Only one that does all of this escapes: leave the group, lose its parent, and start with an empty
//! environment.

use std::{collections::HashMap, path::PathBuf, time::Duration};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// Whoever forks faster than this is seen again in the next round.
const ROUNDS: usize = 16;
/// So long it takes until most of the killed are gone and do not count any more.
const DYING: Duration = Duration::from_millis(1);

/// Kills all members, until a look around finds none.
pub(super) fn kill(group: Pid, mark: &str) {
    let mark = format!("{}={mark}", super::MARK);
    for _ in 0..ROUNDS {
        // Before the group dies: afterwards its children are somebody else's.
        let members = members(group, &mark);
        // The error that there is no such group is what we want.
        let _ = kill_process_group(group, Signal::KILL);
        if members.is_empty() {
            return;
        }
        for member in members {
            let _ = kill_process(member, Signal::KILL);
        }
        std::thread::sleep(DYING);
    }
    tracing::warn!(group = group.as_raw_nonzero().get(), "killed processes do not end, or start others all the time");
}

/// Kills a process of which only the mark is known.
pub(super) fn kill_marked(mark: &str) {
    let mark = format!("{}={mark}", super::MARK);
    for id in all().into_keys().filter(|id| is_marked(*id, &mark)) {
        if let Some(process) = Pid::from_raw(id) {
            // The error that there is no such process is what we want.
            let _ = kill_process(process, Signal::KILL);
        }
    }
}

struct Known {
    parent: i32,
    group: i32,
}

/// The living members.
fn members(group: Pid, mark: &str) -> Vec<Pid> {
    let known = all();
    let root = group.as_raw_nonzero().get();
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    let descends = |id: i32| {
        let mut next = id;
        // A look around is not one moment: a circle is possible.
        for _ in 0..known.len() {
            match known.get(&next) {
                _ if next == root => return true,
                Some(process) => next = process.parent,
                None => return false,
            }
        }
        false
    };
    let belongs = |id: i32, process: &Known| process.group == root || descends(id) || is_marked(id, mark);
    let found = known.iter().filter(|(id, process)| **id != own && belongs(**id, process));
    found.filter_map(|(id, _)| Pid::from_raw(*id)).collect()
}

fn path(id: i32, file: &str) -> PathBuf {
    PathBuf::from(format!("/proc/{id}/{file}"))
}

#[expect(clippy::disallowed_methods, reason = "the kernel shows its processes as files")]
fn all() -> HashMap<i32, Known> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return HashMap::new() };
    let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    ids.filter_map(|id| {
        let stat = std::fs::read_to_string(path(id, "stat")).ok()?;
        Some((id, read_stat(&stat)?))
    })
    .collect()
}

/// State, parent and group stand behind the name, which is in parentheses and may hold anything. The dead are left out.
fn read_stat(stat: &str) -> Option<Known> {
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let is_dead = ["Z", "X"].contains(&fields.next()?);
    let (parent, group) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    (!is_dead).then_some(Known { parent, group })
}

#[expect(clippy::disallowed_methods, reason = "the kernel shows the environment of our processes as files")]
fn is_marked(id: i32, mark: &str) -> bool {
    // That of another user cannot be read, and is not ours.
    let environment = std::fs::read(path(id, "environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_a_process_may_hold_anything() {
        let read = |stat: &str| read_stat(stat).map(|known| (known.parent, known.group));
        assert_eq!(read("7 (sleep) S 1 5 5 0"), Some((1, 5)));
        assert_eq!(read("7 (a) S 9 9) R 2 3 3 0"), Some((2, 3)));
        assert_eq!(read("7 (gone) Z 1 5 5 0"), None);
        assert_eq!(read("7 (cut"), None);
    }
}
