//! Decides whether an extension, or the agent itself, may do what it asks.
//!
//! Pure: no files, no clock, no async. Asking a person and doing the work happen in `pi-exthost` and `pi-tools`; what an
//! action needs is derived in `pi-extproto`. Paths are judged as text, hosts by name: links and resolved addresses are
//! checked by the executor, with the [`Grant`] in its hand.
//!
//! Start with [`decide`] and [`Rule::ORDER`]. [`Grant`] is the proof that it hands out, and nothing else can make one.
//! [`explain()`] is the same decision with all its reasons; [`config`] is what people write.

pub mod config;
pub mod risk;

mod answers;
mod case;
mod chain;
mod command;
mod explain;
mod glob;
mod grant;
mod host;
mod hostcall;
mod moment;
mod place;
mod policy;
mod request;
mod resolve;
mod rule;
mod target;

pub use self::{
    answers::{Answers, Breadth, Remembered, Term},
    chain::{GIVEN, GIVEN_VARIABLES},
    command::{Command, CommandFault},
    explain::{Check, Explanation, Fit, Hint, Step, command_to_allow, explain},
    glob::GlobFault,
    grant::{Answer, Decision, Denial, Grant, Question, Reason, Undeclared, Verdict},
    host::{Host, HostFault, HostName, is_public},
    hostcall::BadCall,
    moment::{Moment, NoMoment},
    place::{Extent, Location, Mark, Marks, PathFault, PathStyle, Place, Places, Root},
    policy::{Mode, Policy},
    request::{Action, Extension, Provenance, Request, Subject},
    resolve::{AGENT_CAPABILITIES, ALWAYS_DENIED, DEFAULT_CAPABILITIES, DEFAULT_DENIES},
    risk::{Assessment, Evidence, Feature},
    rule::Rule,
    target::Target,
};

/// Answers a request: the first rule of [`Rule::ORDER`] that has an answer decides.
///
/// Total and deterministic; the only inputs are the arguments.
pub fn decide(policy: &Policy, request: &Request) -> Decision {
    chain::walk(policy, request, &mut chain::Silent)
}
