//! What is decided about a request before a dialect writes it.

use std::{borrow::Cow, collections::BTreeSet};

use pi_envelope::Prompt;
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value, json};

use super::{
    Mode, Target, anthropic_messages,
    change::Changes,
    cohere_v2,
    conversation::{self, Manner},
    gemini_generate,
    media::Senses,
    members::{merge, place},
    openai_chat, openai_responses, output,
    parameters::{self, Names},
    rules::Rules,
    thinking::{self, Activation},
    tools::{self, Offer, ToolsAs},
    turn::{Part, Turn},
};
use crate::{
    call::{CacheRetention, Call, ToolChoice},
    dialect::Dialect,
    error::CallError,
    manifest::{Capability, Contract, Quirks, contract::SystemHandling},
};

/// The conversation and the tools as they are sent, in no dialect's shape yet.
pub(super) struct Plan<'a> {
    pub(super) dialect: Dialect,
    pub(super) model: Cow<'a, str>,
    /// Empty if there is none, or if it stands elsewhere.
    pub(super) system: String,
    pub(super) turns: Vec<Turn<'a>>,
    pub(super) tools: Vec<Offer<'a>>,
    pub(super) contract: &'a Contract,
    /// Neighbours of the same role become one message.
    pub(super) alternate: bool,
    /// In the place of the contract's word for the role of the system text.
    system_role: Option<&'static str>,
    /// Where the server differs from its dialect.
    pub(super) quirks: Option<&'a Quirks>,
    pub(super) marker: Option<Marker<'a>>,
}

/// What is put on the parts of a prompt that a cache should keep.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Marker<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<&'a str>,
}

/// A body: what the dialect writes of the plan, and all other members.
pub(super) struct Body<'b, 'a> {
    pub(super) plan: &'b Plan<'a>,
    pub(super) members: &'b Map<String, Value>,
}

impl Serialize for Body<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut body = serializer.serialize_map(None)?;
        match self.plan.dialect {
            Dialect::OpenaiChat | Dialect::Demo => openai_chat::write(self.plan, &mut body)?,
            Dialect::OpenaiResponses => openai_responses::write(self.plan, &mut body)?,
            Dialect::AnthropicMessages => anthropic_messages::write(self.plan, &mut body)?,
            Dialect::GeminiGenerate => gemini_generate::write(self.plan, &mut body)?,
            Dialect::CohereV2 => cohere_v2::write(self.plan, &mut body)?,
        }
        for (name, member) in self.members {
            body.serialize_entry(name, member)?;
        }
        body.end()
    }
}

impl Plan<'_> {
    /// About as many bytes as the body will have, so that it need not be moved while it grows.
    pub(super) fn size(&self) -> usize {
        // Little enough for a short question to stay below what an allocator calls large.
        const AROUND_ALL: usize = 512;
        const AROUND_PART: usize = 120;
        const AROUND_TOOL: usize = 400;
        let part = |part: &Part<'_>| match part {
            Part::Text { text, .. } => text.len(),
            Part::Thinking { text, signature, .. } => text.len() + signature.map_or(0, str::len),
            Part::Call { .. } | Part::Media(_) => AROUND_PART,
        };
        let turn = |turn: &Turn<'_>| match turn {
            Turn::System(text) => text.len() + AROUND_PART,
            Turn::User { parts, .. } | Turn::Assistant(parts) => {
                parts.iter().map(|one| part(one) + AROUND_PART).sum::<usize>()
            }
            Turn::Results(answers) => answers.iter().map(|answer| answer.text.len() + AROUND_PART).sum(),
        };
        let tools: usize = self.tools.iter().map(|tool| tool.description.len() + AROUND_TOOL).sum();
        AROUND_ALL + self.system.len() + tools + self.turns.iter().map(turn).sum::<usize>()
    }

    /// The provider's word for a role.
    pub(super) fn role<'s>(&'s self, standard: &'s str) -> &'s str {
        if let Some(role) = self.system_role.filter(|_| standard == "system") {
            return role;
        }
        // Asked for every message, of a handful of roles: comparing takes less than a lookup.
        let own = self.contract.request_mapping.role_mapping.iter().find(|(known, _)| *known == standard);
        own.map_or(standard, |(_, own)| own.as_str())
    }

    /// Turns that become one message: all neighbours of the same role where roles alternate, else each alone.
    pub(super) fn groups(&self) -> impl Iterator<Item = &[Turn<'_>]> {
        self.turns.chunk_by(|left, right| {
            self.alternate
                && match (left, right) {
                    (Turn::User { .. }, Turn::User { .. }) | (Turn::Assistant(_), Turn::Assistant(_)) => true,
                    // Where results are words of the user, they and what follows are one message.
                    (Turn::Results(_), Turn::User { .. }) => self.dialect == Dialect::AnthropicMessages,
                    (Turn::System(_) | Turn::User { .. } | Turn::Assistant(_) | Turn::Results(_), _) => false,
                }
        })
    }
}

/// Decides on system text, turns, tools and cache marks.
pub(super) fn plan<'a>(
    target: &Target<'a>,
    call: Call<'a>,
    dialect: Dialect,
    changes: &mut Changes,
    used: &mut BTreeSet<Capability>,
) -> Result<Plan<'a>, CallError> {
    let (manifest, rules) = (target.manifest, Rules::of(dialect));
    let contract = &manifest.contract;
    let tools_as = tools::tools_as(target, &call.prompt.tools)?;
    let handling = system_handling(target, rules, call.prompt, changes);
    let alternate = contract.request_mapping.alternate_roles.unwrap_or(rules.alternate);
    let manner = Manner {
        manifest,
        model: target.model,
        dialect,
        ids: contract.request_mapping.tool_call_ids.as_ref().unwrap_or(&rules.tool_call_ids),
        tools: tools_as,
        senses: Senses::of(manifest, target.entry),
        inline_system: !alternate && takes_inline(dialect, handling),
        alternate,
        result_media: rules.result_media,
        missing_signature: missing_signature(target),
        thinking_as_text: target.quirks().is_some_and(|quirks| quirks.thinking_as_text),
    };
    let mut turns = conversation::turns(call.prompt, &manner, changes, used)?;
    let mut system = call.prompt.system_text();
    let offers = match tools_as {
        ToolsAs::Native => tools::offers(target, call.prompt, rules, changes)?,
        ToolsAs::Text(form) => {
            tools::tell(form, call, &mut system, changes);
            Vec::new()
        }
    };
    if !offers.is_empty() {
        used.insert(Capability::Tools);
    }
    let system = place_system(handling, system, &mut turns, changes);
    let caching = &contract.capability_contracts.caching;
    let of_model = target.entry.and_then(|entry| entry.cache_markers);
    let by_quirk = target.quirks().and_then(|quirks| quirks.cache_markers);
    let takes_marks = of_model.or(by_quirk).or(caching.markers).unwrap_or(rules.cache_markers);
    let retention = retention(target, call);
    if retention != call.options.cache {
        changes.changed("cache", "kept for a short time: models.json says that the server has no long one");
    }
    let has_marks = takes_marks && retention != CacheRetention::None;
    // Whoever has Anthropic's marks has its long time too.
    let long_ttl = caching.long_ttl.as_deref().or(by_quirk.map(|_| "1h"));
    let ttl = long_ttl.filter(|_| retention == CacheRetention::Long);
    Ok(Plan {
        dialect,
        model: target.entry.and_then(|entry| entry.model_id.as_deref()).unwrap_or(target.model).into(),
        system,
        turns,
        tools: offers,
        contract,
        alternate,
        system_role: system_role(target, dialect),
        quirks: target.quirks(),
        marker: has_marks.then_some(Marker { kind: "ephemeral", ttl }),
    })
}

/// How long the cache is asked to keep something, as far as the server can.
fn retention(target: &Target<'_>, call: Call<'_>) -> CacheRetention {
    let has_long = target.quirks().is_none_or(|quirks| quirks.long_cache != Some(false));
    match call.options.cache {
        CacheRetention::Long if !has_long => CacheRetention::Short,
        retention => retention,
    }
}

/// The role of the system text, where somebody says whether the server knows OpenAI's newer one.
fn system_role(target: &Target<'_>, dialect: Dialect) -> Option<&'static str> {
    let is_openai = match dialect {
        Dialect::OpenaiChat | Dialect::OpenaiResponses => true,
        Dialect::AnthropicMessages | Dialect::GeminiGenerate | Dialect::CohereV2 | Dialect::Demo => false,
    };
    let thinks = target.entry.is_some_and(|entry| entry.model_capabilities.reasoning == Some(true));
    match target.quirks().and_then(|quirks| quirks.developer_role).filter(|_| is_openai)? {
        true => thinks.then_some("developer"),
        false => Some("system"),
    }
}

/// What stands for a missing signature: the model's word, else the contract's; an empty one is none.
fn missing_signature<'m>(target: &Target<'m>) -> Option<&'m str> {
    let of_model = target.entry.and_then(|entry| entry.missing_signature.as_deref());
    let mode = &target.manifest.contract.capability_contracts.generative.reasoning_mode;
    of_model.or(mode.missing_signature.as_deref()).filter(|signature| !signature.is_empty())
}

/// Where the system text goes: the contract's word, else the dialect's; never in a role that the provider does not have.
fn system_handling(target: &Target<'_>, rules: &Rules, prompt: &Prompt, changes: &mut Changes) -> SystemHandling {
    let handling = target.manifest.contract.request_mapping.system_message_handling.unwrap_or(rules.system);
    let has_role = target.manifest.capabilities.feature_flags.system_messages != Some(false);
    match handling {
        SystemHandling::Inline | SystemHandling::TopLevelField if !has_role => {
            if !prompt.system.is_empty() {
                changes.changed("system", "told by the user, because the provider has no system role");
            }
            SystemHandling::PrependToUser
        }
        handling => handling,
    }
}

fn takes_inline(dialect: Dialect, handling: SystemHandling) -> bool {
    match dialect {
        Dialect::OpenaiChat | Dialect::Demo | Dialect::CohereV2 => handling == SystemHandling::Inline,
        Dialect::OpenaiResponses => matches!(handling, SystemHandling::Inline | SystemHandling::TopLevelField),
        Dialect::AnthropicMessages | Dialect::GeminiGenerate => false,
    }
}

/// The system text for its own place; empty where it was put into the conversation or nowhere.
fn place_system(handling: SystemHandling, system: String, turns: &mut Vec<Turn<'_>>, changes: &mut Changes) -> String {
    match handling {
        _ if system.trim().is_empty() => String::new(),
        SystemHandling::Inline | SystemHandling::TopLevelField => system,
        SystemHandling::NotSupported => {
            changes.dropped("system", "the provider has no system role");
            String::new()
        }
        SystemHandling::PrependToUser => {
            let text = Part::Text { text: system.into(), signature: None };
            match turns.iter_mut().find_map(|turn| match turn {
                Turn::User { parts, .. } => Some(parts),
                Turn::System(_) | Turn::Assistant(_) | Turn::Results(_) => None,
            }) {
                Some(parts) => parts.insert(0, text),
                None => turns.insert(0, Turn::User { parts: vec![text], metadata: None }),
            }
            String::new()
        }
    }
}

/// Every member that does not come from the conversation, and what thinking does beside its members.
pub(super) fn members(
    target: &Target<'_>,
    call: Call<'_>,
    mode: Mode,
    plan: &Plan<'_>,
    names: &Names<'_>,
    changes: &mut Changes,
) -> Result<(Map<String, Value>, Activation), CallError> {
    let (rules, options) = (Rules::of(plan.dialect), call.options);
    let mut members = Map::new();
    merge(&mut members, &rules.members);
    if let Some(quirks) = target.quirks() {
        apply_quirks(quirks, plan.dialect, &mut members);
    }
    if let Some(entry) = target.entry {
        merge(&mut members, &entry.request_defaults);
    }
    let mut parameters = Cow::Borrowed(&options.parameters);
    if parameters.contains_key("stream") {
        parameters.to_mut().shift_remove("stream");
        changes.dropped("stream", "whoever makes the call decides it");
    }
    let wanted = match tools::parallel_parameter(&parameters)? {
        Some((name, wanted)) => {
            parameters.to_mut().shift_remove(name);
            Some(options.parallel_tools.unwrap_or(wanted))
        }
        None => options.parallel_tools,
    };
    let sent = parameters::checked(names, &parameters, changes)?;
    let sent = without_excluded(&plan.contract.request_mapping.exclusive_parameters, sent, changes);
    for (name, value) in &sent {
        place(&mut members, &names.place_in_body(name), value.clone());
    }
    let choice = tools::choice(target, options, call.prompt, &plan.tools, changes);
    let activation = thinking::activate(target, rules, names, (options, choice), &mut members, changes);
    for name in &plan.contract.request_mapping.omitted_members {
        if !sent.iter().any(|(sent, _)| sent == name) {
            members.shift_remove(name);
        }
    }
    parameters::tell_replaced(names, &sent, &members, changes);
    let parallel = tools::parallel(target, wanted, call.prompt, &plan.tools, changes);
    merge(&mut members, &choice_members(plan.dialect, choice, parallel, changes));
    merge(&mut members, &output::members(target, plan.dialect, &options.response_format, changes));
    merge(&mut members, &cache_members(target, call));
    if mode == Mode::Stream {
        merge(&mut members, &rules.streamed);
        if let Some(option) = usage_option(target, rules) {
            place(&mut members, option, Value::Bool(true));
        }
    }
    for name in &rules.reserved {
        if members.shift_remove(name).is_some() {
            changes.dropped(name, "only the conversation fills this member");
        }
    }
    Ok((members, activation))
}

/// Of parameters that exclude each other, the first that is there.
fn without_excluded(
    groups: &[Vec<String>],
    mut sent: Vec<(String, Value)>,
    changes: &mut Changes,
) -> Vec<(String, Value)> {
    for group in groups {
        let is_sent = |name: &&String| sent.iter().any(|(sent, _)| sent == *name);
        let present: Vec<&String> = group.iter().filter(is_sent).collect();
        let [first, others @ ..] = present.as_slice() else { continue };
        for name in others {
            changes.dropped(name.as_str(), format!("the provider takes it only without {first}"));
        }
        sent.retain(|(name, _)| !others.contains(&name));
    }
    sent
}

/// The members that a server is sent because somebody says that it knows them, and not those that it does not.
fn apply_quirks(quirks: &Quirks, dialect: Dialect, members: &mut Map<String, Value>) {
    let is_chat = dialect == Dialect::OpenaiChat;
    match quirks.store {
        Some(true) if is_chat => {
            members.insert("store".to_owned(), Value::Bool(false));
        }
        Some(false) => {
            members.shift_remove("store");
        }
        Some(true) | None => {}
    }
    if is_chat {
        merge(members, &quirks.members);
    }
}

/// The member that makes a stream end with its usage, unless the provider is said to have none.
fn usage_option<'m>(target: &Target<'m>, rules: &'m Rules) -> Option<&'m str> {
    let streaming = &target.manifest.contract.capability_contracts.streaming;
    let of_model = target.quirks().and_then(|quirks| quirks.usage_in_streaming);
    if of_model == Some(false) {
        return None;
    }
    let declared =
        of_model.or(streaming.supports_usage_in_stream).or(target.manifest.capabilities.feature_flags.streaming_usage);
    let usual = || rules.usage_option.as_deref().filter(|_| declared != Some(false));
    streaming.usage_option.as_deref().or_else(usual).filter(|option| !option.is_empty())
}

fn cache_members(target: &Target<'_>, call: Call<'_>) -> Map<String, Value> {
    let caching = &target.manifest.contract.capability_contracts.caching;
    let mut members = match retention(target, call) {
        CacheRetention::None => return Map::new(),
        CacheRetention::Short => Map::new(),
        CacheRetention::Long => caching.long_members.clone(),
    };
    if let (Some(field), Some(session)) = (&caching.key_field, &call.options.session) {
        members.insert(field.clone(), json!(session));
    }
    members
}

/// Dotted members for the choice of tools.
fn choice_members(
    dialect: Dialect,
    choice: Option<&ToolChoice>,
    parallel: Option<bool>,
    changes: &mut Changes,
) -> Map<String, Value> {
    let members = match dialect {
        Dialect::OpenaiChat | Dialect::Demo => openai_chat::choice(choice, parallel),
        Dialect::OpenaiResponses => openai_responses::choice(choice, parallel),
        Dialect::AnthropicMessages => anthropic_messages::choice(choice, parallel),
        Dialect::GeminiGenerate => gemini_generate::choice(choice),
        Dialect::CohereV2 => cohere_v2::choice(choice, changes),
    };
    if parallel.is_some() && matches!(dialect, Dialect::GeminiGenerate | Dialect::CohereV2) {
        changes.dropped("parallel_tools", "the API has no member for it");
    }
    if parallel.is_some() && dialect == Dialect::AnthropicMessages && choice == Some(&ToolChoice::None) {
        changes.dropped("parallel_tools", "no tool may be called");
    }
    members
}
