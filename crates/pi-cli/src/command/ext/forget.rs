//! `pi ext forget`: nothing is decided about an extension any more.

use pi_exthost::consent::Change;
use pi_extproto::capability::Capability;
use serde_json::json;

use super::grants;
use crate::{
    arguments::ext::ForgetArguments,
    console::{Console, Reader},
    env::Environment,
    exit::Exit,
    failure::{ConsentFailure, Failure},
};

pub(crate) fn run(
    arguments: &ForgetArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let file = grants::file(environment)?;
    let ForgetArguments { name, capability, .. } = arguments;
    // What an older version remembered under a word that is none can be forgotten as well.
    let change = Change::Forget(Capability::from(capability.as_str()));
    let forgotten = file.change(name, change).map_err(ConsentFailure::Grants)?.removed;
    match console.reader() {
        Reader::Machine => {
            let told = json!({ "extension": name, "capability": capability, "forgotten": forgotten });
            console.line(&told.to_string());
        }
        Reader::Person if forgotten == 0 => {
            console
                .complaint(&format!("nothing was decided about {name} {capability}; `pi ext grants` shows what was"));
        }
        Reader::Person => {
            let count = if forgotten == 1 { "1 decision".to_owned() } else { format!("{forgotten} decisions") };
            console.line(&format!("forgotten: {name} {capability}, {count}"));
        }
    }
    Ok(if forgotten == 0 { Exit::No } else { Exit::Success })
}
