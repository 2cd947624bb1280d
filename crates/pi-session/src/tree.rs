//! The entries of one conversation as a tree, without their contents.
//!
//! A session can be a hundred megabytes long, and a turn needs only its end. So the tree knows of every entry its id,
//! parent, kind and place in the file, some forty bytes; the entries from which the next prompt is made are held whole
//! ([`Kept`]), and everything else is read from the file when somebody asks for it.
//!
//! Nothing here reads or writes: whoever owns the file fills the tree line by line ([`Tree::add`]), brings the entries that
//! [`Tree::missing`] names, and says how far the file is written ([`Tree::settle`]). In a conversation without a file
//! everything stays held.
//!
//! A parent always stands before its child: an entry whose parent does not is a root, so a foreign file can contain no
//! cycle. Of entries with one id the last one is found by it; the earlier ones keep the children that stand between.

mod kept;
mod kind;
mod names;
mod region;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use pi_policy::Moment;
use pi_transcript::{
    Entry, EntryId, Line,
    entry::{Base, ContextEdit, Label, SessionName},
    write_line,
};

use self::names::{Name, Names};
pub use self::{kept::Kept, kind::Kind, region::LeftOut};
use crate::uuid;

/// An entry of one tree, as long as that tree lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place(u32);

/// Where a line lies in its file, without its line end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    pub offset: u64,
    pub length: u32,
}

/// What is known of an entry without its contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline<'a> {
    pub id: &'a str,
    pub parent: Option<&'a str>,
    pub kind: Kind,
}

/// An entry that was appended, and the line that must be written for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Appended {
    pub place: Place,
    pub entry: Arc<Kept>,
    pub line: Written,
}

/// A line of a session file on its way there, without a line end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    pub text: String,
    /// Whether this is what the user said: the file is begun with it (see [`crate::file`]).
    pub begins: Begins,
}

/// Whether a line is a reason to write the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begins {
    /// It can wait for one that is.
    Later,
    Now,
}

/// Where the lines of a tree go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// Nowhere: the conversation is kept in memory.
    Memory,
    /// To a file that ends at this offset; the next line begins there.
    File { end: u64 },
}

impl Destination {
    /// Where the next line goes, if anywhere.
    pub fn end(self) -> Option<u64> {
        match self {
            Self::Memory => None,
            Self::File { end } => Some(end),
        }
    }
}

/// There is no entry with this id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no entry {id}")]
pub struct NoEntry {
    pub id: EntryId,
}

/// The tree of one conversation, and the entry at which it stands: its leaf.
#[derive(Debug)]
pub struct Tree {
    names: Names,
    nodes: Vec<Node>,
    leaf: Option<Place>,
    held: HashMap<Place, Arc<Kept>>,
    /// What the next prompt is made of. Kept, because to walk the path costs more with every turn.
    region: Vec<Place>,
    labels: HashMap<EntryId, String>,
    /// The edits of an entry, on every branch, in the order of the file.
    edits: HashMap<EntryId, Vec<Place>>,
    name: Option<String>,
    destination: Destination,
    /// What lies before this offset is in the file.
    written: u64,
    /// Whether entries may be held that no prompt needs.
    crowded: bool,
    random: fastrand::Rng,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    span: Span,
    name: Name,
    parent: Option<Place>,
    kind: Kind,
}

/// How often a short id is tried before a long one is taken.
const TRIES: usize = 100;

impl Tree {
    /// An empty tree. Ids of new entries come from `random`.
    pub fn new(destination: Destination, random: fastrand::Rng) -> Self {
        let written = match destination {
            Destination::Memory => 0,
            Destination::File { end } => end,
        };
        Self {
            names: Names::default(),
            nodes: Vec::new(),
            leaf: None,
            held: HashMap::new(),
            region: Vec::new(),
            labels: HashMap::new(),
            edits: HashMap::new(),
            name: None,
            destination,
            written,
            crowded: false,
            random,
        }
    }

    /// Adds an entry that stands in a file, and makes it the leaf.
    pub fn add(&mut self, outline: &Outline<'_>, span: Span) -> Place {
        let parent = outline.parent.and_then(|parent| self.names.find(parent));
        let place = Place(u32::try_from(self.nodes.len()).expect("a session has fewer than four billion entries"));
        let name = self.names.insert(outline.id, place);
        self.nodes.push(Node { span, name, parent, kind: outline.kind });
        self.leaf = Some(place);
        place
    }

    /// Adds an entry that is kept in memory, whatever it says of its parent, and makes it the leaf.
    pub fn add_whole(&mut self, entry: Entry) -> Place {
        let outline =
            Outline { id: entry.id().as_str(), parent: entry.parent_id().map(EntryId::as_str), kind: Kind::of(&entry) };
        let place = self.add(&outline, Span { offset: u64::MAX, length: 0 });
        self.note(place, &entry);
        self.held.insert(place, Arc::new(entry.into()));
        place
    }

    /// Remembers a bookmark; the last one counts.
    pub fn label(&mut self, target: EntryId, label: Option<String>) {
        match label.filter(|label| !label.is_empty()) {
            Some(label) => self.labels.insert(target, label),
            None => self.labels.remove(&target),
        };
    }

    /// Remembers that the entry at `place` edits another one.
    pub fn edit(&mut self, target: EntryId, place: Place) {
        self.edits.entry(target).or_default().push(place);
    }

    /// Remembers the name of the session; the last one counts, and one without letters is none.
    pub fn rename(&mut self, name: Option<&str>) {
        self.name = name.map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned);
    }

    /// Appends a child of the leaf and makes it the leaf. `make` gets its id, parent and time, which it must use.
    pub fn append(&mut self, now: Moment, make: impl FnOnce(Base) -> Entry) -> Appended {
        let base = Base { id: self.new_id(), parent_id: self.leaf.map(|leaf| self.id(leaf)), timestamp: stamp(now) };
        self.adopt(make(base))
    }

    /// Appends an entry that has an id, a parent and a time already, and makes it the leaf.
    pub fn adopt(&mut self, entry: Entry) -> Appended {
        let line = Line::Entry(entry.into());
        let text = write_line(&line);
        let Line::Entry(entry) = line else { unreachable!("it was made above") };
        let entry = entry.into_value();
        let kind = Kind::of(&entry);
        let place = self.add_whole(entry);
        if kind == Kind::Compaction {
            self.region = self.compute_region();
        } else if kind.is_seen() {
            self.region.push(place);
        }
        self.crowded |= kind == Kind::Compaction || !kind.is_seen();
        if let Destination::File { end } = &mut self.destination {
            // A line of four gigabytes is written like any other, and stays held.
            if let Ok(length) = u32::try_from(text.len()) {
                self.nodes[place.index()].span = Span { offset: *end, length };
            }
            *end += text.len() as u64 + 1;
        }
        let begins = if kind == Kind::User { Begins::Now } else { Begins::Later };
        Appended { place, entry: Arc::clone(&self.held[&place]), line: Written { text, begins } }
    }

    /// The entry at which the conversation stands; none in an empty tree, and before the first entry.
    pub fn leaf(&self) -> Option<Place> {
        self.leaf
    }

    /// Goes to another entry, or before the first one: the next entry becomes its child, or a further root.
    ///
    /// Afterwards entries can be [`missing`](Self::missing).
    pub fn move_leaf(&mut self, leaf: Option<Place>) {
        self.leaf = leaf;
        self.region = self.compute_region();
        self.crowded = true;
    }

    pub fn find(&self, id: &EntryId) -> Result<Place, NoEntry> {
        self.names.find(id.as_str()).ok_or_else(|| NoEntry { id: id.clone() })
    }

    pub fn id(&self, place: Place) -> EntryId {
        self.names.text(self.nodes[place.index()].name).into()
    }

    pub fn parent(&self, place: Place) -> Option<Place> {
        self.nodes[place.index()].parent
    }

    pub fn kind(&self, place: Place) -> Kind {
        self.nodes[place.index()].kind
    }

    /// Where the line of an entry lies; none if it is only in memory.
    pub fn span(&self, place: Place) -> Option<Span> {
        Some(self.nodes[place.index()].span).filter(|span| span.length > 0)
    }

    /// Where the line of an entry lies, if the file is known to be written that far.
    pub fn stored(&self, place: Place) -> Option<Span> {
        self.span(place).filter(|span| span.offset + u64::from(span.length) < self.written)
    }

    /// The entry, if it is held; otherwise it is read from its [`span`](Self::span).
    pub fn held(&self, place: Place) -> Option<&Arc<Kept>> {
        self.held.get(&place)
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Every entry, in the order of the file.
    pub fn places(&self) -> impl DoubleEndedIterator<Item = Place> + use<> {
        let end = u32::try_from(self.nodes.len()).expect("every entry has a place");
        (0..end).map(Place)
    }

    /// The children of an entry, or the roots; the oldest first.
    pub fn children(&self, parent: Option<Place>) -> Vec<Place> {
        self.places().filter(|place| self.parent(*place) == parent).collect()
    }

    /// The entries with more than one child, the oldest first. Several roots are no branch point.
    pub fn branch_points(&self) -> Vec<Place> {
        let mut children = vec![0u32; self.nodes.len()];
        self.nodes.iter().filter_map(|node| node.parent).for_each(|parent| children[parent.index()] += 1);
        self.places().filter(|place| children[place.index()] > 1).collect()
    }

    /// From the root to `place`, both included.
    pub fn path(&self, place: Option<Place>) -> Vec<Place> {
        let mut path: Vec<Place> = std::iter::successors(place, |place| self.parent(*place)).collect();
        path.reverse();
        path
    }

    /// The last entry that the paths to `one` and `other` share.
    pub fn common_ancestor(&self, one: Option<Place>, other: Option<Place>) -> Option<Place> {
        let ancestors: HashSet<Place> = self.path(one).into_iter().collect();
        self.path(other).into_iter().rev().find(|place| ancestors.contains(place))
    }

    pub fn label_of(&self, id: &EntryId) -> Option<&str> {
        self.labels.get(id).map(String::as_str)
    }

    pub fn labels(&self) -> impl Iterator<Item = (&EntryId, &str)> {
        self.labels.iter().map(|(id, label)| (id, label.as_str()))
    }

    /// What the session is called.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Where the next line goes.
    pub fn destination(&self) -> Destination {
        self.destination
    }

    /// Says that the file is written up to `upto`: what lies before and is not needed is let go.
    pub fn settle(&mut self, upto: u64) {
        self.written = self.written.max(upto);
        if !self.crowded || self.destination == Destination::Memory {
            return;
        }
        let needed: HashSet<Place> = self.region.iter().copied().collect();
        let (nodes, written) = (&self.nodes, self.written);
        let mut waiting = false;
        self.held.retain(|place, _| {
            let span = nodes[place.index()].span;
            let is_stored = span.length > 0 && span.offset + u64::from(span.length) < written;
            waiting |= !is_stored && !needed.contains(place);
            !is_stored || needed.contains(place)
        });
        self.crowded = waiting;
    }

    /// Says where the file ends from which the tree was filled.
    pub(crate) fn goes_on_at(&mut self, end: u64) {
        self.destination = Destination::File { end };
        self.written = end;
    }

    /// Notes what the entry at `place` says about the others and about the session.
    pub(crate) fn note(&mut self, place: Place, entry: &Entry) {
        match entry {
            Entry::Label(Label { target_id, label, .. }) => self.label(target_id.clone(), label.clone()),
            Entry::ContextEdit(ContextEdit { target_id, .. }) => self.edit(target_id.clone(), place),
            Entry::SessionInfo(SessionName { name, .. }) => self.rename(name.as_deref()),
            Entry::Message(_)
            | Entry::ModelChange(_)
            | Entry::ThinkingLevelChange(_)
            | Entry::Compaction(_)
            | Entry::BranchSummary(_)
            | Entry::Custom(_)
            | Entry::CustomMessage(_)
            | Entry::Usage(_)
            | Entry::Other(_) => {}
        }
    }

    fn new_id(&mut self) -> EntryId {
        let short = (0..TRIES).map(|_| format!("{:08x}", self.random.u32(..)));
        let free = short.into_iter().find(|id| self.names.find(id).is_none());
        free.map_or_else(|| uuid::random(&mut self.random).into(), EntryId::from)
    }
}

impl Place {
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// The same of milliseconds since 1970.
pub fn stamp_of(milliseconds: u64) -> String {
    stamp(Moment::from_unix_millis(milliseconds))
}

/// A time as the files have it: to the millisecond, always with three digits.
pub fn stamp(now: Moment) -> String {
    let text = now.to_string();
    match text.strip_suffix('Z') {
        Some(whole) if !whole.contains('.') => format!("{whole}.000Z"),
        Some(_) | None => text,
    }
}
