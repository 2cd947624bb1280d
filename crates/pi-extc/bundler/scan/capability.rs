//! What code looks like it needs, by what it names.

/// Changes files, by the names that Node gives its functions, with and without `Sync`.
const WRITES: [&str; 30] = [
    "appendFile",
    "chmod",
    "chown",
    "copyFile",
    "cp",
    "createWriteStream",
    "fchmod",
    "fchown",
    "ftruncate",
    "futimes",
    "lchmod",
    "lchown",
    "link",
    "lutimes",
    "mkdir",
    "mkdtemp",
    "open",
    "rename",
    "rm",
    "rmdir",
    "symlink",
    "truncate",
    "unlink",
    "unlinkFile",
    "utimes",
    "write",
    "writeFile",
    "writev",
    "WriteStream",
    "FileHandle",
];
const HTTP: [&str; 5] = ["http", "http2", "https", "undici", "node-fetch"];
const HTTP_GLOBALS: [&str; 4] = ["fetch", "WebSocket", "EventSource", "XMLHttpRequest"];

/// For an export of a module; `None` stands for the module as a whole, when nobody can tell what becomes of it.
pub(super) fn of_export(module: &str, export: Option<&str>) -> &'static [&'static str] {
    match (module, export) {
        ("fs", None | Some("default")) => &["read", "write"],
        ("fs", Some("promises" | "constants")) => &[],
        ("fs", Some(export)) => {
            let name = export.strip_suffix("Sync").unwrap_or(export);
            match name {
                // Opening may be for either.
                "open" => &["read", "write"],
                name if WRITES.contains(&name) => &["write"],
                _ => &["read"],
            }
        }
        ("child_process", _) => &["exec"],
        (module, _) if HTTP.contains(&module) => &["http"],
        _ => &[],
    }
}

pub(super) fn of_global(name: &str) -> &'static [&'static str] {
    let first = name.split('.').next().unwrap_or_default();
    if HTTP_GLOBALS.contains(&first) {
        return &["http"];
    }
    match name {
        "process.env" | "Bun.env" => &["env"],
        name if name.starts_with("process.env.") => &["env"],
        "Bun.spawn" | "Bun.spawnSync" | "Bun.$" => &["exec"],
        "Bun.file" => &["read"],
        "Bun.write" => &["write"],
        _ => &[],
    }
}

/// For a member of the host's interface.
pub(super) fn of_pi(members: &str) -> &'static [&'static str] {
    match members.split('.').next().unwrap_or_default() {
        "exec" => &["exec"],
        "http" => &["http"],
        "env" => &["env"],
        "ui" => &["ui"],
        "log" => &["log"],
        "events" => &["events"],
        "fs" => match members.strip_prefix("fs.") {
            Some("read" | "readFile" | "list" | "stat" | "exists") => &["read"],
            Some("write" | "writeFile" | "mkdir" | "delete" | "remove" | "append") => &["write"],
            Some(_) | None => &["read", "write"],
        },
        "session" | "sendMessage" | "sendUserMessage" | "appendEntry" | "setSessionName" | "getSessionName"
        | "setLabel" | "setModel" | "setThinkingLevel" | "setActiveTools" => &["session"],
        _ => &[],
    }
}

/// For a member of what handlers are given.
pub(super) fn of_context(members: &str) -> &'static [&'static str] {
    match members.split('.').next().unwrap_or_default() {
        "ui" => &["ui"],
        "sessionManager" | "compact" | "newSession" | "fork" | "navigateTree" | "switchSession" | "abort" => {
            &["session"]
        }
        "modelRegistry" => match members.strip_prefix("modelRegistry.") {
            Some("getApiKey" | "getApiKeyAndHeaders" | "getApiKeyForProvider" | "authStorage") => &["credentials"],
            Some(_) | None => &[],
        },
        "executeTool" => &["tool"],
        _ => &[],
    }
}

/// For a call of a tool by its name; nobody knows the name of one that is computed.
pub(super) fn of_tool(name: Option<&str>) -> &'static str {
    match name {
        Some("read" | "grep" | "find" | "ls") => "read",
        Some("write" | "edit") => "write",
        Some("bash") => "exec",
        Some(_) | None => "tool",
    }
}
