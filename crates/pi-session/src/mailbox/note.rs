//! What a run tells and asks its session.

use std::{path::Path, sync::Arc};

use pi_extproto::capability::Capability;
use pi_policy::{Decision, Policy, Request, Target, decide};
use pi_transcript::{EntryId, Message};

use super::{Mailbox, answer, prompt, tree};
use crate::{
    context,
    herald::Outgoing,
    queue::{Saying, When},
    run::desk::{Note, Plan, Terms},
    tree::Kept,
};

impl Mailbox {
    pub(super) fn note(&mut self, note: Note) {
        match note {
            Note::Plan(reply) => answer(reply, self.plan()),
            Note::Offers(reply) => {
                self.take_offers();
                answer(reply, ());
            }
            Note::Terms(reply) => answer(reply, self.terms()),
            Note::Events(events) => self.tell(events),
            Note::Append { before, drafts, after, ids } => answer(ids, self.append(before, drafts, after)),
            Note::Written(reply) => self.scribe.record(Vec::new(), Outgoing::Written(reply)),
            Note::Durable(reply) => self.scribe.sync(Outgoing::Written(reply)),
            Note::Due(when, reply) => answer(reply, self.due(when)),
            Note::Since(first, reply) => answer(reply, self.since(&first)),
            Note::Judge(request, reply) => answer(reply, self.judge(&request)),
            Note::Remember(answer) => {
                let policy = Policy::clone(&self.policy);
                self.policy = Arc::new(policy.with_answer(*answer));
            }
            Note::Survey(target, reply) => answer(reply, tree::survey(&self.tree, &target)),
            Note::GoTo(leaf, reply) => {
                let place = leaf.and_then(|leaf| self.tree.find(&leaf).ok());
                self.tree.move_leaf(place);
                self.has_moved = true;
                answer(reply, self.tree.missing());
            }
            Note::Hold(entries, reply) => {
                for (place, kept) in entries {
                    self.tree.hold(place, kept.to_entry());
                }
                answer(reply, self.tree.missing());
            }
            Note::Ran(message, reply) => {
                self.ran.push(Message::BashExecution(*message));
                if self.running.is_none() {
                    self.say_what_ran();
                }
                answer(reply, ());
            }
            Note::Path(reply) => answer(reply, self.tree.entries()),
        }
    }

    /// What may be done. The model may also read what it was told that its output is in.
    fn judge(&self, request: &Request) -> Decision {
        match (decide(&self.policy, request), &request.action.target) {
            (Decision::Ask(_) | Decision::Deny(_), Target::Path(location))
                if request.action.capability == Capability::Read
                    && self.tools.workspace.spilled(location).is_some_and(|name| self.was_spilled(name)) =>
            {
                decide(&Policy::clone(&self.policy).with_readable(location), request)
            }
            (decision, _) => decision,
        }
    }

    /// Whether a command of this conversation has such a file.
    fn was_spilled(&self, name: &str) -> bool {
        self.tree.entries().iter().any(|kept| match &**kept {
            Kept::Message { message, .. } => {
                full_output(message).and_then(|path| Path::new(path).file_name()) == Some(name.as_ref())
            }
            Kept::Other(_) => false,
        })
    }

    fn plan(&self) -> Plan {
        let entries = self.tree.entries();
        let spoken = context::build(&entries).messages;
        Plan {
            terms: self.terms(),
            tools: Arc::clone(&self.tools.set),
            messages: prompt::messages(&entries, &spoken),
            after: spoken.last().map(|(id, _)| id.clone()),
        }
    }

    fn terms(&self) -> Terms {
        Terms {
            choice: Arc::clone(&self.choice),
            thinking: self.choice.clamp(self.thinking),
            system: Arc::clone(&self.system),
            tools: self.tools.notes(),
            retry: self.retry,
            compaction: self.compaction,
            server_wait: self.habits.server_wait,
        }
    }

    pub(super) fn due(&mut self, when: When) -> Vec<Saying> {
        let due = self.queues.take(when);
        if !due.is_empty() {
            self.tell_queues();
        }
        due
    }

    /// The messages of the current path from an entry on.
    fn since(&self, first: &EntryId) -> Vec<Message> {
        let entries = self.tree.entries();
        let from = entries.iter().position(|kept| kept.id() == first).unwrap_or(entries.len());
        context::build(&entries[from..]).messages.into_iter().map(|(_, message)| Message::clone(&message)).collect()
    }
}

/// The file that holds the whole output of a command.
pub(super) fn full_output(message: &Message) -> Option<&str> {
    match message {
        Message::ToolResult(result) => result.details.as_ref()?.get("fullOutputPath")?.as_str(),
        Message::BashExecution(bash) => bash.full_output_path.as_deref(),
        Message::User(_)
        | Message::Assistant(_)
        | Message::Custom(_)
        | Message::BranchSummary(_)
        | Message::CompactionSummary(_)
        | Message::System(_)
        | Message::Other(_) => None,
    }
}
