//! A command as the engine hands it to a journal.

use pi_engine::{
    Access, ClientName, CommandId, Fingerprint, Header, Kind, Lane, Limit, Order, Principal, Role, SessionName, Span,
};

pub(crate) fn header(id: &str, session: &str) -> Header {
    Header {
        principal: Principal::from("token"),
        client: ClientName::from("laptop"),
        id: Some(CommandId::from(id)),
        key: None,
        kind: Kind::from("set_session_name"),
        fingerprint: Fingerprint([7; 32]),
        lane: Lane::Session(SessionName::from(session)),
        about: None,
        order: Order::Control { span: Span::Short, role: Role::Bystander },
        access: Access::Write,
        limit: Limit::Brief,
        depends_on: Vec::new(),
        if_version: None,
    }
}
