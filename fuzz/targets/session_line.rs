//! A session file may hold anything. A line that is read and written again says what it said, to the last digit and the
//! last member, and migrating twice is migrating once.
#![no_main]

#[path = "../../crates/pi-transcript/tests/vocabulary/meaning.rs"]
mod meaning;

use libfuzzer_sys::fuzz_target;
use pi_transcript::{EntryId, Line, migrate, read_line, write_line};

fuzz_target!(|text: &str| {
    let lines: Vec<Line> = text.lines().map(read_line).collect();
    for (text, line) in text.lines().zip(&lines) {
        let written = write_line(line);
        assert!(!written.contains('\n'), "a line stays one line");
        assert_eq!(&read_line(&written), line, "what we write reads as what it was");
        assert!(meaning::same(text, &written), "{text} became {written}");
    }

    let count = lines.len();
    let once = migrate(lines, ids());
    assert_eq!(once.len(), count, "no line is lost");
    assert_eq!(migrate(once.clone(), ids()), once);
    for line in &once {
        assert_eq!(&read_line(&write_line(line)), line, "a migrated line can be written");
    }
});

/// Ids as a session would choose them, the same in every run.
fn ids() -> impl FnMut() -> EntryId {
    let mut last = 0_u32;
    move || {
        last += 1;
        EntryId(format!("{last:08x}"))
    }
}
