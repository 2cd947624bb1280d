//! JSON that is not complete yet.
//!
//! Arguments of a tool call arrive in pieces, and people want to see them grow. A [`PartialReader`] takes every byte once
//! and changes the object in place, so that reading a long argument costs as much as its length, however many pieces it
//! comes in. At any time the object holds what is certain: members that have begun, texts as far as they go, numbers as
//! far as they are numbers.

use serde_json::{Map, Number, Value};

/// Deeper than this is not JSON that a tool understands; the same limit as serde_json's.
const DEEPEST: usize = 128;

/// What some models write for no arguments.
const NULL: &str = "null";

/// No number that means anything is longer.
const LONGEST_WORD: usize = 400;

/// Reads an object piece by piece. The object itself is kept by whoever wants to show it.
#[derive(Debug, Default)]
pub struct PartialReader {
    /// Containers that are open inside the outermost object. The open one is always the last value of the one around it.
    open: Vec<Container>,
    state: State,
    /// The name of the member whose value comes next, and the text of a number or a word so far.
    name: String,
    word: String,
    escape: Escape,
    /// The bytes of the pieces before this one.
    read: usize,
    flaw: Option<Flaw>,
}

/// What arguments are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Soundness {
    /// An object; nothing at all, and `null`, which tools without arguments get, count as an empty one.
    Whole,
    /// The beginning of one.
    Cut,
    /// Neither.
    Flawed(Flaw),
}

/// Why arguments are no object, however they go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    #[error("they do not begin with a brace")]
    Beginning,
    #[error("something stands behind the brace that ends them")]
    Behind,
    #[error("they are not JSON from byte {at} on")]
    Inside { at: usize },
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Container {
    Object,
    Array,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum State {
    /// Before the first brace.
    #[default]
    Start,
    /// In `null` where the first brace should be.
    InNull,
    /// A name or the end of the object.
    NameOrEnd,
    Name,
    InName,
    Colon,
    Value,
    /// A value or the end of the array.
    ValueOrEnd,
    InText,
    /// In a number, `true`, `false` or `null`.
    InWord,
    CommaOrEnd,
    /// The outermost object is closed.
    Done,
    /// This is not JSON; what was read before stays.
    Broken,
}

/// Where we are in `\uD83D\uDE00`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum Escape {
    #[default]
    None,
    Backslash,
    /// Digits read so far and their value; the first half of a pair, if there was one.
    Unicode {
        digits: u8,
        value: u16,
        high: Option<u16>,
    },
    /// The first half of a pair; a second one must follow.
    AfterHigh(u16),
    BackslashAfterHigh(u16),
}

impl PartialReader {
    pub fn new() -> Self {
        Self::default()
    }

    /// What has been read, if nothing follows.
    pub fn soundness(&self) -> Soundness {
        match (self.flaw, self.state) {
            (Some(flaw), _) => Soundness::Flawed(flaw),
            (None, State::Done | State::Start) => Soundness::Whole,
            (None, State::InNull) if self.word == NULL => Soundness::Whole,
            (None, _) => Soundness::Cut,
        }
    }

    /// Takes the next piece and changes the object, which must be the one that the pieces before have changed.
    pub fn push(&mut self, piece: &str, members: &mut Map<String, Value>) {
        let mut rest = piece;
        while !rest.is_empty() && self.state != State::Broken {
            if matches!(self.state, State::InText | State::InName) && self.escape == Escape::None {
                rest = self.take_plain(rest, members);
                continue;
            }
            let (before, at) = (self.state, self.read + piece.len() - rest.len());
            let mut letters = rest.chars();
            if let Some(letter) = letters.next() {
                self.take(letter, members);
            }
            rest = letters.as_str();
            if self.state == State::Broken {
                self.flaw = Some(match before {
                    State::Start | State::InNull => Flaw::Beginning,
                    State::Done => Flaw::Behind,
                    State::NameOrEnd
                    | State::Name
                    | State::InName
                    | State::Colon
                    | State::Value
                    | State::ValueOrEnd
                    | State::InText
                    | State::InWord
                    | State::CommaOrEnd
                    | State::Broken => Flaw::Inside { at },
                });
            }
        }
        self.read += piece.len();
        if self.state == State::InWord {
            self.show_number(members);
        }
    }

    /// Takes the beginning of a string up to a quote or a backslash, and that one too.
    fn take_plain<'t>(&mut self, text: &'t str, members: &mut Map<String, Value>) -> &'t str {
        let end = text.find(['"', '\\']).unwrap_or(text.len());
        self.append(&text[..end], members);
        let mut letters = text[end..].chars();
        match letters.next() {
            Some('\\') => self.escape = Escape::Backslash,
            Some(_) => self.end_string(),
            None => {}
        }
        letters.as_str()
    }

    fn take(&mut self, letter: char, members: &mut Map<String, Value>) {
        if self.escape != Escape::None {
            return self.take_escaped(letter, members);
        }
        let is_space = matches!(letter, ' ' | '\t' | '\r' | '\n');
        match self.state {
            State::Start if letter == '{' => self.state = State::NameOrEnd,
            State::Start if letter == 'n' => {
                self.word.push(letter);
                self.state = State::InNull;
            }
            State::InNull if self.word == NULL && is_space => self.state = State::Done,
            State::InNull => {
                self.word.push(letter);
                if !NULL.starts_with(&self.word) {
                    self.state = State::Broken;
                }
            }
            State::Start | State::NameOrEnd | State::Name | State::Colon | State::Value if is_space => {}
            State::ValueOrEnd | State::CommaOrEnd | State::Done if is_space => {}
            State::NameOrEnd if letter == '}' => self.close(),
            State::NameOrEnd | State::Name if letter == '"' => {
                self.name.clear();
                self.state = State::InName;
            }
            State::Colon if letter == ':' => self.state = State::Value,
            State::ValueOrEnd if letter == ']' => self.close(),
            State::Value | State::ValueOrEnd => self.begin_value(letter, members),
            State::InWord => self.take_in_word(letter, members),
            State::CommaOrEnd => match (letter, self.container()) {
                (',', Container::Object) => self.state = State::Name,
                (',', Container::Array) => self.state = State::Value,
                ('}', Container::Object) | (']', Container::Array) => self.close(),
                (_, Container::Object | Container::Array) => self.state = State::Broken,
            },
            State::Start
            | State::NameOrEnd
            | State::Name
            | State::Colon
            | State::InName
            | State::InText
            | State::Done
            | State::Broken => self.state = State::Broken,
        }
    }

    fn container(&self) -> Container {
        self.open.last().copied().unwrap_or(Container::Object)
    }

    fn begin_value(&mut self, letter: char, members: &mut Map<String, Value>) {
        match letter {
            '{' | '[' if self.open.len() + 1 >= DEEPEST => self.state = State::Broken,
            '{' => {
                self.insert(Value::Object(Map::new()), members);
                self.open.push(Container::Object);
                self.state = State::NameOrEnd;
            }
            '[' => {
                self.insert(Value::Array(Vec::new()), members);
                self.open.push(Container::Array);
                self.state = State::ValueOrEnd;
            }
            '"' => {
                self.insert(Value::String(String::new()), members);
                self.state = State::InText;
            }
            '-' | '0'..='9' | 't' | 'f' | 'n' => {
                self.word.clear();
                self.word.push(letter);
                self.insert(Value::Null, members);
                self.state = State::InWord;
            }
            _ => self.state = State::Broken,
        }
    }

    fn take_in_word(&mut self, letter: char, members: &mut Map<String, Value>) {
        let is_part = letter.is_ascii_alphanumeric() || matches!(letter, '+' | '-' | '.');
        if is_part && self.word.len() < LONGEST_WORD {
            self.word.push(letter);
            return;
        }
        let value = match self.word.as_str() {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            "null" => Some(Value::Null),
            word => word.parse::<Number>().ok().map(Value::Number),
        };
        self.state = if value.is_some() { State::CommaOrEnd } else { State::Broken };
        self.replace(value.unwrap_or_default(), members);
        self.take(letter, members);
    }

    /// A number is shown as far as it is one, although digits may follow.
    fn show_number(&self, members: &mut Map<String, Value>) {
        let digits = self.word.trim_end_matches(|letter: char| !letter.is_ascii_digit());
        self.replace(digits.parse::<Number>().map_or(Value::Null, Value::Number), members);
    }

    fn close(&mut self) {
        self.state = if self.open.pop().is_some() { State::CommaOrEnd } else { State::Done };
    }

    fn end_string(&mut self) {
        self.state = if self.state == State::InName { State::Colon } else { State::CommaOrEnd };
    }

    fn take_escaped(&mut self, letter: char, members: &mut Map<String, Value>) {
        match self.escape {
            Escape::None => {}
            Escape::Backslash | Escape::BackslashAfterHigh(_) if letter == 'u' => {
                let high = if let Escape::BackslashAfterHigh(high) = self.escape { Some(high) } else { None };
                self.escape = Escape::Unicode { digits: 0, value: 0, high };
            }
            Escape::Backslash => {
                self.escape = Escape::None;
                match letter {
                    '"' | '\\' | '/' => self.append(letter.encode_utf8(&mut [0; 4]), members),
                    'b' => self.append("\u{8}", members),
                    'f' => self.append("\u{C}", members),
                    'n' => self.append("\n", members),
                    'r' => self.append("\r", members),
                    't' => self.append("\t", members),
                    _ => self.state = State::Broken,
                }
            }
            Escape::Unicode { digits, value, high } => {
                let Some(digit) = letter.to_digit(16) else { return self.state = State::Broken };
                // Four digits fill sixteen bits exactly.
                let value = value << 4 | digit as u16;
                if digits < 3 {
                    self.escape = Escape::Unicode { digits: digits + 1, value, high };
                } else {
                    self.end_unicode(value, high, members);
                }
            }
            Escape::AfterHigh(high) if letter == '\\' => self.escape = Escape::BackslashAfterHigh(high),
            Escape::AfterHigh(_) | Escape::BackslashAfterHigh(_) => self.state = State::Broken,
        }
    }

    fn end_unicode(&mut self, value: u16, high: Option<u16>, members: &mut Map<String, Value>) {
        self.escape = Escape::None;
        if high.is_none() && (0xD800..0xDC00).contains(&value) {
            self.escape = Escape::AfterHigh(value);
            return;
        }
        match char::decode_utf16(high.into_iter().chain([value])).next() {
            Some(Ok(letter)) => self.append(letter.encode_utf8(&mut [0; 4]), members),
            Some(Err(_)) | None => self.state = State::Broken,
        }
    }

    /// Appends to the string that is open: a name, or a text in its place.
    fn append(&mut self, text: &str, members: &mut Map<String, Value>) {
        // Control characters may not stand in a string; models write them all the same, and their meaning is clear.
        if self.state == State::InName {
            self.name.push_str(text);
        } else if let Some(Value::String(value)) = self.last(members) {
            value.push_str(text);
        }
    }

    fn insert(&mut self, value: Value, members: &mut Map<String, Value>) {
        let name = std::mem::take(&mut self.name);
        if self.open.is_empty() {
            return insert_last(members, name, value);
        }
        match value_at(members, self.open.len()) {
            Some(Value::Object(members)) => insert_last(members, name, value),
            Some(Value::Array(values)) => values.push(value),
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) | None => {
                self.state = State::Broken
            }
        }
    }

    fn replace(&self, value: Value, members: &mut Map<String, Value>) {
        if let Some(last) = self.last(members) {
            *last = value;
        }
    }

    /// The value that was begun last.
    fn last<'m>(&self, members: &'m mut Map<String, Value>) -> Option<&'m mut Value> {
        value_at(members, self.open.len() + 1)
    }
}

/// The last of equal names counts, and stands last: that is where the open value is looked for.
fn insert_last(members: &mut Map<String, Value>, name: String, value: Value) {
    members.shift_remove(&name);
    members.insert(name, value);
}

/// Goes down through the last values, so many times, at least once.
fn value_at(members: &mut Map<String, Value>, depth: usize) -> Option<&mut Value> {
    let mut value = members.values_mut().next_back()?;
    for _ in 1..depth {
        value = match value {
            Value::Object(members) => members.values_mut().next_back()?,
            Value::Array(values) => values.last_mut()?,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
        };
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// The object and whether it is whole, after these pieces.
    fn read<'a>(pieces: impl IntoIterator<Item = &'a str>) -> (Value, bool) {
        let mut reader = PartialReader::new();
        let mut members = Map::new();
        pieces.into_iter().for_each(|piece| reader.push(piece, &mut members));
        (Value::Object(members), reader.soundness() == Soundness::Whole)
    }

    #[test]
    fn what_is_known_is_shown() {
        for (text, expected) in [
            ("", json!({})),
            ("{", json!({})),
            ("{\"pa", json!({})),
            ("{\"path\"", json!({})),
            ("{\"path\":", json!({})),
            ("{\"path\": \"", json!({"path": ""})),
            ("{\"path\": \"/tmp", json!({"path": "/tmp"})),
            ("{\"path\": \"a\\", json!({"path": "a"})),
            ("{\"path\": \"a\\n\\u00e", json!({"path": "a\n"})),
            ("{\"path\": \"\\ud83d\\ude0", json!({"path": ""})),
            ("{\"path\": \"\\ud83d\\ude00", json!({"path": "😀"})),
            ("{\"n\": 12", json!({"n": 12})),
            ("{\"n\": -", json!({"n": null})),
            ("{\"n\": 1.5e-", json!({"n": 1.5})),
            ("{\"n\": 1x,", json!({"n": null})),
            ("{\"t\": tru", json!({"t": null})),
            ("{\"t\": true", json!({"t": null})),
            ("{\"t\": true,", json!({"t": true})),
            ("{\"a\": [1, {\"b\": [\"x", json!({"a": [1, {"b": ["x"]}]})),
            ("{\"a\": {\"b\": {}}, \"c\": nul", json!({"a": {"b": {}}, "c": null})),
            ("{\"a\": 1, \"b\": 2, \"a\": [3", json!({"b": 2, "a": [3]})),
            ("{\"a\": \"x\" oops", json!({"a": "x"})),
            ("[1]", json!({})),
        ] {
            assert_eq!(read([text]).0, expected, "{text}");
        }
    }

    #[test]
    fn only_a_whole_object_is_complete() {
        for (text, expected) in
            [("", true), (" {} ", true), ("{\"a\":[1]}", true), ("{\"a\":1", false), ("{}x", false), ("1", false)]
        {
            assert_eq!(read([text]).1, expected, "{text}");
        }
    }

    #[test]
    fn what_is_cut_is_told_from_what_is_wrong() {
        let inside = |at| Soundness::Flawed(Flaw::Inside { at });
        for (text, expected) in [
            ("", Soundness::Whole),
            ("null", Soundness::Whole),
            (" null\n", Soundness::Whole),
            ("nul", Soundness::Cut),
            ("{\"a\": \"b", Soundness::Cut),
            ("{\"a\": tr", Soundness::Cut),
            ("{\"a\": 1", Soundness::Cut),
            ("{\"a\": 1,", Soundness::Cut),
            ("nully", Soundness::Flawed(Flaw::Beginning)),
            ("[1]", Soundness::Flawed(Flaw::Beginning)),
            ("\"{\\\"a\\\":1}\"", Soundness::Flawed(Flaw::Beginning)),
            ("```json\n{}\n```", Soundness::Flawed(Flaw::Beginning)),
            ("{\"a\": 1} and so on", Soundness::Flawed(Flaw::Behind)),
            ("null {}", Soundness::Flawed(Flaw::Behind)),
            ("{\"a\": 1,}", inside(8)),
            ("{\"ä\": 1 2", inside(9)),
        ] {
            for piece in [1, text.len().max(1)] {
                let (mut reader, mut members) = (PartialReader::new(), Map::new());
                let letters: Vec<String> = text.chars().map(String::from).collect();
                letters.chunks(piece).for_each(|piece| reader.push(&piece.concat(), &mut members));
                assert_eq!(reader.soundness(), expected, "{text}");
            }
        }
    }

    #[test]
    fn nesting_has_a_limit() {
        let deep = format!("{{\"a\":{}", "[".repeat(10_000));
        assert!(!read([deep.as_str()]).1);
        let allowed = format!("{{\"a\":{}{}}}", "[".repeat(126), "]".repeat(126));
        assert!(read([allowed.as_str()]).1);
        assert!(serde_json::from_str::<Value>(&allowed).is_ok());
    }

    fn any_object() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(Value::from),
            "[a\"\\\\\n\u{1}é\u{1F600}]{0,6}".prop_map(Value::from),
        ];
        let any = leaf.prop_recursive(4, 30, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec(("[a-c\"]{0,2}", inner), 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        });
        prop::collection::vec(("[a-c\"]{0,2}", any), 0..4)
            .prop_map(|members| Value::Object(members.into_iter().collect()))
    }

    proptest! {
        #[test]
        fn a_whole_object_is_what_it_says(object in any_object(), pretty in any::<bool>(), size in 1_usize..9) {
            let text = if pretty { serde_json::to_string_pretty(&object) } else { serde_json::to_string(&object) };
            let text = text.unwrap();
            let letters: Vec<char> = text.chars().collect();
            let pieces: Vec<String> = letters.chunks(size).map(|piece| piece.iter().collect()).collect();
            prop_assert_eq!(read(pieces.iter().map(String::as_str)), (object, true));
        }

        #[test]
        fn any_cut_of_any_text_shows_the_same(text in "[{}\\[\\],:\"\\\\untrfalse0-9.\\-eé \u{1F600}]{0,40}", cut in 0_usize..40) {
            let cut = text.char_indices().map(|(place, _)| place).nth(cut).unwrap_or(text.len());
            prop_assert_eq!(read([&text[..cut], &text[cut..]]), read([text.as_str()]));
        }
    }
}
