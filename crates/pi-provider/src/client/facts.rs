//! What is known about a call beside its answer.

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{HeaderMap, HeaderValue};

use super::{exchange::Reply, seam::Replacer};
use crate::{
    classify::request_id, dialect::Dialect, guardrail::Finding, limits::Limits, request::Change, secret::Carried,
};

/// How a call went.
#[derive(Debug, Clone)]
pub struct Facts {
    /// Absent where no server was asked.
    pub status: Option<u16>,
    pub headers: HeaderMap,
    pub limits: Limits,
    /// The provider's number of the request.
    pub request_id: Option<String>,
    /// How often it was sent.
    pub attempts: u32,
    /// How long was waited between attempts.
    pub waited: Duration,
    pub dialect: Dialect,
    /// What was not sent as it was asked for.
    pub changes: Vec<Change>,
    /// Who changed the request after it was built.
    pub replaced_by: Vec<Replacer>,
    /// The body that was sent, where somebody changed it.
    pub sent_body: Option<Bytes>,
    /// What the guardrails found, in the prompt and so far in the answer.
    pub findings: Vec<Finding>,
    /// Whether the answer came in pieces. Some servers answer with a whole one though a stream was asked for.
    pub is_streamed: bool,
    /// Pieces of a stream that were no JSON and that no rule reads, once the answer has ended.
    pub unread: u64,
}

impl Facts {
    pub(super) fn new(dialect: Dialect) -> Self {
        Self {
            status: None,
            headers: HeaderMap::new(),
            limits: Limits::default(),
            request_id: None,
            attempts: 0,
            waited: Duration::ZERO,
            dialect,
            changes: Vec::new(),
            replaced_by: Vec::new(),
            sent_body: None,
            findings: Vec::new(),
            is_streamed: false,
            unread: 0,
        }
    }

    /// Takes over what the answer says beside its body, without what the request carried.
    pub(super) fn take(&mut self, reply: &mut Reply, carried: &Carried) {
        self.status = Some(reply.status);
        self.headers = std::mem::take(&mut reply.headers);
        for value in self.headers.values_mut() {
            if let Some(text) = value.to_str().ok().and_then(|told| carried.hidden_in_word(told)) {
                *value = HeaderValue::from_str(&text).expect("stars may stand in a header");
            }
        }
        self.limits = reply.limits;
        self.request_id = request_id(&self.headers);
        self.attempts = reply.attempts;
        self.waited = reply.waited;
    }
}
