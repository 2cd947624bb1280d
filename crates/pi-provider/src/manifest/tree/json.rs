//! JSON into a tree. Only the structure is ours: texts and numbers are read by `serde_json`, so that we accept what it
//! accepts. Pi's `models.json` may also have comments, and a comma behind its last members.

use super::{super::diagnostic::Rule, MAX_DEPTH, MAX_MEMBERS, MAX_NODES, Member, Node, Position, SyntaxError, Tree};

/// What may stand in a text beside what JSON has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Notation {
    Strict,
    /// Comments, and commas in front of a closing brace or bracket.
    Relaxed,
}

pub(super) fn parse(text: &str, notation: Notation) -> Result<Node, SyntaxError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut parser = Parser { rest: text, at: Position { line: 1, column: 1, length: 0 }, nodes: 0, notation };
    let node = parser.value(0)?;
    parser.space()?;
    if parser.rest.is_empty() { Ok(node) } else { Err(parser.error("the document goes on after its end")) }
}

struct Parser<'a> {
    rest: &'a str,
    at: Position,
    nodes: usize,
    notation: Notation,
}

impl<'a> Parser<'a> {
    fn value(&mut self, depth: usize) -> Result<Node, SyntaxError> {
        self.space()?;
        self.nodes += 1;
        if depth >= MAX_DEPTH || self.nodes > MAX_NODES {
            let message = "the document is too deep or too large".to_owned();
            return Err(SyntaxError { at: self.at, rule: Rule::FileBudget, message, hint: None });
        }
        let at = self.at;
        let value = match self.rest.as_bytes().first() {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.list(depth)?,
            Some(b'"') => Tree::Text(self.text()?),
            Some(_) => self.scalar()?,
            None => return Err(self.error("the document ends where a value should be")),
        };
        Ok(Node { at: self.since(at), value })
    }

    fn object(&mut self, depth: usize) -> Result<Tree, SyntaxError> {
        self.advance(1);
        let mut members: Vec<Member> = Vec::new();
        self.space()?;
        if self.eat('}') {
            return Ok(Tree::Map(members));
        }
        loop {
            self.space()?;
            if self.ends('}') {
                return Ok(Tree::Map(members));
            }
            let at = self.at;
            if !self.rest.starts_with('"') {
                return Err(self.error("a key in double quotes is expected"));
            }
            let key = self.text()?;
            let at = self.since(at);
            if members.iter().any(|member| member.key == key) {
                let message = format!("{key:?} stands here for the second time");
                return Err(SyntaxError { at, rule: Rule::FileDuplicateKey, message, hint: None });
            }
            if members.len() == MAX_MEMBERS {
                return Err(SyntaxError {
                    at,
                    rule: Rule::FileBudget,
                    message: "an object has too many members".to_owned(),
                    hint: None,
                });
            }
            self.space()?;
            if !self.eat(':') {
                return Err(self.error("a colon is expected after the key"));
            }
            let node = self.value(depth + 1)?;
            members.push(Member { key, at, node });
            self.space()?;
            if self.eat('}') {
                return Ok(Tree::Map(members));
            }
            if !self.eat(',') {
                return Err(self.error("a comma or a closing brace is expected"));
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<Tree, SyntaxError> {
        self.advance(1);
        let mut list = Vec::new();
        self.space()?;
        if self.eat(']') {
            return Ok(Tree::List(list));
        }
        loop {
            self.space()?;
            if self.ends(']') {
                return Ok(Tree::List(list));
            }
            list.push(self.value(depth + 1)?);
            self.space()?;
            if self.eat(']') {
                return Ok(Tree::List(list));
            }
            if !self.eat(',') {
                return Err(self.error("a comma or a closing bracket is expected"));
            }
        }
    }

    fn text(&mut self) -> Result<String, SyntaxError> {
        let bytes = self.rest.as_bytes();
        let mut end = 1;
        loop {
            match bytes.get(end) {
                Some(b'"') => break,
                Some(b'\\') => end += 2,
                Some(_) => end += 1,
                None => return Err(self.error("the text has no end")),
            }
        }
        let token = self.rest.get(..=end).ok_or_else(|| self.error("the text has no end"))?;
        let text =
            serde_json::from_str(token).map_err(|_| self.error("the text has an invalid character or escape"))?;
        self.advance(end + 1);
        Ok(text)
    }

    fn scalar(&mut self) -> Result<Tree, SyntaxError> {
        let stops = match self.notation {
            Notation::Strict => ",:]}[{\"",
            Notation::Relaxed => ",:]}[{\"/",
        };
        let end = self.rest.find(|c: char| c.is_whitespace() || stops.contains(c)).unwrap_or(self.rest.len());
        let token = &self.rest[..end];
        let value = match token {
            "null" => Tree::Null,
            "true" => Tree::Bool(true),
            "false" => Tree::Bool(false),
            _ => match serde_json::from_str(token) {
                Ok(number) => Tree::Number(number),
                Err(_) => return Err(self.error("a value is expected")),
            },
        };
        self.advance(end);
        Ok(value)
    }

    /// Passes blanks, and comments where there may be some.
    fn space(&mut self) -> Result<(), SyntaxError> {
        loop {
            let end = self.rest.find(|c| !matches!(c, ' ' | '\t' | '\r' | '\n')).unwrap_or(self.rest.len());
            self.advance(end);
            match self.notation {
                Notation::Relaxed if self.rest.starts_with("//") => {
                    self.advance(self.rest.find('\n').unwrap_or(self.rest.len()));
                }
                Notation::Relaxed if self.rest.starts_with("/*") => {
                    let Some(length) = self.rest[2..].find("*/") else {
                        return Err(self.error("the comment has no end"));
                    };
                    self.advance(2 + length + 2);
                }
                Notation::Strict | Notation::Relaxed => return Ok(()),
            }
        }
    }

    /// Whether a list or an object ends behind a comma, where that is allowed.
    fn ends(&mut self, closing: char) -> bool {
        match self.notation {
            Notation::Strict => false,
            Notation::Relaxed => self.eat(closing),
        }
    }

    fn eat(&mut self, expected: char) -> bool {
        let found = self.rest.starts_with(expected);
        if found {
            self.advance(1);
        }
        found
    }

    fn advance(&mut self, bytes: usize) {
        let (passed, rest): (&'a str, &'a str) = self.rest.split_at(bytes);
        for character in passed.chars() {
            if character == '\n' {
                self.at = Position { line: self.at.line + 1, column: 1, length: 0 };
            } else {
                self.at.column += 1;
            }
        }
        self.rest = rest;
    }

    /// The place with the length of what was read since, if it is on one line.
    fn since(&self, start: Position) -> Position {
        let length = if self.at.line == start.line { self.at.column - start.column } else { 0 };
        Position { length, ..start }
    }

    fn error(&self, message: &str) -> SyntaxError {
        SyntaxError { at: self.at, rule: Rule::FileSyntax, message: message.to_owned(), hint: None }
    }
}
