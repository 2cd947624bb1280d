//! What clients and server say: every command, response and event of the server protocol, and how each is checked.
//!
//! Untyped JSON stops here. Bytes of a client become a [`Frame`] or a [`Reject`]; what goes out is a [`Response`] or a
//! [`ServerEvent`]. The crate does not transport, order, run or remember anything: no IO, no clock, no async.
//!
//! Start with [`registry`], the one table of commands, then [`parse`]. To add a command: a row in the registry, a
//! payload in `command`, data in `response`; the compiler and the tests ask for the rest.

pub mod command;
pub mod connection;
pub mod error;
pub mod event;
pub mod fault;
mod fields;
mod fingerprint;
pub mod frame;
pub mod id;
pub mod limits;
pub mod registry;
pub mod reject;
pub mod response;
mod rule;
pub mod schema;

pub use self::{
    connection::ConnectionOptions,
    error::{Error, ErrorCode, Retry},
    event::{PROTOCOL_VERSION, ServerEvent},
    fault::{Fault, FieldFault},
    frame::{Activity, Command, Frame, Head, parse},
    limits::Limits,
    registry::{COMMANDS, Class, Feature, Kind, ServerCommand, SessionCommand, Spec},
    reject::{Cause, Reject},
    response::{Data, Failure, Outcome, Response},
    rule::names::is_session_id,
};
