//! A fault with the line that it is about, as a compiler shows it.

use crate::fault::Fault;

/// Several lines, without colours.
pub fn frame(fault: &Fault) -> String {
    let mut shown = format!("{}\n", fault.message);
    if let Some(place) = &fault.place {
        let number = place.line.to_string();
        let margin = " ".repeat(number.len());
        shown += &format!("{margin}--> {}:{}:{}\n", place.file, place.line, place.column);
        if !fault.line.is_empty() {
            // Sources are written by others: nothing in them may move the cursor.
            let line: String = fault.line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            let marks = "^".repeat(fault.length.max(1) as usize);
            let before = " ".repeat(place.column.max(1) as usize - 1);
            shown += &format!("{margin} |\n{number} | {line}\n{margin} | {before}{marks}\n");
        }
    }
    if let Some(hint) = &fault.hint {
        shown += &format!("  = help: {hint}\n");
    }
    shown
}
