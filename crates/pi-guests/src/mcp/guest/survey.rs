//! What a server offers: asked for, judged, and given the names under which it is used.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use pi_exthost::{
    Occasion,
    guest::{CommandOffer, ToolOffer, presentable},
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
/// The name under which a prompt is asked for.
pub(super) const PROMPT: &str = "prompts/get";
/// Names that are requests of their own, and so cannot be those of tools.
pub(super) const RESERVED: [&str; 2] = [RESOURCES, PROMPT];

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
        let until = Instant::now() + limits.listing;
        let mut faults = Faults::default();
        let tools = match about.has_tools {
            true => {
                let list = |cursor| Request::ListTools { cursor };
                let listed = all(link, limits, &mut faults, list, |page| reading::tools(page, limits));
                within(until, limits, listed).await.map_err(|fault| named("tools/list", fault))?
            }
            false => Vec::new(),
        };
        // What cannot be listed costs itself, as long as there is somebody to ask; tools do without it.
        let prompts = match about.has_prompts {
            true => {
                let list = |cursor| Request::ListPrompts { cursor };
                let mut beside = Faults::default();
                let listed = all(link, limits, &mut beside, list, |page| reading::prompts(page, limits));
                let listed = without(within(until, limits, listed).await, "prompts/list", &mut faults)?;
                faults.extend(beside);
                listed
            }
            false => Vec::new(),
        };
        let has_resources = match about.has_resources {
            true => without(within(until, limits, has_any(link, limits)).await, "resources/list", &mut faults)?,
            false => false,
        };
        let tools = permitted(tools, &mut faults);
        let tools = unique(tools, &mut faults);
        for name in self.server.named().filter(|name| !tools.iter().any(|tool| tool.name == *name)) {
            faults.push(&format!("its entry names the tool {name}, which it does not list"));
        }
        let tools = tools.into_iter().filter(|tool| self.server.wants(&tool.name)).collect();
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
        // Those that no model is told of cost nothing.
        let shown = tools.iter().filter_map(|tool| presentable(tool).ok());
        let tools: Vec<ToolDefinition> = shown.map(|tool| tool.definition).collect();
        let work = move || {
            let offered = Digest::of(json!([env!("CARGO_PKG_VERSION"), tools]).to_string().as_bytes());
            pins.weigh(&server, (tools.len(), &offered), || weight(&tools))
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
        let tool = |face: &ToolFace| ToolOffer::from(naming::definition(server, face));
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

/// A list, as long as it may take.
async fn within<T>(
    until: Instant,
    limits: &Limits,
    listed: impl Future<Output = Result<T, LinkFault>>,
) -> Result<T, LinkFault> {
    let late = |_| LinkFault::Unreachable {
        message: format!("it did not answer within {:?}", limits.listing),
        is_permanent: false,
    };
    timeout_at(until, listed).await.map_err(late)?
}

/// What was asked for, in what a server answered instead.
fn named(method: &str, fault: LinkFault) -> LinkFault {
    let say = |message: String| format!("{method}: {message}");
    match fault {
        LinkFault::Unreachable { message, is_permanent } => {
            LinkFault::Unreachable { message: say(message), is_permanent }
        }
        LinkFault::Refused { code, message } => LinkFault::Refused { code, message: say(message) },
        LinkFault::Nonsense { message } => LinkFault::Nonsense { message: say(message) },
        other @ (LinkFault::Unauthorized { .. } | LinkFault::Lost { .. }) => other,
    }
}

/// A list that the server may fail to give. One that nobody answers any more is lost, and whoever wants credentials wants them
/// for everything.
fn without<T: Default>(listed: Result<T, LinkFault>, method: &str, faults: &mut Faults) -> Result<T, LinkFault> {
    match listed {
        Ok(listed) => Ok(listed),
        Err(fault @ (LinkFault::Lost { .. } | LinkFault::Unauthorized { .. })) => Err(fault),
        Err(fault) => {
            faults.push(&named(method, fault).to_string());
            Ok(T::default())
        }
    }
}

/// Tools that are called by their names: some names ask for something else.
fn permitted(tools: Vec<ToolFace>, faults: &mut Faults) -> Vec<ToolFace> {
    let is_permitted = |tool: &ToolFace| {
        let is_reserved = RESERVED.contains(&tool.name.as_str());
        if is_reserved {
            faults.push(&format!("the tool {} has the name of another request and cannot be called", tool.name));
        }
        !is_reserved
    };
    tools.into_iter().filter(is_permitted).collect()
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
