//! What the engine is told about a command: the registry's words in the engine's.

use pi_engine::{Access, CommandId, Fingerprint, Header, Key, Kind, Lane, Limit, Order, Role, SessionName, Span};
use pi_wire::{
    Activity, Class, Command, Frame,
    registry::{self, Effect, Need, Timeout},
};

use crate::connection::Identity;

/// All that decides when a command runs. `is_extension_command` says which slash commands the session's extensions have.
pub fn header(
    frame: &Frame,
    identity: &Identity,
    activity: Activity,
    is_extension_command: impl FnOnce(&str) -> bool,
) -> Header {
    let class = frame.command.class(activity, is_extension_command);
    let lane = match &frame.command {
        Command::Server(_) => Lane::Server,
        Command::Session(session, _) => Lane::Session(SessionName::from(session.as_str())),
    };
    let subject = frame.command.subject().map(|session| SessionName::from(session.as_str()));
    let about = subject.filter(|subject| lane.session() != Some(subject));
    Header {
        principal: identity.principal.clone(),
        client: identity.client.clone(),
        id: frame.head.id.as_ref().map(|id| CommandId::from(id.as_str())),
        key: frame.head.idempotency_key.as_ref().map(|key| Key::from(key.as_str())),
        kind: Kind::from(frame.kind().name()),
        fingerprint: Fingerprint(*frame.fingerprint().as_bytes()),
        lane,
        about,
        order: order(class),
        access: access(frame.kind().spec().effect),
        limit: limit(class.timeout()),
        depends_on: frame.head.depends_on.iter().map(|id| CommandId::from(id.as_str())).collect(),
        if_version: frame.head.if_session_version,
    }
}

fn order(class: Class) -> Order {
    let span = match class.span() {
        registry::Span::Short => Span::Short,
        registry::Span::Long => Span::Long,
    };
    let role = match class.need() {
        Need::Independent => Role::Bystander,
        Need::RunNeedsIt => Role::NeededByRun,
    };
    match class.order() {
        registry::Order::Work => Order::Work(span),
        registry::Order::Control => Order::Control { span, role },
    }
}

fn access(effect: Effect) -> Access {
    match effect {
        // What was typed into a component may be a secret, and is no use after a restart: it stays out of the journal.
        Effect::Read | Effect::Connects | Effect::Passes => Access::Read,
        Effect::Mutates | Effect::Creates | Effect::Loads | Effect::Deletes => Access::Write,
        Effect::Acts => Access::Act,
    }
}

fn limit(timeout: Timeout) -> Limit {
    match timeout {
        Timeout::Short => Limit::Brief,
        Timeout::Standard => Limit::Normal,
        Timeout::Long => Limit::Extended,
        Timeout::Unlimited => Limit::Unlimited,
    }
}

#[cfg(test)]
mod tests {
    use pi_wire::{Limits, parse};

    use super::*;

    fn told(text: &str, activity: Activity) -> String {
        let frame = parse(text.as_bytes(), &Limits::default()).expect("a good frame");
        let header = header(&frame, &Identity::new("token", Some("tab")), activity, |name| name == "deploy");
        let Header { lane, about, order, access, limit, .. } = header;
        let about = about.map_or(String::new(), |about| format!(" about {about}"));
        format!("{lane}{about} {order:?} {access:?} {limit:?}")
    }

    #[test]
    fn commands_go_where_the_registry_says() {
        for (text, activity, expected) in [
            (
                r#"{"type":"health_check"}"#,
                Activity::Idle,
                "server Control { span: Short, role: Bystander } Read Brief",
            ),
            (r#"{"type":"delete_session","sessionId":"s"}"#, Activity::Idle, "server about s Work(Long) Write Normal"),
            (
                r#"{"type":"abort","sessionId":"s"}"#,
                Activity::Running,
                "session:s Control { span: Short, role: NeededByRun } Write Brief",
            ),
            (
                r#"{"type":"prompt","sessionId":"s","message":"hi"}"#,
                Activity::Running,
                "session:s Work(Long) Write Unlimited",
            ),
            (
                r#"{"type":"prompt","sessionId":"s","message":"hi","streamingBehavior":"steer"}"#,
                Activity::Running,
                "session:s Control { span: Short, role: Bystander } Write Brief",
            ),
            (
                r#"{"type":"prompt","sessionId":"s","message":"/deploy now"}"#,
                Activity::Running,
                "session:s Control { span: Long, role: Bystander } Write Unlimited",
            ),
            (
                r#"{"type":"extension_ui_response","sessionId":"s","requestId":"r","response":{"method":"cancelled"}}"#,
                Activity::Running,
                "session:s Control { span: Short, role: NeededByRun } Act Brief",
            ),
        ] {
            assert_eq!(told(text, activity), expected, "{text}");
        }
    }

    #[test]
    fn clients_of_two_credentials_are_never_one() {
        assert_ne!(Identity::new("a", Some("b")).client, Identity::new("a/b", None).client);
    }
}
