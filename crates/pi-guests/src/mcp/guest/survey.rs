//! What a server offers: asked for, judged, and given the names under which it is used.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::{Value, json};
use tokio::time::timeout;

use pi_exthost::{
    Occasion,
    guest::{CommandOffer, ToolOffer},
};
use pi_extproto::{
    connector::{
        tool::{CommandDefinition, ToolDefinition},
        ui::NoticeLevel,
    },
    log::{Level, LogEvent, LogNote},
};
use pi_transcript::json::Digest;

use super::Shared;
use crate::mcp::{
    limits::Limits,
    link::{Link, LinkFault, Request},
    naming,
    pins::{self, Changed, Judged},
    reading::{self, Faults, Page, PromptFace, ToolFace},
};

/// The name of the tool that reads resources, to its server and in the ledger.
pub(super) const RESOURCES: &str = "resources/read";

/// What a server offers now.
#[derive(Debug, Default)]
pub(super) struct Offers {
    pub(super) tools: Vec<ToolFace>,
    pub(super) prompts: Vec<PromptFace>,
    pub(super) has_resources: bool,
    /// Tools that are held back.
    pub(super) changed: Vec<Changed>,
    /// What cannot be used, and why.
    pub(super) faults: Vec<String>,
}

impl Shared {
    /// Asks for everything that the server offers, and takes it over.
    pub(super) async fn survey(self: &Arc<Self>, link: &Arc<dyn Link>) -> Result<(), LinkFault> {
        let about = link.about().clone();
        let limits = &self.limits;
        let lists = async {
            let mut faults = Faults::default();
            let tools = match about.has_tools {
                true => {
                    let list = |cursor| Request::ListTools { cursor };
                    all(link, limits, &mut faults, list, |page| reading::tools(page, limits)).await?
                }
                false => Vec::new(),
            };
            let prompts = match about.has_prompts {
                true => {
                    let list = |cursor| Request::ListPrompts { cursor };
                    all(link, limits, &mut faults, list, |page| reading::prompts(page, limits)).await?
                }
                false => Vec::new(),
            };
            let has_resources = about.has_resources && has_any(link, limits).await?;
            Ok((tools, prompts, has_resources, faults))
        };
        let late = |_| {
            let message = format!("it did not list its tools within {:?}", limits.listing);
            LinkFault::Unreachable { message, is_permanent: false }
        };
        let (tools, prompts, has_resources, mut faults) = timeout(limits.listing, lists).await.map_err(late)??;
        let tools = unique(tools, &mut faults).into_iter().filter(|tool| self.server.wants(&tool.name)).collect();
        let mut faults = faults.into_told();
        let Judged { known, changed, unrecorded: _ } = self.judge(&link.about().version, tools, &mut faults).await;
        self.note(&faults);
        let offers = Offers { tools: known, prompts, has_resources, changed, faults };
        let tools = offers.tool_offers(&self.server.name);
        self.publish(offers);
        self.has_changed.notify_one();
        self.weigh(tools).await;
        Ok(())
    }

    /// Writes down what cannot be used, in one line and within what any extension may say: a server decides how often it is
    /// surveyed and how much is wrong with it.
    fn note(&self, faults: &[String]) {
        if faults.is_empty() || faults == self.offers().faults {
            return;
        }
        let message = format!("not all that it lists can be used: {}", faults.join("; "));
        let note = LogNote { level: Level::Warn, event: LogEvent::CompatWarning, message, data: None };
        self.desk.events().note(note, &Occasion::Loading);
    }

    /// Records what all of it costs, for whoever lists servers without asking them.
    async fn weigh(&self, tools: Vec<ToolOffer>) {
        let Some(pins) = self.pins.clone() else { return };
        let (server, weight) = (self.server.clone(), self.weight);
        let tools: Vec<ToolDefinition> = tools.into_iter().map(|tool| tool.definition).collect();
        let work = move || {
            let offered = Digest::of(json!([env!("CARGO_PKG_VERSION"), tools]).to_string().as_bytes());
            pins.weigh(&server, &offered, || weight(&tools))
        };
        // A record that cannot be used was told when its tools were compared with it.
        if let Ok(Err(fault)) = tokio::task::spawn_blocking(work).await {
            tracing::debug!(guest = %self.desk.guest(), %fault, "what its tools cost is not recorded");
        }
    }

    /// Which tools are as they were. A record that cannot be read holds all of them back, and one that is full those that are
    /// new.
    async fn judge(&self, version: &str, tools: Vec<ToolFace>, faults: &mut Vec<String>) -> Judged {
        let Some(pins) = self.pins.clone() else { return Judged { known: tools, ..Judged::default() } };
        let (server, version) = (self.server.clone(), version.to_owned());
        let judged = tokio::task::spawn_blocking(move || pins.judge(&server, &version, tools)).await;
        let none = |problem: String| (Judged::default(), format!("none of its tools is offered: {problem}"));
        let (judged, told) = match judged {
            Ok(Ok(judged)) if judged.unrecorded == 0 => return judged,
            Ok(Ok(judged)) => {
                let most = pins::MOST;
                let why = format!("it has named {most} by now, and no more are recorded");
                let hint = format!("`pi mcp remove {}` and adding it again begins anew", self.server.name);
                (judged, format!("tools with new names are not offered: {why}; {hint}"))
            }
            Ok(Err(fault)) => none(format!("{fault}; {}", fault.hint())),
            Err(broken) => none(broken.to_string()),
        };
        // It stays so in the next survey, and a server may ask for one every second.
        if !self.offers().faults.contains(&told) {
            self.tell(format!("MCP server {}: {told}", self.server.name), NoticeLevel::Error);
        }
        faults.push(told);
        judged
    }
}

impl Offers {
    pub(super) fn tool_offers(&self, server: &str) -> Vec<ToolOffer> {
        let tool = |face: &ToolFace| {
            ToolOffer::from(ToolDefinition {
                name: naming::tool(server, &face.name),
                label: Some(face.title.clone().unwrap_or_else(|| face.name.clone())),
                description: face.description.clone(),
                parameters: face.schema.clone(),
                prompt_snippet: None,
                execution_mode: None,
            })
        };
        let resources = self.has_resources.then(|| {
            let parameters = json!({ "type": "object", "properties": {
                "uri": { "type": "string", "description": "which one; leave it out for a list of all" },
            } });
            ToolOffer::from(ToolDefinition {
                name: naming::tool(server, "resources"),
                label: Some("Resources".to_owned()),
                description: format!("Lists or reads the resources of the MCP server {server}."),
                parameters: parameters.as_object().cloned().unwrap_or_default(),
                prompt_snippet: None,
                execution_mode: None,
            })
        });
        let has_own = |offer: &ToolOffer| {
            !self.tools.iter().any(|face| naming::tool(server, &face.name) == offer.definition.name)
        };
        self.tools.iter().map(tool).chain(resources.filter(has_own)).collect()
    }

    pub(super) fn command_offers(&self, server: &str) -> Vec<CommandOffer> {
        let command = |prompt: &PromptFace| {
            let wanted = prompt.arguments.iter().map(|argument| match argument.is_required {
                true => format!(" {}", argument.name),
                false => format!(" [{}]", argument.name),
            });
            let about = prompt.description.clone().unwrap_or_default();
            let description = Some(format!("{about}{}", wanted.collect::<String>())).filter(|text| !text.is_empty());
            CommandOffer::from(CommandDefinition { name: command_name(server, &prompt.name), description })
        };
        self.prompts.iter().map(command).collect()
    }

    /// What a tool that a model knows by this name is called by its server.
    pub(super) fn tool_named(&self, server: &str, name: &str) -> Option<String> {
        let own = self.tools.iter().find(|face| naming::tool(server, &face.name) == name);
        let resources =
            || (self.has_resources && naming::tool(server, "resources") == name).then(|| RESOURCES.to_owned());
        own.map(|face| face.name.clone()).or_else(resources)
    }

    pub(super) fn prompt_named(&self, server: &str, name: &str) -> Option<&PromptFace> {
        self.prompts.iter().find(|prompt| command_name(server, &prompt.name) == name)
    }
}

/// A command is one word.
fn command_name(server: &str, prompt: &str) -> String {
    let word: String = prompt.chars().map(|sign| if sign.is_whitespace() { '-' } else { sign }).collect();
    format!("{server}:{word}")
}

/// Whether there is any resource: many servers say that they have some and have none, and a tool costs tokens.
async fn has_any(link: &Arc<dyn Link>, limits: &Limits) -> Result<bool, LinkFault> {
    let resources = link.request(Request::ListResources { cursor: None }, None).await?;
    if !reading::resources(&resources, "resources", "uri", limits)?.items.is_empty() {
        return Ok(true);
    }
    // Servers without templates need not know the question.
    let templates = link.request(Request::ListTemplates { cursor: None }, None).await.unwrap_or_default();
    let templates = reading::resources(&templates, "resourceTemplates", "uriTemplate", limits);
    Ok(templates.is_ok_and(|page| !page.items.is_empty()))
}

/// All pages of a list, as far as the limits reach.
pub(super) async fn all<T>(
    link: &Arc<dyn Link>,
    limits: &Limits,
    faults: &mut Faults,
    request: impl Fn(Option<String>) -> Request,
    read: impl Fn(&Value) -> Result<Page<T>, LinkFault>,
) -> Result<Vec<T>, LinkFault> {
    let (mut items, mut cursor, mut seen) = (Vec::new(), None::<String>, BTreeSet::new());
    for _ in 0..limits.pages {
        let page = read(&link.request(request(cursor.take()), None).await?)?;
        items.extend(page.items);
        faults.extend(page.faults);
        if items.len() > limits.items {
            faults.push(&format!("it lists more than {} items; the rest is left out", limits.items));
            items.truncate(limits.items);
            return Ok(items);
        }
        match page.next {
            Some(next) if seen.insert(next.clone()) => cursor = Some(next),
            Some(_) => {
                faults.push("its list leads in a circle");
                return Ok(items);
            }
            None => return Ok(items),
        }
    }
    faults.push(&format!("its list has more than {} pages; the rest is left out", limits.pages));
    Ok(items)
}

/// Of two tools of the same name the first is kept.
fn unique(tools: Vec<ToolFace>, faults: &mut Faults) -> Vec<ToolFace> {
    let mut names = BTreeSet::new();
    let mut kept = Vec::new();
    for tool in tools {
        match names.insert(tool.name.clone()) {
            true => kept.push(tool),
            false => faults.push(&format!("it lists the tool {} twice; the first counts", tool.name)),
        }
    }
    kept
}
