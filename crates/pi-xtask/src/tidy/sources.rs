//! The sources as the rules see them: docs, the paths they name, and the length of files and functions without tests.

use std::path::Path;

use anyhow::{Context, Result};
use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, Expr, ImplItemFn, Item, ItemFn, Lit, Meta, Signature, TraitItemFn, UseTree};

use crate::console::{self, Tone, paint};
use crate::metadata::{Metadata, Package};
use crate::{cargo, files};

const LISTED: usize = 10;
const FOLDERS: &[&str] = &["src", "tests", "benches", "examples"];

/// One file of Rust.
#[derive(Debug)]
pub(crate) struct Source {
    pub package: String,
    /// Its path from the root of the checkout.
    pub name: String,
    /// Whether it is compiled into the product: in `src`, and not a file of tests.
    pub in_product: bool,
    /// Lines of its own doc that say something.
    pub doc_lines: usize,
    /// Its length without tests.
    pub lines: usize,
    pub functions: Vec<Function>,
    /// Every path that it names outside tests, imports spelled out.
    pub paths: Vec<String>,
}

/// A function with a body.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Function {
    pub name: String,
    pub line: usize,
    pub lines: usize,
}

/// Reads every source of every crate of the workspace.
pub(crate) fn load(metadata: &Metadata) -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    for package in metadata.members() {
        for path in rust_files(package)? {
            let name = path.strip_prefix(cargo::root()).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            sources.push(Source::parse(&package.name, &name, &files::read(&path)?)?);
        }
    }
    Ok(sources)
}

fn rust_files(package: &Package) -> Result<Vec<std::path::PathBuf>> {
    let folder = package.manifest_path.parent().unwrap_or(Path::new("."));
    let mut found = Vec::new();
    for part in FOLDERS {
        let all = files::below(&folder.join(part))?;
        found.extend(all.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs")));
    }
    Ok(found)
}

impl Source {
    pub(crate) fn parse(package: &str, name: &str, text: &str) -> Result<Self> {
        let file = syn::parse_file(text).with_context(|| format!("{name} is not Rust"))?;
        let mut reader = Reader::default();
        reader.visit_file(&file);
        Ok(Self {
            package: package.to_owned(),
            name: name.to_owned(),
            in_product: is_product(name),
            doc_lines: file.attrs.iter().map(doc_lines).sum(),
            lines: text.lines().count() - reader.test_lines,
            functions: reader.functions,
            paths: reader.paths,
        })
    }
}

fn is_product(name: &str) -> bool {
    let parts: Vec<&str> = name.trim_end_matches(".rs").split('/').collect();
    parts.contains(&"src") && !parts.contains(&"tests")
}

fn doc_lines(attribute: &Attribute) -> usize {
    let Meta::NameValue(pair) = &attribute.meta else { return 0 };
    if !attribute.path().is_ident("doc") {
        return 0;
    }
    match &pair.value {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => text.value().lines().filter(|line| !line.trim().is_empty()).count(),
            _ => 0,
        },
        // The doc is a file that is included; nobody includes an empty one.
        _ => 100,
    }
}

/// Walks a file and leaves out its tests.
#[derive(Default)]
struct Reader {
    test_lines: usize,
    functions: Vec<Function>,
    paths: Vec<String>,
}

impl Reader {
    fn function(&mut self, signature: &Signature, block: &Block) {
        let line = signature.span().start().line;
        self.functions.push(Function {
            name: signature.ident.to_string(),
            line,
            lines: block.span().end().line + 1 - line,
        });
    }

    fn import(&mut self, before: &str, tree: &UseTree) {
        let longer = |name: &dyn ToString| {
            if before.is_empty() { name.to_string() } else { format!("{before}::{}", name.to_string()) }
        };
        match tree {
            UseTree::Path(path) => self.import(&longer(&path.ident), &path.tree),
            UseTree::Name(name) => self.paths.push(longer(&name.ident)),
            UseTree::Rename(name) => self.paths.push(longer(&name.ident)),
            UseTree::Glob(_) => self.paths.push(before.to_owned()),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.import(before, tree)),
        }
    }
}

impl Visit<'_> for Reader {
    fn visit_item(&mut self, item: &Item) {
        if attributes(item).iter().any(is_test) {
            self.test_lines += lines(item.span());
        } else {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_fn(&mut self, function: &ItemFn) {
        self.function(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &ImplItemFn) {
        self.function(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &TraitItemFn) {
        if let Some(block) = &function.default {
            self.function(&function.sig, block);
        }
        visit::visit_trait_item_fn(self, function);
    }

    fn visit_item_use(&mut self, item: &syn::ItemUse) {
        self.import("", &item.tree);
    }

    fn visit_path(&mut self, path: &syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.paths.push(names.join("::"));
        visit::visit_path(self, path);
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// `#[test]`, `#[cfg(test)]` and `#[cfg(all(test, …))]`.
fn is_test(attribute: &Attribute) -> bool {
    let condition = || match &attribute.meta {
        Meta::List(list) => list.tokens.to_string().replace(' ', ""),
        Meta::Path(_) | Meta::NameValue(_) => String::new(),
    };
    let last = attribute.path().segments.last().map(|segment| segment.ident.to_string());
    match last.as_deref() {
        Some("test") => true,
        Some("cfg") => condition() == "test" || condition().starts_with("all(test,"),
        _ => false,
    }
}

fn lines(span: Span) -> usize {
    span.end().line + 1 - span.start().line
}

/// Shows the largest files and functions of the product. Nothing fails here: a long table of data is fine.
pub(crate) fn print_largest(sources: &[Source]) {
    let product = || sources.iter().filter(|source| source.in_product);
    let sizes = product().map(|source| (source.lines, source.name.clone())).collect();
    let functions = product()
        .flat_map(|source| source.functions.iter().map(move |function| (source, function)))
        .map(|(source, function)| (function.lines, format!("{} ({}:{})", function.name, source.name, function.line)))
        .collect();
    console::say(&listing("Largest files, lines without tests (think at 400, stop at 800):", sizes));
    console::say(&listing("Largest functions, lines (think at 60, stop at 100):", functions));
}

fn listing(title: &str, mut sizes: Vec<(usize, String)>) -> String {
    sizes.sort_by(|left, right| right.0.cmp(&left.0).then_with(|| left.1.cmp(&right.1)));
    let rows = sizes.iter().take(LISTED).map(|(lines, what)| format!("{lines:6}  {what}"));
    [paint(Tone::Strong, title)].into_iter().chain(rows).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "//! Doc.
use std::{fs, collections::{BTreeMap as Map, *}};

fn outer() {
    let inner = serde_json::to_string(&1);
}

impl A {
    fn method(&self) {}
}

#[cfg(all(test, unix))]
mod tests {
    use std::env;
    #[test]
    fn fact() {
    }
}
#[cfg(not(test))]
fn real() {}
";

    fn source(name: &str) -> Source {
        Source::parse("pi-a", name, CODE).expect("it is Rust")
    }

    #[test]
    fn tests_count_neither_as_lines_nor_as_functions_nor_as_paths() {
        let source = source("crates/pi-a/src/a.rs");
        assert_eq!(source.lines, CODE.lines().count() - 7);
        let functions: Vec<_> = source.functions.iter().map(|f| (f.name.as_str(), f.line, f.lines)).collect();
        assert_eq!(functions, [("outer", 4, 3), ("method", 9, 1), ("real", 20, 1)]);
        for path in ["std::fs", "std::collections::BTreeMap", "std::collections", "serde_json::to_string"] {
            assert!(source.paths.iter().any(|named| named == path), "{path} in {:?}", source.paths);
        }
        assert!(!source.paths.iter().any(|named| named == "std::env"));
    }

    #[test]
    fn files_of_tests_are_not_in_the_product() {
        assert!(source("crates/pi-a/src/a.rs").in_product);
        assert!(!source("crates/pi-a/src/a/tests.rs").in_product);
        assert!(!source("crates/pi-a/tests/a.rs").in_product);
        assert!(!source("crates/pi-a/benches/a.rs").in_product);
    }

    #[test]
    fn the_largest_come_first_and_only_ten_of_them() {
        let sizes = (1..=12).map(|size| (size, format!("f{size}"))).collect();
        let shown = listing("Title", sizes);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!((lines.len(), lines[1], lines[10]), (11, "    12  f12", "     3  f3"));
    }
}
