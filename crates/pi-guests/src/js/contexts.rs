//! Contexts: what a handler, a tool or a command is given beside its event.
//!
//! Each is a plain object with some twenty members of its own, and there is one for every call. Described in JavaScript, where every
//! member is an object again with four members that the engine asks for, making one cost almost as much as the rest of a call (ADR 516).

use rquickjs::{
    Array, Ctx, Function, Object, Result, Value,
    function::Opt,
    object::{AsProperty, Property, PropertyFlags},
    qjs,
};

/// How a member stands in a context, as `context.js` counts it: as it is, or read by a function.
const VALUE: u32 = 0;
const READ: u32 = 1;
/// The names, how each stands there, and what: three places for each member.
const PLACES: usize = 3;

/// A member that is read by a function of JavaScript.
struct Getter<'js> {
    function: Value<'js>,
    flags: u32,
}

/// Tells this implementation from those for whatever is a value.
struct Own;

impl<'js> AsProperty<'js, Own> for Getter<'js> {
    fn config(self, ctx: &Ctx<'js>) -> Result<(PropertyFlags, Value<'js>, Value<'js>, Value<'js>)> {
        let nothing = || Value::new_undefined(ctx.clone());
        Ok((self.flags.cast_signed(), nothing(), self.function, nothing()))
    }
}

impl<'js> Getter<'js> {
    /// One that can be taken away, and is seen by whoever copies the object.
    fn shown(function: Value<'js>) -> Self {
        let hidden = Self::hidden(function);
        Self { flags: hidden.flags | qjs::JS_PROP_ENUMERABLE, ..hidden }
    }

    fn hidden(function: Value<'js>) -> Self {
        let has = qjs::JS_PROP_HAS_GET | qjs::JS_PROP_HAS_CONFIGURABLE | qjs::JS_PROP_HAS_ENUMERABLE;
        Self { function, flags: has | qjs::JS_PROP_CONFIGURABLE }
    }
}

/// The native function `made`.
pub(super) fn functions<'js>(ctx: &Ctx<'js>, native: &Object<'js>) -> Result<()> {
    let made = |ctx: Ctx<'js>, members: Array<'js>, signal: Opt<Function<'js>>| made(ctx, &members, signal.0);
    native.set("made", Function::new(ctx.clone(), made)?)
}

/// An object of these members, and of a last one, if there is any, that says when its work is not wanted any more.
fn made<'js>(ctx: Ctx<'js>, members: &Array<'js>, signal: Option<Function<'js>>) -> Result<Object<'js>> {
    let object = Object::new(ctx)?;
    for first in (0..members.len()).step_by(PLACES) {
        let (name, value): (Value<'js>, Value<'js>) = (members.get(first)?, members.get(first + 2)?);
        match members.get::<u32>(first + 1)? {
            VALUE => object.prop(name, Property::from(value).writable().enumerable().configurable())?,
            READ => object.prop(name, Getter::shown(value))?,
            _ => object.prop(name, Getter::hidden(value))?,
        }
    }
    if let Some(signal) = signal {
        object.prop("signal", Getter::shown(signal.into_value()))?;
    }
    Ok(object)
}
