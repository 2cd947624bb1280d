//! What an extension hears: an event together with what it says.
//!
//! The protocol carries an event as a name and a free object; [`Event::read`] gives that a type and [`Event::write`] takes
//! it back. Members that a payload does not name are ignored: newer versions of Pi say more than older ones.

pub mod payload;

use schemars::JsonSchema;
use serde::{Serialize, Serializer, de::DeserializeOwned};
use serde_json::Value;

use self::payload::*;
use super::Hook;
use crate::Object;

/// What an event says is not what events of its name say.
#[derive(Debug, thiserror::Error)]
#[error("{event}: {source}")]
pub struct BadEvent {
    pub event: Hook,
    #[source]
    pub source: serde_json::Error,
}

/// What an event says, for whoever writes it: an object, without the detour of [`Event::write`].
pub struct Said<'e>(pub &'e Event);

macro_rules! events {
    (
        typed { $($typed:ident($payload:ident),)* }
        bare { $($bare:ident,)* }
        open { $($open:ident,)* }
    ) => {
        /// An event and what it says. There is a variant for every [`Hook`] whose payload is settled.
        #[derive(Debug, Clone, PartialEq, JsonSchema)]
        #[schemars(tag = "event", content = "data", rename_all = "snake_case")]
        pub enum Event {
            $($typed($payload),)*
            $($bare,)*
            /// An event whose payload differs between versions of Pi, or whose name is younger than this list.
            Other(OtherEvent),
        }

        impl Event {
            /// The event of that name, which may be an alias. A name that is on no list is [`Event::Other`].
            pub fn read(name: &str, data: Option<Object>) -> Result<Self, BadEvent> {
                let Some(hook) = Hook::find(name) else {
                    return Ok(Self::Other(OtherEvent { name: name.to_owned(), data }));
                };
                match hook {
                    $(Hook::$typed => payload(hook, data).map(Self::$typed),)*
                    $(Hook::$bare => Ok(Self::$bare),)*
                    $(Hook::$open)|* => Ok(Self::Other(OtherEvent { name: hook.as_str().to_owned(), data })),
                }
            }

            /// Which hook fires it; none for a name that is on no list.
            pub fn hook(&self) -> Option<Hook> {
                match self {
                    $(Self::$typed(_) => Some(Hook::$typed),)*
                    $(Self::$bare => Some(Hook::$bare),)*
                    Self::Other(other) => Hook::find(&other.name),
                }
            }

            /// Its name, as a message of the protocol carries it.
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$typed(_) => Hook::$typed.as_str(),)*
                    $(Self::$bare => Hook::$bare.as_str(),)*
                    Self::Other(other) => &other.name,
                }
            }

            /// Name and data of the event, as a message of the protocol carries them.
            pub fn write(&self) -> (&str, Option<Object>) {
                match self {
                    $(Self::$typed(payload) => (Hook::$typed.as_str(), Some(object(payload))),)*
                    $(Self::$bare => (Hook::$bare.as_str(), None),)*
                    Self::Other(other) => (&other.name, other.data.clone()),
                }
            }
        }

        impl Serialize for Said<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self.0 {
                    $(Event::$typed(payload) => payload.serialize(serializer),)*
                    $(Event::$bare => Object::new().serialize(serializer),)*
                    Event::Other(OtherEvent { name: _, data: Some(data) }) => data.serialize(serializer),
                    Event::Other(OtherEvent { name: _, data: None }) => Object::new().serialize(serializer),
                }
            }
        }
    };
}

events! {
    typed {
        SessionDirectory(SessionDirectoryEvent),
        ProjectTrust(ProjectTrustEvent),
        ResourcesDiscover(ResourcesDiscoverEvent),
        SessionStart(SessionStartEvent),
        SessionBeforeSwitch(SessionBeforeSwitchEvent),
        SessionSwitch(SessionSwitchEvent),
        SessionBeforeFork(SessionBeforeForkEvent),
        SessionFork(SessionForkEvent),
        SessionBeforeCompact(SessionBeforeCompactEvent),
        SessionCompact(SessionCompactEvent),
        SessionBeforeTree(SessionBeforeTreeEvent),
        SessionTree(SessionTreeEvent),
        SessionShutdown(SessionShutdownEvent),
        SessionInfoChanged(SessionInfoChangedEvent),
        ThinkingLevelSelect(ThinkingLevelSelectEvent),
        ModelSelect(ModelSelectEvent),
        Input(InputEvent),
        BeforeAgentStart(BeforeAgentStartEvent),
        AgentEnd(AgentEndEvent),
        AgentBeforeSettle(AgentBeforeSettleEvent),
        AgentSettled(AgentSettledEvent),
        TurnStart(TurnStartEvent),
        TurnEnd(TurnEndEvent),
        MessageStart(MessageEvent),
        MessageUpdate(MessageUpdateEvent),
        MessageEnd(MessageEvent),
        ToolExecutionStart(ToolExecutionStartEvent),
        ToolExecutionUpdate(ToolExecutionUpdateEvent),
        ToolExecutionEnd(ToolExecutionEndEvent),
        ToolCall(ToolCallEvent),
        ToolResult(ToolResultEvent),
        UserBash(UserBashEvent),
        Context(ContextEvent),
        ContextWithSystem(ContextEvent),
        BeforeProviderRequest(BeforeProviderRequestEvent),
        BeforeProviderHeaders(BeforeProviderHeadersEvent),
        AfterProviderResponse(AfterProviderResponseEvent),
        CacheWarmingDecision(CacheWarmingDecisionEvent),
        Bus(BusEvent),
    }
    bare {
        AgentStart,
    }
    open {
        SessionCompactFailed,
        McpServersChange,
        UiPromptStart,
        UiPromptEnd,
        ProviderStreamEvent,
    }
}

fn payload<T: DeserializeOwned>(event: Hook, data: Option<Object>) -> Result<T, BadEvent> {
    let data = Value::Object(data.unwrap_or_default());
    serde_json::from_value(data).map_err(|source| BadEvent { event, source })
}

fn object<T: Serialize>(payload: &T) -> Object {
    match serde_json::to_value(payload) {
        Ok(Value::Object(object)) => object,
        other => unreachable!("a payload is a struct with names for members: {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What the events of a Pi session say, each with every member that we know.
    fn samples() -> Vec<(&'static str, Value)> {
        let message = json!({ "role": "user", "content": "hi", "timestamp": 1 });
        let image = json!({ "type": "image", "data": "AA==", "mimeType": "image/png" });
        let text = json!({ "type": "text", "text": "found" });
        let model = json!({ "id": "m", "provider": "p", "name": "M", "api": "a", "reasoning": true,
            "contextWindow": 8, "maxTokens": 4 });
        vec![
            ("session_directory", json!({ "cwd": "/p" })),
            ("project_trust", json!({ "cwd": "/p" })),
            ("resources_discover", json!({ "cwd": "/p", "reason": "reload" })),
            ("session_start", json!({ "reason": "fork", "previousSessionFile": "/s" })),
            ("session_before_switch", json!({ "reason": "resume", "targetSessionFile": "/s" })),
            ("session_switch", json!({ "reason": "new", "previousSessionFile": "/s" })),
            ("session_before_fork", json!({ "entryId": "a1", "position": "at" })),
            ("session_fork", json!({ "previousSessionFile": "/s" })),
            (
                "session_before_compact",
                json!({
                    "preparation": {
                        "firstKeptEntryId": "a1", "messagesToSummarize": [message], "turnPrefixMessages": [],
                        "isSplitTurn": false, "tokensBefore": 9, "previousSummary": "s", "fileOps": {}, "settings": {},
                    },
                    "branchEntries": [{ "type": "custom" }], "customInstructions": "short",
                    "reason": "overflow", "willRetry": true,
                }),
            ),
            (
                "session_compact",
                json!({ "compactionEntry": {}, "fromExtension": true, "reason": "manual", "willRetry": false }),
            ),
            ("session_compact_failed", json!({ "anything": 1 })),
            (
                "session_before_tree",
                json!({ "preparation": {
                    "targetId": "a1", "oldLeafId": "a2", "commonAncestorId": "a3", "entriesToSummarize": [],
                    "userWantsSummary": true, "customInstructions": "c", "replaceInstructions": true, "label": "l",
                } }),
            ),
            (
                "session_tree",
                json!({ "newLeafId": "a1", "oldLeafId": "a2", "summaryEntry": {}, "fromExtension": false }),
            ),
            ("session_shutdown", json!({ "reason": "quit", "targetSessionFile": "/s" })),
            ("session_info_changed", json!({ "name": "n" })),
            ("thinking_level_select", json!({ "level": "high", "previousLevel": "off" })),
            ("model_select", json!({ "model": model, "previousModel": model, "source": "cycle" })),
            ("mcp_servers_change", json!({ "anything": 1 })),
            ("ui_prompt_start", json!({ "anything": 1 })),
            ("ui_prompt_end", json!({ "anything": 1 })),
            ("input", json!({ "text": "hi", "images": [image], "source": "rpc", "streamingBehavior": "followUp" })),
            (
                "before_agent_start",
                json!({ "prompt": "hi", "images": [image], "systemPrompt": "s", "systemPromptOptions": {},
                    "messageType": "user" }),
            ),
            ("agent_start", Value::Null),
            ("agent_end", json!({ "messages": [message], "willRetry": false })),
            ("agent_before_settle", json!({ "entries": [], "continue": false, "context": {} })),
            ("agent_settled", json!({ "aborted": true })),
            ("turn_start", json!({ "turnIndex": 0, "timestamp": 1 })),
            (
                "turn_end",
                json!({
                    "turnIndex": 0, "message": message, "toolResults": [], "messageEntryId": "a1",
                    "toolResultEntryIds": ["a2"], "outcome": "stop", "entries": [], "continue": true, "context": {},
                }),
            ),
            ("message_start", json!({ "message": message })),
            (
                "message_update",
                json!({ "message": message, "usage": {},
                    "assistantMessageEvent": { "type": "text_delta", "contentIndex": 0, "delta": "h" } }),
            ),
            ("message_end", json!({ "message": message })),
            (
                "tool_execution_start",
                json!({ "toolCallId": "c", "toolName": "t", "args": {}, "parentToolCallId": "b" }),
            ),
            (
                "tool_execution_update",
                json!({ "toolCallId": "c", "toolName": "t", "args": {}, "partialResult": { "content": [text] },
                    "parentToolCallId": "b" }),
            ),
            (
                "tool_execution_end",
                json!({ "toolCallId": "c", "toolName": "t", "result": { "content": [text], "details": 1 },
                    "isError": false, "durationMs": 3, "parentToolCallId": "b" }),
            ),
            ("tool_call", json!({ "toolName": "t", "toolCallId": "c", "input": { "path": "a" } })),
            (
                "tool_result",
                json!({ "toolName": "t", "toolCallId": "c", "input": {}, "content": [text, image], "details": null,
                    "isError": true }),
            ),
            ("user_bash", json!({ "command": "ls", "excludeFromContext": true, "cwd": "/p" })),
            ("context", json!({ "messages": [message] })),
            ("context_with_system", json!({ "messages": [message] })),
            ("before_provider_request", json!({ "payload": [1] })),
            ("before_provider_headers", json!({ "headers": { "x-a": "1" } })),
            ("after_provider_response", json!({ "status": 200, "headers": { "x-a": "1" } })),
            ("provider_stream_event", json!({ "anything": 1 })),
            (
                "cache_warming_decision",
                json!({ "warmCost": 0.5, "missCost": 1.5, "continuationProbability": 0.25, "action": "warm" }),
            ),
            ("bus", json!({ "channel": "c", "data": null })),
        ]
    }

    #[test]
    fn every_event_is_read_and_written_back() {
        let samples = samples();
        let names: Vec<_> = samples.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, Hook::ALL.iter().map(|hook| hook.as_str()).collect::<Vec<_>>());
        for (name, data) in samples {
            let data = data.as_object().cloned();
            let event = Event::read(name, data.clone()).unwrap_or_else(|bad| panic!("{bad}"));
            assert_eq!(event.hook(), Hook::find(name));
            assert_eq!((event.name(), event.write()), (name, (name, data.clone())));
            let said = serde_json::to_value(Said(&event)).expect("JSON");
            assert_eq!(said, Value::Object(data.unwrap_or_default()));
        }
    }

    #[test]
    fn every_step_of_an_assistant_message_is_read_and_written_back() {
        let delta = |kind: &str| json!({ "type": kind, "contentIndex": 1, "delta": "d" });
        let start = |kind: &str| json!({ "type": kind, "contentIndex": 1 });
        let end = |kind: &str| json!({ "type": kind, "contentIndex": 1, "content": "c" });
        for step in [
            json!({ "type": "start" }),
            start("text_start"),
            delta("text_delta"),
            end("text_end"),
            start("thinking_start"),
            delta("thinking_delta"),
            end("thinking_end"),
            json!({ "type": "toolcall_start", "contentIndex": 1, "id": "c", "toolName": "t" }),
            delta("toolcall_delta"),
            json!({ "type": "toolcall_end", "contentIndex": 1, "toolCall": {} }),
            json!({ "type": "done", "reason": "toolUse", "message": {} }),
            json!({ "type": "error", "reason": "aborted", "error": {} }),
        ] {
            let read: AssistantMessageEvent = serde_json::from_value(step.clone()).expect("a step");
            assert_eq!(serde_json::to_value(read).expect("JSON"), step);
        }
    }

    #[track_caller]
    fn check(name: &str, data: &Value, expected: &str) {
        let written = match Event::read(name, data.as_object().cloned()) {
            Ok(event) => format!("{:?}", event.write()),
            Err(bad) => bad.to_string(),
        };
        assert_eq!(written, expected);
    }

    #[test]
    fn payload_must_be_that_of_its_event() {
        check("tool_call", &json!({ "toolName": "t", "toolCallId": "c" }), "tool_call: missing field `input`");
        check("session_start", &Value::Null, "session_start: missing field `reason`");
        check(
            "input",
            &json!({ "text": "", "images": [{ "type": "text", "text": "t" }], "source": "rpc" }),
            "input: expected an image",
        );
    }

    #[test]
    fn unknown_member_is_ignored_and_unknown_event_kept() {
        check(
            "session_directory",
            &json!({ "cwd": "/p", "mood": 1 }),
            r#"("session_directory", Some({"cwd": String("/p")}))"#,
        );
        check("agent_start", &json!({ "mood": 1 }), r#"("agent_start", None)"#);
        let weather = Event::read("weather", None).expect("an event of a later day");
        assert_eq!(weather.hook(), None);
        check("weather", &json!({ "mood": 1 }), r#"("weather", Some({"mood": Number(1)}))"#);
        check("startup", &json!({ "reason": "new" }), r#"("session_start", Some({"reason": String("new")}))"#);
    }
}
