//! Names that a file takes from around it, and that nobody there has.

use std::collections::{BTreeSet, HashSet};

use oxc::{
    ast::ast::{
        Argument, AssignmentExpression, AssignmentTarget, BinaryExpression, BinaryOperator, CallExpression, Class,
        ComputedMemberExpression, Expression, IdentifierReference, NewExpression, Program, StaticMemberExpression,
        TSClassImplements, TSExternalModuleDeclaration, TSGlobalDeclaration, TSInterfaceDeclaration,
        TSNamespaceDeclaration, TSType, TSTypeAliasDeclaration, TSTypeAnnotation, TSTypeParameterDeclaration,
        TSTypeParameterInstantiation, UnaryExpression, UnaryOperator,
    },
    ast_visit::{Visit, walk},
    semantic::{Scoping, SymbolFlags},
    span::{GetSpan as _, Span},
};

use super::Source;
use crate::{
    globals::{GLOBALS, HOLLOW},
    protocol::Found,
    rule::Rule,
};

/// What the bundler answers in every module, beside the global object.
const OF_MODULES: [&str; 6] = ["__dirname", "__filename", "arguments", "exports", "module", "require"];
/// How the names begin that the bundler writes itself.
const OWN: &str = "__pi_";
/// The names under which the global object is there.
const GLOBAL_OBJECTS: [&str; 2] = ["globalThis", "global"];
/// Calls that put names into an object, which is their first argument.
const DEFINITIONS: [&str; 4] = ["Object.defineProperty", "Reflect.defineProperty", "Reflect.set", "Object.assign"];

/// What a file wants of the global object beyond what is in it.
#[derive(Debug, Default)]
pub(crate) struct Wants {
    /// Uses of names that are not there. Whoever asked before whether a name is there knows that it may not be.
    absent: Vec<Found>,
    /// Names that the file puts there itself.
    defined: BTreeSet<String>,
}

impl Wants {
    /// What is missing, if the global object also has these names.
    pub(crate) fn missing<'w>(&'w self, defined: &'w BTreeSet<String>) -> impl Iterator<Item = &'w Found> {
        self.absent.iter().filter(|found| !defined.contains(&found.subject))
    }

    pub(crate) fn defined(&self) -> &BTreeSet<String> {
        &self.defined
    }
}

/// Looks at a whole file.
pub(super) fn find(program: &Program, scoping: &Scoping, source: &Source) -> Wants {
    let mut seeker = Seeker { scoping, uses: Vec::new(), asked: HashSet::new(), defined: BTreeSet::new() };
    seeker.visit_program(program);
    let Seeker { uses, asked, defined, .. } = seeker;
    let is_absent = |name: &str| !is_there(name) && !asked.contains(name);
    let absent = uses.into_iter().filter(|(name, _)| is_absent(name));
    Wants { absent: absent.map(|(name, span)| source.found(Rule::AbsentGlobal, &name, span)).collect(), defined }
}

fn is_there(name: &str) -> bool {
    (GLOBALS.contains(&name) && !HOLLOW.contains(&name)) || OF_MODULES.contains(&name) || name.starts_with(OWN)
}

struct Seeker<'s> {
    scoping: &'s Scoping,
    uses: Vec<(String, Span)>,
    asked: HashSet<String>,
    defined: BTreeSet<String>,
}

impl Seeker<'_> {
    /// Whether nothing in the file is meant by a name. What is only declared is somewhere else.
    fn is_free(&self, name: &IdentifierReference) -> bool {
        let symbol = name.reference_id.get().and_then(|it| self.scoping.get_reference(it).symbol_id());
        symbol.is_none_or(|it| self.scoping.symbol_flags(it).contains(SymbolFlags::Ambient))
    }

    fn is_global_object(&self, expression: &Expression) -> bool {
        matches!(expression.get_inner_expression(), Expression::Identifier(name)
            if GLOBAL_OBJECTS.contains(&name.name.as_str()) && self.is_free(name))
    }

    /// The name that an expression reads from the global object: `globalThis.x`.
    fn global<'e>(&self, expression: &'e Expression) -> Option<&'e str> {
        let member = expression.get_inner_expression().as_member_expression()?;
        self.is_global_object(member.object()).then(|| member.static_property_name()).flatten()
    }

    fn ask(&mut self, name: &str) {
        self.asked.insert(name.to_owned());
    }

    fn find(&mut self, name: &str, span: Span) {
        self.uses.push((name.to_owned(), span));
    }

    /// Something is called, constructed, or something of it is read; with `?.` that asks whether it is there. Says whether it
    /// comes from the global object.
    fn used(&mut self, expression: &Expression, is_optional: bool) -> bool {
        let Some(name) = self.global(expression).map(str::to_owned) else { return false };
        match is_optional {
            true => self.ask(&name),
            false => self.find(&name, expression.span()),
        }
        true
    }

    /// `Object.defineProperty(globalThis, "x", …)` and its kin.
    fn definition(&mut self, call: &CallExpression) {
        let Some(callee) = call.callee.get_inner_expression().as_member_expression() else { return };
        let (Expression::Identifier(object), Some(function)) = (callee.object(), callee.static_property_name()) else {
            return;
        };
        let mut arguments = call.arguments.iter().filter_map(Argument::as_expression);
        let is_ours = DEFINITIONS.contains(&format!("{}.{function}", object.name).as_str());
        if !is_ours || !arguments.next().is_some_and(|target| self.is_global_object(target)) {
            return;
        }
        match arguments.next().map(Expression::get_inner_expression) {
            Some(Expression::StringLiteral(name)) => drop(self.defined.insert(name.value.to_string())),
            Some(Expression::ObjectExpression(members)) => {
                let keys = members.properties.iter().filter_map(|it| it.as_property()).map(|it| it.key.static_name());
                self.defined.extend(keys.flatten().map(|name| name.to_string()));
            }
            Some(_) | None => {}
        }
    }
}

impl<'a> Visit<'a> for Seeker<'_> {
    fn visit_identifier_reference(&mut self, name: &IdentifierReference<'a>) {
        let Some(id) = name.reference_id.get().filter(|_| self.is_free(name)) else { return };
        let flags = self.scoping.get_reference(id).flags();
        if flags.is_write() {
            self.defined.insert(name.name.to_string());
        } else if flags.is_value() {
            self.find(name.name.as_str(), name.span);
        }
    }

    fn visit_unary_expression(&mut self, unary: &UnaryExpression<'a>) {
        match (unary.operator, unary.argument.get_inner_expression()) {
            (UnaryOperator::Typeof, Expression::Identifier(name)) => self.ask(name.name.as_str()),
            _ => walk::walk_unary_expression(self, unary),
        }
    }

    fn visit_binary_expression(&mut self, binary: &BinaryExpression<'a>) {
        if binary.operator == BinaryOperator::In
            && let Expression::StringLiteral(name) = binary.left.get_inner_expression()
            && self.is_global_object(&binary.right)
        {
            self.ask(name.value.as_str());
        }
        walk::walk_binary_expression(self, binary);
    }

    fn visit_static_member_expression(&mut self, member: &StaticMemberExpression<'a>) {
        if self.is_global_object(&member.object) {
            // It is read, and what comes of it may be nothing.
            self.ask(member.property.name.as_str());
        } else if !self.used(&member.object, member.optional) {
            walk::walk_static_member_expression(self, member);
        }
    }

    fn visit_computed_member_expression(&mut self, member: &ComputedMemberExpression<'a>) {
        if self.is_global_object(&member.object) {
            if let Some(name) = member.static_property_name() {
                self.ask(name.as_str());
            }
        } else if !self.used(&member.object, member.optional) {
            self.visit_expression(&member.object);
        }
        self.visit_expression(&member.expression);
    }

    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        self.definition(call);
        if !self.used(&call.callee, call.optional) {
            self.visit_expression(&call.callee);
        }
        self.visit_arguments(&call.arguments);
    }

    fn visit_new_expression(&mut self, new: &NewExpression<'a>) {
        if !self.used(&new.callee, false) {
            self.visit_expression(&new.callee);
        }
        self.visit_arguments(&new.arguments);
    }

    fn visit_assignment_expression(&mut self, assignment: &AssignmentExpression<'a>) {
        let target = match &assignment.left {
            AssignmentTarget::StaticMemberExpression(target) if self.is_global_object(&target.object) => {
                Some(target.property.name.to_string())
            }
            AssignmentTarget::ComputedMemberExpression(target) if self.is_global_object(&target.object) => {
                target.static_property_name().map(|name| name.to_string())
            }
            _ => None,
        };
        match target {
            Some(name) => {
                self.defined.insert(name);
                self.visit_expression(&assignment.right);
            }
            None => walk::walk_assignment_expression(self, assignment),
        }
    }

    fn visit_class(&mut self, class: &Class<'a>) {
        if !class.declare {
            walk::walk_class(self, class);
        }
    }

    // Types are gone before anything runs.
    fn visit_ts_type(&mut self, _: &TSType<'a>) {}
    fn visit_ts_type_annotation(&mut self, _: &TSTypeAnnotation<'a>) {}
    fn visit_ts_type_parameter_instantiation(&mut self, _: &TSTypeParameterInstantiation<'a>) {}
    fn visit_ts_type_parameter_declaration(&mut self, _: &TSTypeParameterDeclaration<'a>) {}
    fn visit_ts_class_implements(&mut self, _: &TSClassImplements<'a>) {}
    fn visit_ts_interface_declaration(&mut self, _: &TSInterfaceDeclaration<'a>) {}
    fn visit_ts_type_alias_declaration(&mut self, _: &TSTypeAliasDeclaration<'a>) {}
    fn visit_ts_global_declaration(&mut self, _: &TSGlobalDeclaration<'a>) {}
    fn visit_ts_external_module_declaration(&mut self, _: &TSExternalModuleDeclaration<'a>) {}
    fn visit_ts_namespace_declaration(&mut self, namespace: &TSNamespaceDeclaration<'a>) {
        if !namespace.declare {
            walk::walk_ts_namespace_declaration(self, namespace);
        }
    }
}
