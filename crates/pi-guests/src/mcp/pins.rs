//! What the tools of servers looked like when somebody first saw them.
//!
//! A server can describe its tools anew at any time, and what it writes is read by the model. So what it first lists is
//! recorded, and a tool that is described otherwise later, or comes later, is not offered until a person has looked at it:
//! another name would else be a way to say anything. A server is known by its name and its place; one whose entry was changed
//! is still the same.
//!
//! Entries of a project are recorded as well, when it is trusted: whoever trusts a project has agreed to the programs that it
//! names then, and not to those that somebody else writes into it later. Those of a folder below one that is trusted are
//! recorded when they are first met, by whichever command that is.

mod book;
mod told;

use std::{
    io,
    path::{Path, PathBuf},
};

use pi_exthost::private::PrivateFile;
use pi_transcript::json::Digest;

use self::book::{Agreed, BY_ENTRY, Book, Page, Pin, VERSION, entries, key, place};
pub(super) use self::told::unseen_signs;
use super::{
    entry::{Origin, Server},
    reading::ToolFace,
    written,
};

/// Tools that are recorded of one server. None is forgotten for another: who could crowd a tool out of the record could
/// describe it anew.
pub(super) const MOST: usize = 1024;

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
    /// What was said of it before; nothing of one that was not there when its server was first seen.
    pub before: Option<String>,
    /// What changed in its arguments, in lines; empty where nothing did.
    pub arguments: Vec<String>,
}

/// What is recorded of a server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Record {
    /// What the server said that it is, when it was last seen.
    pub version: Option<String>,
    /// How many tools a session has of it; of a server that was never offered to one, those that were seen.
    pub tools: usize,
    /// What those that were offered then cost in every request.
    pub tokens: Option<u64>,
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

/// An entry of a project that nobody agreed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unagreed {
    /// What stood in its place; nothing if it is new.
    pub before: Option<String>,
    pub now: String,
    /// The members that are others, by name; nothing where that is not recorded.
    pub changed: Vec<String>,
}

/// Whether anything was recorded of a server before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sight {
    First,
    Again,
}

impl Pins {
    /// The usual place in an agent directory.
    pub fn in_folder(agent: &Path) -> Self {
        Self { file: PrivateFile::new(agent.join("mcp-pins.json")) }
    }

    /// Compares tools with what was seen of them before. Those of a server that nobody has seen yet are recorded; later ones
    /// are held back until somebody agrees.
    pub fn judge(&self, server: &Server, version: &str, tools: Vec<ToolFace>) -> Result<Judged, PinFault> {
        self.change(server, |page, sight| {
            let mut judged = Judged::default();
            page.version = Some(version.to_owned()).filter(|version| !version.is_empty());
            page.changed.clear();
            // Not by what it listed: a server that lists nothing at first could add whatever it likes later.
            let is_first = sight == Sight::First;
            for tool in tools {
                let mut pin = Pin::of(&tool);
                let (before, arguments) = match page.tools.get(&tool.name) {
                    Some(known) if known.digest != pin.digest => {
                        (Some(known.description.clone()), known.arguments_changed(&tool))
                    }
                    None if page.tools.len() >= MOST => {
                        judged.unrecorded += 1;
                        continue;
                    }
                    None if !is_first => (None, Vec::new()),
                    Some(_) | None => {
                        page.record(&tool.name, pin);
                        judged.known.push(tool);
                        continue;
                    }
                };
                // It is recorded when somebody agrees to it.
                pin.schema = None;
                page.changed.insert(tool.name.clone(), pin);
                judged.changed.push(Changed { tool, before, arguments });
            }
            if is_first || page.changed.is_empty() {
                page.entry = Some(server.digest.clone());
            }
            judged
        })
    }

    /// Records how many tools a session has of a server, and what all that costs in every request. It is counted anew when it
    /// is not the same any more.
    pub fn weigh(
        &self,
        server: &Server,
        (tools, offered): (usize, &Digest),
        count: impl FnOnce() -> u64,
    ) -> Result<(), PinFault> {
        self.change(server, |page, _| {
            let offered = offered.to_string();
            if page.weighed.as_ref() != Some(&offered) {
                page.tokens = Some(count());
                page.weighed = Some(offered);
            }
            page.offered = Some(tools);
        })
    }

    /// Takes the entries of a project for agreed to whose files are seen for the first time, though nobody said so: whoever
    /// trusted a folder trusted the projects below it. All that are found go in together: those that are missing count as new
    /// ones later. So do all of a file that is among `files` and is not there yet.
    pub fn meet(&self, files: &[PathBuf], servers: &[Server]) -> Result<(), PinFault> {
        let mut met = entries(files, servers);
        if met.is_empty() {
            return Ok(());
        }
        let known = self.read()?.entries;
        met.retain(|file, _| !known.contains_key(file));
        if met.is_empty() {
            return Ok(());
        }
        self.change_book(|book| {
            for (file, entries) in met {
                book.entries.entry(file).or_insert(entries);
            }
        })
    }

    /// Records that a person agreed to all entries of a project as they are now, because they trusted it.
    pub fn trust(&self, files: &[PathBuf], servers: &[Server]) -> Result<(), PinFault> {
        let agreed = entries(files, servers);
        if agreed.is_empty() {
            return Ok(());
        }
        self.change_book(|book| book.entries.extend(agreed))
    }

    /// Whether nobody agreed to the entry as it is now. Those of a person are their own.
    pub fn unagreed(&self, server: &Server) -> Result<Option<Unagreed>, PinFault> {
        if server.origin == Origin::Person {
            return Ok(None);
        }
        let book = self.read()?;
        // Nobody has met it: it is being tried, and whoever does that has named it.
        let Some(known) = book.entries.get(&place(&server.file)) else { return Ok(None) };
        let now = Agreed::of(server);
        Ok(match known.get(&server.name) {
            Some(agreed) if agreed.digest == now.digest => None,
            Some(before) => {
                let changed = match before.members.is_empty() {
                    true => Vec::new(),
                    false => written::changed(&before.members, &now.members),
                };
                let is_same = !changed.is_empty() && changed.iter().all(|name| written::only_names_the_way(name));
                (!is_same).then(|| Unagreed { before: Some(before.shown.clone()), now: now.shown, changed })
            }
            None => Some(Unagreed { before: None, now: now.shown, changed: Vec::new() }),
        })
    }

    /// Records that a person agreed to the entry as it is now.
    pub fn agree(&self, server: &Server) -> Result<(), PinFault> {
        self.change_book(|book| {
            // A file that nobody has met yet is met as a whole.
            if let Some(known) = book.entries.get_mut(&place(&server.file)) {
                known.insert(server.name.clone(), Agreed::of(server));
            }
        })
    }

    /// Records that a person has seen these tools as they are now.
    pub fn accept(&self, server: &Server, tools: &[ToolFace]) -> Result<(), PinFault> {
        self.change(server, |page, _| {
            for tool in tools {
                page.changed.remove(&tool.name);
                page.record(&tool.name, Pin::of(tool));
                // More is offered from now on, and it is weighed when it is.
                (page.tokens, page.offered, page.weighed) = (None, None, None);
            }
            if page.changed.is_empty() {
                page.entry = Some(server.digest.clone());
            }
        })
    }

    /// What is known of the tools of a server.
    pub fn recorded(&self, server: &Server) -> Result<Record, PinFault> {
        let book = self.read()?;
        let record = |page: &Page| Record {
            version: page.version.clone(),
            tools: page.offered.unwrap_or(page.tools.len()),
            tokens: page.tokens,
            changed: page.changed.keys().cloned().collect(),
        };
        let page = book.servers.get(&key(&server.name, &server.file)).or_else(|| book.servers.get(&server.digest));
        Ok(page.map(record).unwrap_or_default())
    }

    /// Forgets a server, also one whose entry cannot be used; an older record knows it by its digest.
    pub fn forget(&self, name: &str, file: &Path, digest: Option<&str>) -> Result<(), PinFault> {
        let known = key(name, file);
        self.change_book(|book| {
            book.servers.remove(&known);
            digest.and_then(|digest| book.servers.remove(digest));
            if let Some(entries) = book.entries.get_mut(&place(file)) {
                entries.remove(name);
            }
        })
    }

    fn change<T>(&self, server: &Server, work: impl FnOnce(&mut Page, Sight) -> T) -> Result<T, PinFault> {
        self.change_book(|book| {
            let older = book.servers.get(&server.digest).cloned();
            let is_known = older.is_some() || book.servers.contains_key(&key(&server.name, &server.file));
            let page = book.servers.entry(key(&server.name, &server.file)).or_insert_with(|| {
                let entry = older.is_some().then(|| server.digest.clone());
                Page { entry, ..older.unwrap_or_default() }
            });
            page.name.clone_from(&server.name);
            work(page, if is_known { Sight::Again } else { Sight::First })
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
            VERSION | BY_ENTRY => Ok(book),
            _ => Err(PinFault::Newer { path: self.path() }),
        }
    }

    fn path(&self) -> PathBuf {
        self.file.path().to_owned()
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
    use serde_json::json;

    use super::{book::LARGEST, *};
    use crate::mcp::{
        entry::Origin,
        expansion::Variables,
        places::{self, Where},
    };

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
        // Also what comes later: else another name would do what another description cannot.
        assert_eq!(names(&second), (vec!["b"], vec!["a", "c"]));
        assert_eq!((second.changed[0].before.as_deref(), &second.changed[1].before), (Some("1"), &None));
        assert!(second.changed[0].arguments.is_empty());
        let record = pins.recorded(&server).expect("a record");
        assert_eq!((record.tools, record.changed), (2, vec!["a".to_owned(), "c".to_owned()]));
        assert_eq!(record.version.as_deref(), Some("1.2"));
        for (offered, count) in [("x", 7), ("x", 8), ("y", 9)] {
            pins.weigh(&server, (3, &Digest::of(offered.as_bytes())), || count).expect("a record");
            let expected = if offered == "x" { 7 } else { 9 };
            let record = pins.recorded(&server).expect("a record");
            // One more than were listed: resources are a tool.
            assert_eq!((record.tools, record.tokens), (3, Some(expected)));
        }
        pins.accept(&server, &[tool("a", "2"), tool("c", "1")]).expect("a record");
        let third = pins.judge(&server, "1.2", tools).expect("a judgement");
        assert_eq!(names(&third), (vec!["a", "b", "c"], vec![]));
        // A server of that name that is written elsewhere is another.
        let (other, _) = Server::read("s", &entry, (Origin::Person, "g".into()), &|_| None).expect("an entry");
        assert_eq!(pins.recorded(&other).expect("a record"), Record::default());
    }

    #[test]
    fn entry_that_comes_in_another_file_is_not_agreed_to() {
        let folder = tempfile::tempdir().expect("a folder");
        let (project, pins) = (folder.path().join("project"), Pins::in_folder(folder.path()));
        std::fs::create_dir(&project).expect("a folder");
        let places = |is_trusted| Where { project: project.clone(), is_trusted, agent: None };
        let look = |is_trusted| {
            let places = places(is_trusted);
            let servers = places::find(&places, &Variables { lookup: &|_| None, is_withheld: &|_, _| false }).servers;
            pins.meet(&places.counted(), &servers).expect("a record");
            let is_new = |server: &Server| pins.unagreed(server).expect("a record").is_some();
            servers.iter().map(|server| (server.name.clone(), is_new(server))).collect::<Vec<_>>()
        };
        let write = |file: &str, name: &str| {
            let mut servers = json!({ "mcpServers": {} });
            servers["mcpServers"][name] = json!({ "command": "x" });
            std::fs::create_dir_all(project.join(".pi")).expect("a folder");
            std::fs::write(project.join(file), servers.to_string()).expect("a file");
        };
        // What is there before somebody trusts it is agreed to with it.
        look(false);
        write(".mcp.json", "a");
        assert_eq!(look(true), [("a".to_owned(), false)]);
        std::fs::remove_dir(project.join(".pi")).expect("an empty folder");
        write(".pi/mcp.json", "b");
        write(".pi/settings.json", "c");
        assert_eq!(look(true), [("b".to_owned(), true), ("a".to_owned(), false), ("c".to_owned(), true)]);
    }

    #[test]
    fn whoever_trusts_a_project_agrees_to_its_entries_as_they_are_then() {
        let folder = tempfile::tempdir().expect("a folder");
        let pins = Pins::in_folder(folder.path());
        let file = folder.path().join(".mcp.json");
        let server = |command: &str| {
            let entry = json!({ "command": command });
            Server::read("s", &entry, (Origin::Project, file.clone()), &|_| None).expect("an entry").0
        };
        let is_agreed = |server: &Server| pins.unagreed(server).expect("a record").is_none();
        pins.trust(std::slice::from_ref(&file), &[server("x")]).expect("a record");
        // Meeting it afterwards is no agreement.
        pins.meet(std::slice::from_ref(&file), &[server("evil")]).expect("a record");
        assert_eq!([server("x"), server("evil")].map(|server| is_agreed(&server)), [true, false]);
        pins.trust(std::slice::from_ref(&file), &[server("y")]).expect("a record");
        assert_eq!([server("x"), server("y")].map(|server| is_agreed(&server)), [false, true]);
    }

    #[test]
    fn what_changed_in_an_entry_is_told_even_if_it_cannot_be_shown() {
        let folder = tempfile::tempdir().expect("a folder");
        let pins = Pins::in_folder(folder.path());
        let file = folder.path().join(".mcp.json");
        let server = |entry: &serde_json::Value| {
            Server::read("s", entry, (Origin::Project, file.clone()), &|_| None).expect("an entry").0
        };
        let told = |before: &serde_json::Value, now: &serde_json::Value| {
            pins.trust(std::slice::from_ref(&file), &[server(before)]).expect("a record");
            pins.unagreed(&server(now)).expect("a record").expect("another entry").told()
        };
        let given = |name: &str, value: &str| json!({ "command": "x", "env": { name: value } });
        assert_eq!(
            told(&given("LD_PRELOAD", "/tmp/one.so"), &given("LD_PRELOAD", "/tmp/two.so")),
            "  before: x (environment: LD_PRELOAD=/tmp/one.so)\n  now: x (environment: LD_PRELOAD=/tmp/two.so)\n  \
             changed: env.LD_PRELOAD"
        );
        let agreed = json!({ "url": "https://h" });
        pins.trust(std::slice::from_ref(&file), &[server(&agreed)]).expect("a record");
        for (named, is_asked) in [
            (json!({ "url": "https://h", "type": "http" }), false),
            (json!({ "url": "https://h", "transport": "streamable-http" }), false),
            (json!({ "url": "https://h", "type": "http", "headers": { "A": "1" } }), true),
            (json!({ "url": "https://h/", "type": "http" }), true),
        ] {
            let unagreed = pins.unagreed(&server(&named)).expect("a record");
            assert_eq!(unagreed.is_some(), is_asked, "{named}");
        }
        let masked = "x (environment: TOKEN=[REDACTED])";
        assert_eq!(
            told(&given("TOKEN", "one"), &given("TOKEN", "two")),
            format!("  before: {masked}\n  now: {masked}\n  changed: env.TOKEN")
        );
        assert_eq!(
            told(&json!({ "command": "x" }), &json!({ "command": "x\u{200b}\u{3164}" })),
            "  before: x\n  now, with 2 signs that nobody sees: x\n  changed: command"
        );
        // What an older version recorded knows no members.
        let shown = server(&given("TOKEN", "one")).shown_whole();
        let older = Unagreed { before: Some(shown.clone()), now: shown, changed: Vec::new() };
        let expected = "\n  changed: what is not shown, such as a secret; how it was is not recorded";
        assert!(older.told().ends_with(expected), "{}", older.told());
    }

    #[test]
    fn server_that_lists_nothing_at_first_adds_nothing_unseen() {
        let folder = tempfile::tempdir().expect("a folder");
        let pins = Pins::in_folder(folder.path());
        let entry = json!({ "command": "x" });
        let (server, _) = Server::read("s", &entry, (Origin::Person, "f".into()), &|_| None).expect("an entry");
        let judged = pins.judge(&server, "", Vec::new()).expect("a judgement");
        assert_eq!(names(&judged), (vec![], vec![]));
        let judged = pins.judge(&server, "", vec![tool("late", "1")]).expect("a judgement");
        assert_eq!(names(&judged), (vec![], vec!["late"]));
    }

    #[cfg(unix)]
    #[test]
    fn file_that_comes_as_a_link_is_still_the_same() {
        let folder = tempfile::tempdir().expect("a folder");
        let project = folder.path().join("project");
        std::fs::create_dir(&project).expect("a folder");
        let missing = [".pi/mcp.json", ".mcp.json"].map(|file| place(&project.join(file)));
        std::fs::create_dir(project.join("other")).expect("a folder");
        std::fs::write(project.join("other/mcp.json"), "{}").expect("a file");
        std::os::unix::fs::symlink("other", project.join(".pi")).expect("a link");
        std::os::unix::fs::symlink("other/mcp.json", project.join(".mcp.json")).expect("a link");
        assert_eq!([".pi/mcp.json", ".mcp.json"].map(|file| place(&project.join(file))), missing);
    }

    #[test]
    fn changed_entry_does_not_begin_anew() {
        let folder = tempfile::tempdir().expect("a folder");
        let pins = Pins::in_folder(folder.path());
        let entry = |command: &str| {
            let entry = json!({ "command": "x", "env": { "TOUCHED": command } });
            Server::read("s", &entry, (Origin::Person, "f".into()), &|_| None).expect("an entry").0
        };
        let judge = |command: &str, tools: &[ToolFace]| {
            let judged = pins.judge(&entry(command), "", tools.to_vec()).expect("a judgement");
            let (known, changed) = names(&judged);
            format!("{} | {}", known.join(" "), changed.join(" "))
        };
        let (a, b, c) = (tool("a", "1"), tool("b", "1"), tool("c", "1"));
        assert_eq!(judge("1", std::slice::from_ref(&a)), "a | ");
        // What is as it was is offered, and what is not is asked about, also what is new.
        assert_eq!(judge("2", &[a.clone(), b.clone()]), "a | b");
        assert_eq!(judge("2", &[tool("a", "2"), b.clone()]), " | a b");
        assert_eq!(judge("2", &[a.clone(), b.clone()]), "a | b", "once more, and still");
        pins.accept(&entry("2"), std::slice::from_ref(&b)).expect("a record");
        assert_eq!(judge("2", &[a.clone(), b.clone(), c.clone()]), "a b | c");
        assert_eq!(judge("3", &[a, b]), "a b | ");
        assert_eq!(judge("3", &[c]), " | c");
    }

    #[test]
    fn what_a_server_writes_cannot_pass_for_what_pi_says() {
        let forged = "Fine.\naccepted: they are offered from now on\u{2028}Use them?\r$ ";
        let told = |before: Option<&str>| {
            let changed = Changed {
                tool: tool("a\nready", forged),
                before: before.map(str::to_owned),
                arguments: vec!["+ x\ny".to_owned()],
            };
            let (name, lines) = changed.told();
            format!("{name}\n{}", lines.join("\n"))
        };
        let now = "  now:\n  | Fine.\n  | accepted: they are offered from now on\n  | Use them?\n  | $";
        let arguments = "  its arguments:\n    + x\n    y";
        assert_eq!(told(Some("So.")), format!("a ready\n  before: So.\n{now}\n{arguments}"));
        assert_eq!(told(None), format!("a ready\n  new since the server was first seen\n{now}\n{arguments}"));
        assert_eq!(told(Some(forged)), format!("a ready\n{arguments}"));
    }

    #[test]
    fn record_of_a_server_has_an_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let pins = Pins::in_folder(folder.path());
        let (server, _) =
            Server::read("s", &json!({ "command": "x" }), (Origin::Person, "f".into()), &|_| None).expect("an entry");
        let tools = (0..MOST + 3).map(|number| tool(&format!("t{number}"), "1")).collect();
        let judged = pins.judge(&server, "", tools).expect("a judgement");
        assert_eq!((judged.known.len(), judged.changed.len(), judged.unrecorded), (MOST, 0, 3));
        let judged = pins.judge(&server, "", vec![tool("t0", "2"), tool("new", "1")]).expect("a judgement");
        assert_eq!((names(&judged), judged.unrecorded), ((vec![], vec!["t0"]), 1));
    }

    #[test]
    fn older_record_is_taken_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let pins = Pins::in_folder(folder.path());
        let (server, _) =
            Server::read("s", &json!({ "command": "x" }), (Origin::Person, "f".into()), &|_| None).expect("an entry");
        let pin = Pin::of(&tool("a", "1"));
        let page = json!({ "name": "s", "tools": { "a": pin } });
        let mut book = json!({ "version": 1, "servers": {} });
        book["servers"][&server.digest] = page;
        std::fs::write(pins.path(), book.to_string()).expect("a file");
        assert_eq!(pins.recorded(&server).expect("a record").tools, 1);
        let judged = pins.judge(&server, "", vec![tool("a", "2")]).expect("a judgement");
        assert_eq!(names(&judged), (vec![], vec!["a"]));
        assert_eq!(pins.recorded(&server).expect("a record").changed, ["a"]);
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
        pins.accept(&server, &[long("1")]).expect("a record");
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
