//! Values between Rust and JavaScript, without JSON text between them.
//!
//! Whatever serde can describe passes: [`to_js`] builds engine values as they are described, [`from_js`] reads what is there
//! as `JSON.stringify` would (own enumerable members, `toJSON`, no functions). Bytes are a `Uint8Array`, and whatever
//! the extension did to prototypes is not looked at.

mod reading;
mod writing;

use rquickjs::{Ctx, Value};
use serde::{Serialize, de::DeserializeOwned};

pub(crate) use self::reading::Reader;

/// How deep values may be nested, as in `serde_json`.
const DEPTH: usize = 128;

/// A value that has no counterpart on the other side.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unfit {
    #[error("{0}")]
    Said(String),
    #[error("it is nested deeper than {DEPTH} levels, or contains itself")]
    Deep,
    /// The engine has an exception pending, or no memory.
    #[error("the engine refused: {0}")]
    Engine(#[from] rquickjs::Error),
}

impl serde::ser::Error for Unfit {
    fn custom<T: std::fmt::Display>(said: T) -> Self {
        Self::Said(said.to_string())
    }
}

impl serde::de::Error for Unfit {
    fn custom<T: std::fmt::Display>(said: T) -> Self {
        Self::Said(said.to_string())
    }
}

/// The value as JavaScript sees it.
pub(crate) fn to_js<'js, T: Serialize + ?Sized>(ctx: &Ctx<'js>, value: &T) -> Result<Value<'js>, Unfit> {
    value.serialize(writing::Writer::new(ctx))
}

/// The value as Rust wants it.
pub(crate) fn from_js<T: DeserializeOwned>(value: Value<'_>) -> Result<T, Unfit> {
    T::deserialize(Reader::new(value))
}

#[cfg(test)]
mod tests {
    use pi_extproto::connector::{data::Data, exec::Command, fs::FsCall};
    use rquickjs::{Context, Runtime};
    use serde_json::{Value as Json, json};

    use super::*;

    fn with<T>(check: impl FnOnce(Ctx<'_>) -> T) -> T {
        let runtime = Runtime::new().expect("a runtime");
        let context = Context::full(&runtime).expect("a context");
        context.with(check)
    }

    #[track_caller]
    fn reads(source: &str, expected: &Json) {
        with(|ctx| {
            let value: Value<'_> = ctx.eval(source).expect("it runs");
            assert_eq!(from_js::<Json>(value).expect("it can be read"), *expected, "{source}");
        });
    }

    #[test]
    fn values_are_read_as_json_would_write_them() {
        reads("null", &Json::Null);
        reads("undefined", &Json::Null);
        reads("[1, 2.5, -3, 9007199254740991, true, 'ü']", &json!([1, 2.5, -3, 9_007_199_254_740_991_i64, true, "ü"]));
        reads("[NaN, Infinity]", &json!([null, null]));
        reads("({ a: undefined, b: () => 1, c: Symbol('x'), d: null })", &json!({ "d": null }));
        reads("[undefined, () => 1]", &json!([null, null]));
        reads("({ at: new Date(0) })", &json!({ "at": "1970-01-01T00:00:00.000Z" }));
        reads(
            "Object.create({ inherited: 1 }, { own: { value: 2, enumerable: true }, hidden: { value: 3 } })",
            &json!({ "own": 2 }),
        );
        reads("({ [Symbol('s')]: 1, 2: 3 })", &json!({ "2": 3 }));
    }

    #[test]
    fn what_contains_itself_is_refused() {
        with(|ctx| {
            let value: Value<'_> = ctx.eval("const a = []; a.push(a); a").expect("it runs");
            let refused = from_js::<Json>(value).expect_err("no end").to_string();
            assert!(refused.contains("deeper"), "{refused}");
        });
    }

    #[test]
    fn json_passes_both_ways() {
        let value = json!({ "a": [1, -2, 0.5, 1e300, null, true, "x\u{0}y"], "b": { "c": {} }, "e": "", "n": 9_007_199_254_740_991_i64 });
        with(|ctx| {
            let there = to_js(&ctx, &value).expect("it can be written");
            assert_eq!(from_js::<Json>(there).expect("it can be read"), value);
        });
    }

    #[test]
    fn bytes_go_as_arrays_and_come_as_arrays_or_texts() {
        with(|ctx| {
            let look = |data: &Data| -> String {
                let value = to_js(&ctx, data).expect("it can be written");
                ctx.globals().set("data", value).expect("room");
                ctx.eval("data.constructor.name + ' ' + data.join()").expect("a look")
            };
            assert_eq!(look(&Data::from("hé")), "Uint8Array 104,195,169");
            assert_eq!(look(&Data(vec![255, 0, 1])), "Uint8Array 255,0,1");
            let read = |source: &str| {
                let value: Value<'_> = ctx.eval(source).expect("it runs");
                FsCall::deserialize_from(value)
            };
            let write = |bytes: &[u8]| FsCall::Append { path: "a".into(), content: Data(bytes.to_vec()) };
            assert_eq!(read("({ op: 'append', path: 'a', content: 'hé' })"), write("hé".as_bytes()));
            assert_eq!(read("({ op: 'append', path: 'a', content: new Uint8Array([104, 105]) })"), write(b"hi"));
            assert_eq!(read("({ op: 'append', path: 'a', content: new Uint8Array([255, 1]) })"), write(b"\xff\x01"));
            assert_eq!(
                read("({ op: 'append', path: 'a', content: new Uint8Array([9, 255, 1, 9]).subarray(1, 3) })"),
                write(b"\xff\x01")
            );
            let buffer =
                "Object.assign(new Uint8Array([255, 1]), { toJSON: () => ({ type: 'Buffer', data: [255, 1] }) })";
            assert_eq!(read(&format!("({{ op: 'append', path: 'a', content: {buffer} }})")), write(b"\xff\x01"));
            let told = ctx.eval(format!("({{ kept: {buffer} }})")).expect("it runs");
            let json = json!({ "kept": { "type": "Buffer", "data": [255, 1] } });
            assert_eq!(from_js::<Json>(told).expect("it can be read"), json);
        });
    }

    #[test]
    fn command_reads_with_bytes_for_its_input() {
        with(|ctx| {
            let source = "({ command: 'cat', args: [], env: {}, stdin: 'y', timeout_ms: 5, stream: false })";
            let value: Value<'_> = ctx.eval(source).expect("it runs");
            let command = Command::deserialize_from(value);
            assert_eq!((command.stdin, command.timeout_ms), (Some(Data::from("y")), Some(5)));
        });
    }

    trait FromParams: Sized {
        fn deserialize_from(value: Value<'_>) -> Self;
    }

    impl<T: DeserializeOwned> FromParams for T {
        fn deserialize_from(value: Value<'_>) -> Self {
            T::deserialize(Reader::with_bytes_in(value, &["content", "stdin", "body"])).expect("parameters")
        }
    }
}
