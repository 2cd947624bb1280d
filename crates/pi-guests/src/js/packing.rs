//! Compression for extensions, in the forms that Node's `zlib` has.

use std::io::{self, Read};

use flate2::{
    Compression,
    read::{DeflateDecoder, DeflateEncoder, GzEncoder, MultiGzDecoder, ZlibDecoder, ZlibEncoder},
};
use rquickjs::{Ctx, Exception, Function, Object, Result as JsResult, TypedArray, Value};

use super::natives::bytes_of;

/// What an extension asks for is not what it gets: its own memory is bounded, and this is ours.
const MOST: usize = 64 << 20;

/// Why something cannot be unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// It ends too early.
    End,
    /// It is something else.
    Data,
    /// It is larger than it may be.
    Size,
}

impl Fault {
    fn word(self) -> &'static str {
        match self {
            Self::End => "end",
            Self::Data => "data",
            Self::Size => "size",
        }
    }
}

/// The native functions `deflate` and `inflate`.
pub(super) fn functions<'js>(ctx: &Ctx<'js>, native: &Object<'js>) -> JsResult<()> {
    let no_form = |ctx: &Ctx<'js>, form: &str| Exception::throw_range(ctx, &format!("there is no compression {form}"));
    let deflate = move |ctx: Ctx<'js>, form: String, value: Value<'js>, level: u32| -> JsResult<TypedArray<'js, u8>> {
        let packed = pack(&form, &bytes_of(&ctx, &value)?, level).ok_or_else(|| no_form(&ctx, &form))?;
        TypedArray::new_copy(ctx, packed)
    };
    native.set("deflate", Function::new(ctx.clone(), deflate)?)?;
    let inflate = move |ctx: Ctx<'js>, form: String, value: Value<'js>, most: usize| -> JsResult<Object<'js>> {
        let bytes = bytes_of(&ctx, &value)?;
        let answer = Object::new(ctx.clone())?;
        match unpack(&form, &bytes, most.min(MOST)).ok_or_else(|| no_form(&ctx, &form))? {
            Ok(unpacked) => answer.set("bytes", TypedArray::new_copy(ctx, unpacked)?)?,
            Err(fault) => answer.set("fault", fault.word())?,
        }
        Ok(answer)
    };
    native.set("inflate", Function::new(ctx.clone(), inflate)?)
}

/// The packed bytes; nothing if there is no such form.
fn pack(form: &str, bytes: &[u8], level: u32) -> Option<Vec<u8>> {
    let level = Compression::new(level.min(9));
    match form {
        "gzip" => all(GzEncoder::new(bytes, level)),
        "deflate" => all(ZlibEncoder::new(bytes, level)),
        "deflate-raw" => all(DeflateEncoder::new(bytes, level)),
        _ => None,
    }
}

/// The unpacked bytes, at most so many; nothing if there is no such form.
fn unpack(form: &str, bytes: &[u8], most: usize) -> Option<Result<Vec<u8>, Fault>> {
    match form {
        "gzip" => Some(bounded(MultiGzDecoder::new(bytes), most)),
        "deflate" => Some(bounded(ZlibDecoder::new(bytes), most)),
        "deflate-raw" => Some(bounded(DeflateDecoder::new(bytes), most)),
        _ => None,
    }
}

fn all(mut packer: impl Read) -> Option<Vec<u8>> {
    let mut packed = Vec::new();
    // Memory is read and written, which does not fail.
    packer.read_to_end(&mut packed).ok().map(|_| packed)
}

fn bounded(unpacker: impl Read, most: usize) -> Result<Vec<u8>, Fault> {
    let mut unpacked = Vec::new();
    match unpacker.take(most as u64 + 1).read_to_end(&mut unpacked) {
        Ok(_) if unpacked.len() > most => Err(Fault::Size),
        Ok(_) => Ok(unpacked),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(Fault::End),
        Err(_) => Err(Fault::Data),
    }
}
