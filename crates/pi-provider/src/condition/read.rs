//! How conditions are written.

use serde_json::Number;

use super::{Comparison, Literal, Node, Operand, pattern::Pattern};
use crate::path::{
    Path,
    syntax::{Cursor, SyntaxError},
};

/// Longer ones first, so that `>=` is not read as `>`.
const COMPARISONS: [(&str, Comparison); 6] = [
    ("==", Comparison::Equal),
    ("!=", Comparison::NotEqual),
    (">=", Comparison::GreaterOrEqual),
    ("<=", Comparison::LessOrEqual),
    (">", Comparison::Greater),
    ("<", Comparison::Less),
];

pub(super) fn read_any(cursor: &mut Cursor<'_>) -> Result<Node, SyntaxError> {
    let mut nodes = vec![read_all(cursor)?];
    while cursor.take("||") {
        nodes.push(read_all(cursor)?);
    }
    Ok(alone(nodes, Node::Any))
}

fn read_all(cursor: &mut Cursor<'_>) -> Result<Node, SyntaxError> {
    let mut nodes = vec![read_one(cursor)?];
    while cursor.take("&&") {
        nodes.push(read_one(cursor)?);
    }
    Ok(alone(nodes, Node::All))
}

fn alone(mut nodes: Vec<Node>, several: fn(Vec<Node>) -> Node) -> Node {
    match nodes.pop() {
        Some(node) if nodes.is_empty() => node,
        node => {
            nodes.extend(node);
            several(nodes)
        }
    }
}

/// One condition, and the space behind it.
fn read_one(cursor: &mut Cursor<'_>) -> Result<Node, SyntaxError> {
    cursor.skip_space();
    cursor.enter()?;
    let node = if cursor.take("!") {
        Node::Not(Box::new(read_one(cursor)?))
    } else if cursor.take("(") {
        let node = read_any(cursor)?;
        cursor.expect(")")?;
        node
    } else if let Some(path) = read_exists(cursor)? {
        Node::Exists(path)
    } else {
        read_comparison(cursor)?
    };
    cursor.leave();
    cursor.skip_space();
    Ok(node)
}

fn read_exists(cursor: &mut Cursor<'_>) -> Result<Option<Path>, SyntaxError> {
    let Some(behind) = cursor.rest().strip_prefix("exists") else { return Ok(None) };
    if !behind.trim_start().starts_with('(') {
        return Ok(None);
    }
    cursor.take("exists");
    cursor.skip_space();
    cursor.expect("(")?;
    cursor.skip_space();
    let path = Path::read(cursor)?;
    cursor.skip_space();
    cursor.expect(")")?;
    Ok(Some(path))
}

fn read_comparison(cursor: &mut Cursor<'_>) -> Result<Node, SyntaxError> {
    let left = match read_literal(cursor)? {
        Some(literal) => Operand::Literal(literal),
        None => Operand::Path(Path::read(cursor)?),
    };
    cursor.skip_space();
    if let Some((_, comparison)) = COMPARISONS.into_iter().find(|(sign, _)| cursor.take(sign)) {
        cursor.skip_space();
        return Ok(Node::Compare(left, comparison, read_right(cursor)?));
    }
    if cursor.take("=~") {
        cursor.skip_space();
        let Operand::Path(path) = left else { return Err(cursor.error("a path on the left of =~")) };
        return Ok(Node::Like(path, Pattern::read(cursor)?));
    }
    let is_in = cursor.rest().strip_prefix("in").is_some_and(|rest| rest.trim_start().starts_with('['));
    if is_in {
        cursor.take("in");
        return Ok(Node::In(left, read_list(cursor)?));
    }
    match left {
        Operand::Path(path) => Ok(Node::Exists(path)),
        Operand::Literal(_) => Err(cursor.error("a comparison")),
    }
}

fn read_right(cursor: &mut Cursor<'_>) -> Result<Operand, SyntaxError> {
    if matches!(cursor.peek(), Some('$' | '@')) {
        return Path::read(cursor).map(Operand::Path);
    }
    read_word_or_literal(cursor).map(Operand::Literal)
}

fn read_word_or_literal(cursor: &mut Cursor<'_>) -> Result<Literal, SyntaxError> {
    if let Some(literal) = read_literal(cursor)? {
        return Ok(literal);
    }
    cursor.word().map(|word| Literal::Text(word.into())).ok_or_else(|| cursor.error("a value"))
}

fn read_list(cursor: &mut Cursor<'_>) -> Result<Vec<Literal>, SyntaxError> {
    cursor.skip_space();
    cursor.expect("[")?;
    let mut literals = Vec::new();
    loop {
        cursor.skip_space();
        if cursor.take("]") {
            return Ok(literals);
        }
        if !literals.is_empty() {
            cursor.expect(",")?;
            cursor.skip_space();
        }
        literals.push(read_word_or_literal(cursor)?);
    }
}

/// A quoted text, a number, `null`, `true` or `false`; anything else is left where it is.
fn read_literal(cursor: &mut Cursor<'_>) -> Result<Option<Literal>, SyntaxError> {
    if let Some(text) = cursor.quoted()? {
        return Ok(Some(Literal::Text(text.into())));
    }
    let rest = cursor.rest();
    let end = rest.find(|letter: char| !(letter.is_ascii_alphanumeric() || "_-+.".contains(letter)));
    let word = &rest[..end.unwrap_or(rest.len())];
    let literal = match word {
        "null" => Literal::Null,
        "true" => Literal::Bool(true),
        "false" => Literal::Bool(false),
        _ => match word.parse::<Number>() {
            Ok(number) => Literal::Number(number),
            Err(_) => return Ok(None),
        },
    };
    cursor.take(word);
    Ok(Some(literal))
}
