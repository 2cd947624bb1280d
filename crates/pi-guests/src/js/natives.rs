//! The native functions that the modules of the engine are given. No extension sees them.

use std::{rc::Rc, time::Duration};

use rquickjs::{Ctx, Exception, Function, Module, Object, Promise, Result, TypedArray, Value, promise::PromiseState};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use pi_exthost::port::{Drawing, Frame};
use pi_extproto::{
    capability::Method,
    connector::{Call, data, stream::StreamItem},
    host::{ErrorCode, HostError},
    log::{Level, LogEntry, LogEvent, LogNote},
};
use pi_tools::process::{Signal, Whom};
use pi_transcript::question::WidgetPlacement;

use super::{
    answers, ciphers, contexts, derivation, digests,
    modules::loading,
    packing,
    place::Place,
    raw,
    room::{CallResult, Easel, FeedSlot, Going, Returned, Room},
    signatures,
    thread::Wake,
    traces::frames,
    unpacking::Reading,
    value::{Reader, to_js},
    zones,
};

/// The functions, in one object.
pub(super) fn functions<'js>(ctx: &Ctx<'js>, room: &Rc<Room>, place: &Place) -> Result<Object<'js>> {
    let native = Object::new(ctx.clone())?;
    native.set("place", thrown(ctx, to_js(ctx, place))?)?;
    calls(ctx, &native, room)?;
    feeds(ctx, &native, room)?;
    time(ctx, &native, room)?;
    chance(ctx, &native, room)?;
    bytes(ctx, &native)?;
    ciphers::functions(ctx, &native)?;
    derivation::functions(ctx, &native, room)?;
    signatures::functions(ctx, &native)?;
    packing::functions(ctx, &native)?;
    texts(ctx, &native, room)?;
    zones::functions(ctx, &native)?;
    drawings(ctx, &native, room)?;
    contexts::functions(ctx, &native)?;
    answers::functions(ctx, &native, room)?;
    Ok(native)
}

/// Throws what went wrong in the extension's face.
pub(super) fn thrown<'js, T>(ctx: &Ctx<'js>, result: std::result::Result<T, super::value::Unfit>) -> Result<T> {
    result.map_err(|unfit| match unfit {
        super::value::Unfit::Engine(error) => error,
        other => Exception::throw_type(ctx, &other.to_string()),
    })
}

pub(super) fn refused(code: ErrorCode, message: impl Into<String>) -> HostError {
    HostError { code, message: message.into(), details: None, retryable: None, extra: Default::default() }
}

/// Reads what is asked of the host. The strict spelling of the protocol is for what comes as JSON; here the types are
/// read directly, and members that no connector reads are simply not there.
fn read_call(method: &str, params: Value<'_>) -> std::result::Result<Call, HostError> {
    let wrong = |unfit: super::value::Unfit| refused(ErrorCode::InvalidRequest, format!("{method}: {unfit}"));
    macro_rules! read {
        ($variant:ident) => {
            read!($variant, &[])
        };
        // Members that hold bytes; text is one way to give them.
        ($variant:ident, $bytes:expr) => {
            serde::Deserialize::deserialize(Reader::with_bytes_in(params, $bytes)).map(Call::$variant).map_err(wrong)
        };
    }
    match Method::from(method) {
        Method::Tool => read!(Tool),
        Method::Exec => read!(Exec, &["stdin"]),
        Method::Fs => read!(Fs, &["content"]),
        Method::Http => read!(Http, &["body"]),
        Method::Session => read!(Session),
        Method::Ui => read!(Ui),
        Method::Events => read!(Events),
        Method::Env => read!(Env),
        Method::Log => read!(Log),
        Method::Credentials => read!(Credentials),
        Method::Mcp => read!(Mcp),
        Method::Other(word) => {
            Err(refused(ErrorCode::InvalidRequest, format!("there is no connector {:?}", word.as_str())))
        }
    }
}

fn patience(timeout: f64) -> Option<Duration> {
    (timeout >= 0.0).then(|| Duration::try_from_secs_f64(timeout / 1000.0).unwrap_or(Duration::MAX))
}

fn calls<'js>(ctx: &Ctx<'js>, native: &Object<'js>, room: &Rc<Room>) -> Result<()> {
    let here = Rc::clone(room);
    let call = move |id: u64, method: String, params: Value<'js>, timeout: f64| {
        // Its bytes count from here on, however long it waits.
        let call = read_call(&method, params).map(|call| here.desk.weigh(call));
        let desk = here.desk.clone();
        start(&here, id, move |cancel, room| {
            let terms = room.terms(patience(timeout), cancel);
            async move { Ok(Returned::Output(Box::new(desk.call_weighed(call?, terms).await?))) }
        });
    };
    native.set("call", Function::new(ctx.clone(), call)?)?;

    let here = Rc::clone(room);
    let call_sync = move |ctx: Ctx<'js>, method: String, params: Value<'js>, timeout: f64| -> Result<Object<'js>> {
        let answer = Object::new(ctx.clone())?;
        let result = read_call(&method, params).and_then(|call| {
            let terms = here.terms(patience(timeout), here.signal());
            let before = here.clock.monotonic();
            // This thread hears nothing while it waits: whoever ends the guest has to end the call.
            let asked = here.life.run_until_cancelled(here.desk.call(call, terms));
            let result = here.tokio.block_on(asked).unwrap_or_else(|| Err(withdrawn()));
            // Waiting for the host is not the guest's own work.
            here.fuse.extend(here.clock.monotonic().saturating_sub(before));
            // What was refused or withdrawn because it is to stop tells it so: from here on it may clear away.
            here.hear(here.current.get());
            result
        });
        match result {
            Ok(output) => answer.set("value", thrown(&ctx, to_js(&ctx, &output))?)?,
            Err(fault) => answer.set("fault", thrown(&ctx, to_js(&ctx, &fault))?)?,
        }
        Ok(answer)
    };
    native.set("callSync", Function::new(ctx.clone(), call_sync)?)?;

    let here = Rc::clone(room);
    let cancel = move |id: u64| {
        if let Some(going) = here.calls.borrow().get(&id) {
            going.cancel.cancel();
        }
    };
    native.set("cancelCall", Function::new(ctx.clone(), cancel)?)
}

/// What is told of a call whose guest is being ended.
fn withdrawn() -> HostError {
    refused(ErrorCode::Timeout, "the extension is being ended")
}

/// Whether one more host call may be open; whoever wants one too many is told so.
fn has_room(room: &Rc<Room>, id: u64) -> bool {
    let limit = room.limits.calls;
    if room.calls.borrow().len() < limit {
        return true;
    }
    let fault =
        refused(ErrorCode::InvalidRequest, format!("more than {limit} host calls at the same time; wait for some"));
    // The loop is there as long as JavaScript runs.
    drop(room.wakes.send(Wake::Completed { id, result: Err(fault) }));
    false
}

/// Has something done in the host; its result comes back as a completion of the event loop.
pub(super) fn start<F>(room: &Rc<Room>, id: u64, work: impl FnOnce(CancellationToken, &Room) -> F)
where
    F: Future<Output = CallResult> + Send + 'static,
{
    if !has_room(room, id) {
        return;
    }
    let (wakes, life, cancel) = (room.wakes.clone(), room.life.clone(), room.signal());
    let work = work(cancel.clone(), room);
    room.calls.borrow_mut().insert(id, Going { job: room.owner(), cancel });
    // It ends by itself: with its work, or with the runtime.
    room.tokio.spawn(async move {
        if let Some(result) = life.run_until_cancelled(work).await {
            // A guest that is gone does not want to know.
            drop(wakes.send(Wake::Completed { id, result }));
        }
    });
}

fn feeds<'js>(ctx: &Ctx<'js>, native: &Object<'js>, room: &Rc<Room>) -> Result<()> {
    let here = Rc::clone(room);
    let open = move |ctx: Ctx<'js>,
                     id: u64,
                     method: String,
                     params: Value<'js>,
                     timeout: f64,
                     is_written: bool,
                     is_unpacked: bool|
          -> Result<()> {
        let limit = here.limits.calls;
        if here.feeds.borrow().len() >= limit {
            let message = format!("more than {limit} streams at the same time; read some to their end");
            return Err(Exception::throw_range(&ctx, &message));
        }
        let cancel = here.signal();
        let opened = read_call(&method, params).map(|call| {
            let _context = here.tokio.enter();
            let terms = here.terms(patience(timeout), cancel.clone());
            if is_written {
                let (feed, intake) = here.desk.open_to_write(call, terms);
                (feed, Some(intake))
            } else {
                (here.desk.open(call, terms), None)
            }
        });
        let slot = match opened {
            Ok((feed, intake)) => {
                let reins = Some(feed.reins());
                FeedSlot { feed: Some(Reading::new(feed, is_unpacked)), intake, reins, fault: None, cancel }
            }
            Err(fault) => FeedSlot { feed: None, intake: None, reins: None, fault: Some(fault), cancel },
        };
        here.feeds.borrow_mut().insert(id, slot);
        Ok(())
    };
    native.set("open", Function::new(ctx.clone(), open)?)?;

    let here = Rc::clone(room);
    let next = move |id: u64, feed: u64| {
        // Before the stream is taken out of its place: whoever is refused here reads on later.
        if !has_room(&here, id) {
            return;
        }
        let (taken, fault) = match here.feeds.borrow_mut().get_mut(&feed) {
            Some(slot) => (slot.feed.take(), slot.fault.take()),
            None => (None, None),
        };
        let Some(mut taken) = taken else {
            // Refused, ended, closed, or read by somebody else at this moment.
            if fault.is_some() {
                here.feeds.borrow_mut().remove(&feed);
            }
            let result = fault.map_or(Ok(Returned::Item(None)), Err);
            drop(here.wakes.send(Wake::Completed { id, result }));
            return;
        };
        let wakes = here.wakes.clone();
        start(&here, id, move |_, _| async move {
            let item = taken.next().await;
            let is_over = matches!(&item, Ok(None | Some(StreamItem::End(_))) | Err(_));
            drop(wakes.send(Wake::Fed { feed, rest: (!is_over).then_some(taken) }));
            Ok(Returned::Item(item?.map(Box::new)))
        });
    };
    native.set("nextOf", Function::new(ctx.clone(), next)?)?;

    let here = Rc::clone(room);
    let write = move |ctx: Ctx<'js>, id: u64, feed: u64, bytes: Value<'js>| -> Result<()> {
        let bytes = bytes_of(&ctx, &bytes)?;
        let intake = here.feeds.borrow().get(&feed).and_then(|slot| slot.intake.clone());
        start(&here, id, move |_, _| async move {
            let closed = || refused(ErrorCode::InvalidRequest, "nothing is written to it any more");
            intake.ok_or_else(closed)?.write(bytes).await.map(|()| Returned::Nothing)
        });
        Ok(())
    };
    native.set("writeTo", Function::new(ctx.clone(), write)?)?;
    let here = Rc::clone(room);
    let end = move |feed: u64| {
        if let Some(slot) = here.feeds.borrow_mut().get_mut(&feed) {
            slot.intake = None;
        }
    };
    native.set("endInput", Function::new(ctx.clone(), end)?)?;

    let here = Rc::clone(room);
    let tell = move |ctx: Ctx<'js>, feed: u64, name: String, is_group: bool| -> Result<()> {
        let unknown = || Exception::throw_type(&ctx, &format!("there is no signal {name}"));
        let signal = Signal::named(&name).ok_or_else(unknown)?;
        if let Some(reins) = here.feeds.borrow().get(&feed).and_then(|slot| slot.reins.as_ref()) {
            reins.tell(signal, if is_group { Whom::Group } else { Whom::Process });
        }
        Ok(())
    };
    native.set("signalTo", Function::new(ctx.clone(), tell)?)?;

    let here = Rc::clone(room);
    let close = move |feed: u64| {
        if let Some(slot) = here.feeds.borrow_mut().remove(&feed) {
            slot.cancel.cancel();
        }
    };
    native.set("closeFeed", Function::new(ctx.clone(), close)?)
}

fn time<'js>(ctx: &Ctx<'js>, native: &Object<'js>, room: &Rc<Room>) -> Result<()> {
    let here = Rc::clone(room);
    native.set("now", Function::new(ctx.clone(), move || (here.clock.now().as_secs_f64() * 1000.0).floor())?)?;
    let here = Rc::clone(room);
    native.set("monotonic", Function::new(ctx.clone(), move || here.clock.monotonic().as_secs_f64() * 1000.0)?)?;

    let here = Rc::clone(room);
    let set = move |ctx: Ctx<'js>, id: u64, wait: f64| -> Result<()> {
        let limit = here.limits.timers;
        if here.timers.borrow().len() >= limit {
            return Err(Exception::throw_range(
                &ctx,
                &format!("more than {limit} timers at the same time; clear some"),
            ));
        }
        let wait = Duration::try_from_secs_f64(wait.max(1.0) / 1000.0).unwrap_or(Duration::from_secs(1));
        here.timers.borrow_mut().set(id, here.clock.monotonic().saturating_add(wait), here.owner());
        Ok(())
    };
    native.set("setTimer", Function::new(ctx.clone(), set)?)?;
    let here = Rc::clone(room);
    native.set("clearTimer", Function::new(ctx.clone(), move |id: u64| here.timers.borrow_mut().clear(id))?)?;
    let here = Rc::clone(room);
    native.set("wantTicks", Function::new(ctx.clone(), move || here.wants_ticks.set(true))?)?;
    let here = Rc::clone(room);
    let want = move |ctx: Ctx<'js>| -> Result<()> {
        if here.immediates.get() >= here.limits.timers {
            return Err(Exception::throw_range(&ctx, "too many immediates at the same time"));
        }
        here.immediates.set(here.immediates.get() + 1);
        Ok(())
    };
    native.set("wantImmediate", Function::new(ctx.clone(), want)?)
}

pub(super) fn bytes_of(ctx: &Ctx<'_>, value: &Value<'_>) -> Result<Vec<u8>> {
    raw::bytes(value).ok_or_else(|| Exception::throw_type(ctx, "expected a Uint8Array"))
}

fn chance<'js>(ctx: &Ctx<'js>, native: &Object<'js>, room: &Rc<Room>) -> Result<()> {
    let here = Rc::clone(room);
    let random = move |ctx: Ctx<'js>, count: usize| drawn(&ctx, count, |bytes| here.lots.fill(bytes));
    native.set("random", Function::new(ctx.clone(), random)?)?;
    // For names of our own, which meet none that is there: never those of a rehearsal.
    let unique = |ctx: Ctx<'js>, count: usize| drawn(&ctx, count, getrandom::fill);
    native.set("unique", Function::new(ctx.clone(), unique)?)?;
    if room.lots.is_rehearsed() {
        let here = Rc::clone(room);
        native.set("fraction", Function::new(ctx.clone(), move || here.lots.fraction())?)?;
    }
    Ok(())
}

fn drawn<'js>(
    ctx: &Ctx<'js>,
    count: usize,
    fill: impl FnOnce(&mut [u8]) -> std::result::Result<(), getrandom::Error>,
) -> Result<TypedArray<'js, u8>> {
    if count > 1 << 20 {
        return Err(Exception::throw_range(ctx, "more than a million random bytes at once"));
    }
    let mut bytes = vec![0; count];
    fill(&mut bytes)
        .map_err(|error| Exception::throw_internal(ctx, &format!("the system has no random bytes: {error}")))?;
    TypedArray::new_copy(ctx.clone(), bytes)
}

fn bytes<'js>(ctx: &Ctx<'js>, native: &Object<'js>) -> Result<()> {
    let digest = |ctx: Ctx<'js>, algorithm: String, value: Value<'js>| -> Result<TypedArray<'js, u8>> {
        let bytes = bytes_of(&ctx, &value)?;
        let digest = digests::digest(&algorithm, &bytes)
            .ok_or_else(|| Exception::throw_range(&ctx, &format!("there is no digest {algorithm}")))?;
        TypedArray::new_copy(ctx, digest)
    };
    native.set("digest", Function::new(ctx.clone(), digest)?)?;
    let hmac = |ctx: Ctx<'js>, algorithm: String, key: Value<'js>, value: Value<'js>| -> Result<TypedArray<'js, u8>> {
        let (key, bytes) = (bytes_of(&ctx, &key)?, bytes_of(&ctx, &value)?);
        let digest = digests::hmac(&algorithm, &key, &bytes)
            .ok_or_else(|| Exception::throw_range(&ctx, &format!("there is no digest {algorithm}")))?;
        TypedArray::new_copy(ctx, digest)
    };
    native.set("hmac", Function::new(ctx.clone(), hmac)?)?;
    let encode =
        |ctx: Ctx<'js>, text: rquickjs::String<'js>| TypedArray::<u8>::new_copy(ctx, raw::text(&text).into_bytes());
    native.set("utf8Encode", Function::new(ctx.clone(), encode)?)?;
    let decode = |ctx: Ctx<'js>, value: Value<'js>, fatal: bool| -> Result<String> {
        let bytes = bytes_of(&ctx, &value)?;
        match String::from_utf8(bytes) {
            Ok(text) => Ok(text),
            Err(_) if fatal => Err(Exception::throw_type(&ctx, "the bytes are not UTF-8")),
            Err(other) => Ok(String::from_utf8_lossy(other.as_bytes()).into_owned()),
        }
    };
    native.set("utf8Decode", Function::new(ctx.clone(), decode)?)?;
    let encode = |ctx: Ctx<'js>, value: Value<'js>| -> Result<String> { Ok(data::encode(&bytes_of(&ctx, &value)?)) };
    native.set("base64Encode", Function::new(ctx.clone(), encode)?)?;
    let decode = |ctx: Ctx<'js>, text: String| -> Result<TypedArray<'js, u8>> {
        let bytes = data::decode(&text).map_err(|fault| Exception::throw_type(&ctx, &fault.to_string()))?;
        TypedArray::new_copy(ctx, bytes)
    };
    native.set("base64Decode", Function::new(ctx.clone(), decode)?)
}

fn texts<'js>(ctx: &Ctx<'js>, native: &Object<'js>, room: &Rc<Room>) -> Result<()> {
    use unicode_segmentation::UnicodeSegmentation;
    use unicode_width::UnicodeWidthStr;

    native.set("textWidth", Function::new(ctx.clone(), |text: String| text.width())?)?;
    let graphemes = |text: String| text.graphemes(true).map(str::to_owned).collect::<Vec<_>>();
    native.set("graphemes", Function::new(ctx.clone(), graphemes)?)?;
    let here = Rc::clone(room);
    let write = move |stream: String, text: String| {
        let level = if stream == "stderr" { Level::Warn } else { Level::Info };
        log(&here, level, &stream, text);
    };
    native.set("write", Function::new(ctx.clone(), write)?)?;
    let here = Rc::clone(room);
    let warn = move |message: String| {
        let note = LogNote { level: Level::Warn, event: LogEvent::CompatWarning, message, data: None };
        // A line too many is counted there.
        drop(here.desk.say(note, &here.occasion()));
    };
    native.set("warn", Function::new(ctx.clone(), warn)?)?;
    let here = Rc::clone(room);
    let placed = move |frames: String| here.guest.program.sources.placed(&frames);
    native.set("placed", Function::new(ctx.clone(), placed)?)?;
    let here = Rc::clone(room);
    native.set("uncaught", Function::new(ctx.clone(), move |fault: Object<'js>| uncaught(&here, &told(&fault)))?)?;
    let load = |ctx: Ctx<'js>, specifier: String| load(&ctx, &specifier);
    native.set("load", Function::new(ctx.clone(), load)?)
}

/// What was thrown, as text.
pub(super) fn told(fault: &Object<'_>) -> String {
    let part = |name: &str| fault.get::<_, Option<String>>(name).ok().flatten().unwrap_or_default();
    let (message, stack) = (part("message"), part("stack"));
    if stack.is_empty() { message } else { format!("{message}\n{}", frames(&stack)) }
}

/// Something was thrown that nobody caught.
pub(super) fn uncaught(room: &Rc<Room>, told: &str) {
    let (told, _) = room.guest.program.sources.translate(told);
    // Who throws too often is not listened to anywhere.
    if let Some(entry) = log(room, Level::Error, "uncaught", told) {
        let (guest, error) = (room.desk.guest(), entry.message);
        tracing::warn!(%guest, error, "an extension threw and nobody caught it");
    }
}

/// Writes to the log of the extension what it says beside its calls; answers what was written, if it was. What is too much
/// is counted here and kept nowhere: nobody waits for a line of a log, so nothing else would hold a flood up.
fn log(room: &Rc<Room>, level: Level, event: &str, mut message: String) -> Option<LogEntry> {
    message.truncate(message.trim_end().len());
    if message.is_empty() {
        return None;
    }
    let note = LogNote { level, event: LogEvent::from(format!("extension.{event}").as_str()), message, data: None };
    room.desk.say(note, &room.occasion())
}

/// A module of ours, at once: none of them waits for anything while it loads.
fn load<'js>(ctx: &Ctx<'js>, specifier: &str) -> Result<Value<'js>> {
    let source = format!("export * as loaded from {}", json!(specifier));
    let (module, done) = Module::declare(ctx.clone(), loading(specifier), source)?.eval()?;
    finished(ctx, &done)?;
    module.namespace()?.get("loaded")
}

/// Throws why a module could not be evaluated.
pub(super) fn finished<'js>(ctx: &Ctx<'js>, done: &Promise<'js>) -> Result<()> {
    match done.state() {
        PromiseState::Resolved => Ok(()),
        PromiseState::Rejected => done.result::<Value<'js>>().unwrap_or(Err(rquickjs::Error::Unknown)).map(drop),
        PromiseState::Pending => Err(Exception::throw_internal(ctx, "a module of the host waits for something")),
    }
}

fn drawings<'js>(ctx: &Ctx<'js>, native: &Object<'js>, room: &Rc<Room>) -> Result<()> {
    let here = Rc::clone(room);
    let draw = move |id: u64, kind: String, key: String, below: bool| {
        let placement = if below { WidgetPlacement::BelowEditor } else { WidgetPlacement::AboveEditor };
        let drawing = match kind.as_str() {
            "overlay" => Drawing::Overlay,
            "widget" => Drawing::Widget { key, placement },
            "header" => Drawing::Header,
            "footer" => Drawing::Footer,
            _ => Drawing::Editor,
        };
        let desk = here.desk.clone();
        start(&here, id, move |cancel, room| {
            let terms = room.terms(None, cancel);
            async move { desk.draw(drawing, terms).await.map(Returned::Canvas) }
        });
    };
    native.set("draw", Function::new(ctx.clone(), draw)?)?;
    let here = Rc::clone(room);
    let frame = move |canvas: u64, lines: Vec<rquickjs::String<'js>>| -> bool {
        let lines = lines.iter().map(raw::text).collect();
        here.canvases.borrow().get(&canvas).is_some_and(|easel| easel.frames.send(Frame { lines }).is_ok())
    };
    native.set("frame", Function::new(ctx.clone(), frame)?)?;
    let here = Rc::clone(room);
    let size = move |canvas: u64| -> Vec<u16> {
        let size = here.canvases.borrow().get(&canvas).map(|easel| *easel.size.borrow());
        size.map_or_else(|| vec![80, 24], |size| vec![size.columns, size.rows])
    };
    native.set("sizeOf", Function::new(ctx.clone(), size)?)?;
    let here = Rc::clone(room);
    let undraw = move |canvas: u64| {
        if let Some(easel) = here.canvases.borrow_mut().remove(&canvas) {
            easel.close.cancel();
        }
    };
    native.set("undraw", Function::new(ctx.clone(), undraw)?)
}

/// Takes over the room that was given to draw in: its keys and sizes become wakes.
pub(super) fn hang(room: &Rc<Room>, id: u64, job: super::job::JobId, canvas: pi_exthost::port::Canvas) {
    let pi_exthost::port::Canvas { mut size, mut keys, frames } = canvas;
    let close = room.life.child_token();
    room.canvases.borrow_mut().insert(id, Easel { frames, size: size.clone(), job, close: close.clone() });
    let wakes = room.wakes.clone();
    // It ends when the room is taken away or given back, and at the latest with the runtime.
    room.tokio.spawn(async move {
        loop {
            let wake = tokio::select! {
                () = close.cancelled() => return,
                key = keys.recv() => match key {
                    Some(key) => Wake::Key { canvas: id, key },
                    None => {
                        drop(wakes.send(Wake::Taken { canvas: id }));
                        return;
                    }
                },
                changed = size.changed() => match changed {
                    Ok(()) => Wake::Resized { canvas: id },
                    Err(_) => continue,
                },
            };
            if wakes.send(wake).is_err() {
                return;
            }
        }
    });
}
