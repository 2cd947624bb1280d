//! A document as a tree in which every value knows where it was written.
//!
//! Files are read into this tree first, so that promotion can move parts around and every later finding still points at
//! the line that caused it. [`read`](read::read) turns a part of the tree into a type.

mod json;
pub(super) mod read;
mod yaml;

use serde_json::{Map, Number, Value};

use self::json::Notation;
use super::{diagnostic::Rule, load::Format};

/// Where something was written, counted in lines and characters from 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Position {
    pub line: u32,
    pub column: u32,
    /// How many characters stand there that belong to it; 0 where that is not one stretch of text, or nobody knows.
    pub length: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub at: Position,
    pub value: Tree,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Tree {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Map(Members),
}

/// The members of a map in the order of the file. No key occurs twice.
pub(super) type Members = Vec<Member>;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Member {
    pub key: String,
    /// Of the key.
    pub at: Position,
    pub node: Node,
}

/// Why a text is not a document.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SyntaxError {
    pub at: Position,
    pub rule: Rule,
    pub message: String,
    /// Better advice than the usual.
    pub hint: Option<String>,
}

/// Larger files are not read.
pub(crate) const MAX_BYTES: usize = 4 << 20;
/// Deeper values are not read; it also bounds the recursion over a tree.
pub(super) const MAX_DEPTH: usize = 48;
/// Members of one map: they are looked up one after the other.
const MAX_MEMBERS: usize = 5000;
/// Values in one document.
const MAX_NODES: usize = 100_000;

pub(super) fn parse(text: &str, format: Format) -> Result<Node, SyntaxError> {
    check_size(text)?;
    match format {
        Format::Yaml => yaml::parse(text),
        Format::Json => json::parse(text, Notation::Strict),
    }
}

/// JSON as Pi takes it in its `models.json`: with comments, and with commas behind the last members.
pub(super) fn parse_relaxed(text: &str) -> Result<Node, SyntaxError> {
    check_size(text)?;
    json::parse(text, Notation::Relaxed)
}

fn check_size(text: &str) -> Result<(), SyntaxError> {
    if text.len() <= MAX_BYTES {
        return Ok(());
    }
    let message = format!("the file has {} bytes, and at most {MAX_BYTES} are read", text.len());
    Err(SyntaxError { at: Position::default(), rule: Rule::FileSize, message, hint: None })
}

impl Node {
    pub(super) fn text(at: Position, text: impl Into<String>) -> Self {
        Self { at, value: Tree::Text(text.into()) }
    }

    pub(super) fn map(at: Position) -> Self {
        Self { at, value: Tree::Map(Vec::new()) }
    }

    pub(super) fn is_null(&self) -> bool {
        self.value == Tree::Null
    }

    pub(super) fn as_str(&self) -> Option<&str> {
        if let Tree::Text(text) = &self.value { Some(text) } else { None }
    }

    pub(super) fn as_bool(&self) -> Option<bool> {
        if let Tree::Bool(value) = self.value { Some(value) } else { None }
    }

    pub(super) fn as_list(&self) -> Option<&[Self]> {
        if let Tree::List(list) = &self.value { Some(list) } else { None }
    }

    pub(super) fn as_map(&self) -> Option<&[Member]> {
        if let Tree::Map(members) = &self.value { Some(members) } else { None }
    }

    pub(super) fn member(&self, key: &str) -> Option<&Member> {
        self.as_map()?.iter().find(|member| member.key == key && !member.node.is_null())
    }

    /// The value under a key; one that is `null` counts as absent.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        Some(&self.member(key)?.node)
    }

    /// The value at a dotted path.
    pub(super) fn find(&self, path: &str) -> Option<&Self> {
        path.split('.').try_fold(self, |node, key| node.get(key))
    }

    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        let Tree::Map(members) = &mut self.value else { return None };
        let member = members.iter_mut().find(|member| member.key == key && !member.node.is_null())?;
        Some(&mut member.node)
    }

    /// Takes a member out, also one that is `null`.
    pub(super) fn take(&mut self, key: &str) -> Option<Member> {
        let Tree::Map(members) = &mut self.value else { return None };
        let index = members.iter().position(|member| member.key == key)?;
        Some(members.remove(index)).filter(|member| !member.node.is_null())
    }

    /// Sets a member; whatever was there is replaced, in its place. Nothing happens to a node that is not a map.
    pub(super) fn set(&mut self, key: &str, at: Position, node: Self) {
        let Tree::Map(members) = &mut self.value else { return };
        let member = Member { key: key.to_owned(), at, node };
        match members.iter_mut().find(|member| member.key == key) {
            Some(old) => *old = member,
            None => members.push(member),
        }
    }

    /// Sets a member unless there is one.
    pub(super) fn set_default(&mut self, key: &str, at: Position, node: Self) {
        if self.get(key).is_none() {
            self.set(key, at, node);
        }
    }

    /// The map under a key, which is made if there is none; `None` if something else stands there.
    pub(super) fn map_mut(&mut self, key: &str, at: Position) -> Option<&mut Self> {
        self.set_default(key, at, Self::map(at));
        self.get_mut(key).filter(|node| node.as_map().is_some())
    }

    /// What kind of value this is, for messages.
    pub(super) fn kind(&self) -> &'static str {
        match self.value {
            Tree::Null => "nothing",
            Tree::Bool(_) => "a boolean",
            Tree::Number(_) => "a number",
            Tree::Text(_) => "a text",
            Tree::List(_) => "a list",
            Tree::Map(_) => "an object",
        }
    }

    pub(super) fn to_json(&self) -> Value {
        match &self.value {
            Tree::Null => Value::Null,
            Tree::Bool(value) => Value::Bool(*value),
            Tree::Number(number) => Value::Number(number.clone()),
            Tree::Text(text) => Value::String(text.clone()),
            Tree::List(list) => Value::Array(list.iter().map(Self::to_json).collect()),
            Tree::Map(members) => Value::Object(object(members)),
        }
    }
}

fn object(members: &[Member]) -> Map<String, Value> {
    members.iter().map(|member| (member.key.clone(), member.node.to_json())).collect()
}
