//! Whatever a prompt holds is in its envelope, in prompt order and word for word.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use pi_envelope::{
    Counted, Envelope, Meta, Origin, Prompt, Provenance, Purpose, Request, Said, Skill, Span, SpanError, SpanSource,
    SystemPart, SystemText, Tokens, Tool, Trust, estimate, project, wording,
};
use pi_transcript::{Block, Content, Message};
use proptest::prelude::*;
use serde_json::{Value, json};

fn cases(default: u32) -> u32 {
    std::env::var("PI_TEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn request() -> Request {
    Request { id: "r".to_owned(), provider: "p".into(), model: "m".into(), time: 5, purpose: Purpose::Turn }
}

fn words() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[a-zé\"\\\\\n`<]{0,30}", 1 => "[a-z]".prop_map(|letter| letter.repeat(2100))]
}

fn provenance() -> impl Strategy<Value = Provenance> {
    let origin = prop_oneof![
        Just(Origin::User),
        Just(Origin::BuiltIn),
        Just(Origin::Mcp { server: "s".to_owned() }),
        "[a-c]".prop_map(|path| Origin::File { path }),
    ];
    origin.prop_map(Provenance::usual)
}

fn system_part() -> impl Strategy<Value = SystemPart> {
    let skill =
        (words(), words(), words()).prop_map(|(name, description, location)| Skill { name, description, location });
    let text = prop_oneof![
        words().prop_map(|text| SystemText::Instructions { text }),
        (words(), words()).prop_map(|(title, content)| SystemText::Memory { title, content }),
        prop::collection::vec(skill, 0..4).prop_map(|skills| SystemText::Skills { skills }),
        (words(), words(), words()).prop_map(|(name, value, label)| SystemText::Variable { name, value, label }),
    ];
    ("[a-c]", provenance(), text).prop_map(|(id, provenance, text)| SystemPart { id, provenance, text })
}

fn tool() -> impl Strategy<Value = Tool> {
    let parameters =
        prop_oneof![Just(json!({"type": "object", "properties": {"a": {"type": "string"}}})), Just(json!(true))];
    (words(), words(), parameters, provenance()).prop_map(|(name, description, parameters, provenance)| Tool {
        definition: serde_json::from_value(json!({"name": name, "description": description, "parameters": parameters}))
            .unwrap(),
        provenance,
    })
}

fn block() -> impl Strategy<Value = Value> {
    prop_oneof![
        words().prop_map(|text| json!({"type": "text", "text": text})),
        words().prop_map(|text| json!({"type": "thinking", "thinking": text})),
        "[a-zA-Z0-9]{0,40}".prop_map(|data| json!({"type": "image", "data": data, "mimeType": "image/png"})),
        (words(), words())
            .prop_map(|(name, text)| json!({"type": "toolCall", "id": "c", "name": name, "arguments": {"a": text}})),
        words().prop_map(|text| json!({"type": "dream", "of": text})),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    let blocks = || prop::collection::vec(block(), 0..4);
    let content = || prop_oneof![words().prop_map(|text| json!(text)), blocks().prop_map(Value::Array)];
    let usage = json!({"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}});
    let value = prop_oneof![
        content().prop_map(|content| json!({"role": "user", "content": content, "timestamp": 1})),
        content().prop_map(|content| json!({"role": "custom", "customType": "t", "content": content, "display": true, "timestamp": 1})),
        blocks().prop_map(move |content| json!({"role": "assistant", "content": content, "api": "a", "provider": "p", "model": "m", "usage": usage, "stopReason": "stop", "timestamp": 1})),
        (blocks(), any::<bool>()).prop_map(|(content, error)| json!({"role": "toolResult", "toolCallId": "c", "toolName": "t", "content": content, "isError": error, "timestamp": 1})),
        (words(), words(), any::<bool>()).prop_map(|(command, output, excluded)| json!({"role": "bashExecution", "command": command, "output": output, "cancelled": false, "truncated": true, "excludeFromContext": excluded, "timestamp": 1})),
        words().prop_map(|summary| json!({"role": "branchSummary", "summary": summary, "fromId": "x", "timestamp": 1})),
        words().prop_map(|summary| json!({"role": "compactionSummary", "summary": summary, "tokensBefore": 1, "timestamp": 1})),
        (content(), words()).prop_map(|(content, section)| json!({"role": "system", "content": content, "sections": {"a": section, "b": null}, "timestamp": 1})),
        words().prop_map(|text| json!({"role": "oracle", "says": text})),
    ];
    value.prop_map(|value| serde_json::from_value(value).unwrap())
}

fn prompt() -> impl Strategy<Value = Prompt> {
    let said = (message(), provenance(), any::<prop::sample::Index>())
        .prop_map(|(message, provenance, at)| spanned(message, provenance, at));
    let parts = (
        prop::collection::vec(tool(), 0..4),
        prop::collection::vec(system_part(), 0..4),
        prop::collection::vec(said, 0..6),
    );
    parts.prop_map(|(tools, system, messages)| Prompt { tools, system, messages })
}

/// A message of which the beginning came from elsewhere, where that is possible.
fn spanned(message: Message, provenance: Provenance, at: prop::sample::Index) -> Said {
    let said = Said::new("e".into(), message, provenance.clone());
    let length = match said.message() {
        Message::User(user) => match &user.content {
            Content::Text(text) => text.floor_char_boundary(at.index(text.len() + 1)),
            Content::Blocks(_) => 0,
        },
        _ => 0,
    };
    let source = SpanSource::Document { file_name: "f".to_owned(), mime_type: "text/plain".to_owned() };
    let span = Span { block: 0, bytes: 0..length, provenance, source };
    if length == 0 { said } else { said.with_spans(vec![span]).unwrap() }
}

/// Every text that a provider would be sent for the messages and tools, in order.
fn sent(prompt: &Prompt) -> Vec<String> {
    let mut texts = Vec::new();
    for tool in &prompt.tools {
        texts.extend([
            tool.definition.name.clone(),
            tool.definition.description.clone(),
            tool.definition.parameters.to_string(),
        ]);
    }
    texts.push(prompt.system_text());
    for said in prompt.messages.iter().filter(|said| said.is_sent()) {
        match said.message() {
            Message::User(user) => content(&user.content, &mut texts),
            Message::Custom(custom) => content(&custom.content, &mut texts),
            Message::Assistant(assistant) => assistant.content.iter().for_each(|block| block_texts(block, &mut texts)),
            Message::ToolResult(result) => result.content.iter().for_each(|block| block_texts(block, &mut texts)),
            Message::BashExecution(bash) => texts.push(wording::bash_execution(bash)),
            Message::BranchSummary(branch) => texts.push(wording::branch_summary(branch)),
            Message::CompactionSummary(compaction) => texts.push(wording::compaction_summary(compaction)),
            Message::System(system) => texts.push(system.content.text()),
            Message::Other(members) => texts.push(serde_json::to_string(members).unwrap()),
        }
    }
    texts
}

fn content(content: &Content, texts: &mut Vec<String>) {
    match content {
        Content::Text(text) => texts.push(text.clone()),
        Content::Blocks(blocks) => blocks.iter().for_each(|block| block_texts(block, texts)),
    }
}

fn block_texts(block: &Block, texts: &mut Vec<String>) {
    match block {
        Block::Text(text) => texts.push(text.text.clone()),
        Block::Thinking(thinking) => texts.push(thinking.thinking.clone()),
        Block::Image(image) => texts.push(image.data.clone()),
        Block::ToolCall(call) => texts.extend([call.name.clone(), serde_json::to_string(&call.arguments).unwrap()]),
        Block::Other(members) => texts.push(serde_json::to_string(members).unwrap()),
    }
}

/// What the envelope alone says was sent.
fn shown(envelope: &Envelope) -> String {
    envelope.segments().map(|(_, segment)| segment.sent()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(80)))]

    #[test]
    fn every_text_is_in_the_envelope_in_order(prompt in prompt()) {
        let envelope = project(&prompt, &request(), &estimate);
        let bytes = serde_json::to_vec(&envelope).unwrap();
        prop_assert!(pi_envelope::is_valid(&bytes));
        prop_assert_eq!(&pi_envelope::parse(&bytes).unwrap(), &envelope);
        let whole = shown(&envelope);
        let mut rest = whole.as_str();
        for text in sent(&prompt) {
            let found = rest.find(&text);
            prop_assert!(found.is_some(), "{text:?} is not in {rest:?}");
            rest = &rest[found.unwrap() + text.len()..];
        }
        for (_, segment) in envelope.segments() {
            let meta = segment.ours().unwrap();
            prop_assert!(meta.id.is_some() && meta.origin.is_some() && meta.trust.is_some() && meta.tokens.is_some());
            prop_assert_eq!(meta.digest, Some(segment.digest()));
        }
        prop_assert_eq!(envelope.ours().unwrap().digest, Some(envelope.digest()));
    }

    #[test]
    fn another_request_with_the_same_prompt_has_the_same_messages(prompt in prompt()) {
        let later = Request { id: "s".to_owned(), time: 6, ..request() };
        prop_assert_eq!(project(&prompt, &request(), &estimate).messages, project(&prompt, &later, &estimate).messages);
    }

    #[test]
    fn the_system_text_can_be_put_together_again(system in prop::collection::vec(system_part(), 1..5)) {
        let prompt = Prompt { system, ..Prompt::default() };
        prop_assert_eq!(shown(&project(&prompt, &request(), &estimate)), prompt.system_text());
    }

    #[test]
    fn a_prompt_survives_being_written(prompt in prompt()) {
        let text = serde_json::to_string(&prompt).unwrap();
        prop_assert_eq!(serde_json::from_str::<Prompt>(&text).unwrap(), prompt);
    }
}

#[test]
fn a_prompt_of_nothing_is_still_an_envelope() {
    let envelope = project(&Prompt::default(), &request(), &estimate);
    let value = serde_json::to_value(&envelope).unwrap();
    assert!(pi_envelope::is_valid(value.to_string().as_bytes()));
    assert_eq!(value["messages"][0]["segments"][0]["meta"]["part"], json!("nothing"));
}

#[test]
fn a_passed_counter_counts_what_is_sent() {
    let part = |text| SystemPart { id: "a".to_owned(), provenance: Provenance::usual(Origin::BuiltIn), text };
    let memory = SystemText::Memory { title: "t".to_owned(), content: "c".to_owned() };
    let prompt = Prompt { system: vec![part(memory)], ..Prompt::default() };
    let letters = |text: &str| Tokens { count: text.chars().count() as u64, how: Counted::Counted };
    let envelope = project(&prompt, &request(), &letters);
    let expected = Tokens { count: prompt.system_text().chars().count() as u64, how: Counted::Counted };
    let Some(Meta::Ours(meta)) = &envelope.messages[0].segments[0].meta else { panic!("no meta") };
    assert_eq!(meta.tokens, Some(expected));
    assert_eq!(envelope.ours().unwrap().tokens, Some(expected));
    assert_eq!(envelope.ours().unwrap().request, Some(request()));
}

#[test]
fn spans_that_do_not_fit_are_refused() {
    let user = |spans: Vec<Span>| {
        let message: Message =
            serde_json::from_value(json!({"role": "user", "content": "aéb", "timestamp": 1})).unwrap();
        Said::new("e".into(), message, Provenance::usual(Origin::User)).with_spans(spans).map(drop)
    };
    let span = |block, bytes| Span {
        block,
        bytes,
        provenance: Provenance { origin: Origin::User, trust: Trust::Untrusted },
        source: SpanSource::Quote,
    };
    assert_eq!(user(vec![span(0, 0..1), span(0, 1..4)]), Ok(()));
    assert_eq!(user(vec![span(0, 0..2)]), Err(SpanError::OutOfRange { index: 0 }));
    assert_eq!(user(vec![span(0, 0..5)]), Err(SpanError::OutOfRange { index: 0 }));
    assert_eq!(user(vec![span(1, 0..1)]), Err(SpanError::NoBlock { index: 0, block: 1 }));
    assert_eq!(user(vec![span(0, 1..3), span(0, 0..1)]), Err(SpanError::OutOfOrder { index: 1 }));
    let picture = json!([{"type": "image", "data": "", "mimeType": "image/png"}, {"type": "dream"}]);
    let picture = json!({"role": "user", "content": picture, "timestamp": 1});
    let seen = |spans| {
        let message = serde_json::from_value::<Message>(picture.clone()).unwrap();
        Said::new("e".into(), message, Provenance::usual(Origin::User)).with_spans(spans).map(drop)
    };
    assert_eq!(seen(vec![span(0, 0..0)]), Ok(()));
    assert_eq!(seen(vec![span(0, 0..1)]), Err(SpanError::OutOfRange { index: 0 }));
    assert_eq!(seen(vec![span(1, 0..0)]), Err(SpanError::NoBlock { index: 0, block: 1 }));
    let bash = json!({"role": "branchSummary", "summary": "s", "fromId": "x", "timestamp": 1});
    let said = Said::new("e".into(), serde_json::from_value::<Message>(bash).unwrap(), Provenance::usual(Origin::User));
    assert_eq!(said.with_spans(vec![span(0, 0..1)]), Err(SpanError::NoText { index: 0 }));
}

#[test]
fn texts_are_estimated_as_the_page_estimates_them() {
    let cases: Vec<(String, u64)> = serde_json::from_str(include_str!("estimates.json")).unwrap();
    for (text, count) in cases {
        assert_eq!(estimate(&text), Tokens { count, how: Counted::Estimated }, "{text}");
    }
}
