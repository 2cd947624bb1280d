//! Reads an envelope, or says everything that is wrong with it.

use pi_transcript::json::{Problem, shape};
use serde::Deserialize;
use serde_json::Value;

use crate::{Envelope, shape::ENVELOPE};

/// Reads an envelope. Of members with the same name the last one counts.
pub fn parse(bytes: &[u8]) -> Result<Envelope, Vec<Problem>> {
    let value = document(bytes)?;
    Envelope::deserialize(value).map_err(|error| vec![whole(error.to_string())])
}

/// Reads the JSON of an envelope and checks its shape.
pub(crate) fn document(bytes: &[u8]) -> Result<Value, Vec<Problem>> {
    let value =
        serde_json::from_slice(bytes).map_err(|error| vec![whole(format!("not JSON that we read: {error}"))])?;
    let problems = shape::problems(&ENVELOPE, &value);
    if problems.is_empty() { Ok(value) } else { Err(problems) }
}

fn whole(message: String) -> Problem {
    Problem { path: String::new(), message }
}
