//! Options that pi does not have: an extension may, and which ones there are is known when they are loaded.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use pi_provider::likeness;

/// The same words with the option of which an error tells as a flag of an extension, which takes the word behind it as in Pi.
/// Nothing if the error tells of something else, or of an option of pi with one slip in it.
pub(super) fn meant(words: &[OsString], error: &clap::Error) -> Option<Vec<OsString>> {
    let (ErrorKind::UnknownArgument, Some(ContextValue::String(option))) =
        (error.kind(), error.get(ContextKind::InvalidArg))
    else {
        return None;
    };
    let name = option.strip_prefix("--").filter(|name| !name.is_empty())?;
    let is_slip = options().iter().any(|known| likeness::distance(name, known) == 1);
    let place = words.iter().take_while(|word| *word != "--").position(|word| of_option(word, option).is_some())?;
    if is_slip {
        return None;
    }
    let behind = words.get(place + 1).and_then(|word| word.to_str()).filter(|word| !word.starts_with(['-', '@']));
    let (value, taken) = match (of_option(&words[place], option)?, behind) {
        (Some(value), _) => (format!("={value}"), 1),
        (None, Some(word)) => (format!("={word}"), 2),
        (None, None) => (String::new(), 1),
    };
    let mut meant = words.to_vec();
    meant.splice(place..place + taken, [format!("--extension-flag={name}{value}").into()]);
    Some(meant)
}

/// Whether a word is this option, and the value in it.
fn of_option<'a>(word: &'a OsString, option: &str) -> Option<Option<&'a str>> {
    match word.to_str()?.strip_prefix(option)? {
        "" => Some(None),
        rest => rest.strip_prefix('=').map(Some),
    }
}

/// The options of pi without a command.
fn options() -> Vec<String> {
    let command = super::described();
    command.get_arguments().filter_map(|argument| argument.get_long()).map(str::to_owned).collect()
}

/// The option of pi that somebody may have meant.
pub(crate) fn nearest(name: &str) -> Option<String> {
    let options = options();
    let nearest = likeness::nearest(name, options.iter().map(String::as_str));
    nearest.first().map(|option| format!("--{option}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Arguments;

    #[test]
    fn options_that_pi_does_not_have_are_flags_of_extensions() {
        for (line, expected) in [
            ("pi -p --plan", "plan |"),
            ("pi --plan -p --depth 3 Hello", "plan depth=3 | Hello"),
            ("pi --depth=3 Hello --extension-flag own", "depth=3 own | Hello"),
            ("pi --plan @notes.md Hello", "plan | @notes.md Hello"),
            ("pi --depth -- --plan Hello", "depth | --plan Hello"),
            ("pi --modl x", "refused"),
            ("pi -Z", "refused"),
            ("pi models --plan", "refused"),
        ] {
            let told = match Arguments::read(line.split(' ').map(OsString::from)) {
                Ok(Arguments { talk, .. }) => {
                    let told = format!("{} | {}", talk.extensions.extension_flag.join(" "), talk.messages.join(" "));
                    told.trim_end().to_owned()
                }
                Err(_) => "refused".to_owned(),
            };
            assert_eq!(told, expected, "{line}");
        }
    }
}
