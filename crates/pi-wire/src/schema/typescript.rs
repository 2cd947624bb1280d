//! The protocol in TypeScript, in one file without imports.

use std::{
    any::TypeId,
    collections::BTreeMap,
    fmt::{self, Write as _},
};

use ts_rs::{Config, TS, TypeVisitor};

use crate::{
    command::{MemberVisitor, Payload, Presence},
    error::{ErrorCode, Retry},
    event::{PROTOCOL_VERSION, ServerEvent},
    registry::{COMMANDS, Feature, Kind, Spec, Target},
    rule::Rule,
};

/// The file `wire.ts`.
pub fn typescript() -> String {
    let mut types = Types::new();
    types.name::<ServerEvent>();
    types.name::<ErrorCode>();
    types.name::<Feature>();
    let commands: Vec<_> = COMMANDS.iter().map(|spec| command(spec, &mut types)).collect();
    let data: Vec<_> = Kind::all().map(|kind| (kind, kind.data_typescript(&mut types))).collect();
    let mut out = String::new();
    write_file(&mut out, &types, &commands, &data).expect("writing to memory cannot fail");
    out
}

fn write_file(
    out: &mut String,
    types: &Types,
    commands: &[String],
    data: &[(Kind, Option<String>)],
) -> Result<(), fmt::Error> {
    writeln!(out, "// The pi server protocol, made by `pi schema wire --format ts`. Do not edit.\n")?;
    writeln!(out, "export const PROTOCOL_VERSION = \"{PROTOCOL_VERSION}\";\n")?;
    out.push_str(include_str!("head.ts"));
    for (kind, command) in Kind::all().zip(commands) {
        writeln!(out, "\n/** {} */\nexport type {kind:?}Command = {command};", kind.spec().summary)?;
    }
    write_union(out, "A command of a client.", "Command", Kind::all().map(|kind| format!("{kind:?}Command")))?;
    writeln!(out, "\n/** The `data` of a successful answer, by the name of the command. */")?;
    writeln!(out, "export interface CommandData {{")?;
    for (kind, data) in data {
        writeln!(out, "  {}: {};", kind.name(), data.as_deref().unwrap_or("undefined"))?;
    }
    writeln!(out, "}}\n")?;
    out.push_str(include_str!("tail.ts"));
    write_registry(out)?;
    for declaration in types.declarations.values() {
        writeln!(out, "\n{declaration}")?;
    }
    Ok(())
}

fn write_union(
    out: &mut String,
    doc: &str,
    name: &str,
    variants: impl Iterator<Item = String>,
) -> Result<(), fmt::Error> {
    writeln!(out, "\n/** {doc} */\nexport type {name} =")?;
    let variants: Vec<_> = variants.map(|variant| format!("  | {variant}")).collect();
    writeln!(out, "{};", variants.join("\n"))
}

fn write_registry(out: &mut String) -> Result<(), fmt::Error> {
    writeln!(out, "\n/** What the registry says about each command. */\nexport const COMMANDS = {{")?;
    for spec in COMMANDS {
        let Spec { name, target, effect, class, role, .. } = spec;
        let feature = spec.feature().map_or_else(|| "null".to_owned(), |feature| word_of(&feature));
        let (target, effect, role) = (word_of(target), word_of(effect), word_of(role));
        let (order, span, timeout) = (word_of(&class.order()), word_of(&class.span()), word_of(&class.timeout()));
        let class = word_of(class);
        writeln!(
            out,
            "  {name}: {{ target: {target}, effect: {effect}, class: {class}, order: {order}, span: {span}, timeout: {timeout}, role: {role}, feature: {feature} }},",
        )?;
    }
    writeln!(out, "}} as const;\n")?;
    let features: Vec<_> = Feature::ALL.iter().map(word_of).collect();
    writeln!(out, "/** Every addition to the document that a server may announce. */")?;
    writeln!(out, "export const FEATURES = [{}] as const;\n", features.join(", "))?;
    writeln!(out, "/** When a failure with this code is worth another attempt, and under which identity. */")?;
    writeln!(out, "export const RETRY: Record<ErrorCode, \"never\" | \"sameId\" | \"newId\"> = {{")?;
    for code in ErrorCode::ALL {
        let retry = match code.retry() {
            Retry::Never => "never",
            Retry::SameId => "sameId",
            Retry::NewId => "newId",
        };
        writeln!(out, "  {}: \"{retry}\",", word_of(&code).trim_matches('"'))?;
    }
    writeln!(out, "}};")
}

fn word_of(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("words are strings")
}

/// The members of a command as a TypeScript object.
fn command(spec: &Spec, types: &mut Types) -> String {
    let mut members = Members { types, text: String::new() };
    match spec.target {
        Target::Session => members.text.push_str("\n  sessionId: string;"),
        Target::Server => {}
    }
    spec.kind.describe(&mut members);
    let head = if spec.takes_version() { "VersionedHead" } else { "CommandHead" };
    format!("{head} & {{\n  type: \"{}\";{}\n}}", spec.name, members.text)
}

/// Collects the declarations of all types that are named.
pub(crate) struct Types {
    config: Config,
    declarations: BTreeMap<String, String>,
    seen: BTreeMap<String, TypeId>,
}

impl Types {
    fn new() -> Self {
        let config = Config::new().with_large_int("number");
        Self { config, declarations: BTreeMap::new(), seen: BTreeMap::new() }
    }

    /// The name of `T`; it and everything it needs is declared.
    pub(crate) fn name<T: TS + 'static + ?Sized>(&mut self) -> String {
        self.visit::<T>();
        T::visit_generics(self);
        T::name(&self.config)
    }

    /// An object with the fields of `T`, spelled out.
    pub(crate) fn object<T: Payload>(&mut self) -> String {
        let mut members = Members { types: self, text: String::new() };
        T::describe(&mut members);
        format!("{{{}\n  }}", members.text.replace('\n', "\n  "))
    }
}

impl TypeVisitor for Types {
    fn visit<T: TS + 'static + ?Sized>(&mut self) {
        // A type of the language needs no declaration; what it is made of is visited as its generics.
        if T::output_path().is_none() {
            return;
        }
        let ident = T::ident(&self.config);
        let id = TypeId::of::<T::WithoutGenerics>();
        if let Some(other) = self.seen.insert(ident.clone(), id) {
            assert!(other == id, "two types are called {ident} in TypeScript");
            return;
        }
        let docs = T::docs().unwrap_or_default();
        self.declarations.insert(ident, format!("{docs}export {}", T::decl(&self.config)));
        T::visit_dependencies(self);
        T::visit_generics(self);
    }
}

struct Members<'t> {
    types: &'t mut Types,
    text: String,
}

impl MemberVisitor for Members<'_> {
    fn member<R: Rule>(&mut self, presence: Presence, name: &'static str, doc: &'static str, rule: &R) {
        let optional = match presence {
            Presence::Required => "",
            Presence::Optional => "?",
        };
        let kind = rule.typescript(self.types);
        if !doc.trim().is_empty() {
            write!(self.text, "\n  /** {} */", doc.trim()).expect("writing to memory cannot fail");
        }
        write!(self.text, "\n  {name}{optional}: {kind};").expect("writing to memory cannot fail");
    }
}
