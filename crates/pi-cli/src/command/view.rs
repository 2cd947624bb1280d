//! `pi envelope view`: what a model was shown, in a browser.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::export::told;
use crate::{
    arguments::ViewArguments,
    browser,
    console::Console,
    exit::Exit,
    failure::Failure,
    input::{self, Existing},
};

pub(crate) fn run(arguments: &ViewArguments, console: &mut Console) -> Result<Exit, Failure> {
    if arguments.files.iter().filter(|file| file.as_os_str() == "-").count() > 1 {
        return Err(Failure::InputTwice);
    }
    let texts = arguments.files.iter().map(|file| read(file)).collect::<Result<Vec<_>, _>>()?;
    let is_valid = texts.iter().all(|(text, _)| is_valid(text));
    let files: Vec<Value> = texts.into_iter().map(|(text, name)| json!({"name": name, "text": text})).collect();
    let page = pi_web::viewer_html(&json!({ "files": files }).to_string());
    match &arguments.output {
        Some(file) if file.as_os_str() == "-" => console.line(page.trim_end()),
        Some(file) => {
            let existing = if arguments.force { Existing::Replace } else { Existing::Keep };
            input::write(file, &page, existing).map_err(told)?;
            show(file, arguments, console);
        }
        None => {
            let file = temporary();
            input::write_private(&file, &page)?;
            show(&file, arguments, console);
        }
    }
    // The page says what is wrong with a file, and where; whoever runs this in a script wants to know that it is.
    Ok(if is_valid { Exit::Success } else { Exit::No })
}

/// The text of a file, and what the page calls it.
fn read(file: &Path) -> Result<(String, String), Failure> {
    let name = file.file_name().map_or_else(|| file.display().to_string(), |name| name.display().to_string());
    Ok((input::read_text(file)?, name))
}

/// One envelope, a list of them, or one on each line.
fn is_valid(text: &str) -> bool {
    if let Ok(list) = serde_json::from_str::<Vec<Value>>(text) {
        return !list.is_empty() && list.iter().all(|one| pi_envelope::is_valid(one.to_string().as_bytes()));
    }
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    pi_envelope::is_valid(text.as_bytes()) || lines.all(|line| pi_envelope::is_valid(line.as_bytes()))
}

/// A name that nobody else can have prepared.
fn temporary() -> PathBuf {
    let word: String = std::iter::repeat_with(fastrand::alphanumeric).take(12).collect();
    std::env::temp_dir().join(format!("pi-envelope-{word}.html"))
}

fn show(file: &Path, arguments: &ViewArguments, console: &mut Console) {
    console.line(&file.display().to_string());
    if arguments.no_open {
        return;
    }
    match browser::open(file) {
        Ok(browser::Opened::Yes) => {}
        Ok(browser::Opened::NoDisplay) => console.remark("open it in a browser: there is no display here"),
        Err(error) => console.remark(&format!("open it in a browser: none could be started ({error})")),
    }
}
