//! Server-sent events, by the rules that browsers follow.

use std::mem;

use memchr::{memchr, memchr2};

use super::{BYTE_ORDER_MARK, ERROR, Frame, FrameTooLarge, KEPT, text};

#[derive(Debug)]
pub struct Sse {
    limit: usize,
    /// A line without its end.
    line: Vec<u8>,
    /// The last line ended in `\r`; a `\n` now belongs to it.
    after_return: bool,
    /// Some line has been read, so that a byte order mark would be an ordinary character.
    begun: bool,
    /// The last name of an event; that of this one only if it has one.
    event: String,
    has_event: bool,
    id: String,
    data: Vec<u8>,
    /// A line of data has been read, perhaps an empty one.
    has_data: bool,
    /// The data is an object that was written without the name of a field, and goes on to a blank line or its last brace.
    is_bare: bool,
    retry_milliseconds: Option<u64>,
}

impl Sse {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            after_return: false,
            begun: false,
            event: String::new(),
            has_event: false,
            id: String::new(),
            data: Vec::new(),
            has_data: false,
            is_bare: false,
            retry_milliseconds: None,
        }
    }

    /// How long the server asks to wait before the stream is opened again.
    pub fn retry_milliseconds(&self) -> Option<u64> {
        self.retry_milliseconds
    }

    pub(super) fn memory(&self) -> usize {
        self.line.capacity() + self.data.capacity() + self.event.capacity() + self.id.capacity()
    }

    pub(super) fn push(&mut self, mut bytes: &[u8], visit: &mut dyn FnMut(Frame<'_>)) -> Result<(), FrameTooLarge> {
        loop {
            if self.after_return && !bytes.is_empty() {
                self.after_return = false;
                bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            }
            if let Some(rest) = self.behind_same_event(bytes) {
                self.has_event = true;
                bytes = rest;
            }
            let Some(end) = memchr2(b'\n', b'\r', bytes) else { break };
            let (line, rest) = bytes.split_at(end);
            self.after_return = rest.first() == Some(&b'\r');
            bytes = &rest[1..];
            if self.line.is_empty() {
                if let Some(data) = self.whole_data(line, rest) {
                    self.check(line.len())?;
                    self.begun = true;
                    self.visit(data, visit);
                    bytes = &rest[2..];
                    continue;
                }
                self.take_line(line, visit)?;
            } else {
                self.line.extend_from_slice(line);
                self.take_kept_line(visit)?;
            }
        }
        self.line.extend_from_slice(bytes);
        self.check(self.line.len())
    }

    /// What stands behind a line that says the name of the event before once more, as most do.
    fn behind_same_event<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        if !self.line.is_empty() || !self.begun || self.is_bare || self.event.is_empty() {
            return None;
        }
        bytes.strip_prefix(b"event: ")?.strip_prefix(self.event.as_bytes())?.strip_prefix(b"\n")
    }

    /// The data of an event, if it is this line and the next one is empty, so that it need not be kept.
    fn whole_data<'a>(&self, line: &'a [u8], rest: &[u8]) -> Option<&'a [u8]> {
        let data = line.strip_prefix(b"data:").filter(|_| rest.starts_with(b"\n\n") && !self.has_data)?;
        Some(data.strip_prefix(b" ").unwrap_or(data))
    }

    pub(super) fn finish(&mut self, visit: &mut dyn FnMut(Frame<'_>)) -> Result<(), FrameTooLarge> {
        self.take_kept_line(visit)?;
        self.dispatch(visit);
        Ok(())
    }

    fn take_kept_line(&mut self, visit: &mut dyn FnMut(Frame<'_>)) -> Result<(), FrameTooLarge> {
        let mut line = mem::take(&mut self.line);
        self.take_line(&line, visit)?;
        line.clear();
        line.shrink_to(KEPT);
        self.line = line;
        Ok(())
    }

    fn take_line(&mut self, mut line: &[u8], visit: &mut dyn FnMut(Frame<'_>)) -> Result<(), FrameTooLarge> {
        if !self.begun {
            self.begun = true;
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if line.is_empty() {
            self.dispatch(visit);
            return Ok(());
        }
        self.check(line.len())?;
        if self.is_bare || line.starts_with(b"{") {
            self.take_bare(line, visit);
            return self.check(self.data.len());
        }
        let (name, value) = match memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
                self.has_data = true;
            }
            b"event" => {
                self.has_event = true;
                // Most events of a stream have the same name.
                if self.event.as_bytes() != value {
                    self.event.clear();
                    self.event.push_str(&text(value));
                }
            }
            b"id" if memchr(0, value).is_none() => {
                self.id.clear();
                self.id.push_str(&text(value));
            }
            b"retry" if value.iter().all(u8::is_ascii_digit) => {
                self.retry_milliseconds = text(value).parse().ok().or(self.retry_milliseconds);
            }
            // Not in the standard, and still what llama.cpp and others write when they fail.
            b"error" if !value.is_empty() => visit(Frame { event: ERROR, id: &self.id, data: &text(value) }),
            // A comment has an empty name; other fields mean nothing.
            _ => {}
        }
        self.check(self.data.len())
    }

    /// A line of an object that stands where fields should be. Not in the standard, and still how servers and proxies fail in
    /// the middle of a stream. It is an event by itself.
    fn take_bare(&mut self, line: &[u8], visit: &mut dyn FnMut(Frame<'_>)) {
        if !self.is_bare && self.has_data {
            self.dispatch(visit);
        }
        let line_end = line.trim_ascii_end();
        let is_whole = if self.is_bare { line_end == b"}" } else { line_end.ends_with(b"}") };
        if self.is_bare {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(line);
        (self.has_data, self.is_bare) = (true, true);
        if is_whole {
            self.dispatch(visit);
        }
    }

    fn dispatch(&mut self, visit: &mut dyn FnMut(Frame<'_>)) {
        let mut data = mem::take(&mut self.data);
        self.visit(&data, visit);
        data.clear();
        data.shrink_to(KEPT);
        self.data = data;
        (self.has_data, self.is_bare) = (false, false);
    }

    /// Hands on an event with this data; one without any is none.
    fn visit(&mut self, data: &[u8], visit: &mut dyn FnMut(Frame<'_>)) {
        let event = if mem::take(&mut self.has_event) { self.event.as_str() } else { "" };
        if !data.is_empty() {
            visit(Frame { event, id: &self.id, data: &text(data) });
        }
    }

    fn check(&self, length: usize) -> Result<(), FrameTooLarge> {
        if length > self.limit { Err(FrameTooLarge { limit: self.limit }) } else { Ok(()) }
    }
}
