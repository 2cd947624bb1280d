//! What the tools of servers looked like when somebody first saw them.
//!
//! A server can describe its tools anew at any time, and what it writes is read by the model. So the first description is
//! recorded, and a tool that is described otherwise later is not offered until a person has looked at it.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::json;

use pi_exthost::private::PrivateFile;
use pi_extproto::Object;

use super::{difference, entry::Server, reading::ToolFace};

const VERSION: u64 = 1;
/// Tools that are recorded of one server. None is forgotten for another: who could crowd a tool out of the record could
/// describe it anew.
pub(super) const MOST: usize = 1024;

/// Definitions whose arguments are recorded, in bytes: each, and all of a server together.
const LARGEST: u64 = 8 << 10;
const ROOM: u64 = 256 << 10;

/// Where descriptions are recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pins {
    file: PrivateFile,
}

/// The tools of a server, judged.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Judged {
    /// As they were seen before, or seen for the first time.
    pub known: Vec<ToolFace>,
    pub changed: Vec<Changed>,
    /// How many have no room in the record, and so cannot be known again.
    pub unrecorded: usize,
}

/// A tool that is not described as it was.
#[derive(Debug, Clone, PartialEq)]
pub struct Changed {
    pub tool: ToolFace,
    /// What was said of it before.
    pub before: String,
    /// What changed in its arguments, in lines; empty where nothing did.
    pub arguments: Vec<String>,
}

/// What is recorded of a server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Record {
    /// What the server said that it is, when it was last seen.
    pub version: Option<String>,
    /// Tools that were seen.
    pub tools: usize,
    /// How long their definitions are together, as a model is shown them.
    pub bytes: u64,
    /// Tools that were described otherwise when they were last seen.
    pub changed: Vec<String>,
}

/// Why there is no judgement.
#[derive(Debug, thiserror::Error)]
pub enum PinFault {
    #[error("cannot use {path}: {source}")]
    Unusable { path: PathBuf, source: io::Error },
    #[error("{path} is not a record of tools: {message}")]
    Malformed { path: PathBuf, message: String },
    #[error("{path} was written by a newer version")]
    Newer { path: PathBuf },
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Book {
    version: u64,
    /// By the digest of the entry: another command is another server.
    servers: BTreeMap<String, Page>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Page {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    tools: BTreeMap<String, Pin>,
    /// Tools that were described otherwise when they were last seen.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    changed: BTreeMap<String, Pin>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Pin {
    digest: String,
    description: String,
    /// Of the whole definition. It says what a tool costs, and nothing about whether it is the same.
    #[serde(default)]
    bytes: u64,
    /// Of what kind its arguments were, to show what changed in them; nothing where there is too much of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    schema: Option<Object>,
}

impl Pins {
    /// The usual place in an agent directory.
    pub fn in_folder(agent: &Path) -> Self {
        Self { file: PrivateFile::new(agent.join("mcp-pins.json")) }
    }

    /// Compares tools with what was seen of them before, and records those that nobody has seen yet.
    pub fn judge(&self, server: &Server, version: &str, tools: Vec<ToolFace>) -> Result<Judged, PinFault> {
        self.change(server, |page| {
            let mut judged = Judged::default();
            page.version = Some(version.to_owned()).filter(|version| !version.is_empty());
            page.changed.clear();
            for tool in tools {
                let mut pin = Pin::of(&tool);
                match page.tools.get(&tool.name) {
                    Some(known) if known.digest != pin.digest => {
                        let (before, arguments) = (known.description.clone(), known.arguments_changed(&tool));
                        // It is recorded when somebody agrees to it.
                        pin.schema = None;
                        page.changed.insert(tool.name.clone(), pin);
                        judged.changed.push(Changed { tool, before, arguments });
                    }
                    None if page.tools.len() >= MOST => judged.unrecorded += 1,
                    Some(_) | None => {
                        page.record(&tool.name, pin);
                        judged.known.push(tool);
                    }
                }
            }
            judged
        })
    }

    /// Records that a person has seen these tools as they are now.
    pub fn accept(&self, server: &Server, tools: &[ToolFace]) -> Result<(), PinFault> {
        self.change(server, |page| {
            for tool in tools {
                page.changed.remove(&tool.name);
                page.record(&tool.name, Pin::of(tool));
            }
        })
    }

    /// What is known of the tools of a server.
    pub fn recorded(&self, server: &Server) -> Result<Record, PinFault> {
        let book = self.read()?;
        let record = |page: &Page| Record {
            version: page.version.clone(),
            tools: page.tools.len(),
            bytes: page.tools.values().map(|pin| pin.bytes).sum(),
            changed: page.changed.keys().cloned().collect(),
        };
        Ok(book.servers.get(&server.digest).map(record).unwrap_or_default())
    }

    /// Forgets a server.
    pub fn forget(&self, server: &Server) -> Result<(), PinFault> {
        self.change_book(|book| drop(book.servers.remove(&server.digest)))
    }

    fn change<T>(&self, server: &Server, work: impl FnOnce(&mut Page) -> T) -> Result<T, PinFault> {
        self.change_book(|book| {
            let page = book.servers.entry(server.digest.clone()).or_default();
            page.name.clone_from(&server.name);
            work(page)
        })
    }

    fn change_book<T>(&self, work: impl FnOnce(&mut Book) -> T) -> Result<T, PinFault> {
        let unusable = |source| PinFault::Unusable { path: self.path(), source };
        // Until the new file has its name.
        let _hold = self.file.hold().map_err(unusable)?;
        let mut book = self.read()?;
        let before = serde_json::to_string(&book).unwrap_or_default();
        let done = work(&mut book);
        book.version = VERSION;
        let after = serde_json::to_string_pretty(&book).map_err(|error| unusable(error.into()))?;
        if serde_json::to_string(&book).unwrap_or_default() != before {
            self.file.replace(&after).map_err(unusable)?;
        }
        Ok(done)
    }

    fn read(&self) -> Result<Book, PinFault> {
        let read = self.file.read().map_err(|source| PinFault::Unusable { path: self.path(), source })?;
        let Some(text) = read else { return Ok(Book::default()) };
        let book: Book = serde_json::from_str(&text)
            .map_err(|error| PinFault::Malformed { path: self.path(), message: error.to_string() })?;
        match book.version {
            VERSION => Ok(book),
            _ => Err(PinFault::Newer { path: self.path() }),
        }
    }

    fn path(&self) -> PathBuf {
        self.file.path().to_owned()
    }
}

impl Pin {
    fn of(tool: &ToolFace) -> Self {
        const SHOWN: usize = 2000;
        let shown = json!({ "name": tool.name, "description": tool.description, "parameters": tool.schema });
        let bytes = u64::try_from(shown.to_string().len()).unwrap_or(u64::MAX);
        let schema = (bytes <= LARGEST).then(|| tool.schema.clone());
        Self { digest: tool.digest(), description: tool.description.chars().take(SHOWN).collect(), bytes, schema }
    }

    /// What changed in the arguments of a tool that is not the same any more.
    fn arguments_changed(&self, tool: &ToolFace) -> Vec<String> {
        let is_described_alike = tool.description.starts_with(&self.description);
        match &self.schema {
            Some(before) => difference::lines(before, &tool.schema),
            None if is_described_alike => vec!["they changed; how they were is not recorded".to_owned()],
            None => Vec::new(),
        }
    }
}

impl Page {
    /// Records a tool as it is; its arguments only while there is room for them, so that a server cannot fill the file.
    fn record(&mut self, name: &str, mut pin: Pin) {
        let others = self.tools.iter().filter(|(other, pin)| *other != name && pin.schema.is_some());
        if others.map(|(_, pin)| pin.bytes).sum::<u64>() + pin.bytes > ROOM {
            pin.schema = None;
        }
        self.tools.insert(name.to_owned(), pin);
    }
}

impl PinFault {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unusable { .. } => "look at its permissions",
            Self::Malformed { .. } => "remove it to record all tools anew",
            Self::Newer { .. } => "use the newer version of pi",
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests lay out files")]
mod tests {
    use super::*;
    use crate::mcp::entry::Origin;

    fn tool(name: &str, description: &str) -> ToolFace {
        ToolFace { name: name.into(), title: None, description: description.into(), schema: Default::default() }
    }

    fn names(judged: &Judged) -> (Vec<&str>, Vec<&str>) {
        let known = judged.known.iter().map(|tool| tool.name.as_str()).collect();
        (known, judged.changed.iter().map(|changed| changed.tool.name.as_str()).collect())
    }

    #[test]
    fn changed_tools_are_held_until_somebody_accepts_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let pins = Pins::in_folder(folder.path());
        let entry = json!({ "command": "x" });
        let (server, _) = Server::read("s", &entry, (Origin::Person, "f".into()), &|_| None).expect("an entry");
        let first = pins.judge(&server, "1.2", vec![tool("a", "1"), tool("b", "1")]).expect("a judgement");
        assert_eq!(names(&first), (vec!["a", "b"], vec![]));
        let tools = vec![tool("a", "2"), tool("b", "1"), tool("c", "1")];
        let second = pins.judge(&server, "1.2", tools.clone()).expect("a judgement");
        assert_eq!(names(&second), (vec!["b", "c"], vec!["a"]));
        assert_eq!(second.changed[0].before, "1");
        assert!(second.changed[0].arguments.is_empty());
        let record = pins.recorded(&server).expect("a record");
        assert_eq!((record.tools, record.changed), (3, vec!["a".to_owned()]));
        assert_eq!(record.version.as_deref(), Some("1.2"));
        assert_eq!(record.bytes, 3 * r#"{"name":"a","description":"1","parameters":{}}"#.len() as u64);
        pins.accept(&server, &[tool("a", "2")]).expect("a record");
        let third = pins.judge(&server, "1.2", tools).expect("a judgement");
        assert_eq!(names(&third), (vec!["a", "b", "c"], vec![]));
        // Another command is another server.
        let entry = json!({ "command": "y" });
        let (other, _) = Server::read("s", &entry, (Origin::Person, "f".into()), &|_| None).expect("an entry");
        assert_eq!(pins.recorded(&other).expect("a record"), Record::default());
    }

    #[test]
    fn changed_arguments_are_told_one_by_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let pins = Pins::in_folder(folder.path());
        let entry = json!({ "command": "x" });
        let (server, _) = Server::read("s", &entry, (Origin::Person, "f".into()), &|_| None).expect("an entry");
        let typed = |name: &str, kind: &str| {
            let schema = json!({ "properties": { "path": { "type": kind } } });
            ToolFace { schema: schema.as_object().cloned().expect("an object"), ..tool(name, "1") }
        };
        pins.judge(&server, "", vec![typed("a", "string")]).expect("a judgement");
        let judged = pins.judge(&server, "", vec![typed("a", "array")]).expect("a judgement");
        assert_eq!(judged.changed[0].arguments, [r#"~ properties.path.type: "string" → "array""#]);
        // What nobody agreed to is not what it is compared with.
        let judged = pins.judge(&server, "", vec![typed("a", "object")]).expect("a judgement");
        assert_eq!(judged.changed[0].arguments, [r#"~ properties.path.type: "string" → "object""#]);
        // Arguments for which there is no room are only told to have changed.
        let long = |kind: &str| typed("b", &format!("{kind}{}", "x".repeat(LARGEST as usize)));
        pins.judge(&server, "", vec![long("1")]).expect("a judgement");
        let judged = pins.judge(&server, "", vec![long("2")]).expect("a judgement");
        assert_eq!(judged.changed[0].arguments, ["they changed; how they were is not recorded"]);
    }

    #[test]
    fn record_that_cannot_be_read_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let pins = Pins::in_folder(folder.path());
        std::fs::write(pins.path(), "{").expect("a file");
        let (server, _) =
            Server::read("s", &json!({ "command": "x" }), (Origin::Person, "f".into()), &|_| None).expect("an entry");
        assert!(matches!(pins.judge(&server, "1.2", Vec::new()), Err(PinFault::Malformed { .. })));
    }
}
