//! The commands of a line with their words, as a shell reads them: without quotes, and with what it runs to fill in a word.
//! What a shell makes of variables and patterns nobody knows here.

/// Stands before what is written to, among the words of a command.
pub(super) const WRITTEN: &str = "\0>";

pub(super) fn commands(line: &str) -> Vec<Vec<String>> {
    let (mut commands, mut command, mut word) = (Vec::new(), Vec::new(), None::<String>);
    // A quote that begins with a dollar has escapes, and is a dollar here.
    let (mut quote, mut signs) = (None, line.chars().peekable());
    // The quotes in which something stands that is run to fill in a word.
    let (mut around, mut ticked) = (Vec::new(), None);
    while let Some(sign) = signs.next() {
        let next = signs.peek().copied();
        match (quote, sign) {
            (Some('\'' | '$'), '\'') | (Some('"'), '"') => quote = None,
            (Some('\''), _) => word.get_or_insert_default().push(sign),
            (_, '\\') => match signs.next() {
                // The line goes on.
                Some('\n') if quote != Some('$') => {}
                escaped => word.get_or_insert_default().extend(escaped),
            },
            (Some('$'), _) => word.get_or_insert_default().push(sign),
            (None, '$') if matches!(next, Some('\'' | '"')) => {
                quote = signs.next().map(|sign| if sign == '\'' { '$' } else { sign });
                word.get_or_insert_default();
            }
            (None, '\'' | '"') => {
                quote = Some(sign);
                word.get_or_insert_default();
            }
            (None, '<') => command.extend(word.take()),
            (None, '>') => {
                command.extend(word.take());
                // Over a file that a shell was told to keep.
                signs.next_if_eq(&'|');
                if command.last().map(String::as_str) != Some(WRITTEN) {
                    command.push(WRITTEN.to_owned());
                }
            }
            // A variable in braces is a part of its word.
            (None | Some('"'), '$') if next == Some('{') => {
                let word = word.get_or_insert_default();
                word.push(sign);
                for sign in signs.by_ref() {
                    word.push(sign);
                    if sign == '}' {
                        break;
                    }
                }
            }
            (None, sign) if sign.is_whitespace() && sign != '\n' => command.extend(word.take()),
            // Here a command ends and another begins.
            (_, '`') | (None, ';' | '|' | '&' | '\n' | '(' | ')') => {
                command.extend(word.take());
                commands.push(std::mem::take(&mut command));
                match sign {
                    '`' => match ticked.take() {
                        Some(before) => quote = before,
                        None => {
                            ticked = Some(quote);
                            quote = None;
                        }
                    },
                    ')' => quote = around.pop().unwrap_or(None),
                    _ => {}
                }
            }
            (_, '$') if next == Some('(') => {
                signs.next();
                command.extend(word.take());
                commands.push(std::mem::take(&mut command));
                around.push(quote);
                quote = None;
            }
            (_, sign) => word.get_or_insert_default().push(sign),
        }
    }
    command.extend(word);
    commands.push(command);
    commands
}

/// Whether letters are written as numbers, so that nobody reads here what is run.
pub(super) fn is_veiled(line: &str) -> bool {
    let quoted = line.split("$'").skip(1).map(|rest| rest.split('\'').next().unwrap_or(rest));
    let letters = quoted.flat_map(|quoted| quoted.split('\\').skip(1));
    letters.filter_map(|escaped| escaped.chars().next()).any(|sign| matches!(sign, 'x' | 'u' | 'U' | '0'..='7'))
}
