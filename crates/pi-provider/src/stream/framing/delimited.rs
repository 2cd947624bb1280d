//! Blocks between delimiters: lines of JSON, and streams that look like server-sent events but are not.

use memchr::memmem::Finder;

use super::{BYTE_ORDER_MARK, ERROR, Frame, FrameTooLarge, KEPT, text};

#[derive(Debug)]
pub struct Delimited {
    limit: usize,
    delimiter: Finder<'static>,
    prefix: Option<String>,
    /// What came after the last delimiter.
    pending: Vec<u8>,
    begun: bool,
    event: String,
    id: String,
}

impl Delimited {
    pub(super) fn new(delimiter: &str, prefix: Option<&str>, limit: usize) -> Self {
        Self {
            limit,
            delimiter: Finder::new(delimiter.as_bytes()).into_owned(),
            prefix: prefix.map(str::to_owned),
            pending: Vec::new(),
            begun: false,
            event: String::new(),
            id: String::new(),
        }
    }

    pub(super) fn memory(&self) -> usize {
        self.pending.capacity() + self.event.capacity() + self.id.capacity()
    }

    pub(super) fn push(&mut self, bytes: &[u8], visit: &mut dyn FnMut(Frame<'_>)) -> Result<(), FrameTooLarge> {
        let width = self.delimiter.needle().len();
        let mut pending = std::mem::take(&mut self.pending);
        // The delimiter may have begun in what is pending, but was not complete there.
        let mut search = (pending.len() + 1).saturating_sub(width);
        pending.extend_from_slice(bytes);
        let mut start = 0;
        while let Some(found) = self.delimiter.find(&pending[search..]) {
            let end = search + found;
            self.check(end - start)?;
            self.take_block(&pending[start..end], visit);
            start = end + width;
            search = start;
        }
        if start > 0 {
            pending.drain(..start);
            pending.shrink_to(KEPT);
        }
        self.pending = pending;
        // The end of it may be the beginning of a delimiter.
        self.check((self.pending.len() + 1).saturating_sub(width))
    }

    pub(super) fn finish(&mut self, visit: &mut dyn FnMut(Frame<'_>)) -> Result<(), FrameTooLarge> {
        let pending = std::mem::take(&mut self.pending);
        self.take_block(&pending, visit);
        Ok(())
    }

    fn take_block(&mut self, mut block: &[u8], visit: &mut dyn FnMut(Frame<'_>)) {
        if !self.begun {
            self.begun = true;
            block = block.strip_prefix(BYTE_ORDER_MARK).unwrap_or(block);
        }
        let block = text(block);
        let Some(prefix) = self.prefix.clone() else {
            let data = block.trim();
            if !data.is_empty() {
                visit(Frame { event: "", id: "", data });
            }
            return;
        };
        let mut data: Option<String> = None;
        for line in block.lines() {
            if let Some(piece) = self.data_of(line, &prefix) {
                match &mut data {
                    Some(data) => {
                        data.push('\n');
                        data.push_str(piece);
                    }
                    None => data = Some(piece.to_owned()),
                }
            }
        }
        if let Some(data) = data.filter(|data| !data.is_empty()) {
            visit(Frame { event: &self.event, id: &self.id, data: &data });
            self.event.clear();
        }
    }

    /// The data in a line. A line with neither the prefix nor a field of server-sent events is data as a whole: some
    /// servers leave the prefix out, and nothing is dropped.
    fn data_of<'a>(&mut self, line: &'a str, prefix: &str) -> Option<&'a str> {
        let line = line.trim_end_matches('\r');
        if let Some(data) = line.strip_prefix(prefix) {
            return Some(data.strip_prefix(' ').unwrap_or(data));
        }
        match line.split_once(':') {
            Some(("event", name)) => name.trim().clone_into(&mut self.event),
            Some(("id", id)) => id.trim().clone_into(&mut self.id),
            Some((ERROR, words)) if !words.trim().is_empty() => {
                ERROR.clone_into(&mut self.event);
                return Some(words.trim());
            }
            Some(("" | "retry", _)) => {}
            _ if line.trim().is_empty() => {}
            _ => return Some(line),
        }
        None
    }

    fn check(&self, length: usize) -> Result<(), FrameTooLarge> {
        if length > self.limit { Err(FrameTooLarge { limit: self.limit }) } else { Ok(()) }
    }
}
