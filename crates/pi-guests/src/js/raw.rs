//! What the compiler cannot check: bytes that belong to the engine, and bytecode.
//!
//! These are the only blocks of `unsafe` code of this tier, each with the reason why it is sound where it stands.

use pi_extc::Bytecode;
use rquickjs::{Ctx, Module, Object, String as Text, TypedArray, Value, module::Declared, qjs};

/// A module of bytecode.
#[expect(unsafe_code, reason = "the engine believes bytecode, whatever it says")]
pub(crate) fn load<'js>(ctx: &Ctx<'js>, bytecode: &Bytecode) -> rquickjs::Result<Module<'js, Declared>> {
    // SAFETY: bytecode that this process or this machine did not make itself would be unsound. `Bytecode` is made by the
    // cache alone: compiled by the engine in this binary, or read from an entry that was sealed with this machine's key
    // and for this version of the engine.
    unsafe { Module::load(ctx.clone(), bytecode.as_bytes()) }
}

/// How many bytes the engine has taken.
pub(crate) fn used(ctx: &Ctx<'_>) -> usize {
    memory(ctx).0
}

/// How many bytes the engine has taken, or had when it last grew: what a thrown value left behind is given back before anybody
/// can ask.
pub(crate) fn reached(ctx: &Ctx<'_>) -> usize {
    // The engine collects when the heap is half again as large as the last collection left it. Whoever came to the limit had
    // collections on the way, so the next one lies there too.
    let (used, next_collection) = memory(ctx);
    used.max(next_collection)
}

/// What the engine has taken, and where it will collect.
#[expect(unsafe_code, reason = "the engine tells it where it is not entered only")]
fn memory(ctx: &Ctx<'_>) -> (usize, usize) {
    let mut usage = std::mem::MaybeUninit::<qjs::JSMemoryUsage>::uninit();
    // SAFETY: the context is that of a runtime which runs on this thread and is alive as long as the context is. The functions look
    // at the heap, change nothing, and the first fills the whole struct.
    let (usage, next_collection) = unsafe {
        let runtime = qjs::JS_GetRuntime(ctx.as_raw().as_ptr());
        qjs::JS_ComputeMemoryUsage(runtime, usage.as_mut_ptr());
        (usage.assume_init(), qjs::JS_GetGCThreshold(runtime))
    };
    (usize::try_from(usage.malloc_size).unwrap_or(0), usize::try_from(next_collection).unwrap_or(0))
}

/// Whether it is a `Uint8Array`.
pub(crate) fn is_bytes(value: &Value<'_>) -> bool {
    value.as_object().is_some_and(|object| object.as_typed_array::<u8>().is_some())
}

/// A copy of the bytes in a `Uint8Array`; nothing for any other value.
pub(crate) fn bytes(value: &Value<'_>) -> Option<Vec<u8>> {
    let object: &Object<'_> = value.as_object()?;
    // To ask whether it is a buffer would leave an exception behind if it is none.
    object.as_typed_array::<u8>().map(copy)
}

#[expect(unsafe_code, reason = "the engine has no function that copies bytes out of it")]
fn copy(array: &TypedArray<'_, u8>) -> Vec<u8> {
    // SAFETY: the slice lives until the end of this expression, which copies it and runs no JavaScript.
    let bytes = unsafe { array.as_bytes() };
    // One that was detached has none.
    bytes.map(<[u8]>::to_vec).unwrap_or_default()
}

/// A text as Rust has it: halves of surrogate pairs that stand alone become the replacement character.
pub(crate) fn text(text: &Text<'_>) -> String {
    match text.to_string() {
        Ok(text) => text,
        Err(_) => {
            let bytes = text.clone().to_cstring();
            bytes.map(|bytes| String::from_utf8_lossy(bytes.as_ref()).into_owned()).unwrap_or_default()
        }
    }
}
