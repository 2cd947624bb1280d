//! The bundler as a process: one request on standard input, one answer on standard output.

use std::{
    error::Error,
    io::{self, Read as _, Write as _},
    panic, process,
};

use super::{
    pack,
    protocol::{Answer, Question},
    review,
};

/// Much more than any extension needs, and less than what would hurt the machine.
#[cfg(unix)]
const ADDRESS_SPACE: u64 = 4 << 30;

/// How the process ends when something in it panics, on whichever thread: others would wait for that thread for ever.
const PANICKED: i32 = 101;

pub(crate) fn serve() -> Result<(), Box<dyn Error>> {
    panic::set_hook(Box::new(|panic| {
        let _ = writeln!(io::stderr(), "{panic}");
        process::exit(PANICKED);
    }));
    limit_memory()?;
    let mut request = String::new();
    io::stdin().read_to_string(&mut request)?;
    let answer: Answer = match serde_json::from_str(&request)? {
        Question::Bundle(request) => {
            tokio::runtime::Builder::new_current_thread().build()?.block_on(pack::pack(request))
        }
        Question::Scan(request) => review::review(request),
    };
    let mut output = io::stdout().lock();
    serde_json::to_writer(&mut output, &answer)?;
    output.flush()?;
    Ok(())
}

#[cfg(unix)]
fn limit_memory() -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let allowed = getrlimit(Resource::As).maximum.map_or(ADDRESS_SPACE, |maximum| maximum.min(ADDRESS_SPACE));
    setrlimit(Resource::As, Rlimit { current: Some(allowed), maximum: Some(allowed) })?;
    Ok(())
}

#[cfg(not(unix))]
fn limit_memory() -> io::Result<()> {
    Ok(())
}
