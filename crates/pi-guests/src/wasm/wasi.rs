//! What of WASI 0.2 a component gets: clocks, random numbers, and streams that end in the log of the extension.
//!
//! It is written by hand and not taken from a crate because it is so little. The rest, above all files, sockets and the
//! environment, is not there: an extension has connectors for those. What a language's library looks at when it starts
//! answers that there is nothing, and everything else traps.

use std::{
    sync::OnceLock,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use wasmtime::{
    Engine, StoreContextMut,
    component::{
        Component, ComponentType, Linker, LinkerInstance, Lower, Resource, ResourceType, Val, types::ComponentItem,
    },
};

use super::room::Room;

/// The oldest version; the linker takes it for every 0.2.
const VERSION: &str = "@0.2.0";
/// Bytes that a component may write at once.
const WRITE: u64 = 1 << 20;
/// Random bytes that it may take at once.
const RANDOM: u64 = 1 << 20;

/// A stream of WASI that is written to.
struct Writer(&'static str);
/// One that is read from, and is at its end.
struct Reader;
/// Something to wait for, until when.
struct Pollable(Instant);
/// What went wrong with a stream; nothing ever does.
struct IoError;
/// A terminal, which there is none of.
struct Terminal;
/// Whatever else there is none of.
struct Refused;

#[derive(ComponentType, Lower)]
#[component(record)]
struct Datetime {
    seconds: u64,
    nanoseconds: u32,
}

#[derive(ComponentType, Lower)]
#[component(variant)]
enum StreamError {
    #[component(name = "last-operation-failed")]
    #[expect(dead_code, reason = "the variant has two cases, and this one never happens")]
    Failed(Resource<IoError>),
    #[component(name = "closed")]
    Closed,
}

type Context<'a> = StoreContextMut<'a, Room>;

#[expect(clippy::disallowed_methods, reason = "a component asks for the time")]
fn since_start() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    Instant::now().duration_since(*START.get_or_init(Instant::now))
}

#[expect(clippy::disallowed_methods, reason = "a component asks for the time")]
fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[expect(clippy::disallowed_methods, reason = "a component waits for a time")]
fn after(wait: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(wait).unwrap_or(now)
}

/// Defines an interface.
type Define = fn(&mut LinkerInstance<'_, Room>) -> wasmtime::Result<()>;

const INTERFACES: [(&str, Define); 19] = [
    ("wasi:clocks/monotonic-clock", monotonic),
    ("wasi:clocks/wall-clock", wall),
    ("wasi:random/random", |it| random(it, "get-random-bytes", "get-random-u64")),
    ("wasi:random/insecure", |it| random(it, "get-insecure-random-bytes", "get-insecure-random-u64")),
    ("wasi:random/insecure-seed", |it| {
        it.func_wrap("insecure-seed", |_: Context<'_>, ()| Ok(((random_u64()?, random_u64()?),)))
    }),
    ("wasi:io/error", |it| it.resource("error", ResourceType::host::<IoError>(), |_, _| Ok(()))),
    ("wasi:io/poll", poll),
    ("wasi:io/streams", streams),
    ("wasi:cli/environment", environment),
    ("wasi:cli/exit", exit),
    ("wasi:cli/stdin", |it| {
        it.func_wrap("get-stdin", |mut context: Context<'_>, ()| Ok((context.data_mut().table.push(Reader)?,)))
    }),
    ("wasi:cli/stdout", |it| writer(it, "get-stdout", "stdout")),
    ("wasi:cli/stderr", |it| writer(it, "get-stderr", "stderr")),
    ("wasi:cli/terminal-input", |it| it.resource("terminal-input", ResourceType::host::<Terminal>(), |_, _| Ok(()))),
    ("wasi:cli/terminal-output", |it| it.resource("terminal-output", ResourceType::host::<Terminal>(), |_, _| Ok(()))),
    ("wasi:cli/terminal-stdin", |it| terminal(it, "get-terminal-stdin")),
    ("wasi:cli/terminal-stdout", |it| terminal(it, "get-terminal-stdout")),
    ("wasi:cli/terminal-stderr", |it| terminal(it, "get-terminal-stderr")),
    // No folder is open, so every path of a library for files is answered by the library itself: there is none.
    ("wasi:filesystem/preopens", |it| nothing(it, "get-directories")),
];

/// Gives a linker all of it.
pub(super) fn link(linker: &mut Linker<Room>) -> wasmtime::Result<()> {
    for (name, define) in INTERFACES {
        define(&mut linker.instance(&format!("{name}{VERSION}"))?)?;
    }
    Ok(())
}

/// Gives a linker what else of WASI a component imports: functions that trap when they are used.
pub(super) fn refuse(linker: &mut Linker<Room>, component: &Component, engine: &Engine) -> wasmtime::Result<()> {
    let kind = component.component_type();
    let mut known: Vec<ResourceType> = Vec::new();
    for (name, import) in kind.imports(engine) {
        let ComponentItem::ComponentInstance(instance) = import.ty else { continue };
        let is_wasi = name.starts_with("wasi:");
        let interface = name.split_once('@').map_or(name, |(interface, _)| interface);
        // An interface that is partly there has the rest where that is: the linker looks into one version only.
        let place = match INTERFACES.iter().any(|(own, _)| *own == interface) {
            true => format!("{interface}{VERSION}"),
            false => name.to_owned(),
        };
        for (item, kind) in instance.exports(engine) {
            let path = format!("{interface}#{item}");
            let defined = match kind.ty {
                // The first interface that names a resource has it; the others mean the same.
                ComponentItem::Resource(resource) if !known.contains(&resource) => {
                    known.push(resource);
                    match is_wasi {
                        true => linker.instance(&place)?.resource(item, ResourceType::host::<Refused>(), |_, _| Ok(())),
                        false => Ok(()),
                    }
                }
                ComponentItem::ComponentFunc(_) if is_wasi => {
                    linker.instance(&place)?.func_new(item, move |_, _, _, _| {
                        wasmtime::bail!("{path} is not permitted; an extension has connectors")
                    })
                }
                _ => Ok(()),
            };
            // Nothing takes the place of what is already there, and that is the only way in which this fails.
            drop(defined);
        }
    }
    Ok(())
}

/// A function that answers with an empty list.
fn nothing(it: &mut LinkerInstance<'_, Room>, name: &str) -> wasmtime::Result<()> {
    it.func_new(name, |_, _, _, results| {
        results[0] = Val::List(Vec::new());
        Ok(())
    })
}

fn monotonic(it: &mut LinkerInstance<'_, Room>) -> wasmtime::Result<()> {
    let nanoseconds = || u64::try_from(since_start().as_nanos()).unwrap_or(u64::MAX);
    it.func_wrap("now", move |_: Context<'_>, ()| Ok((nanoseconds(),)))?;
    it.func_wrap("resolution", |_: Context<'_>, ()| Ok((1_u64,)))?;
    it.func_wrap("subscribe-instant", |mut context: Context<'_>, (when,): (u64,)| {
        let wait = Duration::from_nanos(when).saturating_sub(since_start());
        Ok((context.data_mut().table.push(Pollable(after(wait)))?,))
    })?;
    it.func_wrap("subscribe-duration", |mut context: Context<'_>, (wait,): (u64,)| {
        Ok((context.data_mut().table.push(Pollable(after(Duration::from_nanos(wait))))?,))
    })
}

fn wall(it: &mut LinkerInstance<'_, Room>) -> wasmtime::Result<()> {
    it.func_wrap("now", |_: Context<'_>, ()| {
        let now = since_1970();
        Ok((Datetime { seconds: now.as_secs(), nanoseconds: now.subsec_nanos() },))
    })?;
    it.func_wrap("resolution", |_: Context<'_>, ()| Ok((Datetime { seconds: 0, nanoseconds: 1 },)))
}

fn random_bytes(bytes: &mut [u8]) -> wasmtime::Result<()> {
    getrandom::fill(bytes).map_err(|error| wasmtime::format_err!("the system has no random bytes: {error}"))
}

fn random_u64() -> wasmtime::Result<u64> {
    let mut bytes = [0; 8];
    random_bytes(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

fn random(it: &mut LinkerInstance<'_, Room>, bytes: &str, number: &str) -> wasmtime::Result<()> {
    it.func_wrap(bytes, |_: Context<'_>, (count,): (u64,)| {
        if count > RANDOM {
            wasmtime::bail!("more than {RANDOM} random bytes at once");
        }
        let mut bytes = vec![0; usize::try_from(count).unwrap_or_default()];
        random_bytes(&mut bytes)?;
        Ok((bytes,))
    })?;
    it.func_wrap(number, |_: Context<'_>, ()| Ok((random_u64()?,)))
}

fn environment(it: &mut LinkerInstance<'_, Room>) -> wasmtime::Result<()> {
    it.func_wrap("get-environment", |_: Context<'_>, ()| Ok((Vec::<(String, String)>::new(),)))?;
    it.func_wrap("get-arguments", |_: Context<'_>, ()| Ok((Vec::<String>::new(),)))?;
    it.func_wrap("initial-cwd", |_: Context<'_>, ()| Ok((None::<String>,)))
}

fn exit(it: &mut LinkerInstance<'_, Room>) -> wasmtime::Result<()> {
    it.func_wrap("exit", |_: Context<'_>, (_,): (Result<(), ()>,)| -> wasmtime::Result<()> {
        wasmtime::bail!("it called exit")
    })
}

fn terminal(it: &mut LinkerInstance<'_, Room>, name: &str) -> wasmtime::Result<()> {
    it.func_wrap(name, |_: Context<'_>, ()| Ok((None::<Resource<Terminal>>,)))
}

fn writer(it: &mut LinkerInstance<'_, Room>, name: &str, channel: &'static str) -> wasmtime::Result<()> {
    it.func_wrap(name, move |mut context: Context<'_>, ()| Ok((context.data_mut().table.push(Writer(channel))?,)))
}

fn poll(it: &mut LinkerInstance<'_, Room>) -> wasmtime::Result<()> {
    it.resource("pollable", ResourceType::host::<Pollable>(), |mut context, rep| {
        context.data_mut().table.delete(Resource::<Pollable>::new_own(rep))?;
        Ok(())
    })?;
    it.func_wrap("[method]pollable.ready", |context: Context<'_>, (it,): (Resource<Pollable>,)| {
        let due = context.data().table.get(&it)?.0;
        Ok((due <= after(Duration::ZERO),))
    })?;
    it.func_wrap_async("[method]pollable.block", |mut context: Context<'_>, (it,): (Resource<Pollable>,)| {
        Box::new(async move {
            let due = context.data().table.get(&it)?.0;
            context.data_mut().sleep_until(due).await;
            Ok(())
        })
    })?;
    it.func_wrap_async("poll", |mut context: Context<'_>, (all,): (Vec<Resource<Pollable>>,)| {
        Box::new(async move {
            let mut dues = Vec::with_capacity(all.len());
            for it in &all {
                dues.push(context.data().table.get(it)?.0);
            }
            let Some(first) = dues.iter().min().copied() else { wasmtime::bail!("it waits for nothing") };
            context.data_mut().sleep_until(first).await;
            let now = after(Duration::ZERO).max(first);
            let ready = dues.iter().enumerate().filter(|(_, due)| **due <= now);
            Ok((ready.filter_map(|(index, _)| u32::try_from(index).ok()).collect::<Vec<u32>>(),))
        })
    })
}

fn streams(it: &mut LinkerInstance<'_, Room>) -> wasmtime::Result<()> {
    it.resource("input-stream", ResourceType::host::<Reader>(), |mut context, rep| {
        context.data_mut().table.delete(Resource::<Reader>::new_own(rep))?;
        Ok(())
    })?;
    it.resource("output-stream", ResourceType::host::<Writer>(), |mut context, rep| {
        context.data_mut().table.delete(Resource::<Writer>::new_own(rep))?;
        Ok(())
    })?;
    for name in ["read", "blocking-read"] {
        it.func_wrap(&format!("[method]input-stream.{name}"), |_: Context<'_>, (_, _): (Resource<Reader>, u64)| {
            Ok((Err::<Vec<u8>, _>(StreamError::Closed),))
        })?;
    }
    it.func_wrap("[method]input-stream.subscribe", |mut context: Context<'_>, (_,): (Resource<Reader>,)| {
        Ok((context.data_mut().table.push(Pollable(after(Duration::ZERO)))?,))
    })?;
    it.func_wrap("[method]output-stream.check-write", |_: Context<'_>, (_,): (Resource<Writer>,)| {
        Ok((Ok::<u64, StreamError>(WRITE),))
    })?;
    for name in ["write", "blocking-write-and-flush"] {
        it.func_wrap(
            &format!("[method]output-stream.{name}"),
            |mut context: Context<'_>, (it, bytes): (Resource<Writer>, Vec<u8>)| {
                let channel = context.data().table.get(&it)?.0;
                context.data_mut().print(channel, &bytes);
                Ok((Ok::<(), StreamError>(()),))
            },
        )?;
    }
    for name in ["flush", "blocking-flush"] {
        it.func_wrap(&format!("[method]output-stream.{name}"), |_: Context<'_>, (_,): (Resource<Writer>,)| {
            Ok((Ok::<(), StreamError>(()),))
        })?;
    }
    it.func_wrap("[method]output-stream.subscribe", |mut context: Context<'_>, (_,): (Resource<Writer>,)| {
        Ok((context.data_mut().table.push(Pollable(after(Duration::ZERO)))?,))
    })
}
