//! The Pi API: what extensions register, hear and return.

use std::sync::Arc;

use pi_exthost::{Guest, GuestFault};
use pi_extproto::hook::event::Event;
use serde_json::{Value, json};

use crate::house::{Heard, Seat, ask, call, desk, program, run, seat, start, text, tool, words};
use pi_guests::js::{Chance, JsGuest, Program, Steps, Time, platform};

async fn outcome(source: &str, event: &str, data: Value) -> Value {
    let guest = start(program(source)).await.expect("it loads");
    let event = Event::read(event, data.as_object().cloned()).expect("an event");
    match guest.handle(0, Arc::new(event), ask()).await {
        Ok(outcome) => serde_json::to_value(outcome).expect("JSON"),
        Err(fault) => json!(fault.to_string()),
    }
}

async fn hook(event: &str, body: &str, data: Value) -> Value {
    outcome(&format!("export default (pi) => pi.on('{event}', async (event, ctx) => {{ {body} }})"), event, data).await
}

#[tokio::test]
async fn registration_is_what_the_factory_registered() {
    let source = "export default async function (pi) {
        await null;
        pi.registerTool({ name: 'greet', label: 'Greet', description: 'Says hello', parameters: { type: 'object' }, execute() {} });
        pi.registerCommand('hi', { description: 'Hi', handler() {}, getArgumentCompletions: () => [] });
        pi.registerFlag('loud', { type: 'boolean', default: false, description: 'Louder' });
        pi.registerShortcut('ctrl+h', { description: 'Help', handler() {} });
        pi.registerMessageRenderer('note', () => undefined);
        pi.registerProvider('own', { baseUrl: 'https://x.invalid', apiKey: 'SECRET', models: [{ id: 'm', name: 'M' }], streamSimple() {} });
        pi.on('session_start', () => {}); pi.on('session_start', () => {}); pi.on('made_up', () => {});
        pi.events.on('channel', () => {});
    }";
    let guest = start(program(source)).await.expect("it loads");
    let expected = json!({
        "loaded": true, "error": null, "handlers": { "session_start": 2, "made_up": 1 },
        "tools": [{ "name": "greet", "label": "Greet", "description": "Says hello", "parameters": { "type": "object" } }],
        "commands": [{ "name": "hi", "description": "Hi" }], "shortcuts": [{ "shortcut": "ctrl+h", "description": "Help" }],
        "flags": [{ "name": "loud", "type": "boolean", "default": false, "description": "Louder" }],
        "messageRenderers": ["note"], "providers": [{ "name": "own", "models": [{ "id": "m", "name": "M" }] }],
    });
    assert_eq!(guest.inspect().await.expect("an answer"), expected);
    let registration = guest.registration();
    assert!(registration.channels.contains("channel") && registration.commands[0].completes);
    assert_eq!(
        registration.providers[0].config,
        *json!({ "baseUrl": "https://x.invalid", "models": [{ "id": "m", "name": "M" }] })
            .as_object()
            .expect("an object")
    );
    assert!(registration.providers[0].streams);
}

#[tokio::test]
async fn globals_are_those_that_the_scanner_knows() {
    let all = "const names = new Set();
        for (let at = globalThis; at; at = Object.getPrototypeOf(at)) Object.getOwnPropertyNames(at).forEach((it) => names.add(it));
        return [...names].sort().join(' ');";
    assert_eq!(run(all).await, pi_extc::globals().join(" "));
    for name in pi_extc::hollow_globals() {
        let made =
            run(&format!("try {{ new {name}(); return 'it is made'; }} catch (fault) {{ return fault.code; }}")).await;
        assert_eq!(made, "ERR_NOT_AVAILABLE", "{name}");
    }
}

#[tokio::test]
async fn package_that_is_missing_fails_when_it_is_used_or_where_somebody_stands_by() {
    let source = "import { missing } from 'pi:shims';
        const told = (work) => { try { return typeof work(); } catch (fault) { return `${fault.code} ${fault.message}`; } };
        export default (pi) => pi.registerCommand('x', { description: [
            told(() => missing('gone')), told(() => missing('gone', 'require')), told(() => missing('gone', 'import')), told(() => missing('gone')()),
        ].join('; '), handler() {} });";
    let guest = start(program(source)).await.expect("it loads");
    let told = guest.registration().commands[0].definition.description.clone().unwrap_or_default();
    let expected = "function; MODULE_NOT_FOUND Cannot find module 'gone'; ERR_MODULE_NOT_FOUND Cannot find package 'gone'; \
                    ERR_MODULE_NOT_FOUND the package \"gone\" is not available in this host, and the extension called it; \
                    install it next to the extension and build the extension again";
    assert_eq!(told, expected);
}

#[tokio::test]
async fn names_inside_what_is_missing_are_read_while_loading() {
    let source = "import { missing } from 'pi:shims';
        const { DataType } = missing('native');
        DataType.Own = 7;
        const kinds = [DataType.I16Array, DataType.Own];
        let told;
        try { kinds[0](); } catch (fault) { told = fault.message; }
        export default (pi) => pi.registerCommand('x', { description: `${typeof kinds[0]} ${kinds[1]} ${told}`, handler() {} });";
    let guest = start(program(source)).await.expect("it loads");
    let told = guest.registration().commands[0].definition.description.clone().unwrap_or_default();
    let expected = "function 7 \"DataType.I16Array\" of \"native\" is not available in this host, and the extension called it; \
                    remove the use, guard it with `\"DataType\" in module` (typeof does not tell), or ask for it at the project of pi";
    assert_eq!(told, expected);
}

#[tokio::test]
async fn the_user_is_who_runs_the_host() {
    let told = run("const { userInfo } = globalThis.process.getBuiltinModule('os');
        return [process.getuid(), process.getgid(), userInfo().uid, process.report.getReport().header.platform].join(' ');");
    assert_eq!(told.await, format!("7 8 7 {}", platform()));
}

#[tokio::test]
async fn lots_of_a_rehearsal_fall_as_agreed() {
    let source = "import { shim } from 'pi:shims'; const crypto = shim('pi:shim/node/crypto');
        const drawn = () => [Math.random(), [...crypto.randomBytes(4)].join(','), crypto.randomUUID().slice(0, 8)].join(' ');
        export default (pi) => pi.registerCommand('x', { description: drawn(), handler() {} });";
    let begun = || {
        let rehearsed = Program { chance: Chance::Rehearsed(Steps::default()), ..program(source) };
        async { start(rehearsed).await.expect("it loads").registration().commands[0].definition.description.clone() }
    };
    // The first lots of chance.json.
    let agreed = Some("0.31659353431840964 162,192,229,193 b9a1b579".to_owned());
    assert_eq!((begun().await, begun().await), (agreed.clone(), agreed));
}

#[tokio::test]
async fn tool_call_is_blocked_changed_or_let_through() {
    let data = || json!({ "toolName": "bash", "toolCallId": "c", "input": { "command": "ls" } });
    let block = json!({ "family": "tool_call", "outcome": { "action": "block", "reason": "no", "terminate": false } });
    assert_eq!(hook("tool_call", "return { block: true, reason: 'no' };", data()).await, block);
    let changed =
        json!({ "family": "tool_call", "outcome": { "action": "transform", "input": { "command": "ls -l" } } });
    assert_eq!(hook("tool_call", "event.input.command += ' -l';", data()).await, changed);
    let same = json!({ "family": "tool_call", "outcome": { "action": "continue" } });
    assert_eq!(hook("tool_call", "", data()).await, same);
    assert_eq!(hook("tool_call", "throw new Error('broken guard');", data()).await, json!("broken guard"));
}

#[tokio::test]
async fn what_is_changed_in_place_counts() {
    let user = |text: &str| json!({ "role": "user", "content": [{ "type": "text", "text": text }], "timestamp": 1.0 });
    let shown = |text: &str| json!([{ "type": "text", "text": text }]);
    let result = json!({ "toolName": "read", "toolCallId": "c", "input": {}, "content": shown("key"), "details": { "n": 1 }, "isError": false });
    let request = json!({ "payload": { "model": "m", "temperature": 1.0 } });
    let context = json!({ "messages": [user("hi")] });
    for (event, data, body, expected) in [
        (
            "context",
            &context,
            "event.messages.push({ ...event.messages[0] }); event.messages[0].content[0].text = 'ho';",
            json!({ "action": "replace", "messages": [
                { "role": "user", "content": shown("ho"), "timestamp": 1 }, { "role": "user", "content": shown("ho"), "timestamp": 1 },
            ] }),
        ),
        ("context_with_system", &context, "event.messages.pop();", json!({ "action": "replace", "messages": [] })),
        ("context", &context, "event.messages = [];", json!({ "action": "continue" })),
        ("context", &context, "return null;", json!({ "action": "continue" })),
        // What is returned is handed back as it is.
        (
            "context",
            &context,
            "return { messages: [...event.messages] };",
            json!({ "action": "replace", "messages": [{ "role": "user", "content": shown("hi"), "timestamp": 1 }] }),
        ),
        (
            "before_provider_request",
            &request,
            "event.payload.temperature = 0; delete event.payload.model;",
            json!({ "action": "replace", "payload": { "temperature": 0 } }),
        ),
        ("before_provider_request", &request, "", json!({ "action": "continue" })),
        (
            "before_provider_request",
            &request,
            "event.payload.temperature = 0; return { own: 1 };",
            json!({ "action": "replace", "payload": { "own": 1 } }),
        ),
        (
            "tool_result",
            &result,
            "event.content[0].text = event.content[0].text.replace('key', '***');",
            json!({ "action": "transform", "content": shown("***") }),
        ),
        (
            "tool_result",
            &result,
            "event.content[0].text = '***'; return { details: { n: 2 } };",
            json!({ "action": "transform", "content": shown("***"), "details": { "n": 2 } }),
        ),
        ("tool_result", &result, "event.details.n++;", json!({ "action": "transform", "details": { "n": 2 } })),
        ("tool_result", &result, "return {};", json!({ "action": "continue" })),
    ] {
        let got = hook(event, body, data.clone()).await;
        assert_eq!(got["outcome"], expected, "{event} {body}");
    }
}

#[tokio::test]
async fn system_prompt_is_told_as_those_before_left_it() {
    let body = "event.systemPrompt = ''; return { systemPrompt: ctx.getSystemPrompt() + '!' };";
    let got = hook("before_agent_start", body, json!({ "prompt": "p", "systemPrompt": "chained" })).await;
    assert_eq!(got["outcome"], json!({ "system_prompt": "chained!" }));
}

#[tokio::test]
async fn results_of_hooks_have_the_form_of_their_family() {
    let said = |family: &str, outcome: Value| json!({ "family": family, "outcome": outcome });
    let input = json!({ "text": "hi", "source": "interactive" });
    let transformed = json!({ "action": "transform", "content": [{ "type": "text", "text": "HI" }] });
    assert_eq!(
        hook("input", "return { action: 'transform', text: event.text.toUpperCase() };", input.clone()).await,
        said("input", transformed)
    );
    assert_eq!(
        hook("input", "return { action: 'handled' };", input).await,
        said("input", json!({ "action": "handled" }))
    );
    let start = json!({ "prompt": "p", "systemPrompt": "s" });
    let begun = json!({ "message": { "custom_type": "n", "content": "x", "display": true }, "system_prompt": "s!" });
    let body =
        "return { message: { customType: 'n', content: 'x', display: true }, systemPrompt: event.systemPrompt + '!' };";
    assert_eq!(hook("before_agent_start", body, start).await, said("start", begun));
    let headers = json!({ "headers": { "a": "1", "b": "2" } });
    let changes = json!([{ "action": "remove", "name": "a" }, { "action": "set", "name": "c", "value": "3" }]);
    assert_eq!(
        hook("before_provider_headers", "event.headers.a = null; event.headers.c = '3';", headers).await,
        said("headers", changes)
    );
    assert_eq!(
        hook("session_before_switch", "return { cancel: true };", json!({ "reason": "new" })).await,
        said("session", json!({ "action": "cancel" }))
    );
    assert_eq!(hook("agent_start", "return { anything: 1 };", json!({})).await, json!({ "family": "notice" }));
    let replaced = json!({ "action": "replace", "payload": { "x": 1 } });
    assert_eq!(
        hook("before_provider_request", "return { x: 1 };", json!({ "payload": {} })).await,
        said("request", replaced)
    );
    let bash = json!({ "command": "ls", "excludeFromContext": false, "cwd": "/" });
    let ran =
        json!({ "action": "handled", "output": "ran ls", "exit_code": 0, "cancelled": false, "truncated": false });
    let body = "return { operations: { exec: async (command, cwd, { onData }) => { onData('ran ' + command); return { exitCode: 0 }; } } };";
    assert_eq!(hook("user_bash", body, bash).await, said("bash", ran));
}

#[tokio::test]
async fn older_names_are_heard_too() {
    let guest =
        start(program("export default (pi) => { pi.on('session_switch', () => {}); pi.on('startup', () => {}); }"))
            .await
            .expect("it loads");
    let hooks: Vec<_> = guest.registration().hooks.iter().map(|(hook, count)| format!("{hook} {count}")).collect();
    assert_eq!(hooks, ["session_start 1", "session_switch 1"]);
}

#[tokio::test]
async fn actions_are_refused_while_the_extension_loads() {
    for action in
        ["sendMessage({})", "appendEntry('x')", "getActiveTools()", "setSessionName('x')", "getThinkingLevel()"]
    {
        let fault = start(program(&format!("export default (pi) => {{ pi.{action}; }}"))).await.expect_err(action);
        assert!(fault.to_string().starts_with("not while the extension loads"), "{fault}");
    }
}

#[tokio::test]
async fn default_export_may_be_wrapped_and_must_be_a_function() {
    start(program("export default { default: (pi) => {} }")).await.expect("it loads");
    let fault = start(program("export const nothing = 1;")).await.expect_err("no factory");
    assert!(fault.to_string().contains("exports no function by default"), "{fault}");
    let fault = start(program("export default () => { throw new TypeError('oh') }")).await.expect_err("it threw");
    assert!(matches!(&fault, GuestFault::Threw { message, stack: Some(_), at: None } if message == "oh"), "{fault:?}");
    let fault = start(program("export default (")).await.expect_err("no JavaScript");
    assert!(matches!(&fault, GuestFault::Threw { .. }), "{fault:?}");
}

#[tokio::test]
async fn nothing_of_the_host_is_reachable() {
    for specifier in [
        "pi:host",
        "pi:api",
        "pi:api/context",
        "pi:shim/node/fs",
        "pi:loading/pi:host",
        "fs",
        "./x.js",
        "file:///etc/passwd",
    ] {
        let body =
            format!("try {{ await import('{specifier}'); return 'reached'; }} catch (fault) {{ return fault.name; }}");
        assert_eq!(run(&body).await, "ReferenceError", "{specifier}");
        let body = format!(
            "try {{ await Function(\"return import('{specifier}')\")(); return 'reached'; }} catch (fault) {{ return fault.name; }}"
        );
        assert_eq!(run(&body).await, "ReferenceError", "{specifier} by a made function");
    }
    let body =
        "const words = ['native', 'host', 'callSync', 'kernel', 'loop', 'std', 'os', 'bjson', 'scriptArgs', 'print'];
        return words.filter((word) => word in globalThis).join() + Object.keys(globalThis).join();";
    assert_eq!(run(body).await, "", "names on the global object");
}

#[tokio::test]
async fn identity_is_the_desks_whatever_the_extension_says() {
    let desk = desk(&Heard::default());
    let source = "export default (pi) => { globalThis.extensionId = 'other'; pi.registerTool({ name: 't', description: '', parameters: {}, async execute(id, p, s, u, ctx) {
        await pi.fs.write('mine.txt', 'x', { guest: 'other' }); return pi.fs.read('mine.txt'); } }); }";
    let guest = JsGuest::start(program(source), desk.clone()).await.expect("it loads");
    assert_eq!(text(&call(&guest, "t", json!({})).await.expect("an answer")), "x");
    assert_eq!((desk.guest().as_str(), desk.figures().calls), ("test", 2));
}

#[tokio::test]
async fn rejection_that_nobody_hears_is_told_with_its_name() {
    let seat = seat(&Heard::default());
    let source = "export default (pi) => { pi.registerTool({ name: 't', description: '', parameters: {}, execute() { Promise.reject(new RangeError('lost')); return 'ok'; } }); }";
    let guest = JsGuest::start(program(source), seat.desk.clone()).await.expect("it loads");
    assert_eq!(text(&call(&guest, "t", json!({})).await.expect("an answer")), "ok");
    assert!(!call(&guest, "t", json!({})).await.expect("it goes on").is_error);
    guest.shutdown().await;
    let lines = heard_of(&seat, "extension.uncaught").await;
    let [first, second] = lines.as_slice() else { panic!("one line for each: {lines:?}") };
    assert!(first.starts_with("extension.uncaught test: ") && first.contains("lost"), "{first}");
    assert_eq!(first, second);
}

#[tokio::test]
async fn what_an_extension_is_given_can_be_wrapped() {
    let body = "const wrap = (one) => new Proxy(one, { get: (own, name) => (typeof own[name] === 'function' ? () => 'wrapped' : own[name]) });
        const given = { ui: ctx.ui, theme: ctx.ui.theme, session: ctx.sessionManager, models: ctx.modelRegistry, bus: pi.events, files: pi.fs };
        const called = ([name, one]) => `${name} ${wrap(one)[Object.keys(one).find((own) => typeof one[own] === 'function')]()}`;
        return Object.entries(given).map(called).join();";
    assert_eq!(run(body).await, "ui wrapped,theme wrapped,session wrapped,models wrapped,bus wrapped,files wrapped");
}

#[tokio::test]
async fn provider_streams_if_it_says_how_or_where() {
    let source = "export default (pi) => {
        const models = [{ id: 'm', name: 'M' }];
        pi.registerProvider('how', { models, streamSimple() {} });
        pi.registerProvider('where', { models, baseUrl: 'https://x.invalid', api: 'anthropic-messages', apiKey: 'SECRET' });
        pi.registerProvider('strange', { models, baseUrl: 'https://x.invalid', api: 'telepathy' });
        pi.registerProvider('nowhere', { models, api: 'openai-completions' });
    }";
    let guest = start(program(source)).await.expect("it loads");
    let registration = guest.registration();
    let told: Vec<_> = registration.providers.iter().map(|offer| format!("{} {}", offer.name, offer.streams)).collect();
    assert_eq!(told, ["how true", "where true", "strange false", "nowhere false"]);
    assert!(!format!("{:?}", registration.providers).contains("SECRET"), "a key stays with the extension");
}

#[tokio::test]
async fn process_is_spoken_with_while_it_runs() {
    let body = "const child = spawn('/bin/sh', ['-c', 'while read line; do echo got $line; done']);
        child.stdin.write('one\\n');
        const said = [];
        for await (const chunk of child.stdout) {
            said.push(String(chunk).trim());
            if (said.length === 1) child.stdin.write('two\\n');
            else child.stdin.end();
        }
        return said.join();";
    let source = format!(
        "import {{ shim }} from 'pi:shims'; const {{ spawn }} = shim('pi:shim/node/child_process');\n{}",
        tool(body)
    );
    let mut program = program(&source);
    program.time = Time::Real;
    let guest = start(program).await.expect("it loads");
    let answer = call(&guest, "t", json!({})).await;
    assert_eq!(answer.map(|answer| text(&answer)), Ok("got one,got two".to_owned()));
}

#[tokio::test]
async fn what_has_no_effect_is_told_once() {
    let seat = seat(&Heard::default());
    let source = "export default (pi) => { pi.registerMcpServer('note', {}); pi.on('agent_start', (event, ctx) => {
        for (let count = 0; count < 3; count++) ctx.ui.onTerminalInput(() => {}); }); }";
    let guest = JsGuest::start(program(source), seat.desk.clone()).await.expect("it loads");
    guest.handle(0, Arc::new(Event::AgentStart), ask()).await.expect("an answer");
    guest.shutdown().await;
    let expected = ["pi.registerMcpServer", "ctx.ui.onTerminalInput"]
        .map(|name| format!("compat.warning test: {name} has no effect here"));
    let mut lines = heard_of(&seat, "compat.warning").await;
    lines.sort_unstable_by_key(|line| line.contains("ctx.ui"));
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn stream_whose_error_nobody_hears_ends_its_call() {
    let source = "import { shim } from 'pi:shims'; const fs = shim('pi:shim/node/fs'); let calls = 0;
        export default (pi) => pi.registerTool({ name: 't', description: '', parameters: { type: 'object' },
            async execute(id, { path, heard }) {
                calls++;
                const stream = fs.createReadStream(path);
                if (heard) stream.on('error', () => {});
                await new Promise((resolve) => stream.on(heard ? 'close' : 'end', resolve));
                return { content: [{ type: 'text', text: `call ${calls}` }] };
            } })";
    let guest = start(program(source)).await.expect("it loads");
    let fault = call(&guest, "t", json!({ "path": "/nowhere/at/all" })).await.expect_err("nobody hears it");
    assert!(fault.to_string().contains("/nowhere/at/all"), "{fault}");
    // It is the call that has ended, and not the extension.
    let answer = call(&guest, "t", json!({ "path": "/nowhere/at/all", "heard": true })).await;
    assert_eq!(answer.map(|answer| text(&answer)), Ok("call 2".to_owned()));
}

#[tokio::test]
async fn answer_that_is_always_the_same_is_told_once() {
    let seat = seat(&Heard::default());
    let source = "import { shim } from 'pi:shims'; const os = shim('pi:shim/node/os');
        export default (pi) => pi.on('session_before_fork', (event, ctx) => {
            for (let count = 0; count < 2; count++) { os.totalmem(); pi.getSettings(); }
            return { skipConversationRestore: true };
        });";
    let guest = JsGuest::start(program(source), seat.desk.clone()).await.expect("it loads");
    let event = Event::read("session_before_fork", json!({ "entryId": "e" }).as_object().cloned()).expect("an event");
    let outcome = guest.handle(0, Arc::new(event), ask()).await.expect("an answer");
    assert_eq!(json!(outcome), json!({ "family": "session", "outcome": { "action": "continue" } }));
    guest.shutdown().await;
    let expected = [
        "os.totalmem always answers the same",
        "pi.getSettings always answers the same",
        "skipConversationRestore has no effect",
    ]
    .map(|words| format!("compat.warning test: {words} here"));
    assert_eq!(heard_of(&seat, "compat.warning").await, expected);
}

#[tokio::test]
async fn instructions_of_a_summary_may_stand_instead_of_the_usual_ones() {
    let preparation = json!({ "targetId": "a", "entriesToSummarize": [], "userWantsSummary": true });
    let said = hook(
        "session_before_tree",
        "return { customInstructions: 'names', replaceInstructions: true };",
        json!({ "preparation": preparation }),
    );
    let expected = json!({ "action": "replace", "instructions": "names", "replace_instructions": true });
    assert_eq!(said.await, json!({ "family": "tree", "outcome": expected }));
}

#[tokio::test(flavor = "multi_thread")]
async fn content_of_a_message_is_what_was_given() {
    let shown = "Blocks([Text(TextBlock { text: \"hi\" })])";
    for (content, expected) in [
        ("'hi ü'", "Text(\"hi ü\")"),
        ("['hi']", shown),
        ("[{ type: 'text', text: 'hi' }]", shown),
        ("undefined", "Blocks([])"),
    ] {
        let heard = Heard::default();
        let source = format!(
            "export default (pi) => pi.on('agent_start', () => {{
                try {{ pi.sendMessage({{ customType: 'n', content: {content}, display: true }}); }} catch {{}} }});"
        );
        let guest = JsGuest::start(program(&source), desk(&heard)).await.expect("it loads");
        guest.handle(0, Arc::new(Event::AgentStart), ask()).await.expect("an answer");
        let told = heard.lock().expect("no panic").clone();
        let expected =
            format!("SendMessage {{ message: DraftMessage {{ custom_type: \"n\", content: {expected}, display: true");
        assert!(told[0].starts_with(&expected), "{content}: {told:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn text_for_the_editor_is_there_at_once() {
    let heard = Heard::default();
    let source = "export default (pi) => pi.on('agent_start', (event, ctx) => {
        ctx.ui.setEditorText('a');
        ctx.ui.pasteToEditor('b');
        if (ctx.ui.getEditorText() !== '') throw new Error('nobody has an editor');
        if (ctx.scopedModels.length !== 0) throw new Error('nobody chose models');
    })";
    let guest = JsGuest::start(program(source), desk(&heard)).await.expect("it loads");
    guest.handle(0, Arc::new(Event::AgentStart), ask()).await.expect("an answer");
    assert_eq!(words(&heard), ["Announce", "Announce", "EditorText", "ScopedModels"]);
}

#[tokio::test]
async fn what_is_thrown_is_told_and_costs_the_call_whatever_it_is() {
    let source = "let calls = 0; export default (pi) => pi.registerTool({ name: 't', description: '', parameters: { type: 'object' },
        execute(id, { what }) { calls++; if (what === 'calls') return { content: [{ type: 'text', text: String(calls) }] };
            throw { null: null, undefined, text: 'no milk', number: 7, bare: Object.create(null), trap: { get message() { throw null; } },
                proxy: new Proxy({}, { get() { throw new Error('caught'); } }), call: () => {} }[what]; } })";
    let guest = start(program(source)).await.expect("it loads");
    let thrown = [
        ("null", "null"),
        ("undefined", "undefined"),
        ("text", "no milk"),
        ("number", "7"),
        ("bare", "something that cannot be told"),
        ("trap", "[object Object]"),
        ("proxy", "something that cannot be told"),
        ("call", "() => {}"),
    ];
    for (what, expected) in thrown {
        let fault = call(&guest, "t", json!({ "what": what })).await.expect_err("it throws");
        assert_eq!(fault.to_string(), expected, "{what}");
    }
    // Nobody was stopped and started anew for it.
    let answer = call(&guest, "t", json!({ "what": "calls" })).await.map(|answer| text(&answer));
    assert_eq!(answer, Ok((thrown.len() + 1).to_string()));
}

#[tokio::test]
async fn stack_says_what_was_thrown_and_where_as_in_node() {
    let body = "class Lost extends Error { name = 'Lost'; }
        const plain = (error) => error.stack.split('\\n').map((line) => line.replace(/\\(?[^ ]*:\\d+:\\d+\\)?$/, 'PLACE'));
        function fail(error) { return plain(error); }
        const captured = {}; Error.captureStackTrace(captured);
        const own = new Error('mine'); own.stack = 'as I say'; const none = new Error('x'); none.stack = undefined;
        Error.prepareStackTrace = (error, sites) => `${sites.length > 0}`; const prepared = new Error('x').stack; Error.prepareStackTrace = undefined;
        return JSON.stringify({ plain: fail(new Error('oh'))[0], empty: fail(new Error())[0], kind: fail(new TypeError('oh')).slice(0, 1), lost: fail(new Lost('oh'))[0],
            frame: fail(new Error('oh'))[1], native: [1].map(() => fail(new Error('oh')))[0][2], captured: plain(captured).slice(0, 2), own: own.stack, none: String(none.stack), prepared,
            keys: Object.keys(new Error('oh')), same: own.stack === own.stack })";
    let found: Value = serde_json::from_str(&run(body).await).expect("JSON");
    let expected = json!({
        "plain": "Error: oh", "empty": "Error", "kind": ["TypeError: oh"], "lost": "Lost: oh", "frame": "    at PLACE",
        "native": "    at map (<anonymous>)", "captured": ["Error", "    at PLACE"], "own": "as I say",
        "none": "undefined", "prepared": "true", "keys": [], "same": true,
    });
    assert_eq!(found, expected);
}

#[tokio::test]
async fn answer_so_far_is_added_up_from_its_steps() {
    let source = "let seen; export default (pi) => {
        pi.on('message_update', (event) => { seen = event; });
        pi.on('message_update', (event) => { if (event.message !== event.assistantMessageEvent.partial) throw new Error('another'); });
        pi.registerTool({ name: 't', description: '', parameters: { type: 'object' },
            execute: () => ({ content: [{ type: 'text', text: JSON.stringify(seen.message) }] }) }); }";
    let guest = start(program(source)).await.expect("it loads");
    let first = json!({ "role": "assistant", "model": "m", "content": [] });
    let steps = [
        json!({ "message": first, "assistantMessageEvent": { "type": "thinking_start", "contentIndex": 0 } }),
        json!({ "assistantMessageEvent": { "type": "thinking_delta", "contentIndex": 0, "delta": "Hm" } }),
        json!({ "assistantMessageEvent": { "type": "text_start", "contentIndex": 1 } }),
        json!({ "assistantMessageEvent": { "type": "text_delta", "contentIndex": 1, "delta": "Hel" } }),
        json!({ "assistantMessageEvent": { "type": "thinking_end", "contentIndex": 0, "content": "Hmm" } }),
        json!({ "assistantMessageEvent": { "type": "text_delta", "contentIndex": 1, "delta": "lo" } }),
        json!({ "assistantMessageEvent": { "type": "toolcall_start", "contentIndex": 2, "id": "c1", "toolName": "read" } }),
        json!({ "assistantMessageEvent": { "type": "toolcall_delta", "contentIndex": 2, "delta": "{\"pa" } }),
    ];
    for step in steps {
        let event = Arc::new(Event::read("message_update", step.as_object().cloned()).expect("an event"));
        for handler in 0..2 {
            guest.handle(handler, Arc::clone(&event), ask()).await.expect("an answer");
        }
    }
    let seen = call(&guest, "t", json!({})).await.map(|answer| text(&answer)).expect("an answer");
    let expected = json!({ "role": "assistant", "model": "m", "content": [
        { "type": "thinking", "thinking": "Hmm" }, { "type": "text", "text": "Hello" },
        { "type": "toolCall", "id": "c1", "name": "read", "arguments": {} },
    ] });
    assert_eq!(serde_json::from_str::<Value>(&seen).expect("JSON"), expected);
    // The next message begins with nothing.
    let next = json!({ "message": first, "assistantMessageEvent": { "type": "text_start", "contentIndex": 0 } });
    let event = Arc::new(Event::read("message_update", next.as_object().cloned()).expect("an event"));
    guest.handle(0, event, ask()).await.expect("an answer");
    let seen = call(&guest, "t", json!({})).await.map(|answer| text(&answer)).expect("an answer");
    assert!(seen.ends_with(r#""content":[{"type":"text","text":""}]}"#), "{seen}");
}

#[tokio::test]
async fn what_is_registered_and_cannot_be_used_costs_itself() {
    let source = "export default (pi) => {
        const tool = { name: 'good', description: 5, label: 7, parameters: { type: 'object' }, execute() {} };
        pi.registerTool(tool);
        pi.registerTool({ ...tool, name: undefined });
        pi.registerTool({ ...tool, name: 'idle', execute: 'later' });
        pi.registerTool({ ...tool, name: 'schemaless', parameters: 5 });
        const round = { type: 'object' }; round.properties = { round };
        pi.registerTool({ ...tool, name: 'round', parameters: round });
        pi.registerCommand('broken'); pi.registerCommand('fine', { handler() {} });
        pi.registerShortcut('ctrl+x', { handler: 1 });
        pi.registerMessageRenderer('note', {});
        pi.registerProvider('own', { models: 5 }); pi.registerProvider('nothing');
        pi.registerFlag('odd', { type: 'string', default: { a: 1 } });
        pi.on('agent_start', 'later'); pi.on('tool_call', undefined);
    }";
    let guest = start(program(source)).await.expect("it loads");
    let registration = guest.registration();
    let names: Vec<&str> = registration.tools.iter().map(|tool| tool.definition.name.as_str()).collect();
    assert_eq!(names, ["good"]);
    assert_eq!((registration.commands.len(), registration.flags.len(), registration.shortcuts.len()), (1, 1, 0));
    let told: Vec<String> = registration.unusable.iter().map(|one| format!("{}: {}", one.what, one.why)).collect();
    let expected = [
        "a tool without a name: a tool needs a name, which is a text: registerTool({ name, description, parameters, execute })",
        "the tool \"idle\": it needs a function execute(toolCallId, params, signal, onUpdate, ctx)",
        "the tool \"schemaless\": its parameters are no schema: an object is, as Type.Object({ … }) makes it",
        "the command \"broken\": it needs a function handler(args, ctx)",
        "the shortcut \"ctrl+x\": it needs a function handler(ctx)",
        "the renderer of \"note\": a renderer is a function (message, options, theme) => component",
        "the provider \"own\": its models are no list of { id, name, … }",
        "the provider \"nothing\": it needs a description: registerProvider(name, { baseUrl, api, apiKey, models })",
        "a handler of \"agent_start\": a handler is a function: pi.on(name, (event, ctx) => …)",
        "a handler of \"tool_call\": a handler is a function: pi.on(name, (event, ctx) => …)",
    ];
    assert_eq!(told[..10], expected);
    assert!(told[10].starts_with("the tool \"round\": it cannot be read: "), "{told:?}");
    // One that was to judge lets nothing through.
    let data = json!({ "toolName": "bash", "toolCallId": "c", "input": {} });
    let event = Event::read("tool_call", data.as_object().cloned()).expect("an event");
    let fault = guest.handle(0, Arc::new(event), ask()).await.expect_err("it throws");
    assert_eq!(fault.to_string(), "a handler is a function: pi.on(name, (event, ctx) => …)");
}

#[tokio::test]
async fn provider_for_those_who_sign_in_is_told_of() {
    let seat = seat(&Heard::default());
    let source = "export default (pi) => {
        const models = [{ id: 'm' }], oauth = { name: 'It', login() {}, refreshToken() {}, getApiKey: () => '' };
        const spoken = { baseUrl: 'https://x.invalid', api: 'openai-completions', models };
        pi.registerProvider('signed', { ...spoken, oauth });
        pi.registerProvider('keyed', { ...spoken, oauth, apiKey: 'OWN_KEY' });
        pi.registerProvider('own', { models, oauth, streamSimple() {} });
    }";
    let guest = JsGuest::start(program(source), seat.desk.clone()).await.expect("it loads");
    let registration = guest.registration();
    let offers: Vec<_> = registration
        .providers
        .iter()
        .map(|it| (it.name.as_str(), it.streams, it.config.contains_key("oauth")))
        .collect();
    assert_eq!(offers, [("signed", false, true), ("keyed", true, false), ("own", true, false)]);
    guest.shutdown().await;
    let expected = ["signed", "keyed", "own"]
        .map(|name| format!("compat.warning test: oauth of the provider \"{name}\" has no effect here"));
    assert_eq!(heard_of(&seat, "compat.warning").await, expected);
}

#[tokio::test]
async fn bytes_are_packed_and_unpacked() {
    let body = "const text = 'again and again '.repeat(1000);
        const told = (act) => { try { return String(act()) === text; } catch ({ code }) { return code; } };
        return [['gzip', 'gunzip'], ['deflate', 'inflate'], ['deflateRaw', 'inflateRaw']].map(([pack, unpack]) => {
            const packed = zlib[`${pack}Sync`](text);
            const again = (bytes, options) => told(() => zlib[`${unpack}Sync`](bytes, options));
            return [packed.length < 500, again(packed), again(packed, { maxOutputLength: 10 }), again(packed.subarray(0, 30))].join(' ');
        }).concat(told(() => zlib.gunzipSync('something else'))).join();";
    let source = format!("import {{ shim }} from 'pi:shims'; const zlib = shim('pi:shim/node/zlib');\n{}", tool(body));
    let guest = start(program(&source)).await.expect("it loads");
    let answer = call(&guest, "t", json!({})).await;
    let each = "true true ERR_BUFFER_TOO_LARGE Z_BUF_ERROR";
    assert_eq!(answer.map(|answer| text(&answer)), Ok(format!("{each},{each},{each},Z_DATA_ERROR")));
}

#[tokio::test]
async fn stale_api_throws_after_the_end() {
    let heard = Heard::default();
    let seat = seat(&heard);
    let source = "export default (pi) => { pi.registerTool({ name: 't', description: '', parameters: {}, execute(id, p, signal) {
        signal.addEventListener('abort', () => { try { pi.appendEntry('late'); console.log('appended'); } catch (fault) { console.log(`${fault.name}: ${fault.message}`); } });
        return new Promise(() => {}); } }); }";
    let guest = JsGuest::start(program(source), seat.desk.clone()).await.expect("it loads");
    let (fault, ()) = tokio::join!(call(&guest, "t", json!({})), async {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        guest.shutdown().await;
    });
    assert_eq!(fault, Err(GuestFault::Gone));
    let expected = "extension.stdout test: Error: this extension was replaced: its session was left or its extensions were \
        loaded anew; use what the new start gives instead of what was kept";
    assert_eq!(heard_of(&seat, "extension.stdout").await, [expected]);
    let heard = heard.lock().expect("no panic");
    assert!(heard.is_empty(), "nothing reaches the session: {heard:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn question_comes_after_all_that_was_shown_before_it() {
    let heard = Heard::default();
    let source = "export default (pi) => pi.on('agent_start', async (event, ctx) => {
        for (let count = 0; count < 40; count++) ctx.ui.setStatus('count', String(count));
        await ctx.ui.confirm('Sure?', '');
    })";
    let guest = JsGuest::start(program(source), desk(&heard)).await.expect("it loads");
    guest.handle(0, Arc::new(Event::AgentStart), ask()).await.expect("an answer");
    let heard = words(&heard);
    assert_eq!((heard.len(), heard.iter().position(|word| word == "Ask")), (41, Some(40)));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_shown_comes_before_the_answer() {
    let show = "for (let count = 0; count < 40; count++) ctx.ui.setStatus('count', String(count));";
    let source = format!(
        "export default (pi) => {{
            pi.on('agent_start', (event, ctx) => {{ {show} }});
            pi.on('agent_end', async (event, ctx) => {{ await null; {show} throw new Error('at the end'); }});
            pi.registerTool({{ name: 't', description: '', parameters: {{}}, async execute(id, p, s, u, ctx) {{ {show} return 'done'; }} }});
        }}"
    );
    let heard = Heard::default();
    let guest = JsGuest::start(program(&source), desk(&heard)).await.expect("it loads");
    let so_far = || heard.lock().expect("no panic").len();
    guest.handle(0, Arc::new(Event::AgentStart), ask()).await.expect("an answer");
    assert_eq!(so_far(), 40);
    call(&guest, "t", json!({})).await.expect("an answer");
    assert_eq!(so_far(), 80);
    let end = Event::read("agent_end", json!({ "messages": [] }).as_object().cloned()).expect("an event");
    guest.handle(0, Arc::new(end), ask()).await.expect_err("it throws");
    assert_eq!(so_far(), 120);
}

/// Lines of the ledger with this event, once there are some: lines are written beside what the guest does.
async fn heard_of(seat: &Seat, event: &str) -> Vec<String> {
    for _ in 0..500 {
        let lines: Vec<String> = seat.lines().await.into_iter().filter(|line| line.starts_with(event)).collect();
        let ends = seat.lines().await.iter().filter(|line| line.starts_with("host_call.end")).count();
        let starts = seat.lines().await.iter().filter(|line| line.starts_with("host_call.start")).count();
        if !lines.is_empty() && starts == ends {
            return lines;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("no line of {event}: {:#?}", seat.lines().await);
}

#[tokio::test]
async fn variable_that_is_granted_later_is_read() {
    let seat = seat(&Heard::default());
    seat.amend(r#"{"mode":"strict"}"#);
    let source = tool("return String(process.env.PLAIN);");
    let guest = JsGuest::start(program(&source), seat.desk.clone()).await.expect("it loads");
    assert_eq!(text(&call(&guest, "t", json!({})).await.expect("an answer")), "undefined");
    seat.amend(r#"{"mode":"strict","grants":{"test":[{"capability":"env"}]}}"#);
    assert_eq!(text(&call(&guest, "t", json!({})).await.expect("an answer")), "plain");
}

#[tokio::test]
async fn only_variables_are_asked_for() {
    let seat = seat(&Heard::default());
    let body = "const env = await process.env; JSON.stringify({ env }); return String(env.PLAIN) + ('then' in env);";
    let guest = JsGuest::start(program(&tool(body)), seat.desk.clone()).await.expect("it loads");
    assert_eq!(text(&call(&guest, "t", json!({})).await.expect("an answer")), "plainfalse");
    let ledger = seat.text().await;
    assert!(ledger.contains("PLAIN") && !ledger.contains("toJSON") && !ledger.contains("then"), "{ledger}");
}

#[tokio::test]
async fn context_is_an_object_of_its_own_with_members_of_its_own() {
    let body = "const own = Object.keys(ctx);
        const usual = ['ui', 'hasUI', 'mode', 'cwd', 'sessionManager', 'modelRegistry', 'model', 'isIdle', 'abort', 'compact', 'signal', 'executeTool'];
        if (globalThis.other) other.before = 1;
        return [usual.filter((name) => !own.includes(name)).join(), Object.hasOwn(ctx, 'tools'), own.includes('newSession'), Object.getPrototypeOf(ctx) === Object.prototype, 'before' in ctx, (globalThis.other ??= ctx) === ctx].join(';');";
    let guest = start(program(&tool(body))).await.expect("it loads");
    for is_first in [true, false] {
        let told = text(&call(&guest, "t", json!({})).await.expect("an answer"));
        assert_eq!(told, format!(";true;false;true;false;{is_first}"));
    }
}

#[tokio::test]
async fn tool_of_the_host_answers_in_the_words_of_pi() {
    let body = "const told = await ctx.executeTool('ls', { path: '.' }); return Object.keys(told).sort().join() + ' ' + told.isError;";
    assert_eq!(run(body).await, "content,isError false");
}

#[tokio::test]
async fn members_of_a_context_are_values_or_are_read() {
    let body = "const of = (name) => {
            const { get, value, enumerable, configurable, writable } = Object.getOwnPropertyDescriptor(ctx, name);
            return [typeof get, typeof value, enumerable, configurable, writable].join();
        };
        return [...['cwd', 'isIdle', 'tools', 'signal'].map(of), Object.getOwnPropertyNames(ctx).at(-1)].join(';');";
    let guest = start(program(&tool(body))).await.expect("it loads");
    let told = text(&call(&guest, "t", json!({})).await.expect("an answer"));
    let (read, hidden) = ("function,undefined,true,true,", "function,undefined,false,true,");
    assert_eq!(told, format!("{read};undefined,function,true,true,true;{hidden};{read};signal"));
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_are_written_as_bytes_in_any_encoding() {
    let written = run("const fs = process.getBuiltinModule('fs'), at = await pi.fs.resolve('.');
        const read = (name) => fs.readFileSync(`${at}/${name}`).toString('hex');
        const seen = ['latin1', 'utf16le', 'base64', 'hex'].map((encoding) => {
            fs.writeFileSync(`${at}/${encoding}`, encoding === 'latin1' ? 'é' : 'ff00', encoding);
            return read(encoding);
        });
        fs.appendFileSync(`${at}/hex`, '41', 'hex');
        await fs.promises.writeFile(`${at}/promised`, Buffer.from([255]));
        await pi.fs.write('own', Buffer.from([255]));
        await pi.fs.append('own', Buffer.from('é', 'latin1'));
        await pi.fs.create('new', Buffer.from([254]));
        return [...seen, read('hex'), read('promised'), read('own'), read('new')].join(' ');");
    assert_eq!(written.await, "e9 6600660030003000 7dfd34 ff00 ff0041 ff ffe9 fe");
}

#[tokio::test(flavor = "multi_thread")]
async fn folder_is_watched_with_what_stands_deeper() {
    let told = run(
        "const fs = process.getBuiltinModule('fs'), at = await pi.fs.resolve('.');
        fs.mkdirSync(`${at}/a/b`, { recursive: true });
        const changed = new Promise((done) => fs.watch(at, { recursive: true }, (event, file) => file.endsWith('c') && done(`${event} ${file}`)));
        await new Promise((done) => setTimeout(done, 1500));
        fs.writeFileSync(`${at}/a/b/c`, 'x');
        return changed;",
    );
    assert_eq!(told.await, "rename a/b/c");
}
