//! Kinds of letters, as far as they decide where a word ends.

/// The build script numbers them in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// None of the others: signs, punctuation, what has no meaning.
    Sign,
    Upper,
    Lower,
    /// A letter of a script without upper and lower case, or one that modifies another.
    Plain,
    /// Stands on the letter before it.
    Mark,
    Number,
    Space,
    LineEnd,
}

const KINDS: [Kind; 8] =
    [Kind::Sign, Kind::Upper, Kind::Lower, Kind::Plain, Kind::Mark, Kind::Number, Kind::Space, Kind::LineEnd];
/// Which block the letters of a stretch of 256 have.
static INDEX: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/letters.index"));
static BLOCKS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/letters.blocks"));

impl Kind {
    pub(super) fn of(letter: char) -> Self {
        let code = letter as usize;
        let block = usize::from(INDEX[code >> 8]);
        KINDS[usize::from(BLOCKS[(block << 8) | (code & 0xFF)])]
    }

    pub(super) fn is_letter(self) -> bool {
        matches!(self, Self::Upper | Self::Lower | Self::Plain)
    }

    /// Whether it may stand in front of a word and belong to it.
    pub(super) fn is_prefix(self) -> bool {
        matches!(self, Self::Sign | Self::Mark | Self::Space)
    }

    /// Whether it can be in the first part of a word, that with capitals.
    pub(super) fn is_upper(self) -> bool {
        matches!(self, Self::Upper | Self::Plain | Self::Mark)
    }

    /// Whether it can be in the second part.
    pub(super) fn is_lower(self) -> bool {
        matches!(self, Self::Lower | Self::Plain | Self::Mark)
    }

    pub(super) fn is_sign(self) -> bool {
        matches!(self, Self::Sign | Self::Mark)
    }

    pub(super) fn is_space(self) -> bool {
        matches!(self, Self::Space | Self::LineEnd)
    }
}
