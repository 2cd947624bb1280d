//! Conversations with the demo model, as a server would have them.

use futures_util::StreamExt;
use pi_provider::demo::{self, Answer};
use proptest::prelude::*;
use serde_json::{Value, json};

/// The tools that an agent declares.
fn agent_tools() -> Value {
    let tool = |name: &str, properties: Value, required: &[&str]| {
        json!({ "type": "function", "function": { "name": name, "description": "…",
            "parameters": { "type": "object", "properties": properties, "required": required } } })
    };
    json!([
        tool("read", json!({ "path": { "type": "string" }, "limit": { "type": "integer" } }), &["path"]),
        tool("bash", json!({ "command": { "type": "string" }, "timeout": { "type": "number" } }), &["command"]),
        tool("ls", json!({ "path": { "type": "string" } }), &[]),
        tool("grep", json!({ "pattern": { "type": "string" }, "path": { "type": "string" } }), &["pattern"]),
        tool("write", json!({ "path": { "type": "string" }, "content": { "type": "string" } }), &["path", "content"]),
        tool(
            "get_weather",
            json!({ "city": { "type": "string" }, "unit": { "type": "string", "enum": ["celsius", "fahrenheit"] },
            "days": { "type": "integer", "minimum": 1 } }),
            &["city", "days"]
        ),
    ])
}

/// Messages: `user: …`, `demo: …`, `call NAME`, `result: …`, one in each line.
fn messages(conversation: &str) -> Value {
    let mut calls = 0;
    let lines = conversation.lines().map(str::trim).filter(|line| !line.is_empty());
    lines
        .map(|line| match line.split_once(':').map(|(who, text)| (who, text.trim())) {
            Some(("user", text)) => json!({ "role": "user", "content": text }),
            Some(("demo", text)) => json!({ "role": "assistant", "content": text }),
            Some(("result", text)) => {
                json!({ "role": "tool", "tool_call_id": format!("call_{calls}"), "content": text.replace("\\n", "\n") })
            }
            Some(("system", text)) => json!({ "role": "system", "content": text }),
            _ => {
                calls += 1;
                let name = line.strip_prefix("call ").expect("a line of a conversation");
                json!({ "role": "assistant", "content": null, "tool_calls": [{ "id": format!("call_{calls}"), "type": "function",
                    "function": { "name": name, "arguments": "{}" } }] })
            }
        })
        .collect()
}

fn request(conversation: &str, more: &Value) -> Value {
    let mut body = json!({ "model": "demo", "messages": messages(conversation) });
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

fn ask(body: &Value) -> Answer {
    demo::answer(body.to_string().as_bytes())
}

/// The choice of an answer that is not streamed.
fn choice(conversation: &str, more: &Value) -> Value {
    let answer = ask(&request(conversation, more));
    assert_eq!((answer.status, answer.content_type), (200, "application/json"));
    let body: Value = serde_json::from_slice(&answer.body()).unwrap();
    body["choices"][0].clone()
}

fn says(conversation: &str) -> String {
    let choice = choice(conversation, &json!({}));
    assert_eq!(choice["finish_reason"], "stop");
    choice["message"]["content"].as_str().unwrap().to_owned()
}

/// The call that a question leads to: `name arguments`.
fn calls(conversation: &str) -> String {
    let choice = choice(conversation, &json!({ "tools": agent_tools() }));
    assert_eq!(choice["finish_reason"], "tool_calls", "{choice}");
    let function = &choice["message"]["tool_calls"][0]["function"];
    format!("{} {}", function["name"].as_str().unwrap(), function["arguments"].as_str().unwrap())
}

#[test]
fn first_answer_says_that_it_is_a_demo() {
    assert_eq!(
        says("user: hello"),
        "I am pi's demo model: no language model, only prepared answers about pi that run inside it. Hello! What would you \
         like to know about pi? You could also ask about what pi is or setting a key.",
    );
    for question in ["what is pi?", "list the files", "xyzzy"] {
        assert!(says(&format!("user: {question}")).starts_with("I am pi's demo model"), "{question}");
    }
    assert!(!says("user: hello\ndemo: Hello!\nuser: what is pi?").contains("I am pi's demo model"));
}

#[test]
fn questions_about_pi_find_their_answer() {
    let table = [
        ("What is pi?", "one Rust binary that runs a coding agent"),
        ("how do I set my API key for Anthropic", "export ANTHROPIC_API_KEY"),
        ("where do credentials come from", "auth.json"),
        ("can I run local models with ollama?", "port 11434"),
        ("which providers do you support?", "Providers are data"),
        ("how can I add a provider?", "~/.pi/agent/providers/"),
        ("which tools are there", "read, write, edit, bash, grep, find and ls"),
        ("what is a session", "JSONL file"),
        ("what is the prompt envelope?", "each with its origin"),
        ("how do extensions work", "WASM components"),
        ("is it safe?", "Nothing runs without a decision"),
        ("which models can I use", "`pi models` lists every model"),
        ("how much does it cost", "price for a million tokens"),
        ("what are thinking levels", "off, minimal, low, medium, high, xhigh and max"),
        ("I get rate limit errors", "thirteen standard codes"),
        ("who are you?", "a table of answers"),
        ("what can you do", "I call any tool that is declared"),
        ("how do I build it with cargo", "cargo build --release"),
        ("thank you", "You are welcome"),
        ("how do I use Claude?", "Providers are data"),
        ("which model should I pick?", "`pi models` lists every model"),
        ("how long is the context window of gpt-6-sol?", "`pi models` lists every model"),
        ("how do I see what the model saw?", "each with its origin"),
        ("can you write code?", "I cannot write or change code"),
        ("fix the bug in src/main.rs", "I cannot write or change code"),
        ("do you support images", "I see no pictures"),
        ("What can pi do?", "`pi` opens a chat"),
        ("what can pi do for me?", "`pi -p \"…\"` does one task"),
        ("what can I use pi for", "`pi serve` lets other programs drive it"),
        ("how do I use pi", "then type `pi` in the folder of your project"),
        ("How do I get started?", "`export ANTHROPIC_API_KEY=…`"),
        ("where do I begin?", "`pi models` shows what you can use"),
        ("how do I change the model?", "In the chat `/model` chooses another one"),
        ("How can I choose another model?", "`--model PROVIDER/MODEL`"),
        ("can I switch to a different model", "`/model`"),
        ("How do I resume a session?", "`pi -r` lets you choose one"),
        ("how do I continue my last session", "`pi -c` goes on with the last session"),
        ("how do I go on with an earlier conversation?", "`pi sessions` lists them"),
        ("how do I export a session?", "`pi export -o session.html`"),
        ("can I save the conversation as markdown?", "`-o session.md`"),
        ("help", "I answer questions about pi"),
        ("thanks", "You are welcome"),
        ("hello", "Hello again!"),
        ("who are you", "a table of answers"),
        ("how do I start the server", "`pi serve` runs pi as a service"),
        ("can I use MCP servers?", "`pi mcp add time uvx mcp-server-time`"),
        ("what is the model context protocol?", "extensions that run beside pi"),
        ("can I write an extension?", "`pi ext new NAME` writes one"),
        ("how do I disable an extension?", "They are WASM components"),
        ("does pi run on windows?", "tried on Linux"),
        ("can I run pi on Windows", "WSL"),
        ("how do I update pi?", "There is no command for that"),
        ("how can I get the newest version", "cargo build --release"),
        ("is there a sandbox?", "no sandbox of the operating system"),
        ("can I run pi in docker?", "container"),
        ("how do I change the theme?", "\"theme\": \"light\""),
        ("does it have dark mode", "dark"),
        ("where is the config file?", "~/.pi/agent/settings.json"),
        ("how do I configure pi", "docs/settings.md"),
    ];
    for (question, part) in table {
        let text = says(&format!("user: hi\ndemo: Hello!\nuser: {question}"));
        assert!(text.contains(part), "{question}: {text}");
    }
}

#[test]
fn what_it_cannot_do_it_says_with_advice() {
    let text = says("user: hi\ndemo: Hello!\nuser: write a poem about the sea");
    assert_eq!(
        text,
        "That is beyond me: I am only the demo model and know nothing but pi itself. You can ask me what pi is, how to set a \
         key, about local models, tools, sessions, the prompt envelope or extensions; and I call a tool when you ask for it, as \
         in \"list the files\" or \"read README.md\". An agent (`pi -p`) has tools; `pi ask` offers one with `--tool FILE`. For \
         real answers set a key, for example `export ANTHROPIC_API_KEY=…` or `export OPENAI_API_KEY=…`, or start a local server such as Ollama; `pi models` then shows what you can use.",
    );
}

#[test]
fn it_remembers_what_was_asked() {
    let again = says("user: what is a session?\ndemo: A session is …\nuser: tell me about sessions");
    assert!(again.starts_with("You asked about sessions before, so here is more: Several clients"), "{again}");
    let further = says("user: what is the envelope?\ndemo: It is …\nuser: tell me more");
    assert!(further.starts_with("About the prompt envelope, then: It is kept with the request"), "{further}");
    assert_eq!(
        says("user: what is pi?\ndemo: …\nuser: which tools\ndemo: …\nuser: what did I ask?"),
        "Before this you asked, among others, \"what is pi?\", then \"which tools\".",
    );
    assert_eq!(says("user: my name is Ada.\ndemo: …\nuser: what is my name?"), "You said that you are Ada.");
    assert_eq!(says("user: hi\ndemo: …\nuser: what is my name?"), "You have not told me your name.");
}

#[test]
fn tools_are_called_when_asked_for() {
    let table = [
        ("list the files", r#"ls {"path":"."}"#),
        ("please show me the files in src/", r#"ls {"path":"src/"}"#),
        ("what files are there?", r#"ls {"path":"."}"#),
        ("read README.md", r#"read {"path":"README.md"}"#),
        ("Can you open `src/lib.rs`?", r#"read {"path":"src/lib.rs"}"#),
        ("run `cargo test -p pi`", r#"bash {"command":"cargo test -p pi"}"#),
        ("please summarize README.md", r#"read {"path":"README.md"}"#),
        ("run git status", r#"bash {"command":"git status"}"#),
        ("search for \"fn main\" in src/", r#"grep {"pattern":"fn main","path":"src/"}"#),
        ("grep TODO in docs/", r#"grep {"pattern":"TODO","path":"docs/"}"#),
        ("write \"hello there\" to notes.txt", r#"write {"path":"notes.txt","content":"hello there"}"#),
        ("use the tool get_weather with city=Paris, days=3", r#"get_weather {"city":"Paris","days":3}"#),
        (
            "call get_weather for 2 days in Bergen in celsius",
            r#"get_weather {"city":"Bergen","unit":"celsius","days":2}"#,
        ),
        (
            "use tool get-weather with {\"city\": \"Lima\", \"days\": 9, \"unit\": \"fahrenheit\"}",
            r#"get_weather {"city":"Lima","unit":"fahrenheit","days":9}"#,
        ),
        ("use read with path=a.txt and limit=5", r#"read {"path":"a.txt","limit":5}"#),
        ("create a file hello.txt with the text hi", r#"write {"path":"hello.txt","content":"hi"}"#),
        ("Create a file `hello.txt` containing \"hi there\"", r#"write {"path":"hello.txt","content":"hi there"}"#),
        ("create a file empty.txt", r#"write {"path":"empty.txt","content":""}"#),
        ("make a new file called notes.md please", r#"write {"path":"notes.md","content":""}"#),
        ("make hello.txt with hi", r#"write {"path":"hello.txt","content":"hi"}"#),
        ("create a file with the text hi in hello.txt", r#"write {"path":"hello.txt","content":"hi"}"#),
        ("write hi to hello.txt", r#"write {"path":"hello.txt","content":"hi"}"#),
        ("weather in Rome please", r#"get_weather {"city":"Rome","days":1}"#),
        ("What is the weather in rome?", r#"get_weather {"city":"rome","days":1}"#),
    ];
    for (question, call) in table {
        assert_eq!(calls(&format!("user: {question}")), call, "{question}");
    }
}

#[test]
fn a_shell_stands_in_for_tools_that_are_not_there() {
    let tools = json!([{ "type": "function", "function": { "name": "bash", "parameters": { "type": "object",
        "properties": { "command": { "type": "string" } }, "required": ["command"] } } }]);
    let table = [
        ("list the files in src", "ls ."),
        ("read my/file.txt", "cat my/file.txt"),
        ("search for \"it's; rm -rf\" in src/", r"grep -rn 'it'\''s; rm -rf' src/"),
        ("find files named *.rs", "find . -name '*.rs'"),
    ];
    for (question, command) in table {
        let choice = choice(&format!("user: {question}"), &json!({ "tools": tools }));
        let arguments: Value =
            serde_json::from_str(choice["message"]["tool_calls"][0]["function"]["arguments"].as_str().unwrap())
                .unwrap();
        assert_eq!(arguments, json!({ "command": command }), "{question}");
    }
}

#[test]
fn questions_about_tools_are_no_wish_for_one() {
    for question in [
        "how do I get the weather?",
        "run the tests",
        "how do I list files?",
        "why does read exist",
        "what is bash",
        "can you explain grep",
    ] {
        let choice = choice(&format!("user: {question}"), &json!({ "tools": agent_tools() }));
        assert_eq!(choice["finish_reason"], "stop", "{question}");
    }
}

#[test]
fn a_tool_that_is_not_there_is_named() {
    let text = says("user: hi\ndemo: …\nuser: read README.md");
    assert!(text.starts_with("For that I would need a tool such as `read`, and no tools are declared here."), "{text}");
    assert!(text.contains("--tool FILE"), "{text}");
    let choice = choice("user: hi\ndemo: …\nuser: use the tool teleport", &json!({ "tools": agent_tools() }));
    assert_eq!(
        choice["message"]["content"],
        "There is no tool `teleport` here. I can call `read`, `bash`, `ls`, `grep`, `write`, `get_weather`.",
    );
}

#[test]
fn results_are_told_in_words() {
    let table = [
        (r"README.md\nsrc\nCargo.toml", "The tool `ls` came back with 3 lines, 3 words: README.md, src, Cargo.toml."),
        (r"a\nb\nc\nd\ne\nf\ng", "The tool `ls` came back with 7 lines, 7 words: a, b, c, d, e and 2 more."),
        ("one line only", "The tool `ls` says: one line only"),
        ("", "The tool `ls` came back with nothing."),
        ("Error: no such folder", "The tool `ls` did not succeed. It says: Error: no such folder"),
        (r#"{"temperature": 21, "sky": "clear"}"#, "The tool `ls` says: temperature is 21, sky is clear."),
        ("[1, 2, 3]", "The tool `ls` gave 3 items: 1, 2, 3."),
    ];
    for (result, text) in table {
        let conversation = format!("user: list the files\ncall ls\nresult: {result}");
        let choice = choice(&conversation, &json!({ "tools": agent_tools() }));
        assert_eq!(choice["message"]["content"], text);
    }
}

#[test]
fn two_steps_are_two_calls_and_then_a_summary() {
    let question = "user: list the files, then read README.md";
    assert_eq!(calls(question), r#"ls {"path":"."}"#);
    let second = format!("{question}\ncall ls\nresult: README.md");
    assert_eq!(calls(&second), r#"read {"path":"README.md"}"#);
    let third = format!("{second}\ncall read\nresult: # pi");
    assert_eq!(
        choice(&third, &json!({ "tools": agent_tools() }))["message"]["content"],
        "The tool `ls` says: README.md\n\nThe tool `read` says: # pi",
    );
}

/// What the page offers to those who read Chinese.
#[test]
fn chinese_examples_are_understood_and_answered_in_chinese() {
    let introduction = "我是 pi 的演示模型：不是语言模型，只有内置的关于 pi 的现成回答。";
    for question in ["什么是 pi？", "你在这里能做什么？", "今天天气怎么样？"] {
        let said = says(&format!("user: {question}"));
        assert!(said.starts_with(introduction), "{said}");
        assert!(!said.contains("You could"), "{said}");
    }
    assert_eq!(calls("user: 列出此项目的文件"), r#"ls {"path":"."}"#);
    let results = "user: 列出此项目的文件\ncall ls\nresult: README.md\\nsrc";
    assert_eq!(
        choice(results, &json!({ "tools": agent_tools() }))["message"]["content"],
        "工具 `ls` 返回：README.md，src"
    );
}

#[test]
fn tool_choice_is_respected() {
    let tools = agent_tools();
    let call = |question: &str, tool_choice: Value| {
        let choice = choice(&format!("user: {question}"), &json!({ "tools": tools, "tool_choice": tool_choice }));
        choice["message"]["tool_calls"][0]["function"].clone()
    };
    assert_eq!(call("hello", json!("required")), json!({ "name": "read", "arguments": r#"{"path":"hello"}"# }));
    assert_eq!(call("list the files", json!("required")), json!({ "name": "ls", "arguments": r#"{"path":"."}"# }));
    let named = json!({ "type": "function", "function": { "name": "get_weather" } });
    assert_eq!(
        call("How warm is it in Oslo?", named),
        json!({ "name": "get_weather", "arguments": r#"{"city":"Oslo","days":1}"# }),
    );
    assert_eq!(call("list the files", json!("none")), Value::Null);
}

#[test]
fn thinking_is_told_apart_where_it_is_asked_for() {
    let message = choice("user: what is pi?", &json!({ "reasoning_effort": "high" }))["message"].clone();
    assert_eq!(message["reasoning_content"], "This is about what pi is.");
    let silent = choice("user: what is pi?", &json!({ "reasoning_effort": "none" }))["message"].clone();
    assert_eq!(silent["reasoning_content"], Value::Null);
    assert_eq!(silent["content"], message["content"]);
}

#[test]
fn answers_are_json_where_it_is_asked_for() {
    let content = |format: Value| -> Value {
        let choice = choice("user: hi\ndemo: …\nuser: thanks", &json!({ "response_format": format }));
        serde_json::from_str(choice["message"]["content"].as_str().unwrap()).unwrap()
    };
    let text = "You are welcome. Anything else about pi?";
    assert_eq!(content(json!({ "type": "json_object" })), json!({ "answer": text, "model": "demo" }));
    let schema = json!({ "type": "object", "additionalProperties": false, "required": ["reply", "score", "kind", "tags", "sure", "more"],
        "properties": { "reply": { "type": "string" }, "score": { "type": "integer", "minimum": 1 },
            "kind": { "enum": ["short", "long"] }, "tags": { "type": "array", "items": { "type": "string" }, "minItems": 1 },
            "sure": { "type": "boolean" }, "more": { "$ref": "#/$defs/more" } },
        "$defs": { "more": { "type": ["object", "null"], "properties": { "note": { "anyOf": [{ "type": "string" }, { "type": "null" }] } } } } });
    assert_eq!(
        content(json!({ "type": "json_schema", "json_schema": { "name": "reply", "schema": schema } })),
        json!({ "reply": text, "score": 1, "kind": "short", "tags": [text], "sure": false, "more": { "note": text } }),
    );
}

#[test]
fn max_tokens_and_stop_end_an_answer() {
    let conversation = "user: hi\ndemo: …\nuser: thanks";
    let cut = choice(conversation, &json!({ "max_tokens": 5 }));
    assert_eq!((&cut["message"]["content"], &cut["finish_reason"]), (&json!("You are welcome. "), &json!("length")));
    let stopped = choice(conversation, &json!({ "stop": ["Anything", "pi"] }));
    assert_eq!(
        (&stopped["message"]["content"], &stopped["finish_reason"]),
        (&json!("You are welcome. "), &json!("stop"))
    );
    let thinking = choice(conversation, &json!({ "max_completion_tokens": 2, "reasoning_effort": "low" }));
    assert_eq!(thinking["message"], json!({ "role": "assistant", "content": "", "reasoning_content": "This " }));
    assert_eq!(thinking["finish_reason"], "length");
}

/// The events of a stream, without their frames.
fn events(answer: &Answer) -> Vec<Value> {
    assert_eq!((answer.status, answer.content_type), (200, "text/event-stream"));
    let (last, events) = answer.pieces.split_last().unwrap();
    assert_eq!(last, "data: [DONE]\n\n");
    let data = |piece: &bytes::Bytes| {
        let text = std::str::from_utf8(piece).unwrap();
        serde_json::from_str(text.strip_prefix("data: ").unwrap().strip_suffix("\n\n").unwrap()).unwrap()
    };
    events.iter().map(data).collect()
}

#[test]
fn a_stream_says_the_same_as_the_whole_answer() {
    for (conversation, more) in [
        ("user: what is pi?", json!({ "reasoning_effort": "low" })),
        ("user: list the files", json!({ "tools": agent_tools() })),
        ("user: what is pi?", json!({ "max_tokens": 9 })),
    ] {
        let mut body = request(conversation, &more);
        let whole: Value = serde_json::from_slice(&ask(&body).body()).unwrap();
        body["stream"] = json!(true);
        body["stream_options"] = json!({ "include_usage": true });
        let events = events(&ask(&body));
        let joined = |member: &str| -> String {
            events.iter().filter_map(|event| event["choices"][0]["delta"][member].as_str()).collect()
        };
        let message = &whole["choices"][0]["message"];
        assert_eq!(joined("content"), message["content"].as_str().unwrap_or_default());
        assert_eq!(joined("reasoning_content"), message["reasoning_content"].as_str().unwrap_or_default());
        let arguments: String = events
            .iter()
            .filter_map(|event| event["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"].as_str())
            .collect();
        assert_eq!(arguments, message["tool_calls"][0]["function"]["arguments"].as_str().unwrap_or_default());
        let finish = events.iter().find_map(|event| event["choices"][0]["finish_reason"].as_str());
        assert_eq!(finish, whole["choices"][0]["finish_reason"].as_str());
        assert_eq!(events.last().unwrap()["usage"], whole["usage"]);
        assert_eq!(events.last().unwrap()["choices"], json!([]));
    }
}

#[test]
fn usage_is_told_in_streams_only_when_wanted() {
    let body = request("user: thanks", &json!({ "stream": true }));
    assert!(events(&ask(&body)).iter().all(|event| event.get("usage").is_none()));
}

#[test]
fn bodies_that_are_no_requests_get_an_error() {
    let table = [
        ("", 400, Value::Null, Value::Null),
        ("[]", 400, Value::Null, Value::Null),
        ("{}", 400, json!("model"), Value::Null),
        (r#"{"model":"gpt-9","messages":[]}"#, 404, json!("model"), json!("model_not_found")),
        (r#"{"model":"demo","messages":[]}"#, 400, json!("messages"), Value::Null),
        (r#"{"model":"demo","messages":[{"role":"wizard"}]}"#, 400, json!("messages[0].role"), Value::Null),
        (
            r#"{"model":"demo","messages":[{"role":"user","content":7}]}"#,
            400,
            json!("messages[0].content"),
            Value::Null,
        ),
        (
            r#"{"model":"demo","messages":[{"role":"user"}],"tools":[{}]}"#,
            400,
            json!("tools[0].function.name"),
            Value::Null,
        ),
        (
            r#"{"model":"demo","messages":[{"role":"user"}],"tool_choice":"required"}"#,
            400,
            json!("tool_choice"),
            Value::Null,
        ),
        (r#"{"model":"demo","messages":[{"role":"user"}],"max_tokens":0}"#, 400, json!("max_tokens"), Value::Null),
        (r#"{"model":"demo","messages":[{"role":"user"}],"stop":[3]}"#, 400, json!("stop"), Value::Null),
        (
            r#"{"model":"demo","messages":[{"role":"user"}],"response_format":{"type":"xml"}}"#,
            400,
            json!("response_format"),
            Value::Null,
        ),
    ];
    for (body, status, member, code) in table {
        let answer = demo::answer(body.as_bytes());
        let error: Value = serde_json::from_slice(&answer.body()).unwrap();
        let error = &error["error"];
        assert_eq!((answer.status, &error["param"], &error["code"]), (status, &member, &code), "{body}");
        assert!(error["message"].is_string() && error["type"] == "invalid_request_error", "{body}");
    }
}

#[test]
fn the_same_request_gets_the_same_answer() {
    let body = request("user: what is pi?", &json!({ "stream": true, "tools": agent_tools() }));
    assert_eq!(ask(&body), ask(&body));
}

#[tokio::test(start_paused = true)]
async fn a_stream_takes_its_time() {
    let answer = ask(&request("user: thanks", &json!({ "stream": true })));
    let (pieces, start) = (answer.pieces.clone(), tokio::time::Instant::now());
    let pause = std::time::Duration::from_millis(20);
    let streamed: Vec<_> = answer.into_stream(pause).collect().await;
    assert_eq!(streamed, pieces);
    assert_eq!(start.elapsed(), pause * u32::try_from(pieces.len() - 1).unwrap());
}

/// Requests that are somewhat like requests.
fn bodies() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "\\PC{0,20}".prop_map(Value::from),
        prop_oneof![Just("object"), Just("string"), Just("array"), Just("#"), Just("#/$defs/a")].prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(4, 24, 4, |inner| {
        let names = prop_oneof![
            Just("type"),
            Just("properties"),
            Just("required"),
            Just("$ref"),
            Just("items"),
            Just("a"),
            Just("path"),
            Just("minItems"),
            Just("anyOf"),
            Just("enum")
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((names, inner), 0..4).prop_map(|members| members
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect::<Value>()),
        ]
    });
    let role = prop_oneof![Just("user"), Just("assistant"), Just("tool"), Just("system")];
    let word = prop_oneof![
        Just("list the files "),
        Just("use tool a with "),
        Just("read x.md, then "),
        Just("search for '"),
        Just("{"),
        Just("}"),
        Just("what did I ask "),
        Just("my name is "),
        Just("tell me more "),
        Just("`")
    ];
    let text = prop::collection::vec(prop_oneof![word.prop_map(str::to_owned), "\\PC{0,12}"], 0..6)
        .prop_map(|words| words.concat());
    let message = (role, text, value.clone()).prop_map(
        |(role, text, calls)| json!({ "role": role, "content": text, "tool_calls": calls, "tool_call_id": "a" }),
    );
    (prop::collection::vec(message, 1..5), value, prop::option::of(1..40u32), any::<bool>(), any::<bool>()).prop_map(
        |(messages, schema, limit, stream, forced)| {
            json!({ "model": "demo", "messages": messages, "stream": stream, "max_tokens": limit, "reasoning_effort": "low",
                "tools": [{ "function": { "name": "a", "parameters": schema } }],
                "tool_choice": if forced { "required" } else { "auto" },
                "response_format": { "type": "json_schema", "json_schema": { "schema": { "properties": schema } } } })
        },
    )
}

proptest! {
    #[test]
    fn any_request_is_answered(body in bodies()) {
        let answer = ask(&body);
        prop_assert!(matches!(answer.status, 200 | 400), "{}", answer.status);
        prop_assert!(!answer.pieces.is_empty());
    }

    #[test]
    fn any_bytes_are_answered(body in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert_eq!(demo::answer(&body).status, 400);
    }
}
