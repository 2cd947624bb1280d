//! A thread with an engine, a queue to it and an answer back: what a call costs when nothing is decided, limited or recorded.

use std::{
    sync::mpsc::{self, Sender},
    thread,
};

use rquickjs::{Context, Function, Promise, Runtime, function::Args};
use serde_json::Value;
use tokio::sync::oneshot;

/// Stands in for the API: keeps the tool that is registered.
const API: &str = "
globalThis.tools = {};
globalThis.pi = { registerTool(tool) { tools[tool.name] = tool; }, on() {} };
";
const CALL: &str = "async (id, input) => JSON.stringify(await tools.hello.execute(id, JSON.parse(input)))";

pub(crate) struct Bare(Sender<(String, oneshot::Sender<String>)>);

impl Bare {
    /// Starts it with an extension that has a tool `hello`.
    pub(crate) fn start(extension: &str) -> Self {
        // A script: modules and what the extension imports are not what is measured.
        let imports = |line: &&str| !line.starts_with("import ");
        let body: Vec<&str> = extension.lines().filter(imports).collect();
        let script =
            format!("{API}{}\nstart(pi);", body.join("\n").replace("export default function", "function start"));
        let (asks, inbox) = mpsc::channel::<(String, oneshot::Sender<String>)>();
        thread::spawn(move || {
            let runtime = Runtime::new().unwrap();
            let context = Context::full(&runtime).unwrap();
            context.with(|ctx| {
                ctx.eval::<(), _>(script).unwrap();
                let call: Function<'_> = ctx.eval(CALL).unwrap();
                for (input, reply) in inbox {
                    let mut arguments = Args::new(ctx.clone(), 2);
                    arguments.push_arg("c1").unwrap();
                    arguments.push_arg(input).unwrap();
                    let promise: Promise<'_> = call.call_arg(arguments).unwrap();
                    // Whoever asked has gone away if they do not listen.
                    drop(reply.send(promise.finish::<String>().unwrap()));
                }
            });
        });
        Self(asks)
    }

    pub(crate) async fn call(&self, input: &Value) -> String {
        let (reply, answer) = oneshot::channel();
        self.0.send((input.to_string(), reply)).unwrap();
        let answer: Value = serde_json::from_str(&answer.await.unwrap()).unwrap();
        answer["content"][0]["text"].as_str().unwrap().to_owned()
    }
}
