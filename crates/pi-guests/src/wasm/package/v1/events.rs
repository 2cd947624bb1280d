//! What a guest hears.

use pi_extproto::hook::event::{Event, payload as ours};
use std::sync::Arc;

use super::{
    bindings::pi::extension::hooks as theirs,
    carry::{Lower, lower},
};

impl Lower<theirs::Event> for Arc<Event> {
    fn lower(self) -> theirs::Event {
        Arc::unwrap_or_clone(self).lower()
    }
}

macro_rules! cases {
    ($from:ty => $to:ty { bare { $($bare:ident),* $(,)? } held { $($held:ident),* $(,)? } }) => {
        impl Lower<$to> for $from {
            fn lower(self) -> $to {
                match self {
                    $(Self::$bare => <$to>::$bare,)*
                    $(Self::$held(held) => <$to>::$held(held.lower()),)*
                }
            }
        }
    };
}

cases! { Event => theirs::Event {
    bare { AgentStart }
    held {
        SessionDirectory, ProjectTrust, ResourcesDiscover, SessionStart, SessionBeforeSwitch, SessionSwitch,
        SessionBeforeFork, SessionFork, SessionBeforeCompact, SessionCompact, SessionBeforeTree, SessionTree,
        SessionShutdown, SessionInfoChanged, ThinkingLevelSelect, ModelSelect, Input, BeforeAgentStart, AgentEnd,
        AgentBeforeSettle, AgentSettled, TurnStart, TurnEnd, MessageStart, MessageUpdate, MessageEnd,
        ToolExecutionStart, ToolExecutionUpdate, ToolExecutionEnd, ToolCall, ToolResult, UserBash, Context,
        ContextWithSystem, BeforeProviderRequest, BeforeProviderHeaders, AfterProviderResponse, CacheWarmingDecision,
        Bus, Other,
    }
} }

cases! { ours::AssistantMessageEvent => theirs::AssistantMessageEvent {
    bare { Start }
    held {
        TextStart, TextDelta, TextEnd, ThinkingStart, ThinkingDelta, ThinkingEnd, ToolcallStart, ToolcallDelta,
        ToolcallEnd, Done, Error,
    }
} }

lower! {
    record ours::SessionDirectoryEvent => theirs::SessionDirectoryEvent { cwd }
    record ours::ProjectTrustEvent => theirs::ProjectTrustEvent { cwd }
    record ours::ResourcesDiscoverEvent => theirs::ResourcesDiscoverEvent { cwd, reason }
    record ours::SessionStartEvent => theirs::SessionStartEvent { reason, previous_session_file }
    record ours::SessionBeforeSwitchEvent => theirs::SessionBeforeSwitchEvent { reason, target_session_file }
    record ours::SessionSwitchEvent => theirs::SessionSwitchEvent { reason, previous_session_file }
    record ours::SessionBeforeForkEvent => theirs::SessionBeforeForkEvent { entry_id, position }
    record ours::SessionForkEvent => theirs::SessionForkEvent { previous_session_file }
    record ours::CompactionPreparation => theirs::CompactionPreparation {
        first_kept_entry_id, messages_to_summarize, turn_prefix_messages, is_split_turn, tokens_before,
        previous_summary, file_ops, settings,
    }
    record ours::SessionBeforeCompactEvent => theirs::SessionBeforeCompactEvent {
        preparation, branch_entries, custom_instructions, reason, will_retry,
    }
    record ours::SessionCompactEvent => theirs::SessionCompactEvent {
        compaction_entry, from_extension, reason, will_retry,
    }
    record ours::TreePreparation => theirs::TreePreparation {
        target_id, old_leaf_id, common_ancestor_id, entries_to_summarize, user_wants_summary, custom_instructions,
        replace_instructions, label,
    }
    record ours::SessionBeforeTreeEvent => theirs::SessionBeforeTreeEvent { preparation }
    record ours::SessionTreeEvent => theirs::SessionTreeEvent { new_leaf_id, old_leaf_id, summary_entry, from_extension }
    record ours::SessionShutdownEvent => theirs::SessionShutdownEvent { reason, target_session_file }
    record ours::SessionInfoChangedEvent => theirs::SessionInfoChangedEvent { name }
    record ours::ThinkingLevelSelectEvent => theirs::ThinkingLevelSelectEvent { level, previous_level }
    record ours::SelectedModel => theirs::SelectedModel {
        id, provider, name, api, reasoning, context_window, max_tokens,
    }
    record ours::ModelSelectEvent => theirs::ModelSelectEvent { model, previous_model, source }
    record ours::InputEvent => theirs::InputEvent { text, images, source, streaming_behavior }
    record ours::BeforeAgentStartEvent => theirs::BeforeAgentStartEvent {
        prompt, images, system_prompt, system_prompt_options, message_type,
    }
    record ours::AgentEndEvent => theirs::AgentEndEvent { messages, will_retry }
    record ours::AgentSettledEvent => theirs::AgentSettledEvent { aborted }
    record ours::TurnStartEvent => theirs::TurnStartEvent { turn_index, timestamp }
    record ours::MessageEvent => theirs::MessageEvent { message }
    record ours::MessageUpdateEvent => theirs::MessageUpdateEvent { message, usage, assistant_message_event }
    record ours::ToolExecutionStartEvent => theirs::ToolExecutionStartEvent {
        tool_call_id, tool_name, args, parent_tool_call_id,
    }
    record ours::ToolExecutionUpdateEvent => theirs::ToolExecutionUpdateEvent {
        tool_call_id, tool_name, args, partial_result, parent_tool_call_id,
    }
    record ours::ToolExecutionEndEvent => theirs::ToolExecutionEndEvent {
        tool_call_id, tool_name, result, is_error, duration_ms, parent_tool_call_id,
    }
    record ours::ToolCallEvent => theirs::ToolCallEvent { tool_name, tool_call_id, input }
    record ours::ToolResultEvent => theirs::ToolResultEvent {
        tool_name, tool_call_id, input, content, details, is_error,
    }
    record ours::UserBashEvent => theirs::UserBashEvent { command, exclude_from_context, cwd }
    record ours::ContextEvent => theirs::ContextEvent { messages }
    record ours::BeforeProviderRequestEvent => theirs::BeforeProviderRequestEvent { payload }
    record ours::BeforeProviderHeadersEvent => theirs::BeforeProviderHeadersEvent { headers }
    record ours::AfterProviderResponseEvent => theirs::AfterProviderResponseEvent { status, headers }
    record ours::CacheWarmingDecisionEvent => theirs::CacheWarmingDecisionEvent {
        warm_cost, miss_cost, continuation_probability, action,
    }
    record ours::BusEvent => theirs::BusEvent { channel, data }
    record ours::OtherEvent => theirs::OtherEvent { name, data }
    record ours::BlockStart => theirs::BlockStart { content_index }
    record ours::BlockDelta => theirs::BlockDelta { content_index, delta }
    record ours::BlockEnd => theirs::BlockEnd { content_index, content }
    record ours::CallStart => theirs::CallStart { content_index, id, tool_name }
    record ours::CallEnd => theirs::CallEnd { content_index, tool_call }
    record ours::MessageDone => theirs::MessageDone { reason, message }
    record ours::MessageFailed => theirs::MessageFailed { reason, error }
}

lower! {
    words ours::DiscoverReason => theirs::DiscoverReason { Startup, Reload }
    words ours::StartReason => theirs::StartReason { Startup, Reload, New, Resume, Fork }
    words ours::SwitchReason => theirs::SwitchReason { New, Resume }
    words ours::ForkPosition => theirs::ForkPosition { Before, At }
    words ours::CompactionReason => theirs::CompactionReason { Manual, Threshold, Overflow }
    words ours::ShutdownReason => theirs::ShutdownReason { Quit, Reload, New, Resume, Fork }
    words ours::ModelSource => theirs::ModelSource { Set, Cycle, Restore }
    words ours::InputSource => theirs::InputSource { Interactive, Rpc, Extension }
    words ours::StreamingBehavior => theirs::StreamingBehavior { Steer, FollowUp }
    words ours::WarmingAction => theirs::WarmingAction { Warm, Stop }
    words ours::DoneReason => theirs::DoneReason { Stop, Length, ToolUse }
    words ours::FailReason => theirs::FailReason { Aborted, Error }
}

impl Lower<theirs::AgentBeforeSettleEvent> for ours::AgentBeforeSettleEvent {
    fn lower(self) -> theirs::AgentBeforeSettleEvent {
        let Self { entries, resume, context } = self;
        theirs::AgentBeforeSettleEvent { entries: entries.lower(), continue_: resume, context: context.lower() }
    }
}

impl Lower<theirs::TurnEndEvent> for ours::TurnEndEvent {
    fn lower(self) -> theirs::TurnEndEvent {
        let Self {
            turn_index,
            message,
            tool_results,
            message_entry_id,
            tool_result_entry_ids,
            outcome,
            entries,
            resume,
            context,
        } = self;
        theirs::TurnEndEvent {
            turn_index,
            message: message.lower(),
            tool_results: tool_results.lower(),
            message_entry_id: message_entry_id.lower(),
            tool_result_entry_ids: tool_result_entry_ids.lower(),
            outcome: outcome.lower(),
            entries: entries.lower(),
            continue_: resume,
            context: context.lower(),
        }
    }
}
