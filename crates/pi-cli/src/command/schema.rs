//! `pi schema`: prints what the vocabularies publish about themselves.

use clap::ValueEnum;
use serde_json::Value;

use crate::{
    arguments::{SchemaArguments, SchemaFormat, SchemaName},
    console::Console,
    exit::Exit,
    failure::Failure,
};

/// A schema in one language. Text is made only when it is asked for.
enum Form {
    Json(fn() -> Value),
    Text(fn() -> String),
}

type Forms = &'static [(SchemaFormat, Form)];

pub(crate) fn run(arguments: &SchemaArguments, console: &mut Console) -> Result<Exit, Failure> {
    let forms = forms(arguments.schema);
    let Some((_, form)) = forms.iter().find(|(format, _)| *format == arguments.format) else {
        return Err(Failure::NoSuchForm {
            schema: name(&arguments.schema),
            format: name(&arguments.format),
            forms: forms.iter().map(|(it, _)| format!("--format {}", name(it))).collect::<Vec<_>>().join(" or "),
        });
    };
    let text = match form {
        Form::Json(schema) => format!("{:#}", schema()),
        Form::Text(text) => text(),
    };
    console.line(text.trim_end_matches('\n'));
    Ok(Exit::Success)
}

/// Every schema by name, with what it describes and the formats that it exists in.
pub(crate) fn table() -> Vec<(String, String)> {
    let row = |schema: &SchemaName| {
        let meaning = schema.to_possible_value().and_then(|value| value.get_help().map(ToString::to_string));
        let formats: Vec<String> = forms(*schema).iter().map(|(format, _)| name(format)).collect();
        (name(schema), format!("{} ({})", meaning.unwrap_or_default(), formats.join(", ")))
    };
    SchemaName::value_variants().iter().map(row).collect()
}

fn forms(schema: SchemaName) -> Forms {
    use SchemaFormat::{Json, Ts, Wit};
    match schema {
        SchemaName::Wire => &[(Json, Form::Json(pi_wire::schema::json)), (Ts, Form::Text(pi_wire::schema::typescript))],
        SchemaName::Extension => &[
            (Json, Form::Json(pi_extproto::schema::protocol)),
            (Ts, Form::Text(pi_extproto::schema::typescript::protocol)),
            (Wit, Form::Text(|| pi_extproto::schema::WIT.to_owned())),
        ],
        SchemaName::Manifest => &[
            (Json, Form::Json(pi_extproto::schema::manifest)),
            (Ts, Form::Text(pi_extproto::schema::typescript::manifest)),
        ],
        SchemaName::Envelope => {
            &[(Json, Form::Json(pi_envelope::schema::envelope)), (Ts, Form::Text(pi_envelope::schema::typescript))]
        }
        SchemaName::Log => {
            &[(Json, Form::Json(pi_extproto::schema::log)), (Ts, Form::Text(pi_extproto::schema::typescript::log))]
        }
        SchemaName::Policy => &[(Json, Form::Json(|| pi_policy::config::schema().to_value()))],
    }
}

/// The word that a person types.
fn name(value: &impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}
