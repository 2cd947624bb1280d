//! JavaScript to bytecode.

use std::thread;

use rquickjs::{
    CatchResultExt as _, CaughtError, Context, Ctx, Module as JsModule, Runtime, WriteOptions,
    loader::{ImportAttributes, Loader, Resolver},
    module::Declared,
};

use super::Module;
use crate::fault::CacheFault;

/// Generated code may be nested deeper than people write.
const STACK: usize = 16 << 20;
const MEMORY: usize = 1 << 30;

/// Compiling looks for what is imported, and needs nothing of it.
struct Anything;

impl Resolver for Anything {
    fn resolve<'js>(
        &mut self,
        _ctx: &Ctx<'js>,
        _base: &str,
        name: &str,
        _attributes: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<String> {
        Ok(name.to_owned())
    }
}

impl Loader for Anything {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _attributes: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<JsModule<'js, Declared>> {
        JsModule::declare(ctx.clone(), name, "")
    }
}

/// On a thread of its own, for the room that deeply nested code needs.
pub(super) fn compile(module: &Module) -> Result<Vec<u8>, CacheFault> {
    thread::scope(|scope| {
        let worker = thread::Builder::new().name("pi-compile".to_owned()).stack_size(2 * STACK);
        let worker = worker.spawn_scoped(scope, || compile_here(module)).map_err(|_| CacheFault::Engine)?;
        worker.join().unwrap_or(Err(CacheFault::Engine))
    })
}

fn compile_here(module: &Module) -> Result<Vec<u8>, CacheFault> {
    let runtime = Runtime::new().map_err(|_| CacheFault::Engine)?;
    runtime.set_max_stack_size(STACK);
    runtime.set_memory_limit(MEMORY);
    runtime.set_loader(Anything, Anything);
    let context = Context::full(&runtime).map_err(|_| CacheFault::Engine)?;
    context.with(|ctx| {
        let options = WriteOptions { strip_source: true, ..WriteOptions::default() };
        let written = JsModule::declare(ctx.clone(), module.name.as_str(), module.source.as_bytes())
            .and_then(|declared| declared.write(options))
            .catch(&ctx);
        written.map_err(|error| {
            let (message, at) = match &error {
                CaughtError::Exception(thrown) => (thrown.message(), thrown.stack().and_then(|stack| place(&stack))),
                CaughtError::Error(_) | CaughtError::Value(_) => (None, None),
            };
            let message = message.unwrap_or_else(|| error.to_string());
            CacheFault::Syntax { module: module.name.clone(), message, at }
        })
    })
}

/// Line and column of the first line of a stack, which ends with them: `    at pi:bundle/name:2:204`.
fn place(stack: &str) -> Option<(u32, u32)> {
    let mut parts = stack.lines().next()?.trim_end_matches(')').rsplitn(3, ':');
    let (column, line) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    Some((line, column))
}
