//! First look at a file: which of its names stand for what.

use std::collections::HashMap;

use oxc::{
    ast::ast::{
        Argument, ArrowFunctionExpression, AssignmentExpression, AssignmentTarget, BindingPattern, CallExpression,
        ExportDefaultDeclaration, ExportDefaultDeclarationKind, ExportNamedDeclaration, Expression, FormalParameter,
        FormalParameters, Function, IdentifierReference, ImportDeclaration, ImportDeclarationSpecifier,
        ModuleExportName, TSType, TSTypeAnnotation, TSTypeName, VariableDeclarator,
    },
    ast_visit::{Visit, walk},
    semantic::{Scoping, SymbolId},
    syntax::scope::ScopeFlags,
};

use super::meaning::{Known, Meaning, plain};

pub(super) struct Learner<'s> {
    known: Known<'s>,
    /// The parameters of functions that have a name.
    functions: HashMap<SymbolId, Vec<Option<SymbolId>>>,
    /// The name that is exported as default, if it is one.
    factory: Option<SymbolId>,
}

impl<'s> Learner<'s> {
    pub(super) fn new(scoping: &'s Scoping) -> Self {
        Self { known: Known { scoping, symbols: HashMap::new() }, functions: HashMap::new(), factory: None }
    }

    pub(super) fn into_known(self) -> Known<'s> {
        self.known
    }

    fn learn(&mut self, symbol: SymbolId, meaning: Meaning) {
        self.known.symbols.entry(symbol).or_insert(meaning);
    }

    /// Spreads what is known about a value over the names that it is taken apart into.
    fn bind(&mut self, pattern: &BindingPattern, meaning: &Meaning) {
        match pattern {
            BindingPattern::BindingIdentifier(name) => {
                if let Some(symbol) = name.symbol_id.get() {
                    self.learn(symbol, meaning.clone());
                }
            }
            BindingPattern::ObjectPattern(object) => {
                for property in &object.properties {
                    let member =
                        self.known.key(&property.key).and_then(|name| self.known.of_member(meaning.clone(), &name));
                    if let Some(member) = member {
                        self.bind(&property.value, &member);
                    }
                }
            }
            BindingPattern::AssignmentPattern(defaulted) => self.bind(&defaulted.left, meaning),
            BindingPattern::ArrayPattern(_) => {}
        }
    }

    fn parameters(parameters: &FormalParameters) -> Vec<Option<SymbolId>> {
        let symbol = |parameter: &FormalParameter| match &parameter.pattern {
            BindingPattern::BindingIdentifier(name) => name.symbol_id.get(),
            _ => None,
        };
        parameters.items.iter().map(symbol).collect()
    }

    /// The first thing that a factory is given is the host's interface.
    fn give_pi(&mut self, parameters: &FormalParameters) {
        if let Some(first) = parameters.items.first() {
            self.bind(&first.pattern, &Meaning::Pi(String::new()));
        }
    }

    /// The function of this name is the factory.
    fn name_factory(&mut self, name: &IdentifierReference) {
        self.factory = self.known.symbol(name);
        if let Some(parameters) = self.factory.and_then(|it| self.functions.get(&it)).cloned()
            && let Some(Some(first)) = parameters.first()
        {
            self.learn(*first, Meaning::Pi(String::new()));
        }
    }

    fn name_function(&mut self, symbol: Option<SymbolId>, parameters: &FormalParameters) {
        let Some(symbol) = symbol else { return };
        self.functions.insert(symbol, Self::parameters(parameters));
        if self.factory == Some(symbol) {
            self.give_pi(parameters);
        }
    }
}

fn parameters_of<'e, 'a>(expression: &'e Expression<'a>) -> Option<&'e FormalParameters<'a>> {
    match expression.get_inner_expression() {
        Expression::FunctionExpression(function) => Some(&function.params),
        Expression::ArrowFunctionExpression(arrow) => Some(&arrow.params),
        _ => None,
    }
}

/// What the type of a parameter promises.
fn promised(annotation: &TSTypeAnnotation) -> Option<Meaning> {
    let TSType::TSTypeReference(reference) = &annotation.type_annotation else { return None };
    let name = match &reference.type_name {
        TSTypeName::IdentifierReference(name) => name.name.as_str(),
        TSTypeName::QualifiedName(name) => name.right.name.as_str(),
        TSTypeName::ThisExpression(_) => return None,
    };
    match name {
        "ExtensionAPI" | "HookAPI" => Some(Meaning::Pi(String::new())),
        "ExtensionContext" | "ExtensionCommandContext" | "HookContext" => Some(Meaning::Context(String::new())),
        _ => None,
    }
}

impl<'a> Visit<'a> for Learner<'_> {
    fn visit_import_declaration(&mut self, import: &ImportDeclaration<'a>) {
        let name = plain(import.source.value.as_str());
        for specifier in import.specifiers.iter().flatten() {
            let (local, export) = match specifier {
                ImportDeclarationSpecifier::ImportSpecifier(it) => (&it.local, Some(it.imported.name().to_string())),
                ImportDeclarationSpecifier::ImportDefaultSpecifier(it) => (&it.local, Some("default".to_owned())),
                ImportDeclarationSpecifier::ImportNamespaceSpecifier(it) => (&it.local, None),
            };
            let meaning = match (name.as_str(), &export) {
                ("process", Some(export)) if export != "default" => Meaning::Global(format!("process.{export}")),
                ("process", _) => Meaning::Global("process".to_owned()),
                _ => Meaning::Module { name: name.clone(), export },
            };
            if let Some(symbol) = local.symbol_id.get() {
                self.learn(symbol, meaning);
            }
        }
    }

    fn visit_variable_declarator(&mut self, declarator: &VariableDeclarator<'a>) {
        if let Some(init) = &declarator.init {
            if let Some(meaning) = self.known.of(init) {
                self.bind(&declarator.id, &meaning);
            }
            if let (BindingPattern::BindingIdentifier(name), Some(parameters)) = (&declarator.id, parameters_of(init)) {
                self.name_function(name.symbol_id.get(), parameters);
            }
        }
        walk::walk_variable_declarator(self, declarator);
    }

    fn visit_assignment_expression(&mut self, assignment: &AssignmentExpression<'a>) {
        if let AssignmentTarget::AssignmentTargetIdentifier(name) = &assignment.left
            && let Some(symbol) = self.known.symbol(name)
            && let Some(meaning) = self.known.of(&assignment.right)
            // A text that changes is no text that is known.
            && !matches!(meaning, Meaning::Text(_))
        {
            self.learn(symbol, meaning);
        }
        walk::walk_assignment_expression(self, assignment);
    }

    fn visit_function(&mut self, function: &Function<'a>, flags: ScopeFlags) {
        self.name_function(function.id.as_ref().and_then(|name| name.symbol_id.get()), &function.params);
        walk::walk_function(self, function, flags);
    }

    fn visit_arrow_function_expression(&mut self, arrow: &ArrowFunctionExpression<'a>) {
        walk::walk_arrow_function_expression(self, arrow);
    }

    fn visit_formal_parameter(&mut self, parameter: &FormalParameter<'a>) {
        if let Some(meaning) = parameter.type_annotation.as_ref().and_then(|it| promised(it)) {
            self.bind(&parameter.pattern, &meaning);
        }
        walk::walk_formal_parameter(self, parameter);
    }

    fn visit_export_default_declaration(&mut self, export: &ExportDefaultDeclaration<'a>) {
        match &export.declaration {
            ExportDefaultDeclarationKind::FunctionDeclaration(function) => self.give_pi(&function.params),
            ExportDefaultDeclarationKind::Identifier(name) => self.name_factory(name),
            other => {
                if let Some(parameters) = other.as_expression().and_then(parameters_of) {
                    self.give_pi(parameters);
                }
            }
        }
        walk::walk_export_default_declaration(self, export);
    }

    /// `export { x as default }`, as every bundle says it.
    fn visit_export_named_declaration(&mut self, export: &ExportNamedDeclaration<'a>) {
        for specifier in export.specifiers.iter().filter(|it| it.exported.name() == "default") {
            if let ModuleExportName::IdentifierReference(name) = &specifier.local {
                self.name_factory(name);
            }
        }
        walk::walk_export_named_declaration(self, export);
    }

    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        if let Expression::Identifier(name) = call.callee.get_inner_expression()
            && let Some(parameters) = self.known.symbol(name).and_then(|it| self.functions.get(&it)).cloned()
        {
            for (parameter, argument) in parameters.iter().zip(&call.arguments) {
                let meaning = Argument::as_expression(argument).and_then(|it| self.known.of(it));
                // Other callers may pass other texts.
                if let (Some(symbol), Some(meaning)) = (parameter, meaning)
                    && !matches!(meaning, Meaning::Text(_))
                {
                    self.learn(*symbol, meaning);
                }
            }
        }
        walk::walk_call_expression(self, call);
    }
}
