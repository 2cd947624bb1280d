//! What an expression stands for, as far as that can be told without running it: a global, a module, the host's interface,
//! the file's own place.

use std::collections::HashMap;

use oxc::{
    ast::ast::{
        Argument, BinaryOperator, CallExpression, ChainElement, Expression, IdentifierReference, NewExpression,
        PropertyKey, TemplateLiteral,
    },
    semantic::{Scoping, SymbolId},
};

/// What is known about a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Meaning {
    /// A global by its name, with members behind points: `eval`, `process.env`. The global object itself is empty.
    Global(String),
    /// A module, or an export of it.
    Module { name: String, export: Option<String> },
    /// What the host gives the extension, with members behind points: `session.append`. The interface itself is empty.
    Pi(String),
    /// The same for what handlers are given.
    Context(String),
    /// `require`, under whichever name.
    Require,
    /// The address of this file, as a URL.
    OwnUrl,
    /// The path of this file.
    OwnFile,
    /// A path below the folder of this file.
    Beside(String),
    /// A text that does not change.
    Text(String),
    /// A key that is no text, and so names nothing of the language.
    Symbol,
}

/// What was learnt about the names of a file.
pub(super) struct Known<'s> {
    pub(super) scoping: &'s Scoping,
    pub(super) symbols: HashMap<SymbolId, Meaning>,
}

const GLOBAL_OBJECTS: [&str; 4] = ["globalThis", "global", "window", "self"];

impl Known<'_> {
    /// The symbol that a name stands for; globals have none.
    pub(super) fn symbol(&self, name: &IdentifierReference) -> Option<SymbolId> {
        self.scoping.get_reference(name.reference_id.get()?).symbol_id()
    }

    pub(super) fn of_name(&self, name: &IdentifierReference) -> Option<Meaning> {
        let Some(symbol) = self.symbol(name) else { return Some(global(name.name.as_str())) };
        // By the names that everybody gives them, where nothing better is known.
        self.symbols.get(&symbol).cloned().or_else(|| match name.name.as_str() {
            "pi" => Some(Meaning::Pi(String::new())),
            "ctx" => Some(Meaning::Context(String::new())),
            _ => None,
        })
    }

    pub(super) fn of(&self, expression: &Expression) -> Option<Meaning> {
        match expression.get_inner_expression() {
            Expression::Identifier(name) => self.of_name(name),
            Expression::StaticMemberExpression(member) => {
                self.member(&member.object, Some(member.property.name.as_str()))
            }
            Expression::ComputedMemberExpression(member) => {
                self.member(&member.object, self.text(&member.expression).as_deref())
            }
            Expression::ChainExpression(chain) => match &chain.expression {
                ChainElement::CallExpression(call) => self.of_call(call),
                ChainElement::StaticMemberExpression(member) => {
                    self.member(&member.object, Some(member.property.name.as_str()))
                }
                ChainElement::ComputedMemberExpression(member) => {
                    self.member(&member.object, self.text(&member.expression).as_deref())
                }
                ChainElement::TSNonNullExpression(_) | ChainElement::PrivateFieldExpression(_) => None,
            },
            Expression::NewExpression(new) => self.of_new(new),
            Expression::SequenceExpression(sequence) => self.of(sequence.expressions.last()?),
            Expression::AssignmentExpression(assignment) => self.of(&assignment.right),
            Expression::LogicalExpression(logical) => self.of(&logical.left).or_else(|| self.of(&logical.right)),
            Expression::ConditionalExpression(choice) => {
                self.of(&choice.consequent).or_else(|| self.of(&choice.alternate))
            }
            Expression::AwaitExpression(awaited) => self.of(&awaited.argument),
            Expression::ImportExpression(import) => {
                Some(Meaning::Module { name: plain(&self.text(&import.source)?), export: None })
            }
            Expression::ImportMeta(_) => Some(Meaning::Global("import.meta".to_owned())),
            Expression::CallExpression(call) => self.of_call(call),
            Expression::TemplateLiteral(template) => self.of_template(template),
            other => self.text(other).map(Meaning::Text),
        }
    }

    fn member(&self, object: &Expression, name: Option<&str>) -> Option<Meaning> {
        let name = name?;
        let object = object.get_inner_expression();
        if name == "constructor" && makes_functions(object) {
            return Some(Meaning::Global("Function".to_owned()));
        }
        self.of_member(self.of(object)?, name)
    }

    /// What a member of something known is.
    pub(super) fn of_member(&self, object: Meaning, name: &str) -> Option<Meaning> {
        Some(match object {
            // However a function is tied to its arguments, it is the same function.
            it if ["bind", "call", "apply"].contains(&name) => it,
            Meaning::Global(object) if object.is_empty() => global(name),
            Meaning::Global(object) if object == "import.meta" => match name {
                "url" => Meaning::OwnUrl,
                "filename" => Meaning::OwnFile,
                "dirname" => Meaning::Beside(String::new()),
                _ => return None,
            },
            Meaning::Global(object) if object == "process" && name == "getBuiltinModule" => Meaning::Require,
            Meaning::Global(object) => Meaning::Global(format!("{object}.{name}")),
            Meaning::Module { name: module, .. } if module == "process" => global(&format!("process.{name}")),
            Meaning::Module { name: module, export: None } => {
                Meaning::Module { name: module, export: Some(name.to_owned()) }
            }
            // `default` of what comes with Node holds the same names.
            Meaning::Module { name: module, export: Some(export) } if ["default", "promises"].contains(&&*export) => {
                Meaning::Module { name: module, export: Some(name.to_owned()) }
            }
            Meaning::Module { .. } | Meaning::Require | Meaning::Text(_) | Meaning::Symbol => return None,
            Meaning::Pi(members) => Meaning::Pi(joined(&members, name)),
            Meaning::Context(members) => Meaning::Context(joined(&members, name)),
            Meaning::OwnUrl if ["href", "pathname"].contains(&name) => Meaning::OwnUrl,
            Meaning::Beside(path) if ["href", "pathname"].contains(&name) => Meaning::Beside(path),
            Meaning::OwnUrl | Meaning::OwnFile | Meaning::Beside(_) => return None,
        })
    }

    pub(super) fn of_call(&self, call: &CallExpression) -> Option<Meaning> {
        let argument = |index: usize| call.arguments.get(index).and_then(Argument::as_expression);
        let first = || argument(0).and_then(|it| self.of(it));
        match self.of(&call.callee)? {
            Meaning::Require => Some(Meaning::Module { name: plain(&self.text(argument(0)?)?), export: None }),
            Meaning::Global(name) => match name.as_str() {
                "Reflect.get" => self.of_member(first()?, &self.text(argument(1)?)?),
                "Object.getOwnPropertyDescriptor" => self.of_member(first()?, &self.text(argument(1)?)?),
                "String" => first(),
                "Symbol" | "Symbol.for" => Some(Meaning::Symbol),
                _ => None,
            },
            Meaning::Module { name, export: Some(export) } => match (name.as_str(), export.as_str()) {
                ("module", "createRequire") => Some(Meaning::Require),
                ("url", "fileURLToPath") => match first()? {
                    Meaning::OwnUrl => Some(Meaning::OwnFile),
                    beside @ Meaning::Beside(_) => Some(beside),
                    _ => None,
                },
                ("path", "dirname") => match first()? {
                    Meaning::OwnFile => Some(Meaning::Beside(String::new())),
                    Meaning::Beside(path) => Some(Meaning::Beside(format!("{path}/.."))),
                    _ => None,
                },
                ("path", "join" | "resolve") => {
                    let Meaning::Beside(mut path) = first()? else { return None };
                    for part in call.arguments.iter().skip(1) {
                        path = format!("{path}/{}", self.text(part.as_expression()?)?);
                    }
                    Some(Meaning::Beside(path))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// `new URL("./x", import.meta.url)`
    pub(super) fn of_new(&self, new: &NewExpression) -> Option<Meaning> {
        let argument = |index: usize| new.arguments.get(index).and_then(Argument::as_expression);
        let is_url = match self.of(&new.callee)? {
            Meaning::Global(name) => name == "URL",
            Meaning::Module { name, export } => name == "url" && export.as_deref() == Some("URL"),
            _ => false,
        };
        let path = is_url.then(|| self.text(argument(0)?)).flatten()?;
        (self.of(argument(1)?)? == Meaning::OwnUrl).then_some(Meaning::Beside(path))
    }

    pub(super) fn of_template(&self, template: &TemplateLiteral) -> Option<Meaning> {
        if let Some(text) = self.text_of_template(template) {
            return Some(Meaning::Text(text));
        }
        // `${__dirname}/templates/x.md`
        let Meaning::Beside(path) = self.of(template.expressions.first()?)? else { return None };
        let [before, after] = template.quasis.as_slice() else { return None };
        let rest = after.value.cooked.as_ref()?;
        before.value.raw.is_empty().then(|| Meaning::Beside(format!("{path}{rest}")))
    }

    /// The text that an expression always gives.
    pub(super) fn text(&self, expression: &Expression) -> Option<String> {
        match expression.get_inner_expression() {
            Expression::StringLiteral(text) => Some(text.value.to_string()),
            Expression::TemplateLiteral(template) => self.text_of_template(template),
            Expression::BinaryExpression(sum) if sum.operator == BinaryOperator::Addition => {
                Some(self.text(&sum.left)? + &self.text(&sum.right)?)
            }
            Expression::Identifier(name) => match self.symbols.get(&self.symbol(name)?)? {
                Meaning::Text(text) => Some(text.clone()),
                _ => None,
            },
            Expression::CallExpression(call) => self.text_of_join(call),
            _ => None,
        }
    }

    /// `["ev", "al"].join("")`
    fn text_of_join(&self, call: &CallExpression) -> Option<String> {
        let member = call.callee.as_member_expression()?;
        let Expression::ArrayExpression(list) = member.object().get_inner_expression() else { return None };
        if member.static_property_name() != Some("join") {
            return None;
        }
        let between = self.text(call.arguments.first()?.as_expression()?)?;
        let parts: Option<Vec<String>> = list.elements.iter().map(|it| self.text(it.as_expression()?)).collect();
        Some(parts?.join(&between))
    }

    fn text_of_template(&self, template: &TemplateLiteral) -> Option<String> {
        let mut text = String::new();
        let mut expressions = template.expressions.iter();
        for quasi in &template.quasis {
            text.push_str(quasi.value.cooked.as_ref()?.as_str());
            if let Some(expression) = expressions.next() {
                text.push_str(&self.text(expression)?);
            }
        }
        Some(text)
    }

    /// The name that a key stands for.
    pub(super) fn key(&self, key: &PropertyKey) -> Option<String> {
        key.static_name().map(|name| name.to_string()).or_else(|| self.text(key.as_expression()?))
    }
}

fn joined(members: &str, name: &str) -> String {
    if members.is_empty() { name.to_owned() } else { format!("{members}.{name}") }
}

fn global(name: &str) -> Meaning {
    match name {
        "require" => Meaning::Require,
        // What the bundler writes in the place of it, in every bundle.
        "__pi_host" | "__pi_gone" | "__pi_shim" | "__pi_missing" => Meaning::Require,
        "__dirname" => Meaning::Beside(String::new()),
        "__filename" => Meaning::OwnFile,
        name if GLOBAL_OBJECTS.contains(&name) => Meaning::Global(String::new()),
        name => Meaning::Global(name.to_owned()),
    }
}

/// A module's name without the mark that it comes with Node.
pub(super) fn plain(specifier: &str) -> String {
    let name = specifier.strip_prefix("node:").unwrap_or(specifier);
    if name == "fs/promises" { "fs".to_owned() } else { name.to_owned() }
}

/// Whether `constructor` of it is the one that makes functions from text.
fn makes_functions(object: &Expression) -> bool {
    match object {
        Expression::FunctionExpression(_) | Expression::ArrowFunctionExpression(_) => true,
        // `[].constructor.constructor`
        Expression::StaticMemberExpression(member) => member.property.name == "constructor",
        Expression::CallExpression(call) => {
            let asks = call.callee.as_member_expression().and_then(|it| it.static_property_name());
            asks == Some("getPrototypeOf")
                && call.arguments.first().and_then(Argument::as_expression).is_some_and(makes_functions)
        }
        _ => false,
    }
}
