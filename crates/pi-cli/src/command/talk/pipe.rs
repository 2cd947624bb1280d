//! What comes through a pipe.

use std::io::{self, IsTerminal as _, Read};

use crate::failure::{Failure, SessionFailure};

/// No model reads more than that at once, and to count it would take longer than anybody waits.
const MOST_MIB: u64 = 4;

/// All of it, if standard input is no terminal and something comes.
pub(super) fn read() -> Result<Option<String>, Failure> {
    let input = io::stdin();
    if input.is_terminal() {
        return Ok(None);
    }
    text(input.lock())
}

fn text(input: impl Read) -> Result<Option<String>, Failure> {
    let mut bytes = Vec::new();
    let unreadable = |source| Failure::Unreadable { file: "standard input".to_owned(), source };
    input.take((MOST_MIB << 20) + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MOST_MIB << 20 {
        return Err(SessionFailure::MuchPiped { limit: MOST_MIB }.into());
    }
    let text = String::from_utf8(bytes).map_err(|_| SessionFailure::PipedNoText)?;
    Ok(Some(text).filter(|text| !text.trim().is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_of_some_size_comes_through() {
        let most = (MOST_MIB << 20) as usize;
        for (bytes, expected) in [
            (b"words\n".to_vec(), Ok(Some(6))),
            (b" \n".to_vec(), Ok(None)),
            (vec![b'a'; most], Ok(Some(most))),
            (vec![b'a'; most + 1], Err("standard input is larger than 4 MiB")),
            (vec![0xff, 0xfe], Err("standard input is not text")),
        ] {
            let read = text(&*bytes).map(|text| text.map(|text| text.len())).map_err(|failure| failure.told());
            assert_eq!(read, expected.map_err(str::to_owned));
        }
    }
}
