//! What guests offer, found by name.

use std::{collections::BTreeMap, fmt, sync::Arc};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use pi_transcript::message::AssistantMessage;

use super::{
    Attached, Guests,
    excess::{self, Shelf},
    faces::Faced,
};
use crate::{
    guest::{
        CommandCall, CommandOffer, GuestFault, GuestId, ProviderOffer, RefusedTool, Registration, Rendering, Shortcut,
        StreamCall, Suggestion, ToolAnswer, ToolInvocation, ToolOffer, chord,
    },
    incident::{During, Trouble},
    port::ControlPass,
};

/// A tool of a guest. One that has the name of a built-in tool takes its place.
#[derive(Clone)]
pub struct GuestTool {
    attached: Attached,
    shelf: Shelf,
    pub guest: GuestId,
    pub offer: Arc<ToolOffer>,
}

/// A slash command of a guest.
#[derive(Clone)]
pub struct GuestCommand {
    attached: Attached,
    pub guest: GuestId,
    /// What a person types: the name that the guest chose, with a number behind it if an earlier guest chose the same.
    pub typed: String,
    pub offer: CommandOffer,
}

/// A key that means something to a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestShortcut {
    pub guest: GuestId,
    /// As [`chord`] writes it.
    pub chord: String,
    pub description: Option<String>,
}

/// A provider of models that a guest registered.
#[derive(Debug, Clone, PartialEq)]
pub struct GuestProvider {
    pub guest: GuestId,
    pub offer: ProviderOffer,
}

/// Two guests want the same name. The later one goes without it, or by another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collision {
    pub kind: Kind,
    pub name: String,
    pub kept: GuestId,
    pub dropped: GuestId,
    /// What a person types for that of the later one.
    pub instead: Option<String>,
}

/// What the name is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Tool,
    /// The later one is still there, under its name with a number.
    Command,
    Shortcut,
    Renderer,
    Provider,
}

impl Guests {
    /// Every tool that can be put before a model, as it is put there; of several with one name, that of the guest that was
    /// attached first.
    pub fn tools(&self) -> Vec<GuestTool> {
        let mut tools: Vec<GuestTool> = Vec::new();
        for attached in self.attached().iter() {
            let faced = attached.faced();
            for offer in faced.shown() {
                if tools.iter().all(|tool| tool.offer.definition.name != offer.definition.name) {
                    tools.push(self.guest_tool(attached, &faced, offer));
                }
            }
        }
        tools
    }

    /// Tools that no model is told of, and why.
    pub fn refused_tools(&self) -> Vec<RefusedTool> {
        let mut refused = Vec::new();
        for Faced { registration, tools } in self.attached().iter().map(Attached::faced) {
            for (offer, shown) in registration.tools.iter().zip(tools.iter()) {
                if let Err(fault) = shown {
                    let (guest, tool, fault) = (registration.id.clone(), offer.definition.name.clone(), fault.clone());
                    refused.push(RefusedTool { guest, tool, fault });
                }
            }
        }
        refused
    }

    /// A tool by its name; one that cannot be put before a model is not there.
    pub fn tool(&self, name: &str) -> Option<GuestTool> {
        self.attached().iter().find_map(|attached| {
            let faced = attached.faced();
            let offer = faced.shown().find(|offer| offer.definition.name == name)?;
            Some(self.guest_tool(attached, &faced, offer))
        })
    }

    fn guest_tool(&self, attached: &Attached, faced: &Faced, offer: &Arc<ToolOffer>) -> GuestTool {
        let (attached, guest) = (attached.clone(), faced.registration.id.clone());
        GuestTool { attached, shelf: self.shelf(), guest, offer: Arc::clone(offer) }
    }

    /// Every command. The first of several with one name has it; the others have a number behind it, from 2 on.
    pub fn commands(&self) -> Vec<GuestCommand> {
        let mut seen = BTreeMap::<String, usize>::new();
        let mut commands = Vec::new();
        for attached in self.attached().iter() {
            let registration = attached.registration();
            for offer in &registration.commands {
                let name = &offer.definition.name;
                let times = seen.entry(name.clone()).or_default();
                *times += 1;
                let typed = typed(name, *times);
                let (attached, guest) = (attached.clone(), registration.id.clone());
                commands.push(GuestCommand { attached, guest, typed, offer: offer.clone() });
            }
        }
        commands
    }

    /// The command that a person typed, with or without a number behind it.
    pub fn command(&self, typed: &str) -> Option<GuestCommand> {
        let wanted = typed.strip_suffix(":1").unwrap_or(typed);
        self.commands().into_iter().find(|command| command.typed == wanted)
    }

    /// Every key that is somebody's; of several guests that want one, however they write it, that which was attached first
    /// has it.
    pub fn shortcuts(&self) -> Vec<GuestShortcut> {
        let mut shortcuts: Vec<GuestShortcut> = Vec::new();
        for registration in self.registrations() {
            for Shortcut { key, description } in &registration.shortcuts {
                let chord = chord(key);
                if shortcuts.iter().all(|known| known.chord != chord) {
                    let (guest, description) = (registration.id.clone(), description.clone());
                    shortcuts.push(GuestShortcut { guest, chord, description });
                }
            }
        }
        shortcuts
    }

    /// Tells the guest whose key it is, and waits until it has done what it does then. Answers whether it is anybody's.
    pub async fn press_shortcut(&self, key: &str, cancel: &CancellationToken) -> bool {
        let wanted = chord(key);
        let found = self.attached().iter().find_map(|attached| {
            let registration = attached.registration();
            let shortcut = registration.shortcuts.iter().find(|shortcut| chord(&shortcut.key) == wanted)?;
            Some((attached.clone(), shortcut.key.clone()))
        });
        let Some((attached, key)) = found else { return false };
        let during = During::Shortcut { key: key.clone() };
        let pressed = attached.run(during, attached.untimed(cancel), |guest, ask| guest.press_shortcut(key, ask)).await;
        // Reported there; a key that came to nothing has no other consequence.
        drop(pressed);
        true
    }

    /// Draws a message of the type as its guest wants it; nothing if none does, or if it fails at it.
    pub async fn render_message(
        &self,
        custom_type: &str,
        rendering: Rendering,
        cancel: &CancellationToken,
    ) -> Option<Vec<String>> {
        let attached = self.offering(|registration| {
            registration.renderers.iter().any(|renderer| renderer.custom_type == custom_type)
        })?;
        attached.render(rendering, cancel).await
    }

    /// The same for an entry.
    pub async fn render_entry(
        &self,
        custom_type: &str,
        rendering: Rendering,
        cancel: &CancellationToken,
    ) -> Option<Vec<String>> {
        let draws = |registration: &Registration| registration.entry_renderers.iter().any(|kind| kind == custom_type);
        self.offering(draws)?.render(rendering, cancel).await
    }

    /// Every provider; of several with one name, that of the guest that was attached first.
    pub fn providers(&self) -> Vec<GuestProvider> {
        let mut providers: Vec<GuestProvider> = Vec::new();
        for registration in self.registrations() {
            for offer in &registration.providers {
                if providers.iter().all(|provider| provider.offer.name != offer.name) {
                    providers.push(GuestProvider { guest: registration.id.clone(), offer: offer.clone() });
                }
            }
        }
        providers
    }

    /// Has a guest that registered the provider answer a model call. It may take as long as it wants.
    ///
    /// Nobody else does in its place: what is answered is decided for the one whose model was chosen.
    pub async fn stream(
        &self,
        guest: &GuestId,
        call: StreamCall,
        cancel: &CancellationToken,
    ) -> Result<Box<AssistantMessage>, Trouble> {
        let provider = call.provider.clone();
        let attached = self.offering(|registration| {
            registration.id == *guest
                && registration.providers.iter().any(|offer| offer.streams && offer.name == provider)
        });
        let Some(attached) = attached else {
            return Err(GuestFault::not_offered(format!("provider {provider}")).into());
        };
        let during = During::Stream { provider };
        attached.run(during, attached.untimed(cancel), |guest, ask| guest.stream(call, ask)).await
    }

    /// Names that more than one guest wants, in the order of the guests.
    pub fn collisions(&self) -> Vec<Collision> {
        let mut owners = BTreeMap::<(Kind, String), (GuestId, usize)>::new();
        let mut collisions = Vec::new();
        for registration in self.registrations() {
            for (kind, name) in names(&registration) {
                match owners.get_mut(&(kind, name.clone())) {
                    None => drop(owners.insert((kind, name), (registration.id.clone(), 1))),
                    Some((kept, times)) => {
                        *times += 1;
                        let (kept, dropped) = (kept.clone(), registration.id.clone());
                        let instead = (kind == Kind::Command).then(|| typed(&name, *times));
                        collisions.push(Collision { kind, name, kept, dropped, instead });
                    }
                }
            }
        }
        collisions
    }

    fn offering(&self, offers: impl Fn(&Registration) -> bool) -> Option<Attached> {
        self.attached().iter().find(|attached| offers(&attached.registration())).cloned()
    }
}

/// What is typed for a command: of several with one name the later ones have a number.
fn typed(name: &str, times: usize) -> String {
    if times == 1 { name.to_owned() } else { format!("{name}:{times}") }
}

fn names(registration: &Registration) -> impl Iterator<Item = (Kind, String)> {
    let tools = registration.tools.iter().map(|tool| (Kind::Tool, tool.definition.name.clone()));
    let commands = registration.commands.iter().map(|command| (Kind::Command, command.definition.name.clone()));
    let shortcuts = registration.shortcuts.iter().map(|shortcut| (Kind::Shortcut, chord(&shortcut.key)));
    let renderers = registration.renderers.iter().map(|renderer| (Kind::Renderer, renderer.custom_type.clone()));
    let providers = registration.providers.iter().map(|provider| (Kind::Provider, provider.name.clone()));
    tools.chain(commands).chain(shortcuts).chain(renderers).chain(providers)
}

impl GuestTool {
    /// Runs the tool. It may take as long as it wants, and is abandoned when it does not stop within the grace. What a
    /// failure says is for the model to read; whatever is more than a tool that threw has been reported. Answers and news
    /// that are too long are cut, and say so.
    pub async fn call(&self, mut call: ToolInvocation, cancel: &CancellationToken) -> Result<ToolAnswer, Trouble> {
        let during = During::Tool { name: call.name.clone() };
        let ask = self.attached.untimed(cancel);
        let watched = self.attached.watch.tool(&call, &ask.stopwatch);
        let (told, news) = mpsc::channel(call.updates.max_capacity());
        let listener = std::mem::replace(&mut call.updates, told);
        let work = self.attached.run(during, ask, |guest, ask| guest.call_tool(call, ask));
        let answer = excess::relay(work, news, &listener).await;
        watched.answered_tool(&answer);
        self.shelf.shorten(answer).await
    }

    /// Draws a call or a result of the tool as its guest wants it; nothing if it does not, or fails at it.
    pub async fn render(&self, rendering: Rendering, cancel: &CancellationToken) -> Option<Vec<String>> {
        if !self.offer.renders {
            return None;
        }
        self.attached.render(rendering, cancel).await
    }
}

impl GuestCommand {
    /// Runs the command to its end. It may take as long as it wants. A failure has been reported.
    pub async fn run(&self, arguments: String, cancel: &CancellationToken) -> Result<(), Trouble> {
        // Ends with this function, however it is left.
        let ended = CancellationToken::new();
        let _end = ended.clone().drop_guard();
        let name = self.offer.definition.name.clone();
        let during = During::Command { name: name.clone() };
        let ask = self.attached.untimed(cancel);
        let watched = self.attached.watch.command(&name, &arguments, &ask.stopwatch);
        let call = CommandCall { name, arguments, control: ControlPass::new(ended) };
        let done = self.attached.run(during, ask, |guest, ask| guest.run_command(call, ask)).await;
        watched.answered_command(&done);
        done
    }

    /// What could stand in the place of the argument; nothing where the guest knows nothing or fails.
    pub async fn complete(&self, prefix: String, cancel: &CancellationToken) -> Vec<Suggestion> {
        if !self.offer.completes {
            return Vec::new();
        }
        let command = self.offer.definition.name.clone();
        let (ask, during) = (self.attached.timed(cancel), During::Completion { command: command.clone() });
        let suggestions =
            self.attached.run(during, ask, |guest, ask| guest.complete_argument(command, prefix, ask)).await;
        suggestions.unwrap_or_default()
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tool => "the tool",
            Self::Command => "the command",
            Self::Shortcut => "the key",
            Self::Renderer => "the drawing of",
            Self::Provider => "the provider",
        })
    }
}

impl fmt::Display for Collision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, name, kept, dropped, instead } = self;
        match instead {
            Some(instead) => write!(f, "{kind} {name} is that of extension {kept}; that of {dropped} is /{instead}"),
            None => write!(f, "{kind} {name} is that of extension {kept}; {dropped} wanted it too"),
        }
    }
}

impl fmt::Debug for GuestTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.offer.definition.name, self.guest)
    }
}

impl fmt::Debug for GuestCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{} of {}", self.typed, self.guest)
    }
}
