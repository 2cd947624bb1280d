//! What a call writes, as far as its path is written down: whether another program would run it by itself.

use oxc::{
    ast::ast::{Argument, Expression, IdentifierReference, StringLiteral, TemplateElement},
    ast_visit::Visit,
};

use super::{
    capability,
    meaning::{Known, Meaning},
};

/// Functions of Node that write to their second path.
const TO_ANOTHER: [&str; 5] = ["copyFile", "cp", "link", "rename", "symlink"];

/// The name of such a file in the path that a call writes to; nothing for a call that writes nothing.
pub(super) fn written<'h>(
    known: &Known,
    hooks: &'h [String],
    callee: &Meaning,
    arguments: &[Argument],
) -> Option<&'h str> {
    let argument = |index: usize| arguments.get(index).and_then(Argument::as_expression);
    let paths = match callee {
        Meaning::Module { name, export: Some(export) } if name == "fs" => {
            let needed = capability::of_export(name, Some(export));
            let other = TO_ANOTHER.contains(&export.strip_suffix("Sync").unwrap_or(export));
            [argument(0).filter(|_| needed == ["write"]), argument(1).filter(|_| other)]
        }
        Meaning::Pi(members) if members == "tool" => {
            let name = argument(0).and_then(|it| known.text(it));
            let writes = capability::of_tool(name.as_deref()) == "write";
            [argument(1).filter(|_| writes).and_then(path_in), None]
        }
        Meaning::Pi(members) => {
            let writes = capability::of_pi(members) == ["write"];
            [argument(0).filter(|_| writes), argument(1).filter(|_| members == "fs.rename")]
        }
        Meaning::Global(_)
        | Meaning::Module { .. }
        | Meaning::Context(_)
        | Meaning::Require
        | Meaning::OwnUrl
        | Meaning::OwnFile
        | Meaning::Beside(_)
        | Meaning::Text(_)
        | Meaning::Symbol => [None, None],
    };
    let mut words = Words { known, texts: Vec::new() };
    for path in paths.into_iter().flatten() {
        words.visit_expression(path);
    }
    let names = words.texts.iter().flat_map(|text| text.split(['/', '\\']));
    names.filter_map(|name| hooks.iter().find(|hook| *hook == name)).map(String::as_str).next()
}

/// The member `path` of an object that is written down.
fn path_in<'e, 'a>(input: &'e Expression<'a>) -> Option<&'e Expression<'a>> {
    let Expression::ObjectExpression(object) = input.get_inner_expression() else { return None };
    let members = object.properties.iter().filter_map(|it| it.as_property());
    members.into_iter().find(|it| it.key.static_name().is_some_and(|name| name == "path")).map(|it| &it.value)
}

/// The texts of an expression, in their own place or by a name.
struct Words<'k> {
    known: &'k Known<'k>,
    texts: Vec<String>,
}

impl<'a> Visit<'a> for Words<'_> {
    fn visit_string_literal(&mut self, literal: &StringLiteral<'a>) {
        self.texts.push(literal.value.to_string());
    }

    fn visit_template_element(&mut self, element: &TemplateElement<'a>) {
        self.texts.push(element.value.raw.to_string());
    }

    fn visit_identifier_reference(&mut self, name: &IdentifierReference<'a>) {
        if let Some(Meaning::Text(text)) = self.known.of_name(name) {
            self.texts.push(text);
        }
    }
}
