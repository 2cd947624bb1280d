//! Talks to a model: reads provider manifests, builds requests and decodes the streams that come back.
//!
//! Providers differ by [`Manifest`], that is by data; Rust is written only for a new *dialect* (a shape of request body
//! and stream that data cannot express), and the demo model is one of those. Retrying happens here only before the first
//! byte has arrived. Deliberately not here: retrying a whole turn, running tools and keeping the conversation, which
//! belong to `pi-session`; reading the environment and printing, which belong to `pi-cli`.
//!
//! Start with [`Manifest`], then [`Call`] (what is asked), [`StreamEvent`] (what comes back) and [`CallError`], whose
//! [`code`](CallError::code) answers whether to try again, whose fault it was, and what to do next.

pub mod assembly;
pub mod batch;
pub mod breaker;
pub mod builtin;
pub mod call;
pub mod catalog;
pub mod classify;
pub mod client;
mod condition;
pub mod credential;
pub mod demo;
mod dialect;
pub mod embeddings;
mod error;
mod event;
pub mod guardrail;
pub mod image;
pub mod likeness;
mod limits;
pub mod local;
pub mod manifest;
pub mod operation;
mod path;
pub mod request;
pub mod rerank;
pub mod response;
pub mod retry;
mod secret;
pub mod speech;
pub mod stream;
pub mod tape;
pub mod text_call;
pub mod tokens;
pub mod transport;

pub use self::{
    assembly::{Asked, Assembly},
    call::{Attempts, CacheRetention, Call, Options, ResponseFormat, ToolChoice},
    catalog::Catalog,
    dialect::Dialect,
    error::{CallError, Cause, ErrorCode, Failure, Phase, SetBy, Side, seconds},
    event::{Finish, NAMELESS_CALL, StreamEvent, Termination, TokenUsage, UNKNOWN_USAGE},
    limits::{Allowance, Limits},
    manifest::Manifest,
    request::{Mode, Request, Target},
    secret::Secret,
    stream::{Decoder, Pipeline},
};
