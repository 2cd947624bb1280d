//! Is it an envelope? Yes or no from bytes, in one pass and without allocating.
//!
//! Members may come in any order, `kind` included, and the last of several equal names counts. So while an object is
//! read only facts are kept: for each member that some record knows, the set of [`Class`]es that its value fits. At the
//! closing brace the record is known, and its rules, compiled from the [`shape`](crate::shape) table when this crate is
//! compiled, are looked up in the facts.

mod marks;
mod scan;

use pi_transcript::json::{
    Problem,
    shape::{Member, Presence, Shape},
};

use self::scan::{NotJson, Scanner, Sort};
use crate::shape::{DOCUMENT, KINDS, MEDIA_TYPES, MEMORY_ITEM, MESSAGE, ROLES, SKILL_ITEM, TOOL_ITEM, VERSIONS};

/// Whether `bytes` are an envelope.
pub fn is_valid(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return false;
    };
    let mut scanner = Scanner::new(text);
    document(&mut scanner).unwrap_or(false) && scanner.is_at_end()
}

/// Whether `bytes` are an envelope, and if not, everything that is wrong with them.
///
/// Good documents are checked at the speed of [`is_valid`]; only a refused one is read again to name its faults.
pub fn validate(bytes: &[u8]) -> Result<(), Vec<Problem>> {
    if is_valid(bytes) {
        return Ok(());
    }
    crate::parse::document(bytes).map(drop)
}

/// A set of ways in which a value can be right.
type Class = u16;

/// Any value; members that a record does not name are like this.
const ANY: Class = 1 << 0;
const TEXT: Class = 1 << 1;
const FLAG: Class = 1 << 2;
const NUMBER: Class = 1 << 3;
const OBJECT: Class = 1 << 4;
/// A string that is one of the words allowed for this member.
const WORD: Class = 1 << 5;
const MESSAGES: Class = 1 << 6;
const SEGMENTS: Class = 1 << 7;
const MEMORY_ITEMS: Class = 1 << 8;
const SKILL_ITEMS: Class = 1 << 9;
const TOOL_ITEMS: Class = 1 << 10;

/// Where an object stands, which says what its members mean.
#[derive(Clone, Copy)]
enum Level {
    Document,
    Message,
    Segment,
    Item,
}

/// The most members that any level knows.
const SLOTS: usize = 20;
const VERSION_SLOT: usize = 0;
const MESSAGES_SLOT: usize = 2;
const ROLE_SLOT: usize = 1;
const SEGMENTS_SLOT: usize = 2;
const KIND_SLOT: usize = 0;
const ITEMS_SLOT: usize = 6;
const MEDIA_TYPE_SLOT: usize = 7;

/// The place where facts about a member are kept.
#[inline(always)] // so that only the names of the level at hand are compared
const fn slot(level: Level, name: &[u8]) -> Option<usize> {
    let slot = match level {
        Level::Document => match name {
            b"version" => VERSION_SLOT,
            b"model" => 1,
            b"messages" => MESSAGES_SLOT,
            _ => return None,
        },
        Level::Message => match name {
            b"id" => 0,
            b"role" => ROLE_SLOT,
            b"segments" => SEGMENTS_SLOT,
            b"timestamp" => 3,
            _ => return None,
        },
        // By length first: a name is then compared with five others at most.
        Level::Segment => match name.len() {
            3 => match name {
                b"url" => 18,
                _ => return None,
            },
            4 => match name {
                b"kind" => KIND_SLOT,
                b"name" => 3,
                _ => return None,
            },
            5 => match name {
                b"value" => 4,
                b"items" => ITEMS_SLOT,
                _ => return None,
            },
            6 => match name {
                b"result" => 10,
                _ => return None,
            },
            7 => match name {
                b"content" => 1,
                b"success" => 11,
                b"snippet" => 14,
                b"altText" => 19,
                _ => return None,
            },
            8 => match name {
                b"toolName" => 8,
                b"fileName" => 12,
                b"mimeType" => 13,
                _ => return None,
            },
            9 => match name {
                b"collapsed" => 2,
                b"mediaType" => MEDIA_TYPE_SLOT,
                b"arguments" => 9,
                b"sizeBytes" => 15,
                b"charCount" => 17,
                _ => return None,
            },
            _ => match name {
                b"description" => 5,
                b"parsedContent" => 16,
                _ => return None,
            },
        },
        Level::Item => match name {
            b"title" => 0,
            b"content" => 1,
            b"name" => 2,
            b"description" => 3,
            b"parameters" => 4,
            b"schema" => 5,
            _ => return None,
        },
    };
    Some(slot)
}

/// The members of one record, compiled: what each slot must fit, and which slots must be filled.
struct Rules {
    wanted: [Class; SLOTS],
    required: u32,
}

impl Rules {
    const NONE: Self = Self { wanted: [ANY; SLOTS], required: 0 };

    const fn of(level: Level, members: &[Member]) -> Self {
        let mut rules = Self::NONE;
        let mut index = 0;
        while index < members.len() {
            let member = &members[index];
            let slot = slot(level, member.name.as_bytes()).expect("the shape table names a member without a slot");
            rules.wanted[slot] = class(&member.shape);
            if matches!(member.presence, Presence::Required) {
                rules.required |= 1 << slot;
            }
            index += 1;
        }
        rules
    }

    #[inline]
    fn accept(&self, facts: &Facts) -> bool {
        let wrong = facts.fits.iter().zip(&self.wanted).fold(false, |wrong, (&fits, &wanted)| {
            // Nothing fits a slot that was not filled; whether it may be empty is decided by `required`.
            wrong | (fits != 0 && fits & wanted == 0)
        });
        !wrong && self.required & !facts.filled == 0
    }
}

static DOCUMENT_RULES: Rules = Rules::of(Level::Document, DOCUMENT);
static MESSAGE_RULES: Rules = Rules::of(Level::Message, MESSAGE);
static MEMORY_RULES: Rules = Rules::of(Level::Item, MEMORY_ITEM);
static SKILL_RULES: Rules = Rules::of(Level::Item, SKILL_ITEM);
static TOOL_RULES: Rules = Rules::of(Level::Item, TOOL_ITEM);
static KIND_RULES: [Rules; KINDS.len()] = {
    let mut rules = [Rules::NONE; KINDS.len()];
    let mut index = 0;
    while index < KINDS.len() {
        rules[index] = Rules::of(Level::Segment, KINDS[index].1);
        index += 1;
    }
    rules
};

/// The class that a member of this shape must fit. A shape that this validator does not know stops the build.
const fn class(shape: &Shape) -> Class {
    match shape {
        Shape::Any => ANY,
        Shape::Text => TEXT,
        Shape::Flag => FLAG,
        Shape::Number => NUMBER,
        Shape::Word(_) => WORD,
        Shape::Record([]) => OBJECT,
        Shape::List { items: Shape::Tagged { .. }, least: 1 } => SEGMENTS,
        Shape::List { items: Shape::Record(members), least: 1 } => match (members[0].name.as_bytes(), members.len()) {
            (b"id", _) => MESSAGES,
            (b"title", _) => MEMORY_ITEMS,
            (b"name", 2) => SKILL_ITEMS,
            (b"name", _) => TOOL_ITEMS,
            _ => panic!("the shape table has a list of unknown records"),
        },
        Shape::List { .. } | Shape::Record(_) | Shape::Count | Shape::Tagged { .. } | Shape::Ruled { .. } => {
            panic!("the shape table has a shape that the validator does not know")
        }
    }
}

/// What was seen of an object's members.
struct Facts {
    fits: [Class; SLOTS],
    filled: u32,
    /// The place in [`KINDS`] of the kind that a segment says it has.
    kind: Option<usize>,
}

impl Facts {
    const NONE: Self = Self { fits: [0; SLOTS], filled: 0, kind: None };
}

fn document(scanner: &mut Scanner<'_>) -> Result<bool, NotJson> {
    record(scanner, Level::Document, |facts| DOCUMENT_RULES.accept(facts))
}

fn message(scanner: &mut Scanner<'_>) -> Result<bool, NotJson> {
    record(scanner, Level::Message, |facts| MESSAGE_RULES.accept(facts))
}

fn segment(scanner: &mut Scanner<'_>) -> Result<bool, NotJson> {
    record(scanner, Level::Segment, |facts| facts.kind.is_some_and(|kind| KIND_RULES[kind].accept(facts)))
}

/// The item lists into which an item may be put.
fn item(scanner: &mut Scanner<'_>) -> Result<Class, NotJson> {
    record(scanner, Level::Item, |facts| {
        let mut lists = 0;
        for (rules, list) in [(&MEMORY_RULES, MEMORY_ITEMS), (&SKILL_RULES, SKILL_ITEMS), (&TOOL_RULES, TOOL_ITEMS)] {
            if rules.accept(facts) {
                lists |= list;
            }
        }
        lists
    })
}

/// Passes a value and judges its facts; a value that is no object is judged as [`Default`]: nothing is right with it.
#[inline]
fn record<T: Default>(scanner: &mut Scanner<'_>, level: Level, judge: impl FnOnce(&Facts) -> T) -> Result<T, NotJson> {
    if scanner.sort()? != Sort::Object {
        scanner.skip()?;
        return Ok(T::default());
    }
    let mut facts = Facts::NONE;
    scanner.object(|scanner, name| {
        let Some(slot) = name.find(|name| slot(level, name)) else {
            return scanner.skip().map(drop);
        };
        facts.fits[slot] = ANY | member(scanner, level, slot, &mut facts.kind)?;
        facts.filled |= 1 << slot;
        Ok(())
    })?;
    Ok(judge(&facts))
}

/// Passes the value of a known member and says what it fits.
fn member(scanner: &mut Scanner<'_>, level: Level, slot: usize, kind: &mut Option<usize>) -> Result<Class, NotJson> {
    match (level, slot) {
        (Level::Document, VERSION_SLOT) => word(scanner, VERSIONS),
        (Level::Document, MESSAGES_SLOT) => list(scanner, MESSAGES, |scanner| Ok(all(message(scanner)?, MESSAGES))),
        (Level::Message, ROLE_SLOT) => word(scanner, ROLES),
        (Level::Message, SEGMENTS_SLOT) => list(scanner, SEGMENTS, |scanner| Ok(all(segment(scanner)?, SEGMENTS))),
        (Level::Segment, KIND_SLOT) => {
            *kind = None;
            if scanner.sort()? != Sort::Text {
                return scanner.skip().map(plain);
            }
            *kind = scanner.text()?.find(|text| KINDS.iter().position(|(name, _)| name.as_bytes() == text));
            Ok(TEXT)
        }
        (Level::Segment, MEDIA_TYPE_SLOT) => word(scanner, MEDIA_TYPES),
        (Level::Segment, ITEMS_SLOT) => list(scanner, MEMORY_ITEMS | SKILL_ITEMS | TOOL_ITEMS, item),
        (Level::Document | Level::Message | Level::Segment | Level::Item, _) => scanner.skip().map(plain),
    }
}

/// Passes a value that must be one of `words`.
fn word(scanner: &mut Scanner<'_>, words: &[&str]) -> Result<Class, NotJson> {
    if scanner.sort()? != Sort::Text {
        return scanner.skip().map(plain);
    }
    let known = scanner.text()?.find(|text| words.iter().find(|word| word.as_bytes() == text));
    Ok(if known.is_some() { TEXT | WORD } else { TEXT })
}

/// Passes a value that must be a list of at least one item; what all items fit is what is left of `classes`.
fn list<'a>(
    scanner: &mut Scanner<'a>,
    classes: Class,
    mut item: impl FnMut(&mut Scanner<'a>) -> Result<Class, NotJson>,
) -> Result<Class, NotJson> {
    if scanner.sort()? != Sort::List {
        return scanner.skip().map(plain);
    }
    let mut fits = classes;
    let mut is_empty = true;
    scanner.list(|scanner| {
        is_empty = false;
        fits &= item(scanner)?;
        Ok(())
    })?;
    Ok(if is_empty { 0 } else { fits })
}

fn all(right: bool, class: Class) -> Class {
    if right { class } else { 0 }
}

/// What a value fits by what it is alone.
fn plain(sort: Sort) -> Class {
    match sort {
        Sort::Text => TEXT,
        Sort::Flag => FLAG,
        Sort::Number => NUMBER,
        Sort::Object => OBJECT,
        Sort::List | Sort::Null => 0,
    }
}
