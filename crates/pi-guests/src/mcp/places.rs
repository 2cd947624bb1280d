//! The files in which servers are written: looked for, read and changed.
//!
//! A person's own are in `mcp.json` of the agent directory, or in `mcpServers` of settings; a project brings `.pi/mcp.json` and `.mcp.json`, which count
//! once it is trusted. A name that a person uses themselves is theirs, whatever a project says.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use pi_extproto::Object;

use super::{
    entry::{EntryFault, Origin, Server, safe_name},
    expansion::Variables,
    relaxed,
};

/// Where to look.
#[derive(Debug, Clone)]
pub struct Where {
    pub project: PathBuf,
    /// Whether what the project brings may run.
    pub is_trusted: bool,
    pub agent: Option<PathBuf>,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// The person's first, each in the order of its file.
    pub servers: Vec<Server>,
    pub notices: Vec<Notice>,
}

/// Something that is not used, or odd, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Notice {
    #[error("{file}: {message}")]
    Unreadable { file: String, message: String },
    #[error("the MCP server {name} of {file} is not used: {fault}")]
    Entry { name: String, file: String, fault: EntryFault },
    #[error("the MCP server {name} of {file} is not used: {kept} has one of that name, which comes first")]
    Shadowed { name: String, file: String, kept: String },
    #[error("the MCP servers of this project are not started until it is trusted: {}", .0.join(", "))]
    Untrusted(Vec<String>),
    /// Any of them may have a name of the person's.
    #[error("the MCP servers of this project are not started while {file} cannot be read: {}", .names.join(", "))]
    Unclear { names: Vec<String>, file: String },
    #[error("{0}")]
    Odd(String),
}

/// Why a file was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeFault {
    #[error("cannot use {file}")]
    Unusable { file: PathBuf, source: io::Error },
    #[error("{file} is not a file of MCP servers: {message}")]
    Malformed { file: PathBuf, message: String },
    #[error("{file} has a server {name} already")]
    Taken { file: PathBuf, name: String },
    #[error("{file} has comments, which would be lost")]
    Commented { file: PathBuf },
}

/// What is done about a server of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Present {
    Keep,
    Replace,
}

/// The members under which programs keep their servers.
const MEMBERS: [&str; 2] = ["mcpServers", "servers"];

impl Where {
    /// The file of a person.
    pub fn persons(&self) -> Option<PathBuf> {
        self.agent.as_ref().map(|agent| agent.join("mcp.json"))
    }

    /// The file that we write for a project.
    pub fn projects(&self) -> PathBuf {
        self.project.join(".mcp.json")
    }

    /// Settings, in which servers may be written too; others look after these files.
    fn settings(&self) -> Vec<(Origin, PathBuf)> {
        let persons = self.agent.as_ref().map(|agent| (Origin::Person, agent.join("settings.json")));
        let projects = (Origin::Project, self.project.join(".pi").join("settings.json"));
        persons.into_iter().chain([projects]).collect()
    }

    /// The files of the project in which servers count that stand there, whether or not they are there yet: none until it is
    /// trusted.
    pub fn counted(&self) -> Vec<PathBuf> {
        let all = self.files().into_iter().chain(self.settings());
        let projects = all.filter(|(origin, _)| *origin == Origin::Project && self.is_trusted);
        projects.map(|(_, file)| file).collect()
    }

    /// All files of servers, in the order in which they count.
    pub fn files(&self) -> Vec<(Origin, PathBuf)> {
        let persons = self.persons().map(|file| (Origin::Person, file));
        let projects = [self.project.join(".pi").join("mcp.json"), self.projects()];
        persons.into_iter().chain(projects.map(|file| (Origin::Project, file))).collect()
    }
}

/// Looks everywhere. Servers that are switched off are found too.
pub fn find(places: &Where, variables: &Variables<'_>) -> Found {
    let Variables { lookup, is_withheld } = *variables;
    let known = &|name: &str| of_editors(name, &places.project, lookup).or_else(|| lookup(name));
    let is_withheld = |name: &str| lookup(name).is_some_and(|value| !value.is_empty() && is_withheld(name, &value));
    let mut found = Found::default();
    let (mut withheld, mut unclear) = (Vec::new(), Vec::new());
    // By whom each name was written first: whether or not its server can be used, it is theirs.
    let mut taken: BTreeMap<String, String> = BTreeMap::new();
    let mut unread_file = None;
    let mut all: Vec<_> = places.files().into_iter().map(|(origin, file)| (origin, file, false)).collect();
    all.extend(places.settings().into_iter().map(|(origin, file)| (origin, file, true)));
    // A person's own come first, wherever they are written.
    all.sort_by_key(|(origin, _, is_settings)| (*origin, *is_settings));
    for (origin, file, is_settings) in all {
        let shown = file.display().to_string();
        let (entries, passed_over) = match entries(&file) {
            Ok(entries) => entries,
            Err(fault) => {
                if origin == Origin::Person {
                    unread_file = Some(shown.clone());
                }
                // Whoever reads the settings tells what is wrong with them.
                if !is_settings {
                    found.notices.push(Notice::Unreadable { file: shown, message: told(&fault) });
                }
                continue;
            }
        };
        if origin == Origin::Project && !places.is_trusted {
            withheld.extend(entries.keys().cloned());
            continue;
        }
        if origin == Origin::Project && unread_file.is_some() {
            unclear.extend(entries.keys().cloned());
            continue;
        }
        if let Some(name) = passed_over {
            found.notices.push(Notice::Odd(format!("{shown}: {name} is not read, because {} is there", MEMBERS[0])));
        }
        for (name, entry) in &entries {
            if let Some(kept) = taken.get(&safe_name(name)) {
                let kept = kept.clone();
                found.notices.push(Notice::Shadowed { name: name.clone(), file: shown.clone(), kept });
                continue;
            }
            taken.insert(safe_name(name), shown.clone());
            let read = Server::read(name, entry, (origin, file.clone()), known).and_then(|(server, odd)| {
                let credential =
                    server.reads.iter().find(|name| origin == Origin::Project && is_withheld(name)).cloned();
                credential.map_or(Ok((server, odd)), |name| Err(EntryFault::Credential(name)))
            });
            match read {
                Ok((server, odd)) => {
                    found.servers.push(server);
                    found.notices.extend(odd.into_iter().map(Notice::Odd));
                }
                Err(fault) => {
                    found.notices.push(Notice::Entry { name: name.clone(), file: shown.clone(), fault });
                }
            }
        }
    }
    if !withheld.is_empty() {
        found.notices.push(Notice::Untrusted(withheld));
    }
    if let Some(file) = unread_file.filter(|_| !unclear.is_empty()) {
        found.notices.push(Notice::Unclear { names: unclear, file });
    }
    found
}

/// What editors know of where they are, by their names for it.
fn of_editors(name: &str, project: &Path, lookup: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    match name {
        "workspaceFolder" => Some(project.display().to_string()),
        "workspaceFolderBasename" => project.file_name().map(|name| name.to_string_lossy().into_owned()),
        "userHome" => lookup("HOME"),
        "pathSeparator" | "/" => Some(std::path::MAIN_SEPARATOR.to_string()),
        _ => None,
    }
}

/// Writes a server into a file, which is made if it is not there. Everything else in it stays as it is.
pub fn add(file: &Path, name: &str, entry: Value, present: Present) -> Result<(), ChangeFault> {
    change(file, |servers| {
        let taken = written_as(servers, name);
        if let Some(written) = taken.clone().filter(|_| present == Present::Keep) {
            return Err(ChangeFault::Taken { file: file.to_owned(), name: written });
        }
        // It is the same server, in whichever way its name was written.
        if let Some(other) = taken.filter(|written| written != name) {
            servers.shift_remove(&other);
        }
        servers.insert(name.to_owned(), entry);
        Ok(())
    })
}

/// Takes a server out of a file, by the name that is written there or the one that it has here; whether it was there.
pub fn remove(file: &Path, name: &str) -> Result<bool, ChangeFault> {
    let unusable = |source| ChangeFault::Unusable { file: file.to_owned(), source };
    match file.try_exists().map_err(unusable)? {
        true => change(file, |servers| {
            let written = written_as(servers, name);
            Ok(written.and_then(|written| servers.shift_remove(&written)).is_some())
        }),
        false => Ok(false),
    }
}

/// Whether a server stands in a file, whether or not it may be started. One that cannot be read holds none.
pub fn holds(file: &Path, name: &str) -> bool {
    read(file).is_ok_and(|servers| written_as(&servers, name).is_some())
}

/// How the name of a server is written in a file: as it is asked for, or else so that it has that name here.
fn written_as(servers: &Object, name: &str) -> Option<String> {
    let is_same = |written: &&String| safe_name(written) == name;
    let written = servers.keys().find(|written| *written == name).or_else(|| servers.keys().find(is_same));
    written.cloned()
}

impl ChangeFault {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unusable { .. } => "look at its permissions",
            Self::Malformed { .. } => "correct it by hand; nothing was changed",
            Self::Taken { .. } => "--force replaces it",
            Self::Commented { .. } => "change it by hand, or take the comments out; nothing was changed",
        }
    }
}

/// The servers of a file; none if it is not there.
fn read(file: &Path) -> Result<Object, ChangeFault> {
    entries(file).map(|(servers, _)| servers)
}

/// The same, with the member that holds servers too and does not count.
fn entries(file: &Path) -> Result<(Object, Option<&'static str>), ChangeFault> {
    let mut members = document(file)?.members;
    let passed_over = MEMBERS.into_iter().filter(|name| members.contains_key(*name)).nth(1);
    Ok((std::mem::take(section(&mut members)), passed_over))
}

/// What stands in a file.
#[derive(Default)]
struct Document {
    members: Object,
    has_comments: bool,
}

fn document(file: &Path) -> Result<Document, ChangeFault> {
    let malformed = |message: String| ChangeFault::Malformed { file: file.to_owned(), message };
    let text = match read_text(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Document::default()),
        Err(source) => return Err(ChangeFault::Unusable { file: file.to_owned(), source }),
    };
    let relaxed::Strict { text, has_comments } = relaxed::strict(&text);
    let document: Value = serde_json::from_str(&text).map_err(|error| malformed(error.to_string()))?;
    let Value::Object(members) = document else { return Err(malformed("expected an object".to_owned())) };
    let is_wrong = |name: &&&str| members.get(**name).is_some_and(|member| !member.is_object());
    match MEMBERS.iter().find(is_wrong) {
        Some(name) => Err(malformed(format!("{name}: expected an object"))),
        None => Ok(Document { members, has_comments }),
    }
}

/// Where the servers of a document stand.
fn section(document: &mut Object) -> &mut Object {
    let name = MEMBERS.into_iter().find(|name| document.contains_key(*name)).unwrap_or(MEMBERS[0]);
    let member = document.entry(name).or_insert_with(|| json!({}));
    member.as_object_mut().expect("whoever read the document looked at it")
}

fn told(fault: &ChangeFault) -> String {
    match fault {
        ChangeFault::Unusable { source, .. } => source.to_string(),
        ChangeFault::Malformed { message, .. } => message.clone(),
        ChangeFault::Taken { .. } | ChangeFault::Commented { .. } => fault.to_string(),
    }
}

/// Changes the servers of a file, while nobody else does. A file that is a link is changed where it points to.
fn change<T>(file: &Path, work: impl FnOnce(&mut Object) -> Result<T, ChangeFault>) -> Result<T, ChangeFault> {
    let unusable = |source| ChangeFault::Unusable { file: file.to_owned(), source };
    // What is not there yet is made where it was named.
    let target = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    make_folder(folder).map_err(unusable)?;
    // Held until the new file has its name.
    let _turn = turn(folder).map_err(unusable)?;
    let Document { mut members, has_comments } = document(file)?;
    let servers = section(&mut members);
    let before = servers.clone();
    let done = work(servers)?;
    if *servers == before {
        return Ok(done);
    }
    if has_comments {
        return Err(ChangeFault::Commented { file: file.to_owned() });
    }
    replace(&target, &members).map_err(unusable)?;
    Ok(done)
}

#[expect(clippy::disallowed_methods, reason = "looking for servers is reading these files")]
fn read_text(file: &Path) -> io::Result<String> {
    fs::read_to_string(file)
}

#[expect(clippy::disallowed_methods, reason = "the agent directory may not be there yet")]
fn make_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

/// Waits for its turn among those who change files of this folder. The folder itself is locked: a file for that would lie in
/// projects.
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "nothing is read of the folder")]
fn turn(folder: &Path) -> io::Result<File> {
    let folder = File::open(folder)?;
    if let Err(error) = folder.lock() {
        // Some network disks do not lock folders. A change is possible there, though not two at once.
        tracing::debug!(%error, "a folder of MCP servers cannot be locked");
    }
    Ok(folder)
}

#[cfg(not(unix))]
fn turn(folder: &Path) -> io::Result<File> {
    let file = fs::OpenOptions::new().create(true).append(true).open(folder.join(".mcp.lock"))?;
    file.lock()?;
    Ok(file)
}

/// Replaces the file as a whole, or not at all: its text is on the disk before it gets the name. One that is new is for its
/// owner only, because entries may hold secrets; another keeps its mode.
#[expect(clippy::disallowed_methods, reason = "this is the place where entries are written")]
fn replace(target: &Path, document: &Object) -> io::Result<()> {
    let draft = target.with_extension(format!("{}.tmp", std::process::id()));
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let written = options.open(&draft).and_then(|mut file| {
        if let Ok(known) = target.metadata() {
            file.set_permissions(known.permissions())?;
        }
        writeln!(file, "{:#}", Value::Object(document.clone()))?;
        file.sync_all()?;
        fs::rename(&draft, target)
    });
    if written.is_err() {
        // What was wrong is told; a leftover that cannot be removed either adds nothing to it.
        let _ = fs::remove_file(&draft);
    }
    written
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests lay out files")]
mod tests {
    use super::*;
    use crate::mcp::entry::Route;

    /// Files by name, and what is found in them.
    #[track_caller]
    fn check(files: &[(&str, &str)], is_trusted: bool, expected: &[&str]) {
        let folder = tempfile::tempdir().expect("a folder");
        let places =
            Where { project: folder.path().join("project"), is_trusted, agent: Some(folder.path().join("agent")) };
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        let lookup = |name: &str| match name {
            "TOKEN" => Some("t".to_owned()),
            "OPENAI_API_KEY" => Some("sk-1".to_owned()),
            "EMPTY_KEY" => Some(String::new()),
            _ => None,
        };
        let is_withheld = |name: &str, _: &str| name.ends_with("_KEY");
        let Found { servers, notices } = find(&places, &Variables { lookup: &lookup, is_withheld: &is_withheld });
        let server = |server: &Server| {
            let route = match &server.route {
                Route::Process(process) => process.arguments.join(" "),
                Route::Http(http) => http.url.clone(),
            };
            format!("{} {:?} {:?} {} = {route}", server.name, server.origin, server.route, server.shown)
        };
        let mut shown: Vec<String> = servers.iter().map(server).collect();
        let root = format!("{}/", folder.path().display());
        shown.extend(notices.iter().map(|notice| notice.to_string().replace(&root, "")));
        assert_eq!(shown, expected);
    }

    #[test]
    fn servers_of_person_and_trusted_project_are_found() {
        let persons = (
            "agent/mcp.json",
            r#"{"mcpServers":{"a":{"command":"x","args":["${TOKEN}"]},"b":{"command":"y","disabled":true,"args":["${NO}"]}}}"#,
        );
        let projects = (
            "project/.mcp.json",
            r#"{"mcpServers":{"a":{"command":"evil"},"c":{"type":"http","url":"https://h/${TOKEN}"},"bad":{"command":"${NO}"}}}"#,
        );
        let pis = (
            "project/.pi/mcp.json",
            r#"{"servers":{"d":{"type":"sse","url":"https://h"},"e":{"command":"z","colour":1}}}"#,
        );
        let expected = [
            "a Person stdio x ${TOKEN} = t",
            "b Person stdio y ${NO} = ${NO}",
            "e Project stdio z = ",
            "c Project http https://h/${TOKEN} = https://h/t",
            "the MCP server d of project/.pi/mcp.json is not used: the transport \"sse\" is not spoken; it takes stdio and http",
            "e: colour means nothing to pi",
            "the MCP server a of project/.mcp.json is not used: agent/mcp.json has one of that name, which comes first",
            "the MCP server bad of project/.mcp.json is not used: the variable NO is not set; set it, or write ${NO:-a value}",
        ];
        check(&[persons, projects, pis], true, &expected);
        let settings = ("agent/settings.json", r#"{"theme":"dark","mcpServers":{"a":{"command":"x"}}}"#);
        check(&[settings], false, &["a Person stdio x = "]);
        let expected = [
            "a Person stdio x ${TOKEN} = t",
            "b Person stdio y ${NO} = ${NO}",
            "the MCP servers of this project are not started until it is trusted: d, e, a, c, bad",
        ];
        check(&[persons, projects, pis], false, &expected);
    }

    #[test]
    fn entry_of_a_project_reads_no_credential() {
        let entries = r#"{"mcpServers":{
            "a":{"url":"https://evil","headers":{"Authorization":"Bearer ${OPENAI_API_KEY}"}},
            "b":{"command":"x","env":{"K":"${env:OPENAI_API_KEY}"}},
            "c":{"command":"x","args":["${TOKEN:-${OPENAI_API_KEY}"]},
            "d":{"command":"x","args":["${OPENAI_API_KEY:-none}"]},
            "e":{"command":"x","args":["${EMPTY_KEY:-none}"]},
            "f":{"command":"x","args":["${OPENAI_API_KEY}"],"disabled":true}}}"#;
        let refused = |name: &str| {
            format!(
                "the MCP server {name} of project/.mcp.json is not used: the variable OPENAI_API_KEY holds a credential, which a \
                 project is not given; to give it to this server, write the server into your own mcp.json (`pi mcp add`), or to \
                 every program, name OPENAI_API_KEY in passEnvironment of your settings"
            )
        };
        let refused = ["a", "b", "d"].map(refused);
        let expected = [
            "c Project stdio x ${TOKEN:-${OPENAI_API_KEY} = t",
            "e Project stdio x ${EMPTY_KEY:-none} = none",
            "f Project stdio x ${OPENAI_API_KEY} = ${OPENAI_API_KEY}",
            &refused[0],
            &refused[1],
            &refused[2],
        ];
        check(&[("project/.mcp.json", entries)], true, &expected);
        // What a person writes is theirs.
        let own = r#"{"mcpServers":{"a":{"command":"x","args":["${OPENAI_API_KEY}"]}}}"#;
        check(&[("agent/mcp.json", own)], true, &["a Person stdio x ${OPENAI_API_KEY} = sk-1"]);
    }

    #[test]
    fn files_are_read_as_others_write_them() {
        let editors = (
            "project/.mcp.json",
            "\u{feff}{\n  // what the editor wrote\n  \"servers\": {\n    \"My Server\": { \"command\": \"x\", \"args\": [\"${TOKEN}\", 8080, true,], \"url\": null, },\n  },\n}",
        );
        let registrys = (
            "agent/mcp.json",
            r#"{"mcpServers":{"io.github.upstash/context7":{"type":"streamable_http","url":"https://h","env":{"PORT":8080}},
                "@scope/pkg":{"command":"x","disabledTools":["t"]},"日本":{"command":"x"},
                "asks":{"command":"x","args":["${input:key}"]}}}"#,
        );
        let expected = [
            "io.github.upstash-context7 Person http https://h = https://h",
            "scope-pkg Person stdio x = ",
            "server-cf2abf Person stdio x = ",
            "My-Server Project stdio x ${TOKEN} 8080 true = t 8080 true",
            "the MCP server asks of agent/mcp.json is not used: ${input:key} is what an editor asks for; set a variable, and write ${ITS_NAME}",
        ];
        check(&[editors, registrys], true, &expected);
    }

    #[test]
    fn folders_of_editors_are_known() {
        let folder = tempfile::tempdir().expect("a folder");
        let places = Where { project: folder.path().join("project"), is_trusted: true, agent: None };
        let text = r#"{"servers":{"a":{"command":"x","args":["${workspaceFolder}","${workspaceFolderBasename}","${userHome}"]}}}"#;
        fs::create_dir(&places.project).expect("a folder");
        fs::write(places.projects(), text).expect("a file");
        let lookup = |name: &str| (name == "HOME").then(|| "/h".to_owned());
        let found = find(&places, &Variables { lookup: &lookup, is_withheld: &|_, _| false });
        let Route::Process(process) = &found.servers[0].route else { panic!("it is a program") };
        assert_eq!(process.arguments, [&*places.project.to_string_lossy(), "project", "/h"]);
    }

    #[test]
    fn file_with_comments_is_not_written_anew() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("mcp.json");
        let text = "{\"mcpServers\": {\"My Server\": {\"command\": \"x\"},} } // mine";
        fs::write(&file, text).expect("a file");
        assert!(matches!(remove(&file, "My-Server"), Err(ChangeFault::Commented { .. })));
        assert!(!remove(&file, "other").expect("nothing is to be changed"));
        assert_eq!(fs::read_to_string(&file).expect("a file"), text);
        fs::write(&file, text.split("//").next().expect("a part")).expect("a file");
        assert!(remove(&file, "My-Server").expect("written"));
    }

    #[test]
    fn file_that_cannot_be_read_costs_itself() {
        let settings = ("agent/settings.json", r#"{"mcpServers":{"b":{"command":"x"}}}"#);
        let files = [("agent/mcp.json", "{,"), settings];
        let expected = ["b Person stdio x = ", "agent/mcp.json: key must be a string at line 1 column 2"];
        check(&files, true, &expected);
        check(&[("agent/mcp.json", r#"{"mcpServers":[]}"#)], true, &["agent/mcp.json: mcpServers: expected an object"]);
    }

    #[test]
    fn name_of_a_person_stays_theirs_when_it_cannot_be_used() {
        let projects = ("project/.mcp.json", r#"{"mcpServers":{"my gh":{"command":"evil"},"b":{"command":"x"}}}"#);
        let persons = ("agent/mcp.json", r#"{"mcpServers":{"my-gh":{"command":"gh","env":{"T":"${UNSET}"}}}}"#);
        let expected = [
            "b Project stdio x = ",
            "the MCP server my-gh of agent/mcp.json is not used: the variable UNSET is not set; set it, or write ${UNSET:-a value}",
            "the MCP server my gh of project/.mcp.json is not used: agent/mcp.json has one of that name, which comes first",
        ];
        check(&[persons, projects], true, &expected);
        // Where the names of the person are not known, any of the project's may be one.
        let expected = [
            "agent/mcp.json: key must be a string at line 1 column 2",
            "the MCP servers of this project are not started while agent/mcp.json cannot be read: my gh, b",
        ];
        check(&[("agent/mcp.json", "{,"), projects], true, &expected);
        let expected =
            ["the MCP servers of this project are not started while agent/settings.json cannot be read: my gh, b"];
        check(&[("agent/settings.json", "{,"), projects], true, &expected);
    }

    #[test]
    fn servers_under_two_names_in_one_file_are_told() {
        let both = r#"{"servers":{"a":{"command":"x"}},"mcpServers":{"b":{"command":"y"}}}"#;
        let expected = ["b Person stdio y = ", "agent/mcp.json: servers is not read, because mcpServers is there"];
        check(&[("agent/mcp.json", both)], true, &expected);
    }

    #[test]
    fn servers_are_added_and_removed_and_the_rest_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("new").join("mcp.json");
        add(&file, "a", json!({ "command": "x" }), Present::Keep).expect("written");
        let taken = add(&file, "a", json!({ "command": "y" }), Present::Keep).expect_err("there is one");
        assert!(matches!(taken, ChangeFault::Taken { .. }));
        fs::write(&file, r#"{"other":1,"mcpServers":{"a":{},"b":{"command":"z"}}}"#).expect("a file");
        add(&file, "a", json!({ "command": "y" }), Present::Replace).expect("written");
        assert!(remove(&file, "b").expect("written") && !remove(&file, "b").expect("read"));
        let text: Value = serde_json::from_str(&fs::read_to_string(&file).expect("a file")).expect("JSON");
        assert_eq!(text, json!({ "other": 1, "mcpServers": { "a": { "command": "y" } } }));
    }

    #[test]
    fn server_is_found_as_it_is_written_before_one_of_the_same_name_here() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("mcp.json");
        fs::write(&file, r#"{"mcpServers":{"a/b":{"command":"x"},"a-b":{"command":"y"}}}"#).expect("a file");
        let names = || read(&file).expect("servers").keys().cloned().collect::<Vec<_>>();
        assert!(remove(&file, "a-b").expect("written"));
        assert_eq!(names(), ["a/b"]);
        let taken = add(&file, "a-b", json!({ "command": "z" }), Present::Keep).expect_err("there is one");
        assert!(matches!(taken, ChangeFault::Taken { name, .. } if name == "a/b"));
        add(&file, "a-b", json!({ "command": "z" }), Present::Replace).expect("written");
        assert_eq!(names(), ["a-b"]);
    }

    #[test]
    fn servers_that_are_added_at_once_are_all_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("mcp.json");
        let names: Vec<String> = (0..16).map(|number| format!("s{number}")).collect();
        std::thread::scope(|scope| {
            for name in &names {
                let file = &file;
                scope.spawn(move || add(file, name, json!({ "command": "x" }), Present::Keep).expect("written"));
            }
        });
        let servers = read(&file).expect("servers");
        assert!(names.iter().all(|name| servers.contains_key(name)), "{servers:?}");
        let left: Vec<_> =
            fs::read_dir(folder.path()).expect("a folder").map(|entry| entry.expect("it").path()).collect();
        assert_eq!(left, [file]);
    }

    #[cfg(unix)]
    #[test]
    fn file_that_is_a_link_stays_one_and_keeps_its_mode() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().expect("a folder");
        let (real, link) = (folder.path().join("dotfiles/mcp.json"), folder.path().join("mcp.json"));
        fs::create_dir(folder.path().join("dotfiles")).expect("a folder");
        fs::write(&real, "{}").expect("a file");
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).expect("a mode");
        symlink(&real, &link).expect("a link");
        add(&link, "a", json!({ "command": "x" }), Present::Keep).expect("written");
        assert!(link.is_symlink());
        assert_eq!(read(&real).expect("servers").keys().collect::<Vec<_>>(), ["a"]);
        assert_eq!(real.metadata().expect("a file").permissions().mode() & 0o777, 0o640);
    }
}
