//! Second look at a file, with what its names stand for: what is to be said about it.

use std::{
    mem,
    path::{Component, Path, PathBuf},
};

use oxc::{
    ast::ast::{
        Argument, ArrowFunctionExpression, AssignmentExpression, AssignmentTarget, CallExpression,
        ComputedMemberExpression, ExportAllDeclaration, ExportFromDeclaration, Expression, Function, Hashbang,
        IdentifierReference, ImportDeclaration, ImportDeclarationSpecifier, ImportExpression, ImportMeta,
        NewExpression, ObjectProperty, RegExpLiteral, StaticMemberExpression, StringLiteral, TSType, TSTypeAnnotation,
        TSTypeParameterInstantiation, TemplateLiteral, TryStatement, UnaryExpression, UnaryOperator,
    },
    ast_visit::{Visit, walk},
    span::{GetSpan as _, Span},
    syntax::scope::ScopeFlags,
};
use rolldown_common::ImportKind;

use super::{
    As, Edit, Import, Scan, Source, capability, hook,
    meaning::{Known, Meaning},
};
use crate::{
    admission::reach,
    protocol::{Purpose, Request},
    rule::Rule,
};

/// From here on a text of nothing but letters and digits is no word of any language.
const LONGEST_WORD: usize = 1024;
const BINDINGS: [&str; 3] = ["process.binding", "process._linkedBinding", "process.dlopen"];
const PROCESS: [&str; 8] = [
    "process.abort",
    "process.chdir",
    "process.exit",
    "process.reallyExit",
    "process.setgid",
    "process.setuid",
    "process.umask",
    "process.setUncaughtExceptionCaptureCallback",
];
const FUNCTION_MAKERS: [&str; 4] = ["Function", "AsyncFunction", "GeneratorFunction", "AsyncGeneratorFunction"];
const TIMERS: [&str; 3] = ["setTimeout", "setInterval", "setImmediate"];
const REFLECTIONS: [&str; 6] = [
    "Object.assign",
    "Object.defineProperties",
    "Object.defineProperty",
    "Object.setPrototypeOf",
    "Reflect.defineProperty",
    "Reflect.set",
];

pub(super) struct Reporter<'s> {
    known: &'s Known<'s>,
    source: &'s Source<'s>,
    request: &'s Request,
    scan: Scan,
    /// Whether what is looked at stands in a `try` whose errors are caught, in the same function.
    is_tried: bool,
    /// Where imports begin whose promise somebody catches.
    caught: Vec<u32>,
}

impl<'s> Reporter<'s> {
    pub(super) fn new(known: &'s Known<'s>, source: &'s Source<'s>, request: &'s Request) -> Self {
        Self { known, source, request, scan: Scan::default(), is_tried: false, caught: Vec::new() }
    }

    pub(super) fn finish(self) -> Scan {
        self.scan
    }

    fn find(&mut self, rule: Rule, subject: &str, span: Span) {
        let found = self.source.found(rule, subject, span);
        // The same words may be looked at as a part and as a whole.
        if !self.scan.findings.contains(&found) {
            self.scan.findings.push(found);
        }
    }

    fn need(&mut self, capabilities: &'static [&'static str]) {
        self.scan.capabilities.extend(capabilities);
    }

    /// A name in an `import` or an `export`, which the file has before anything of it runs.
    fn import(&mut self, specifier: &str, span: Span) {
        self.import_as(specifier, span, As::Named);
    }

    fn import_as(&mut self, specifier: &str, span: Span, as_what: As) {
        let (specifier, place) = (specifier.to_owned(), self.source.place(span));
        self.scan.imports.push(Import { specifier, place, kind: ImportKind::Import, as_what, is_tried: false });
    }

    /// Looks at the inside of a function, which runs when it is called.
    fn within_function(&mut self, look: impl FnOnce(&mut Self)) {
        let outside = mem::replace(&mut self.is_tried, false);
        look(self);
        self.is_tried = outside;
    }

    /// Other words for a part of the source. In a component there is nothing that they could lead to.
    fn edit(&mut self, span: Span, text: String) {
        match self.request.purpose {
            Purpose::Script => self.scan.edits.push(Edit { span, text }),
            Purpose::Component => {}
        }
    }

    /// What the use of something known means.
    fn note(&mut self, meaning: &Meaning, span: Span) {
        match meaning {
            Meaning::Global(name) => {
                if name == "eval" {
                    self.find(Rule::Eval, name, span);
                } else if BINDINGS.contains(&name.as_str()) {
                    self.find(Rule::ProcessBinding, name, span);
                } else if PROCESS.contains(&name.as_str()) {
                    self.find(Rule::Process, name, span);
                }
                self.need(capability::of_global(name));
            }
            Meaning::Module { name, export } => self.need(capability::of_export(name, export.as_deref())),
            Meaning::Pi(members) => self.need(capability::of_pi(members)),
            Meaning::Context(members) => self.need(capability::of_context(members)),
            Meaning::Beside(path) => self.asset(path),
            Meaning::Require | Meaning::OwnUrl | Meaning::OwnFile | Meaning::Text(_) | Meaning::Symbol => {}
        }
    }

    fn asset(&mut self, path: &str) {
        let path = path.trim_start_matches('/');
        let Some(folder) = self.source.file.parent().filter(|_| !path.is_empty()) else { return };
        let whole = straightened(&folder.join(path));
        let reach = reach(self.request);
        if whole.starts_with(reach) && whole != reach && !self.scan.assets.contains(&whole) {
            self.scan.assets.push(whole);
        }
    }

    /// The expression that gives this file its place at run time.
    fn place(&self) -> String {
        let name = relative(&self.request.root, self.source.file);
        format!("__pi_place({})", serde_json::Value::String(name))
    }

    /// What a word for this file's place is replaced by.
    fn placed(&self, name: &IdentifierReference) -> Option<String> {
        let member = match name.name.as_str() {
            "__dirname" => "dirname",
            "__filename" => "filename",
            _ => return None,
        };
        self.known.symbol(name).is_none().then(|| format!("{}.{member}", self.place()))
    }

    fn call(&mut self, callee: &Expression, arguments: &[Argument], span: Span) {
        let argument = |index: usize| arguments.get(index).and_then(Argument::as_expression);
        let text = |index: usize| argument(index).and_then(|it| self.known.text(it));
        let meaning = self.known.of(callee);
        let first = argument(0).and_then(|it| self.known.of(it));
        match &meaning {
            Some(Meaning::Global(name)) => {
                let name = name.as_str();
                if name == "eval" && matches!(callee.get_inner_expression(), Expression::CallExpression(_)) {
                    // Names and members are noted where they are read; this one was computed.
                    self.find(Rule::Eval, name, span);
                } else if FUNCTION_MAKERS.contains(&name) {
                    self.find(Rule::Function, name, span);
                } else if TIMERS.contains(&name) && is_text(argument(0), text(0).is_some()) {
                    self.find(Rule::TimerText, name, span);
                } else if REFLECTIONS.contains(&name)
                    && let Some(Meaning::Global(target)) = &first
                    && is_foundation(target)
                {
                    self.find(Rule::Prototype, name, span);
                }
            }
            Some(Meaning::Pi(members)) if members == "tool" => {
                let needed = capability::of_tool(text(0).as_deref());
                self.scan.capabilities.insert(needed);
            }
            Some(Meaning::Require) => {
                let specifier = text(0);
                if let (Some(argument), Some(specifier)) = (argument(0), &specifier) {
                    self.write_down(argument, specifier);
                }
                // A second argument is how the bundler writes down that somebody stood by.
                let is_tried = self.is_tried || arguments.len() > 1;
                self.required(callee, specifier, span, is_tried);
            }
            Some(_) => {}
            // The interface may have gone through other files under another name.
            None => {
                let is_exec = callee.as_member_expression().and_then(|it| it.static_property_name()) == Some("exec");
                if is_exec && argument(1).is_some_and(|it| matches!(it, Expression::ArrayExpression(_))) {
                    self.need(&["exec"]);
                }
            }
        }
        if let Some(name) =
            meaning.as_ref().and_then(|it| hook::written(self.known, &self.request.hooks, it, arguments))
        {
            self.find(Rule::Hook, name, span);
        }
        for passed in arguments.iter().filter_map(Argument::as_expression) {
            if let Some(Meaning::Global(name)) = self.known.of(passed)
                && FUNCTION_MAKERS.contains(&name.as_str())
                && meaning.is_some()
            {
                self.find(Rule::Function, &name, passed.span());
            }
        }
    }

    /// The bundler follows only names that are written: one that is always the same is.
    fn write_down(&mut self, argument: &Expression, specifier: &str) {
        if !matches!(argument, Expression::StringLiteral(_)) {
            let text = serde_json::Value::String(specifier.to_owned()).to_string();
            self.edit(argument.span(), text);
        }
    }

    /// A call of `require`: the true one, which the bundler follows, or one that was made for this file.
    fn required(&mut self, callee: &Expression, specifier: Option<String>, span: Span, is_tried: bool) {
        let Some(specifier) = specifier else { return self.find(Rule::DynamicImport, "require", span) };
        let is_true =
            matches!(callee.get_inner_expression(), Expression::Identifier(name) if self.known.symbol(name).is_none());
        if is_true {
            let (place, kind) = (self.source.place(span), ImportKind::Require);
            self.scan.imports.push(Import { specifier, place, kind, as_what: As::Named, is_tried });
        } else if specifier.starts_with('.') {
            self.asset(&specifier);
        } else if !self.request.hosts.contains_key(&specifier) {
            self.find(Rule::DynamicImport, &format!("require(\"{specifier}\")"), span);
        }
    }

    fn literal(&mut self, text: &str, span: Span) {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=_-".contains(&byte);
        if text.len() >= LONGEST_WORD && text.bytes().all(is_letter) && text.bytes().any(|byte| byte.is_ascii_digit()) {
            self.find(Rule::Encoded, &format!("{} characters", text.len()), span);
        }
    }

    fn imports_values(import: &ImportDeclaration) -> bool {
        let is_value = |it: &ImportDeclarationSpecifier| match it {
            ImportDeclarationSpecifier::ImportSpecifier(it) => it.import_kind.is_value(),
            ImportDeclarationSpecifier::ImportDefaultSpecifier(_)
            | ImportDeclarationSpecifier::ImportNamespaceSpecifier(_) => true,
        };
        import.import_kind.is_value()
            && import.specifiers.as_ref().is_none_or(|them| them.is_empty() || them.iter().any(is_value))
    }
}

fn is_text(expression: Option<&Expression>, is_constant: bool) -> bool {
    is_constant
        || expression.is_some_and(|it| {
            matches!(it.get_inner_expression(), Expression::TemplateLiteral(_) | Expression::StringLiteral(_))
        })
}

/// Where an import begins whose failure this call would hear of: `import("x").then(use).catch(note)`.
fn caught_import(call: &CallExpression) -> Option<u32> {
    let member = call.callee.as_member_expression()?;
    let hears = match member.static_property_name()? {
        "catch" => !call.arguments.is_empty(),
        "then" => call.arguments.len() > 1,
        _ => false,
    };
    let mut object = hears.then(|| member.object().get_inner_expression())?;
    loop {
        object = match object {
            Expression::ImportExpression(import) => return Some(import.span.start),
            Expression::CallExpression(call) => call.callee.as_member_expression()?.object().get_inner_expression(),
            _ => return None,
        };
    }
}

/// Something of the language that everything else is built on.
fn is_foundation(global: &str) -> bool {
    global.ends_with(".prototype") || ["Object", "Function", "Array", "Promise", "Proxy", "Reflect"].contains(&global)
}

/// The path without `.` and `..`.
fn straightened(path: &Path) -> PathBuf {
    let mut straight = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                straight.pop();
            }
            part => straight.push(part),
        }
    }
    straight
}

/// From a folder to a file, with `/`.
fn relative(folder: &Path, file: &Path) -> String {
    let shared = folder.components().zip(file.components()).take_while(|(a, b)| a == b).count();
    let up = folder.components().skip(shared).map(|_| "..".to_owned());
    let down = file.components().skip(shared).map(|part| part.as_os_str().to_string_lossy().into_owned());
    up.chain(down).collect::<Vec<_>>().join("/")
}

impl<'a> Visit<'a> for Reporter<'_> {
    fn visit_import_declaration(&mut self, import: &ImportDeclaration<'a>) {
        if Self::imports_values(import) {
            let is_text = import.with_clause.iter().flat_map(|it| &it.with_entries).any(|it| it.value.value == "text");
            let as_what = if is_text { As::Text } else { As::Named };
            self.import_as(import.source.value.as_str(), import.source.span, as_what);
        }
    }

    fn visit_export_from_declaration(&mut self, export: &ExportFromDeclaration<'a>) {
        if export.export_kind.is_value() {
            let name = super::meaning::plain(export.source.value.as_str());
            for specifier in &export.specifiers {
                self.need(capability::of_export(&name, Some(specifier.local.name().as_str())));
            }
            self.import(export.source.value.as_str(), export.source.span);
        }
    }

    fn visit_export_all_declaration(&mut self, export: &ExportAllDeclaration<'a>) {
        if export.export_kind.is_value() {
            let name = super::meaning::plain(export.source.value.as_str());
            self.need(capability::of_export(&name, None));
            self.import(export.source.value.as_str(), export.source.span);
        }
    }

    fn visit_import_expression(&mut self, import: &ImportExpression<'a>) {
        match self.known.text(&import.source) {
            Some(specifier) => {
                let options = import.options.as_ref().map(|it| it.span());
                let written = options.and_then(|it| self.source.text.get(it.start as usize..it.end as usize));
                let is_text = written.is_some_and(|it| it.contains("\"text\"") || it.contains("'text'"));
                let as_what = if is_text { As::Text } else { As::Named };
                let is_tried = self.is_tried || self.caught.contains(&import.span.start);
                let (place, kind) = (self.source.place(import.source.span()), ImportKind::DynamicImport);
                self.scan.imports.push(Import { specifier: specifier.clone(), place, kind, as_what, is_tried });
                self.write_down(&import.source, &specifier);
                let name = super::meaning::plain(&specifier);
                // Which of its exports are used is told by the members that are read.
                if capability::of_export(&name, None) == ["exec"] || capability::of_export(&name, None) == ["http"] {
                    self.need(capability::of_export(&name, None));
                }
            }
            None => self.find(Rule::DynamicImport, "import()", import.span),
        }
        walk::walk_import_expression(self, import);
    }

    fn visit_identifier_reference(&mut self, name: &IdentifierReference<'a>) {
        if let Some(text) = self.placed(name) {
            self.edit(name.span, text);
        } else if let Some(meaning) = self.known.of_name(name) {
            self.note(&meaning, name.span);
            if name.name == "eval" && self.known.symbol(name).is_none() {
                // The compressor loses count of calls of `eval` when it inlines an alias.
                self.edit(name.span, "globalThis.eval".to_owned());
            }
        }
    }

    fn visit_object_property(&mut self, property: &ObjectProperty<'a>) {
        if property.shorthand
            && let Expression::Identifier(name) = &property.value
            && let Some(text) = self.placed(name)
        {
            self.edit(property.span, format!("{}:{text}", name.name));
            return;
        }
        if property.shorthand
            && let Expression::Identifier(name) = &property.value
            && name.name == "eval"
            && self.known.symbol(name).is_none()
        {
            self.note(&Meaning::Global("eval".to_owned()), name.span);
            self.edit(property.span, "eval:globalThis.eval".to_owned());
            return;
        }
        walk::walk_object_property(self, property);
    }

    fn visit_hashbang(&mut self, hashbang: &Hashbang<'a>) {
        // Only the first line of a bundle could be one.
        self.scan.edits.push(Edit { span: hashbang.span, text: String::new() });
    }

    fn visit_try_statement(&mut self, attempt: &TryStatement<'a>) {
        let outside = self.is_tried;
        self.is_tried |= attempt.handler.is_some();
        self.visit_block_statement(&attempt.block);
        self.is_tried = outside;
        if let Some(handler) = &attempt.handler {
            self.visit_catch_clause(handler);
        }
        if let Some(finalizer) = &attempt.finalizer {
            self.visit_block_statement(finalizer);
        }
    }

    fn visit_function(&mut self, function: &Function<'a>, flags: ScopeFlags) {
        self.within_function(|reporter| walk::walk_function(reporter, function, flags));
    }

    fn visit_arrow_function_expression(&mut self, arrow: &ArrowFunctionExpression<'a>) {
        self.within_function(|reporter| walk::walk_arrow_function_expression(reporter, arrow));
    }

    fn visit_import_meta(&mut self, meta: &ImportMeta) {
        self.edit(meta.span, self.place());
    }

    fn visit_static_member_expression(&mut self, member: &StaticMemberExpression<'a>) {
        let name = member.property.name.as_str();
        match self.known.of(&member.object) {
            Some(object) => {
                if let Some(meaning) = self.known.of_member(object, name) {
                    self.note(&meaning, member.span);
                }
                // A name that is known was judged together with its member.
                match member.object.get_inner_expression() {
                    Expression::Identifier(name) => {
                        if let Some(text) = self.placed(name) {
                            self.edit(name.span, text);
                        }
                    }
                    _ => walk::walk_static_member_expression(self, member),
                }
            }
            None => {
                if ["sessionManager", "modelRegistry", "ui"].contains(&name) {
                    self.need(capability::of_context(name));
                } else if ["getApiKey", "getApiKeyAndHeaders", "getApiKeyForProvider"].contains(&name) {
                    self.need(&["credentials"]);
                }
                walk::walk_static_member_expression(self, member);
            }
        }
    }

    fn visit_computed_member_expression(&mut self, member: &ComputedMemberExpression<'a>) {
        let object = self.known.of(&member.object);
        match (object, self.known.text(&member.expression)) {
            (Some(object), Some(name)) => {
                if let Some(meaning) = self.known.of_member(object, &name) {
                    self.note(&meaning, member.span);
                }
            }
            (Some(_), None) if self.known.of(&member.expression) == Some(Meaning::Symbol) => {}
            (Some(Meaning::Global(object)), None) if object.is_empty() || object == "process" => {
                let subject = if object.is_empty() { "globalThis" } else { "process" };
                self.find(Rule::ComputedGlobal, subject, member.span);
            }
            (Some(object), None) => self.note(&object, member.span),
            (None, _) => self.visit_expression(&member.object),
        }
        self.visit_expression(&member.expression);
    }

    fn visit_unary_expression(&mut self, unary: &UnaryExpression<'a>) {
        // Asking whether something is there is no use of it.
        let is_question = unary.operator == UnaryOperator::Typeof
            && matches!(&unary.argument, Expression::Identifier(name) if self.placed(name).is_none());
        if !is_question {
            walk::walk_unary_expression(self, unary);
        }
    }

    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        self.call(&call.callee, &call.arguments, call.span);
        self.caught.extend(caught_import(call));
        // Called by its name it sees what is around it, and must keep it.
        if let Expression::Identifier(name) = &call.callee
            && name.name == "eval"
            && self.known.symbol(name).is_none()
        {
            self.find(Rule::Eval, "eval", name.span);
            return self.visit_arguments(&call.arguments);
        }
        if let Some(Meaning::Beside(path)) = self.known.of_call(call) {
            self.asset(&path);
        }
        walk::walk_call_expression(self, call);
    }

    fn visit_new_expression(&mut self, new: &NewExpression<'a>) {
        self.call(&new.callee, &new.arguments, new.span);
        if let Some(Meaning::Beside(path)) = self.known.of_new(new) {
            self.asset(&path);
        }
        walk::walk_new_expression(self, new);
    }

    fn visit_template_literal(&mut self, template: &TemplateLiteral<'a>) {
        if let Some(Meaning::Beside(path)) = self.known.of_template(template) {
            self.asset(&path);
        }
        for quasi in &template.quasis {
            self.literal(quasi.value.raw.as_str(), quasi.span);
        }
        walk::walk_template_literal(self, template);
    }

    fn visit_string_literal(&mut self, literal: &StringLiteral<'a>) {
        self.literal(literal.value.as_str(), literal.span);
    }

    fn visit_reg_exp_literal(&mut self, literal: &RegExpLiteral<'a>) {
        if literal.regex.pattern.pattern.is_none() {
            self.scan.broken_patterns.push(self.source.place(literal.span));
        }
    }

    fn visit_assignment_expression(&mut self, assignment: &AssignmentExpression<'a>) {
        if let AssignmentTarget::StaticMemberExpression(target) = &assignment.left {
            let of_foundation = matches!(self.known.of(&target.object), Some(Meaning::Global(object)) if object.ends_with(".prototype"));
            if of_foundation || target.property.name == "__proto__" {
                self.find(Rule::Prototype, target.property.name.as_str(), target.span);
            }
        }
        walk::walk_assignment_expression(self, assignment);
    }

    // Types are gone before anything runs.
    fn visit_ts_type(&mut self, _: &TSType<'a>) {}
    fn visit_ts_type_annotation(&mut self, _: &TSTypeAnnotation<'a>) {}
    fn visit_ts_type_parameter_instantiation(&mut self, _: &TSTypeParameterInstantiation<'a>) {}
}
