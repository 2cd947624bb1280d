//! Decorators that cannot become part of a bundle.
//!
//! Two kinds are written alike: the one of TypeScript's `experimentalDecorators`, which is how Pi reads them all, and the one
//! of the language's own proposal. Only the first can be written in words that the engine knows. What is certain to be of
//! the second kind is refused, because read as the first it would do something else.

use oxc::{
    ast::ast::{
        AccessorProperty, Class, Decorator, Expression, MethodDefinition, Program, PropertyDefinition, PropertyKey,
        TSTypeName, TSTypeReference,
    },
    ast_visit::{Visit, walk},
    semantic::Scoping,
    span::GetSpan as _,
};

use super::Source;
use crate::protocol::{Fault, Place};

/// How the names of the types end that only decorators of the proposal are given.
const CONTEXT: &str = "DecoratorContext";

/// The decorators of one file.
#[derive(Debug, Default)]
pub(crate) struct Decorators {
    uses: Vec<Use>,
    /// The file speaks of what decorators of the proposal are given.
    knows_contexts: bool,
}

#[derive(Debug)]
struct Use {
    /// As it is written, without what it is called with: `@logged`.
    name: String,
    place: Place,
    on: On,
}

/// What a decorator stands before.
#[derive(Debug, Clone, Copy)]
enum On {
    /// Something that both kinds can stand before.
    Either,
    ClassExpression,
    PrivateMember,
    /// Something in a file that is no TypeScript.
    JavaScript,
}

/// Everything that decorates in a file.
pub(super) fn find(program: &Program, scoping: &Scoping, source: &Source) -> Decorators {
    let is_typescript = program.source_type.is_typescript();
    let mut finder = Finder { scoping, source, is_typescript, around: On::Either, found: Decorators::default() };
    finder.visit_program(program);
    finder.found
}

impl Decorators {
    pub(crate) fn knows_contexts(&self) -> bool {
        self.knows_contexts
    }

    /// What is to be said about those that cannot be used, in an extension that has decorators of the proposal or not.
    pub(crate) fn faults(&self, has_contexts: bool) -> impl Iterator<Item = Fault> {
        self.uses.iter().filter_map(move |it| {
            let (what, hint) = match it.on {
                On::JavaScript => (
                    "decorates in JavaScript, which no engine can read yet",
                    "name the file .ts, where decorators mean what `experimentalDecorators` says, or call the function",
                ),
                On::ClassExpression => (
                    "decorates a class that is an expression, which only decorators of the standard can",
                    "declare the class by its name, and decorate that",
                ),
                On::PrivateMember => (
                    "decorates a private member, which only decorators of the standard can",
                    "decorate a member without `#`",
                ),
                On::Either if has_contexts => (
                    "is a decorator of the standard, which takes a context; only those of `experimentalDecorators` can be used",
                    "write it as (target, key, descriptor) with \"experimentalDecorators\": true in tsconfig.json, as Pi reads it too",
                ),
                On::Either => return None,
            };
            let message = format!("`{}` {what}", it.name);
            Some(Fault { message, hint: Some(hint.to_owned()), place: Some(it.place.clone()) })
        })
    }
}

struct Finder<'s> {
    scoping: &'s Scoping,
    source: &'s Source<'s>,
    is_typescript: bool,
    /// What the decorators that come next stand before.
    around: On,
    found: Decorators,
}

impl Finder<'_> {
    /// Looks at a part of a class, whose decorators stand before `on`.
    fn within(&mut self, on: On, look: impl FnOnce(&mut Self)) {
        let outside = std::mem::replace(&mut self.around, on);
        look(self);
        self.around = outside;
    }

    fn member(&mut self, key: &PropertyKey, look: impl FnOnce(&mut Self)) {
        let on = match self.around {
            On::Either if key.is_private_identifier() => On::PrivateMember,
            around => around,
        };
        self.within(on, look);
    }
}

impl<'a> Visit<'a> for Finder<'_> {
    fn visit_class(&mut self, class: &Class<'a>) {
        let on = match (self.is_typescript, class.is_expression()) {
            (false, _) => On::JavaScript,
            (true, true) => On::ClassExpression,
            (true, false) => On::Either,
        };
        self.within(on, |finder| walk::walk_class(finder, class));
    }

    fn visit_method_definition(&mut self, method: &MethodDefinition<'a>) {
        self.member(&method.key, |finder| walk::walk_method_definition(finder, method));
    }

    fn visit_property_definition(&mut self, property: &PropertyDefinition<'a>) {
        self.member(&property.key, |finder| walk::walk_property_definition(finder, property));
    }

    fn visit_accessor_property(&mut self, accessor: &AccessorProperty<'a>) {
        self.member(&accessor.key, |finder| walk::walk_accessor_property(finder, accessor));
    }

    fn visit_decorator(&mut self, decorator: &Decorator<'a>) {
        let called = match &decorator.expression {
            Expression::CallExpression(call) => call.callee.span(),
            whole => whole.span(),
        };
        let name = self.source.text.get(called.start as usize..called.end as usize).unwrap_or_default();
        let found = Use { name: format!("@{name}"), place: self.source.place(decorator.span), on: self.around };
        self.found.uses.push(found);
        walk::walk_decorator(self, decorator);
    }

    fn visit_ts_type_reference(&mut self, reference: &TSTypeReference<'a>) {
        if let TSTypeName::IdentifierReference(name) = &reference.type_name
            && name.name.ends_with(CONTEXT)
            && name.reference_id.get().is_some_and(|it| self.scoping.get_reference(it).symbol_id().is_none())
        {
            self.found.knows_contexts = true;
        }
        walk::walk_ts_type_reference(self, reference);
    }
}
