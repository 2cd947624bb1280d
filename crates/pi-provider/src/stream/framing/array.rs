//! The objects of a JSON array that is sent piece by piece, as Gemini does without server-sent events.

use memchr::memchr2;

use super::{BYTE_ORDER_MARK, Frame, FrameTooLarge, KEPT, text};

#[derive(Debug)]
pub struct JsonArray {
    limit: usize,
    /// The object so far, or text that has no place here.
    pending: Vec<u8>,
    /// Braces and brackets that are open, those of the array itself not counted.
    depth: usize,
    in_string: bool,
    after_backslash: bool,
}

impl JsonArray {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, pending: Vec::new(), depth: 0, in_string: false, after_backslash: false }
    }

    pub(super) fn memory(&self) -> usize {
        self.pending.capacity()
    }

    pub(super) fn push(&mut self, bytes: &[u8], visit: &mut dyn FnMut(Frame<'_>)) -> Result<(), FrameTooLarge> {
        let mut rest = bytes;
        while let Some((&byte, behind)) = rest.split_first() {
            if self.in_string && !self.after_backslash {
                let plain = memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
                self.pending.extend_from_slice(&rest[..plain]);
                rest = &rest[plain..];
                self.check()?;
                if plain > 0 {
                    continue;
                }
            }
            rest = behind;
            self.take(byte, visit);
            self.check()?;
        }
        Ok(())
    }

    /// What was not closed is handed on as it is, and will be found not to be JSON.
    pub(super) fn finish(&mut self, visit: &mut dyn FnMut(Frame<'_>)) {
        self.hand_on(visit);
        (self.depth, self.in_string, self.after_backslash) = (0, false, false);
    }

    fn take(&mut self, byte: u8, visit: &mut dyn FnMut(Frame<'_>)) {
        if self.in_string {
            self.pending.push(byte);
            match byte {
                _ if self.after_backslash => self.after_backslash = false,
                b'\\' => self.after_backslash = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'{' if self.depth == 0 => {
                self.hand_on(visit);
                self.open(byte);
            }
            b'[' | b']' | b',' | b' ' | b'\t' | b'\r' | b'\n' if self.depth == 0 => self.hand_on(visit),
            b'{' | b'[' => self.open(byte),
            b'}' | b']' if self.depth > 0 => {
                self.pending.push(byte);
                self.depth -= 1;
                if self.depth == 0 {
                    self.hand_on(visit);
                }
            }
            b'"' if self.depth > 0 => {
                self.pending.push(byte);
                self.in_string = true;
            }
            _ => self.pending.push(byte),
        }
    }

    fn open(&mut self, byte: u8) {
        self.pending.push(byte);
        self.depth += 1;
    }

    fn hand_on(&mut self, visit: &mut dyn FnMut(Frame<'_>)) {
        let data = self.pending.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&self.pending);
        if !data.is_empty() {
            visit(Frame { event: "", id: "", data: &text(data) });
        }
        self.pending.clear();
        self.pending.shrink_to(KEPT);
    }

    fn check(&self) -> Result<(), FrameTooLarge> {
        if self.pending.len() > self.limit { Err(FrameTooLarge { limit: self.limit }) } else { Ok(()) }
    }
}
