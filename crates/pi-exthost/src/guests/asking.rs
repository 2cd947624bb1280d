//! One function per event that takes an answer, for whoever runs a conversation.
//!
//! Each takes a function that makes the event, and does not call it when nobody listens.

use tokio_util::sync::CancellationToken;

use pi_extproto::{
    Object,
    hook::{
        HeaderChange, Hook, ResourcePaths, WarmingOutcome,
        event::{Event, payload::*},
    },
};

use super::Guests;
use crate::chain::Chain;
use crate::guest::GuestId;
use crate::verdict::{
    BashVerdict, CompactionVerdict, ContextVerdict, InputVerdict, MessageVerdict, RequestVerdict, SessionVerdict,
    StartVerdict, ToolCallVerdict, ToolResultVerdict, TreeVerdict, TrustVerdict, TurnVerdict, Verdict,
};

macro_rules! asking {
    ($($(#[$doc:meta])* $name:ident: $hook:ident($event:ty) => $family:ident($verdict:ty);)*) => {
        impl Guests {
            $(
                $(#[$doc])*
                pub async fn $name(
                    &self,
                    event: impl FnOnce() -> $event + Send,
                    cancel: &CancellationToken,
                ) -> $verdict {
                    if !self.listens(Hook::$hook) {
                        return <$verdict>::default();
                    }
                    match self.dispatch(Event::$hook(event()), cancel).await {
                        Verdict::$family(verdict) => verdict,
                        other => unreachable!("a verdict is of the family of its event: {other:?}"),
                    }
                }
            )*
        }
    };
}

asking! {
    /// Where session files go; the last answer counts.
    session_directory: SessionDirectory(SessionDirectoryEvent) => SessionDirectory(Option<(GuestId, String)>);
    /// Whether a project is trusted; the first that decides counts.
    project_trust: ProjectTrust(ProjectTrustEvent) => Trust(TrustVerdict);
    /// Further skills, prompts and themes, of all.
    resources_discover: ResourcesDiscover(ResourcesDiscoverEvent) => Resources(Vec<(GuestId, ResourcePaths)>);
    /// Whether a session may be left for another.
    before_switch: SessionBeforeSwitch(SessionBeforeSwitchEvent) => Session(SessionVerdict);
    /// Whether a session may be forked.
    before_fork: SessionBeforeFork(SessionBeforeForkEvent) => Session(SessionVerdict);
    /// Whether and how a conversation is compacted.
    before_compact: SessionBeforeCompact(SessionBeforeCompactEvent) => Compaction(CompactionVerdict);
    /// Whether and how another branch becomes the current one.
    before_tree: SessionBeforeTree(SessionBeforeTreeEvent) => Tree(TreeVerdict);
    /// What becomes of what somebody wrote.
    input: Input(InputEvent) => Input(InputVerdict);
    /// What a run begins with.
    before_agent_start: BeforeAgentStart(BeforeAgentStartEvent) => Start(StartVerdict);
    /// What is added before a run settles, and whether it goes on instead.
    before_settle: AgentBeforeSettle(AgentBeforeSettleEvent) => Turn(TurnVerdict);
    /// What is added at the end of a turn, and whether the model goes on.
    turn_end: TurnEnd(TurnEndEvent) => Turn(TurnVerdict);
    /// What becomes of a complete message.
    message_end: MessageEnd(MessageEvent) => Message(MessageVerdict);
    /// What the model sees of a result.
    tool_result: ToolResult(ToolResultEvent) => ToolResult(ToolResultVerdict);
    /// Whether a shell command of a person runs. Fails closed.
    user_bash: UserBash(UserBashEvent) => Bash(BashVerdict);
    /// Which messages go to a model, system messages left out.
    context: Context(ContextEvent) => Context(ContextVerdict);
    /// Which messages go to a model, all of them.
    context_with_system: ContextWithSystem(ContextEvent) => Context(ContextVerdict);
    /// What goes to a provider.
    before_provider_request: BeforeProviderRequest(BeforeProviderRequestEvent) => Request(RequestVerdict);
    /// Which headers go with it; credentials are not among those that are shown.
    before_provider_headers: BeforeProviderHeaders(BeforeProviderHeadersEvent) => Headers(Vec<(GuestId, HeaderChange)>);
    /// Whether a prompt cache is kept warm; the last answer counts.
    cache_warming: CacheWarmingDecision(CacheWarmingDecisionEvent) => Warming(Option<(GuestId, WarmingOutcome)>);
}

impl Guests {
    /// Whether a tool runs, and with what. Fails closed. `spell` writes arguments as the tool will take them: what one guest
    /// puts in, the next one judges so.
    pub async fn tool_call<S: Future<Output = Object> + Send>(
        &self,
        event: impl FnOnce() -> ToolCallEvent + Send,
        spell: impl Fn(Object) -> S + Send + Sync,
        cancel: &CancellationToken,
    ) -> ToolCallVerdict {
        if !self.listens(Hook::ToolCall) {
            return ToolCallVerdict::default();
        }
        let mut chain = Chain::new(Hook::ToolCall, Event::ToolCall(event()));
        for attached in self.attached().iter() {
            if attached.tell_all(Hook::ToolCall, &mut chain, cancel).await.is_break() {
                break;
            }
            if let Some(put_in) = chain.put_in().cloned() {
                chain.respell(spell(put_in).await);
            }
        }
        match chain.verdict() {
            Verdict::ToolCall(verdict) => verdict,
            other => unreachable!("a verdict is of the family of its event: {other:?}"),
        }
    }

    /// Tells of something that takes no answer, and waits until all have heard it. `event` must be one of `hook`.
    ///
    /// What is told when a run was aborted needs a signal of its own: nobody hears anything under one that was given.
    pub async fn notice(&self, hook: Hook, event: impl FnOnce() -> Event + Send, cancel: &CancellationToken) {
        if self.listens(hook) {
            self.dispatch(event(), cancel).await;
        }
    }
}
