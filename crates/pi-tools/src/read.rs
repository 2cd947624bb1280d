//! `read`: shows part of a text file, or an image.

mod image;
mod window;

use std::{
    io::{Read as _, Seek as _},
    sync::LazyLock,
};

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use pi_policy::Location;

pub use self::image::{Picture, picture};
use crate::{
    arguments::{self, BadArguments},
    files::{self, FileFault, Missing, Spot},
    tool::{self, Arguments, Call, Definition, Failure, Output, Tool},
    truncate::{self, Bound, MAX_BYTES, MAX_LINES},
    workspace::Images,
};
use window::{Span, Window};

static DEFINITION: LazyLock<Definition> = LazyLock::new(|| tool::built_in(include_str!("../definitions/read.json")));

/// The tool `read`.
#[derive(Debug, Default)]
pub(crate) struct Read;

#[derive(Deserialize)]
struct Parameters {
    path: String,
    offset: Option<usize>,
    limit: Option<usize>,
}

impl Tool for Read {
    fn definition(&self) -> &Definition {
        &DEFINITION
    }

    fn prepare(&self, written: Value) -> BoxFuture<'_, Result<Arguments, BadArguments>> {
        Box::pin(std::future::ready(arguments::fit_file(&DEFINITION.parameters, written)))
    }

    fn execute(&self, call: Call) -> BoxFuture<'_, Result<Output, Failure>> {
        Box::pin(read(call))
    }
}

async fn read(call: Call) -> Result<Output, Failure> {
    let parameters: Parameters = arguments::read(call.arguments)?;
    let location: Location = files::granted(&call.grant)?.clone();
    let (cancel, images) = (call.cancel.clone(), call.workspace.settings().images);
    // What was asked for before this is done: a model that edits and then reads wants to see what it wrote.
    let glance = tool::unless_cancelled(&call.cancel, call.workspace.queue().glance(&location)).await?;
    tool::off_thread(&call.cancel, move || {
        let _glance = glance;
        let spot = Spot::find(&call.grant, &location, Missing::Refuse)?;
        show(&spot, &parameters, images, &cancel)
    })
    .await
}

fn show(spot: &Spot, parameters: &Parameters, images: Images, cancel: &CancellationToken) -> Result<Output, Failure> {
    let failed = |error| Failure::from(FileFault::reading(spot.shown(), error));
    let (mut file, metadata) = spot.open()?;
    let mut beginning = [0; image::SIGNATURE];
    let mut known = 0;
    while known < beginning.len() {
        match file.read(&mut beginning[known..]).map_err(failed)? {
            0 => break,
            count => known += count,
        }
    }
    if let Some(format) = image::sniff(&beginning[..known]) {
        file.rewind().map_err(failed)?;
        return image::show(&mut file, metadata.len(), format, images, spot.shown());
    }
    file.rewind().map_err(failed)?;
    let span = Span {
        first: parameters.offset.unwrap_or_default().saturating_sub(1),
        lines: parameters.limit.filter(|limit| *limit > 0),
    };
    let window = Window::read(&mut file, span, cancel).map_err(failed)?;
    if cancel.is_cancelled() {
        return Err(Failure::aborted());
    }
    describe(&window, span, &parameters.path)
}

/// The text of the window, and what the model must know about the rest.
fn describe(window: &Window, span: Span, path: &str) -> Result<Output, Failure> {
    let total = window.total_lines;
    let first = span.first + 1;
    if span.first >= total {
        return Err(Failure::new(format!("Offset {first} is beyond end of file ({total} lines total)")));
    }
    let cut = truncate::head(&window.text, window.selected, MAX_LINES, MAX_BYTES);
    let next = first + cut.output_lines;
    let last = next - 1;
    let limit = truncate::size(MAX_BYTES);
    let rest = total - (span.first + window.selected.lines);
    let notice = match (cut.truncated_by, cut.first_line_exceeds_limit) {
        (Some(_), true) => {
            let length = truncate::size(window.first_line);
            let advice = format!("Use bash: sed -n '{first}p' {path} | head -c {MAX_BYTES}");
            format!("[Line {first} is {length}, exceeds {limit} limit. {advice}]")
        }
        (Some(Bound::Lines), false) => {
            format!("\n\n[Showing lines {first}-{last} of {total}. Use offset={next} to continue.]")
        }
        (Some(Bound::Bytes), false) => {
            format!("\n\n[Showing lines {first}-{last} of {total} ({limit} limit). Use offset={next} to continue.]")
        }
        (None, _) if rest > 0 => format!("\n\n[{rest} more lines in file. Use offset={next} to continue.]"),
        (None, _) => String::new(),
    };
    let output = Output::text(format!("{}{notice}", cut.content));
    Ok(match cut.truncated {
        true => output.with_details(Map::from_iter([("truncation".to_owned(), cut.to_value())])),
        false => output,
    })
}
