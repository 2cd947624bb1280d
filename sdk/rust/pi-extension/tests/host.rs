//! An extension at a host that a test prepared.

use pi_extension::{
    Channel, Command, Completion, ContentBlock, EntrySelection, ErrorReport, Extension, Host, HostError, Register,
    Request, Stream, StreamItem, ToolCall, ToolResult, failed, register, said,
    testing::{Stage, TestHost, text},
};
use serde_json::json;

/// Its one tool does what the name of the call says, with everything that a host has.
#[derive(Default)]
struct Everything;

fn report(error: HostError) -> ErrorReport {
    failed("host", error.message)
}

/// What a stream brings, in order.
fn drained(stream: &impl Stream) -> Result<String, HostError> {
    let mut seen = Vec::new();
    loop {
        let (chunk, item) = stream.next()?;
        seen.push(match item {
            StreamItem::Head(head) => format!("{}:{}", chunk.index, head.status),
            StreamItem::Piece(piece) => {
                let channel = if piece.channel == Channel::Body { "body" } else { "stdout" };
                format!("{}:{channel} {}", chunk.index, String::from_utf8_lossy(&piece.data))
            }
            StreamItem::End(_) => format!("{}:end", chunk.index),
        });
        if chunk.is_last {
            return Ok(seen.join(" "));
        }
    }
}

fn request(url: &str) -> Request {
    Request {
        method: "GET".to_owned(),
        url: url.to_owned(),
        headers: Vec::new(),
        body: None,
        timeout_ms: None,
        follow_redirects: true,
    }
}

fn command(name: &str) -> Command {
    Command {
        command: name.to_owned(),
        args: Vec::new(),
        cwd: None,
        env: Vec::new(),
        stdin: None,
        timeout_ms: None,
        max_output_bytes: None,
    }
}

impl Everything {
    fn perform<H: Host>(host: &H, call: &ToolCall) -> Result<String, HostError> {
        Ok(match call.name.as_str() {
            "fetch" => String::from_utf8_lossy(&host.fetch(&request("https://a.test/"))?.body).into_owned(),
            "open" => drained(&host.open(&request("https://a.test/"))?)?,
            "start" => drained(&host.start(&command("date"))?)?,
            "tool" => match host.use_tool("grep", "{}")?.content.as_slice() {
                [ContentBlock::Text(text)] => text.clone(),
                other => format!("{other:?}"),
            },
            "complete" => {
                let messages = vec![r#"{"role":"user","content":"hi"}"#.to_owned()];
                host.complete(&Completion { messages, ..Completion::default() })?
            }
            "select" => {
                let options = ["red".to_owned(), "blue".to_owned()];
                host.select("Colour?", &options, None)?.unwrap_or_else(|| "nothing".to_owned())
            }
            "remember" => {
                let id = host.append_entry("note", Some(r#"{"a":1}"#))?;
                host.set_label(&id, Some("mark"))?;
                let entries = host.entries(EntrySelection::All)?.len();
                format!("{entries} {:?} {}", host.label(&id)?, host.entry(&id)?.unwrap_or_default())
            }
            "news" => {
                host.tool_update(&call.call_id, &[ContentBlock::Text("half".to_owned())], None)?;
                host.emit("news", "{}")?;
                "done".to_owned()
            }
            "key" => host.credential("p")?.api_key.unwrap_or_default(),
            other => format!("there is no {other}"),
        })
    }
}

impl Extension for Everything {
    fn register(&mut self) -> Result<Register, ErrorReport> {
        Ok(register("everything", "1.0.0"))
    }

    fn call_tool<H: Host>(&mut self, host: &H, call: ToolCall) -> Result<ToolResult, ErrorReport> {
        Self::perform(host, &call).map(said).map_err(report)
    }
}

fn told(host: TestHost, tool: &str) -> (String, Vec<String>) {
    let mut stage = Stage::<Everything>::new(host);
    let told = match stage.call(tool, &json!({})) {
        Ok(result) => text(&result),
        Err(report) => format!("! {}", report.message),
    };
    (told, stage.host.asked())
}

#[test]
fn prepared_replies_are_given_and_others_are_refused() {
    let page = || TestHost::new().page("https://a.test/", 200, "made");
    let rows = [
        (page(), "fetch", "made"),
        (TestHost::new(), "fetch", "! this test has no page https://a.test/"),
        (page(), "open", "0:200 1:body made 2:end"),
        (TestHost::new().program("date", "today"), "start", "0:stdout today 1:end"),
        (TestHost::new(), "start", "! ENOENT: date"),
        (TestHost::new().tool("grep", "a.rs:1"), "tool", "a.rs:1"),
        (TestHost::new(), "tool", "! there is no tool grep"),
        (TestHost::new().tool("grep", "a.rs:1").denies("tool"), "tool", "! tool is denied"),
        (TestHost::new().completes(r#"{"role":"assistant"}"#), "complete", r#"{"role":"assistant"}"#),
        (TestHost::new(), "complete", "! this test has no further answer of a model"),
        (TestHost::new().answers("Colour?", "blue"), "select", "blue"),
        (TestHost::new().answers("Colour?", "green"), "select", "nothing"),
        (TestHost::new(), "select", "nothing"),
        (TestHost::new().key("p", "secret"), "key", "secret"),
        (TestHost::new(), "key", "! there is no key for p"),
    ];
    for (host, tool, expected) in rows {
        assert_eq!(told(host, tool).0, expected, "{tool}");
    }
}

#[test]
fn what_was_written_is_read_again() {
    let (told, asked) = told(TestHost::new().entry(r#"{"type":"message","id":"m"}"#), "remember");
    let entry = json!({ "type": "custom", "id": "own-1", "customType": "note", "data": { "a": 1 } });
    assert_eq!(told, format!("2 Some(\"mark\") {entry}"));
    assert_eq!(asked[0], r#"session append-entry note {"a":1}"#);
}

#[test]
fn everything_that_was_asked_is_listed() {
    let (_, asked) = told(TestHost::new(), "news");
    assert_eq!(asked, ["events tool-update test half", "events emit news {}"]);
}

#[test]
fn stream_is_over_after_its_end_and_when_it_is_cancelled() {
    let host = TestHost::new().program("date", "today");
    let stream = host.start(&command("date")).expect("a stream");
    stream.cancel();
    assert_eq!(stream.next().expect_err("over").message, "the stream is over");
    let stream = host.start(&command("date")).expect("a stream");
    drained(&stream).expect("all of it");
    assert!(stream.next().is_err());
}
