//! How many files a server may have open.

/// More than anybody needs; some systems allow a thousand million, and there are programs that close every number.
#[cfg(unix)]
const MOST: u64 = 65_536;

/// Takes as many as the system allows. Each connection is a file, each session that runs has three or four, and what a
/// system gives without being asked is often 1024.
///
/// Commands that tools start get the same.
#[cfg(unix)]
pub(super) fn raise_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.unwrap_or(MOST).min(MOST);
    if limit.current.is_none_or(|current| current >= wanted) {
        return;
    }
    limit.current = Some(wanted);
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        // It goes on with what it has; who does not get in is told so.
        tracing::warn!(%error, wanted, "the limit of open files stays as it is");
    }
}

#[cfg(not(unix))]
pub(super) fn raise_limit() {}
