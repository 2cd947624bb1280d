//! The WIT package says what the Rust types say.
//!
//! The package is written by hand, so every record, variant, enum and function of it is compared with the JSON Schema of
//! its Rust type, by the rules that its own head states. A type that nothing compares is a failure too.

use std::{cell::RefCell, collections::BTreeSet};

use pi_extproto::{
    capability::Method,
    connector::{environment, events, exec, fs, http, session, stream, tool, ui},
    hook, host, log, message, schema,
};
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use wit_parser::{Function, Handle, Interface, PackageId, Resolve, Type, TypeDefKind, TypeId, WorldItem};

/// Operations that came after 1.0, which the package of 1.0 does not have: interface and operation.
const LATER: [(&str, &str); 4] =
    [("fs", "set_times"), ("session", "get_scoped_models"), ("session", "get_git_branch"), ("ui", "paste_to_editor")];

struct Comparison {
    resolve: Resolve,
    package: PackageId,
    /// Schemas of the Rust types, by name.
    types: Map<String, Value>,
    compared: RefCell<BTreeSet<String>>,
    differences: RefCell<Vec<String>>,
}

/// Every Rust type that stands in the package, with those that a free object of the protocol holds put in its place.
fn rust_types() -> Map<String, Value> {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    macro_rules! take {
        ($($kind:ty),* $(,)?) => { $(generator.subschema_for::<$kind>();)* };
    }
    take!(
        message::Register,
        message::ToolCall,
        message::ToolResult,
        message::SlashCommand,
        message::SlashResult,
        message::ErrorReport,
        host::HostError,
        host::Chunk,
        hook::Hook,
        hook::event::Event,
        hook::Outcome,
        tool::ToolDefinition,
        tool::CommandDefinition,
        tool::ToolUse,
        tool::ToolOutput,
        tool::HostToolOutput,
        exec::Command,
        exec::CommandOutput,
        fs::FsCall,
        fs::FileContent,
        fs::Listing,
        fs::Presence,
        fs::Place,
        http::Request,
        http::Response,
        stream::StreamItem,
        session::SessionCall,
        session::SessionState,
        session::Entries,
        session::AppendedEntry,
        session::Tools,
        session::Commands,
        session::Models,
        session::Acceptance,
        session::Completion,
        session::SystemPrompt,
        session::SessionHeader,
        session::FoundEntry,
        session::EntryLabel,
        session::ChosenLevel,
        session::Compaction,
        ui::UiCall,
        ui::Answer,
        ui::Confirmation,
        ui::FormAnswer,
        events::EventsCall,
        environment::EnvCall,
        environment::Variable,
        environment::Variables,
        environment::CredentialsCall,
        environment::Credential,
        log::LogNote,
    );
    let mut types = Value::Object(generator.take_definitions(true));
    for (place, holds) in [
        ("/Register/properties/tools/items", "ToolDefinition"),
        ("/Register/properties/slash_commands/items", "CommandDefinition"),
        ("/Register/properties/event_hooks/items", "Hook"),
        ("/ToolResult/properties/output", "ToolOutput"),
    ] {
        *types.pointer_mut(place).expect(place) = json!({ "$ref": format!("#/$defs/{holds}") });
    }
    // The two ways to ask for a stream are two functions in the package.
    for name in ["Command", "Request"] {
        types[name]["properties"].as_object_mut().expect(name).shift_remove("stream").expect("a stream flag");
    }
    // A function that returns answers its own call.
    types["ToolResult"]["properties"].as_object_mut().expect("members").shift_remove("call_id").expect("a call id");
    match types {
        Value::Object(types) => types,
        other => unreachable!("{other}"),
    }
}

impl Comparison {
    fn new() -> Self {
        let mut resolve = Resolve::default();
        let package = resolve.push_source("extension.wit", schema::WIT).expect("the package resolves");
        let (compared, differences) = Default::default();
        Self { resolve, package, types: rust_types(), compared, differences }
    }

    fn differ(&self, path: &str, message: impl Into<String>) {
        self.differences.borrow_mut().push(format!("{path}: {}", message.into()));
    }

    fn interface(&self, name: &str) -> &Interface {
        let id = self.resolve.packages[self.package].interfaces.get(name);
        &self.resolve.interfaces[*id.unwrap_or_else(|| panic!("no interface {name}"))]
    }

    /// A schema without references and without the `null` of optional members; and the name of the type, if it has one.
    fn open(&self, schema: &Value) -> (Option<String>, Value) {
        if let Some(choices) = schema.get("anyOf").and_then(Value::as_array)
            && let [one, null] = choices.as_slice()
            && null["type"] == "null"
        {
            return self.open(one);
        }
        let Some(reference) = schema.get("$ref").and_then(Value::as_str) else {
            let mut schema = schema.clone();
            if let Some(Value::Array(kinds)) = schema.get_mut("type") {
                kinds.retain(|kind| kind != "null");
                schema["type"] = kinds[0].clone();
            }
            return (None, schema);
        };
        let name = reference.trim_start_matches("#/$defs/");
        let (_, mut opened) = self.open(&self.types[name]);
        // A variant that holds a struct has the members of both.
        for (member, shape) in schema["properties"].as_object().into_iter().flatten() {
            opened["properties"][member] = shape.clone();
        }
        let required = schema["required"].as_array().into_iter().flatten().cloned();
        if let Some(all) = opened["required"].as_array_mut() {
            all.extend(required);
        }
        (Some(name.to_owned()), opened)
    }

    fn compare(&self, path: &str, wit: &Type, schema: &Value) {
        let (name, schema) = self.open(schema);
        let kind = schema.get("type").and_then(Value::as_str);
        let is = |word: &str, format: Option<&str>| {
            kind == Some(word) && schema.get("format").and_then(Value::as_str) == format
        };
        let fits = match wit {
            Type::Id(id) => return self.compare_defined(path, *id, name.as_deref(), &schema),
            Type::String => {
                is("string", None) && schema.get("enum").is_none() && schema.get("contentEncoding").is_none()
            }
            Type::Bool => is("boolean", None),
            Type::U64 => is("integer", Some("uint64")) || (is("integer", None) && schema["minimum"] == 0),
            Type::U32 => is("integer", Some("uint32")),
            Type::U16 => is("integer", Some("uint16")),
            Type::F64 => is("number", Some("double")),
            Type::S32 => is("integer", Some("int32")),
            _ => false,
        };
        if !fits {
            self.differ(path, format!("{wit:?} in WIT, {schema} in Rust"));
        }
    }

    fn compare_defined(&self, path: &str, id: TypeId, rust_name: Option<&str>, schema: &Value) {
        let definition = &self.resolve.types[id];
        if let (Some(wit), Some(rust)) = (&definition.name, rust_name)
            && !matches!(definition.kind, TypeDefKind::Type(_))
        {
            self.compared.borrow_mut().insert(wit.clone());
            if *wit != kebab(rust) {
                self.differ(path, format!("{wit} in WIT, {rust} in Rust"));
            }
        }
        match &definition.kind {
            TypeDefKind::Type(Type::String) if definition.name.as_deref() == Some("json") => {
                let is_free = *schema == json!(true) || schema.get("type").is_none_or(|kind| kind == "object");
                if !is_free || ["properties", "oneOf", "enum"].iter().any(|word| schema.get(word).is_some()) {
                    self.differ(path, format!("any JSON in WIT, {schema} in Rust"));
                }
            }
            TypeDefKind::Type(Type::Id(used)) => self.compare_defined(path, *used, rust_name, schema),
            TypeDefKind::Record(record) => {
                if let Some(name) = &definition.name {
                    self.compared.borrow_mut().insert(name.clone());
                }
                let fields = record.fields.iter().map(|field| (field.name.as_str(), &field.ty));
                self.compare_members(path, &fields.collect::<Vec<_>>(), schema, None);
            }
            TypeDefKind::Variant(variant) => {
                let cases: Vec<_> = variant.cases.iter().map(|case| (case.name.as_str(), case.ty.as_ref())).collect();
                self.compare_cases(path, &cases, schema);
            }
            TypeDefKind::Enum(words) => {
                let wit: BTreeSet<_> = words.cases.iter().map(|case| case.name.clone()).collect();
                let rust: BTreeSet<_> = words_of(schema).iter().map(|word| kebab(word)).collect();
                if wit != rust {
                    self.differ(path, format!("{wit:?} in WIT, {rust:?} in Rust"));
                }
            }
            TypeDefKind::List(Type::U8) => {
                let is_bytes = rust_name == Some("Data") || schema["contentEncoding"] == "base64";
                if !is_bytes {
                    self.differ(path, format!("bytes in WIT, {schema} in Rust"));
                }
            }
            TypeDefKind::List(item) if schema["type"] == "array" => {
                self.compare(&format!("{path}[]"), item, &schema["items"]);
            }
            TypeDefKind::List(item) => match (self.value_of_pair(item), schema.get("additionalProperties")) {
                (Some(value), Some(shape)) => self.compare(&format!("{path}{{}}"), &value, shape),
                _ => self.differ(path, format!("a list in WIT, {schema} in Rust")),
            },
            other => self.differ(path, format!("{} in WIT, {schema} in Rust", other.as_str())),
        }
    }

    /// What a name is paired with.
    fn value_of_pair(&self, item: &Type) -> Option<Type> {
        let Type::Id(id) = item else { return None };
        match &self.resolve.types[*id].kind {
            TypeDefKind::Tuple(tuple) => match tuple.types.as_slice() {
                [Type::String, value] => Some(*value),
                _ => None,
            },
            _ => None,
        }
    }

    /// Named members on both sides, `tag` excepted: the same names, absent and present alike, the same types.
    fn compare_members(&self, path: &str, wit: &[(&str, &Type)], schema: &Value, tag: Option<&str>) {
        let rust = self.members(schema, tag);
        let names: BTreeSet<_> = rust.iter().map(|(name, ..)| kebab(name)).collect();
        let wit_names: BTreeSet<_> = wit.iter().map(|(name, _)| (*name).to_owned()).collect();
        if names != wit_names {
            return self.differ(path, format!("{wit_names:?} in WIT, {names:?} in Rust"));
        }
        for (name, kind) in wit {
            let (_, member, is_required) =
                rust.iter().find(|(rust, ..)| kebab(rust) == *name).expect("the names are the same");
            self.compare_member(&format!("{path}.{name}"), kind, member, *is_required);
        }
    }

    fn compare_member(&self, path: &str, wit: &Type, member: &Value, is_required: bool) {
        match (self.inner_of_option(wit), is_required) {
            (Some(inner), false) => self.compare(path, &inner, member),
            (None, true) => self.compare(path, wit, member),
            (Some(_), true) => self.differ(path, "may be absent in WIT, required in Rust"),
            (None, false) => self.differ(path, "required in WIT, may be absent in Rust"),
        }
    }

    fn inner_of_option(&self, wit: &Type) -> Option<Type> {
        match wit {
            Type::Id(id) => match &self.resolve.types[*id].kind {
                TypeDefKind::Option(inner) => Some(*inner),
                _ => None,
            },
            _ => None,
        }
    }

    /// Name, schema and presence of the members, without the tag and without those that have only one value.
    fn members(&self, schema: &Value, tag: Option<&str>) -> Vec<(String, Value, bool)> {
        let required: Vec<_> = schema["required"].as_array().into_iter().flatten().collect();
        let members = schema["properties"].as_object().into_iter().flatten();
        members
            .filter(|(name, member)| Some(name.as_str()) != tag && words_of(&self.open(member).1).len() != 1)
            .map(|(name, member)| (name.clone(), member.clone(), required.iter().any(|word| *word == name)))
            .collect()
    }

    fn compare_cases(&self, path: &str, wit: &[(&str, Option<&Type>)], schema: &Value) {
        if schema.get("anyOf").is_some() {
            return self.compare_bare_cases(path, wit, schema);
        }
        let variants = variants_of(schema);
        let names: BTreeSet<_> = variants.iter().map(|(word, ..)| kebab(word)).collect();
        let wit_names: BTreeSet<_> = wit.iter().map(|(name, _)| (*name).to_owned()).collect();
        if names != wit_names {
            return self.differ(path, format!("{wit_names:?} in WIT, {names:?} in Rust"));
        }
        for (name, payload) in wit {
            let (_, tag, variant) =
                variants.iter().find(|(word, ..)| kebab(word) == *name).expect("the names are the same");
            self.compare_whole(&format!("{path}({name})"), *payload, variant, Some(tag));
        }
    }

    /// Cases that stand in JSON as bare values: the titles of the schemas are their names.
    fn compare_bare_cases(&self, path: &str, wit: &[(&str, Option<&Type>)], schema: &Value) {
        let choices: Vec<_> = schema["anyOf"].as_array().into_iter().flatten().collect();
        let names: Vec<_> = choices.iter().map(|choice| choice["title"].as_str().unwrap_or_default()).collect();
        let wit_names: Vec<_> = wit.iter().map(|(name, _)| *name).collect();
        if names != wit_names {
            return self.differ(path, format!("{wit_names:?} in WIT, {names:?} in Rust"));
        }
        for ((name, payload), choice) in wit.iter().zip(choices) {
            let path = format!("{path}({name})");
            match payload {
                Some(payload) => self.compare(&path, payload, choice),
                None => self.differ(&path, format!("nothing in WIT, {choice} in Rust")),
            }
        }
    }

    /// A type for a whole object: nothing for no members, a record for several, the member itself for a single one.
    fn compare_whole(&self, path: &str, wit: Option<&Type>, schema: &Value, tag: Option<&str>) {
        let (name, opened) = self.open(schema);
        let members = self.members(&opened, tag);
        match (wit, members.as_slice()) {
            (None, []) => {}
            (None, _) => self.differ(path, format!("nothing in WIT, {opened} in Rust")),
            (Some(wit), [(_, member, is_required)]) if !self.is_record_named(wit, name.as_deref()) => {
                self.compare_member(path, wit, member, *is_required);
            }
            (Some(Type::Id(id)), _) => {
                let mut record = opened;
                if let Some((tag, members)) = tag.zip(record["properties"].as_object_mut()) {
                    members.shift_remove(tag);
                }
                self.compare_defined(path, *id, name.as_deref(), &record);
            }
            (Some(wit), _) => self.differ(path, format!("{wit:?} in WIT, {opened} in Rust")),
        }
    }

    fn is_record_named(&self, wit: &Type, rust_name: Option<&str>) -> bool {
        let Type::Id(id) = wit else { return false };
        match &self.resolve.types[*id] {
            used if matches!(used.kind, TypeDefKind::Type(_)) => match &used.kind {
                TypeDefKind::Type(inner) => self.is_record_named(inner, rust_name),
                _ => false,
            },
            definition => matches!(definition.kind, TypeDefKind::Record(_)) && definition.name == rust_name.map(kebab),
        }
    }

    /// `result<T, E>` with `T` for the output and `E` for the error.
    fn compare_result(&self, path: &str, function: &Function, output: Option<&str>, error: &str) {
        let Some(Type::Id(id)) = &function.result else { return self.differ(path, "returns no result") };
        let TypeDefKind::Result(result) = &self.resolve.types[*id].kind else {
            return self.differ(path, "returns no result");
        };
        match &result.err {
            Some(wit) => self.compare(&format!("{path} error"), wit, &reference(error)),
            None => self.differ(path, "has no error"),
        }
        let path = format!("{path} output");
        match output {
            Some(name) => self.compare_whole(&path, result.ok.as_ref(), &reference(name), None),
            None if result.ok.is_some() => self.differ(&path, "something in WIT, nothing in Rust"),
            None => {}
        }
    }

    fn returns_stream(&self, function: &Function) -> bool {
        let Some(Type::Id(id)) = &function.result else { return false };
        let TypeDefKind::Result(result) = &self.resolve.types[*id].kind else { return false };
        let Some(Type::Id(handle)) = &result.ok else { return false };
        let TypeDefKind::Handle(Handle::Own(resource)) = &self.resolve.types[*handle].kind else { return false };
        self.resolve.types[*resource].name.as_deref() == Some("output-stream")
    }

    /// The functions of an interface are the operations of a call type, and each returns what the table says.
    fn compare_operations(&self, interface: &str, calls: &str, outputs: &[(&str, &str)]) {
        let functions = &self.interface(interface).functions;
        let mut variants = variants_of(&self.types[calls]);
        for (_, later) in LATER.iter().filter(|(of, _)| *of == interface) {
            let known = variants.len();
            variants.retain(|(word, ..)| word != later);
            assert_eq!(variants.len() + 1, known, "{calls} has no operation {later}");
        }
        let operations: BTreeSet<_> = variants.iter().map(|(word, ..)| kebab(word)).collect();
        let names: BTreeSet<_> = functions.keys().cloned().collect();
        assert_eq!(names, operations, "functions of {interface} and operations of {calls}");
        for (word, tag, variant) in &variants {
            let function = &functions[&kebab(word)];
            let path = format!("{interface}.{}", function.name);
            self.compare_members(&path, &parameters(function), &self.open(variant).1, Some(tag));
            let output = outputs.iter().find(|(operation, _)| operation == word).map(|(_, output)| *output);
            self.compare_result(&path, function, output, "HostError");
        }
        for (operation, _) in outputs {
            assert!(operations.contains(&kebab(operation)), "{calls} has no operation {operation}");
        }
    }

    fn finish(self, uncompared: &[&str]) {
        let differences = self.differences.into_inner();
        assert!(differences.is_empty(), "{}", differences.join("\n"));
        let package = &self.resolve.packages[self.package];
        let named = package.interfaces.values().flat_map(|id| self.resolve.interfaces[*id].types.keys());
        let compared = self.compared.into_inner();
        let left: BTreeSet<_> = named.map(String::as_str).filter(|name| !compared.contains(*name)).collect();
        assert_eq!(left, uncompared.iter().copied().collect(), "types that no Rust type was compared with");
    }
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

fn parameters(function: &Function) -> Vec<(&str, &Type)> {
    function.params.iter().map(|parameter| (parameter.name.as_str(), &parameter.ty)).collect()
}

/// `ToolCall`, `tool_call` and `toolCall` are all `tool-call`.
fn kebab(name: &str) -> String {
    let mut kebab = String::new();
    for (index, letter) in name.chars().enumerate() {
        match letter {
            '_' => kebab.push('-'),
            upper if upper.is_uppercase() => {
                kebab.extend((index > 0).then_some('-').into_iter().chain(upper.to_lowercase()));
            }
            other => kebab.push(other),
        }
    }
    kebab
}

/// The words of an enum without data.
fn words_of(schema: &Value) -> Vec<String> {
    let word = |value: &Value| value.as_str().map(str::to_owned);
    if let Some(constant) = schema.get("const") {
        return word(constant).into_iter().collect();
    }
    let listed = schema["enum"].as_array().into_iter().flatten().filter_map(word);
    let described =
        schema["oneOf"].as_array().into_iter().flatten().flat_map(|choice| match choice["type"] == "string" {
            true => words_of(choice),
            false => Vec::new(),
        });
    listed.chain(described).collect()
}

/// Word, name of the tag and schema of every variant of a tagged enum.
fn variants_of(schema: &Value) -> Vec<(String, String, Value)> {
    let variants = schema["oneOf"].as_array().into_iter().flatten();
    variants
        .map(|variant| {
            let members = variant["properties"].as_object().expect("variants are objects");
            let (tag, word) = members
                .iter()
                .find_map(|(name, member)| Some((name, member.get("const")?.as_str()?)))
                .expect("variants have a tag");
            (word.to_owned(), tag.clone(), variant.clone())
        })
        .collect()
}

#[test]
fn package_says_what_the_types_say() {
    let comparison = Comparison::new();
    comparison.compare_operations(
        "fs",
        "FsCall",
        &[
            ("read", "FileContent"),
            ("list", "Listing"),
            ("stat", "Presence"),
            ("resolve", "Place"),
            ("make_temporary", "Place"),
        ],
    );
    comparison.compare_operations(
        "session",
        "SessionCall",
        &[
            ("get_state", "SessionState"),
            ("get_system_prompt", "SystemPrompt"),
            ("get_header", "SessionHeader"),
            ("get_entries", "Entries"),
            ("get_entry", "FoundEntry"),
            ("get_label", "EntryLabel"),
            ("append_entry", "AppendedEntry"),
            ("get_tools", "Tools"),
            ("get_commands", "Commands"),
            ("get_models", "Models"),
            ("set_model", "Acceptance"),
            ("complete", "Completion"),
            ("set_thinking_level", "ChosenLevel"),
            ("compact", "Compaction"),
            ("new_session", "Acceptance"),
            ("fork", "Acceptance"),
            ("navigate_tree", "Acceptance"),
            ("switch_session", "Acceptance"),
            ("reload", "Acceptance"),
        ],
    );
    comparison.compare_operations(
        "ui",
        "UiCall",
        &[
            ("select", "Answer"),
            ("confirm", "Confirmation"),
            ("input", "Answer"),
            ("editor", "Answer"),
            ("interview", "FormAnswer"),
            ("get_editor_text", "Answer"),
        ],
    );
    comparison.compare_operations("events", "EventsCall", &[]);
    comparison.compare_operations("env", "EnvCall", &[("get", "Variable"), ("list", "Variables")]);
    comparison.compare_operations("credentials", "CredentialsCall", &[("get", "Credential")]);

    for (interface, function, parameters_of, output) in
        [("tool", "use", "ToolUse", Some("HostToolOutput")), ("log", "write", "LogNote", None)]
    {
        let function = &comparison.interface(interface).functions[function];
        let path = format!("{interface}.{}", function.name);
        let schema = comparison.types[parameters_of].clone();
        comparison.compare_members(&path, &parameters(function), &schema, None);
        comparison.compare_result(&path, function, output, "HostError");
    }
    for (interface, function, parameter, output, error) in [
        ("exec", "run", Some("Command"), "CommandOutput", "HostError"),
        ("http", "fetch", Some("Request"), "Response", "HostError"),
        ("guest", "init", None, "Register", "ErrorReport"),
        ("guest", "call-tool", Some("ToolCall"), "ToolResult", "ErrorReport"),
        ("guest", "run-command", Some("SlashCommand"), "SlashResult", "ErrorReport"),
        ("guest", "handle-event", Some("Event"), "Outcome", "ErrorReport"),
    ] {
        let function = &comparison.interface(interface).functions[function];
        let path = format!("{interface}.{}", function.name);
        match (parameter, function.params.as_slice()) {
            (Some(name), [only]) => comparison.compare(&path, &only.ty, &reference(name)),
            (None, []) => {}
            _ => comparison.differ(&path, "takes other parameters"),
        }
        if output == "Outcome" {
            compare_outcome(&comparison, &path, function);
        } else {
            comparison.compare_result(&path, function, Some(output), error);
        }
    }
    for (name, rust) in [("chunk", "Chunk"), ("stream-item", "StreamItem")] {
        let id = comparison.interface("streams").types[name];
        comparison.compare(&format!("streams.{name}"), &Type::Id(id), &reference(rust));
    }
    for (interface, whole, streamed) in [("exec", "run", "start"), ("http", "fetch", "open")] {
        let functions = &comparison.interface(interface).functions;
        assert_eq!(parameters(&functions[whole]), parameters(&functions[streamed]), "{interface}");
        assert!(comparison.returns_stream(&functions[streamed]), "{interface}.{streamed}");
    }
    // Any JSON is compared where it is used; the resource is described by its functions.
    comparison.finish(&["json", "output-stream"]);
}

/// The outcome is a variant, not an object with members.
fn compare_outcome(comparison: &Comparison, path: &str, function: &Function) {
    let Some(Type::Id(id)) = &function.result else { return comparison.differ(path, "returns no result") };
    let TypeDefKind::Result(result) = &comparison.resolve.types[*id].kind else {
        return comparison.differ(path, "returns no result");
    };
    comparison.compare(path, &result.ok.expect("an outcome"), &reference("Outcome"));
    comparison.compare(path, &result.err.expect("an error"), &reference("ErrorReport"));
}

#[test]
fn world_imports_every_connector_and_exports_the_guest() {
    let comparison = Comparison::new();
    let package = &comparison.resolve.packages[comparison.package];
    assert_eq!(package.name.to_string(), "pi:extension@1.0.0");
    let world = &comparison.resolve.worlds[package.worlds["extension"]];
    let names = |items: Vec<&WorldItem>| -> BTreeSet<String> {
        let name = |item: &WorldItem| match item {
            WorldItem::Interface { id, .. } => comparison.resolve.interfaces[*id].name.clone(),
            _ => None,
        };
        items.into_iter().filter_map(name).collect()
    };
    // A call of an MCP server is made by the host for the agent, never by a component.
    let connectors = Method::KNOWN.iter().filter(|method| **method != Method::Mcp).map(ToString::to_string);
    let shared = ["types", "streams", "hooks", "outcomes"].map(str::to_owned);
    assert_eq!(names(world.imports.values().collect()), connectors.chain(shared).collect());
    assert_eq!(names(world.exports.values().collect()), BTreeSet::from(["guest".to_owned()]));
}
