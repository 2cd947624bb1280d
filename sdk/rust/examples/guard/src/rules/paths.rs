//! What the names of files say.

/// Files whose content is a secret, by name or by ending.
const SECRETS: [&str; 9] =
    [".env", ".netrc", ".npmrc", ".pypirc", "id_rsa", "id_ed25519", "credentials", "auth.json", ".pgpass"];
const ENDINGS: [&str; 5] = [".pem", ".key", ".p12", ".pfx", ".keystore"];
/// Folders that no tool of a model should change, and those of them that none should read.
const FOLDERS: [&str; 4] = [".git", ".ssh", ".gnupg", ".aws"];
const CLOSED: [&str; 3] = [".ssh", ".gnupg", ".aws"];
/// Devices that lose nothing when they are written to.
const HARMLESS: [&str; 7] = ["null", "zero", "full", "tty", "stdin", "stdout", "stderr"];

/// What is dangerous about doing this to a path, or to one that is a part of a word: `f=@.env`, `HEAD:.env`.
pub(super) fn secret(word: &str, verb: &str) -> Option<String> {
    let is_secret = |path: &str| {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let is_example = name.ends_with(".example") || name.ends_with(".sample");
        !is_example && (is_secret_name(name) || parts(path).any(|part| CLOSED.iter().any(|it| means(part, it))))
    };
    pieces(word).any(is_secret).then(|| format!("it would {verb} {word}, which may hold secrets"))
}

/// What is dangerous about doing this to something in a folder that programs run by themselves.
pub(super) fn folder(word: &str, verb: &str) -> Option<String> {
    let of = |path| parts(path).find_map(|part| FOLDERS.into_iter().find(|folder| means(part, folder)));
    let folder = pieces(word).find_map(of)?;
    Some(format!("it would {verb} {word}, inside {folder}"))
}

/// What is dangerous about writing to a path.
pub(super) fn written(word: &str) -> Option<String> {
    let device = pieces(word).find_map(|path| path.strip_prefix("/dev/"));
    let is_harmless =
        |device: &str| HARMLESS.contains(&device) || device.starts_with("fd/") || device.starts_with("shm/");
    let device = device.filter(|device| !is_harmless(device)).map(|_| format!("it would write over a device: {word}"));
    device.or_else(|| folder(word, "change"))
}

/// Whether removing it takes more than a part of the project: all of it, or something outside.
pub(super) fn is_much(path: &str) -> bool {
    let is_temporary = path.starts_with("/tmp/") && !path.contains("..");
    // What a variable holds nobody knows here.
    if path.starts_with(['/', '~', '$']) {
        return !is_temporary;
    }
    let mut depth = 0_i32;
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        let is_all = part.chars().all(|sign| matches!(sign, '*' | '.' | '?'));
        match part {
            ".." => depth -= 1,
            _ if is_all && depth == 0 => return true,
            _ => depth += 1,
        }
        if depth < 0 {
            return true;
        }
    }
    depth == 0
}

/// The paths that a word may hold: what is before and behind the signs by which programs mark files.
fn pieces(word: &str) -> impl Iterator<Item = &str> {
    word.split(['@', '=', ':', ',', '{', '}']).filter(|piece| !piece.is_empty())
}

fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split(['/', '\\'])
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_lowercase();
    if ENDINGS.iter().any(|end| name.ends_with(end)) {
        return true;
    }
    // `*.json` names a kind of files, of which hardly one is a secret.
    if name.starts_with("*.") && !name[2..].contains(['*', '?', '[']) {
        return false;
    }
    SECRETS.iter().any(|secret| {
        name.starts_with(&format!("{secret}.")) || means(&name, secret) || means(&name, &format!("{secret}.local"))
    })
}

/// Whether a name is this one, or a pattern that this one matches. A pattern of nothing but stars names nothing.
fn means(name: &str, known: &str) -> bool {
    let is_pattern = name.contains(['*', '?', '[']) && name.chars().any(|sign| !matches!(sign, '*' | '?'));
    name == known || (is_pattern && matches_pattern(name.as_bytes(), known.as_bytes()))
}

/// Whether a pattern of a shell matches a name. Of a class in brackets any letter may be meant.
fn matches_pattern(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern, name) {
        ([], name) => name.is_empty(),
        ([b'*', rest @ ..], _) => (0..=name.len()).any(|at| matches_pattern(rest, &name[at..])),
        ([b'[', rest @ ..], [_, name @ ..]) => {
            let end = rest.iter().position(|sign| *sign == b']').map_or(rest.len(), |at| at + 1);
            matches_pattern(&rest[end..], name)
        }
        ([b'?', pattern @ ..], [_, name @ ..]) => matches_pattern(pattern, name),
        ([sign, pattern @ ..], [letter, name @ ..]) => sign == letter && matches_pattern(pattern, name),
        (_, []) => false,
    }
}
