//! `pi schema`: prints what the vocabularies publish about themselves.

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
            schema: schema_word(arguments.schema),
            format: format_word(arguments.format),
            forms: forms
                .iter()
                .map(|(it, _)| format!("--format {}", format_word(*it)))
                .collect::<Vec<_>>()
                .join(" or "),
        });
    };
    let text = match form {
        Form::Json(schema) => format!("{:#}", schema()),
        Form::Text(text) => text(),
    };
    console.line(text.trim_end_matches('\n'));
    Ok(Exit::Success)
}

fn forms(schema: SchemaName) -> Forms {
    use SchemaFormat::{Json, Ts, Wit};
    match schema {
        SchemaName::Wire => &[(Json, Form::Json(pi_wire::schema::json)), (Ts, Form::Text(pi_wire::schema::typescript))],
        SchemaName::Extension => &[
            (Json, Form::Json(pi_extproto::schema::protocol)),
            (Ts, Form::Text(pi_extproto::schema::typescript)),
            (Wit, Form::Text(|| pi_extproto::schema::WIT.to_owned())),
        ],
        SchemaName::Manifest => &[(Json, Form::Json(pi_extproto::schema::manifest))],
        SchemaName::Envelope => {
            &[(Json, Form::Json(pi_envelope::schema::envelope)), (Ts, Form::Text(pi_envelope::schema::typescript))]
        }
        SchemaName::Log => &[(Json, Form::Json(pi_extproto::schema::log))],
        SchemaName::Policy => &[(Json, Form::Json(|| pi_policy::config::schema().to_value()))],
    }
}

fn schema_word(schema: SchemaName) -> &'static str {
    match schema {
        SchemaName::Wire => "wire",
        SchemaName::Extension => "extension",
        SchemaName::Manifest => "manifest",
        SchemaName::Envelope => "envelope",
        SchemaName::Log => "log",
        SchemaName::Policy => "policy",
    }
}

fn format_word(format: SchemaFormat) -> &'static str {
    match format {
        SchemaFormat::Json => "json",
        SchemaFormat::Ts => "ts",
        SchemaFormat::Wit => "wit",
    }
}
