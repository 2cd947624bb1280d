//! What we publish about the format: its JSON Schema and its TypeScript types.

use pi_transcript::json::schema::generator;
use serde_json::{Map, Value};
use ts_rs::TS;

use crate::{Envelope, diff, envelope, meta, stats};

/// The JSON Schema of an envelope, `meta` included: it accepts exactly what [`parse`](crate::parse()) does.
pub fn envelope() -> Value {
    let mut generated = generator().into_root_schema_for::<Envelope>().to_value();
    // What a reader wants to know first comes first.
    let members = generated.as_object_mut().expect("the schema of a struct is an object");
    let first = ["$schema", "title", "description"];
    let mut schema: Map<_, _> = first.into_iter().filter_map(|name| members.shift_remove_entry(name)).collect();
    schema.append(members);
    Value::Object(schema)
}

/// The types that a client meets, as a TypeScript module. Members that no type names are allowed everywhere.
pub fn typescript() -> String {
    let config = ts_rs::Config::new().with_large_int("number");
    let mut module = String::new();
    macro_rules! declare {
        ($($type:ty),* $(,)?) => {
            $(
                if let Some(docs) = <$type as TS>::docs() {
                    module.push_str(&docs);
                }
                module.push_str("export ");
                module.push_str(&<$type as TS>::decl(&config));
                module.push('\n');
            )*
        };
    }
    declare!(
        Value,
        Envelope,
        envelope::Version,
        envelope::Message,
        envelope::Role,
        envelope::Segment,
        envelope::Body,
        envelope::MemoryItem,
        envelope::SkillItem,
        envelope::ToolItem,
        envelope::MediaType,
        envelope::Kind,
        meta::EnvelopeMeta,
        meta::MessageMeta,
        meta::SegmentMeta,
        meta::Request,
        meta::Purpose,
        meta::Replacement,
        meta::Origin,
        meta::Trust,
        meta::Tokens,
        meta::Counted,
        meta::CacheState,
        meta::Part,
        diff::Diff,
        diff::Change,
        diff::What,
        diff::Place,
        diff::Items,
        diff::Summary,
        diff::CacheBreak,
        diff::Cause,
        stats::Stats,
        stats::Tally,
        pi_transcript::ModelId,
        pi_transcript::ProviderId,
        pi_transcript::ToolCallId,
        pi_transcript::Usage,
        pi_transcript::Cost,
    );
    module
}
