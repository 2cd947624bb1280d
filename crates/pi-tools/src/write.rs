//! `write`: makes a file or replaces all of it.

use std::sync::LazyLock;

use futures_util::future::BoxFuture;
use serde::Deserialize;

use crate::{
    arguments,
    files::{self, Missing, Spot},
    tool::{self, Call, Definition, Failure, Output, Tool},
};

static DEFINITION: LazyLock<Definition> = LazyLock::new(|| tool::built_in(include_str!("../definitions/write.json")));

/// The tool `write`.
#[derive(Debug, Default)]
pub(crate) struct Write;

#[derive(Deserialize)]
struct Parameters {
    path: String,
    content: String,
}

impl Tool for Write {
    fn definition(&self) -> &Definition {
        &DEFINITION
    }

    fn execute(&self, call: Call) -> BoxFuture<'_, Result<Output, Failure>> {
        Box::pin(write(call))
    }
}

async fn write(call: Call) -> Result<Output, Failure> {
    let Parameters { path, content } = arguments::read(call.arguments)?;
    let location = files::granted(&call.grant)?.clone();
    let turn = tool::unless_cancelled(&call.cancel, call.workspace.queue().turn(&location)).await?;
    let cancel = call.cancel;
    tool::to_the_end(move || {
        // Others may follow only when this is done, even if nobody waits for it any more.
        let _turn = turn;
        if cancel.is_cancelled() {
            return Err(Failure::aborted());
        }
        let spot = Spot::find(&call.grant, &location, Missing::Make)?;
        spot.replace(content.as_bytes(), &cancel)?;
        Ok(Output::text(format!("Successfully wrote {} bytes to {path}", content.len())))
    })
    .await
}
