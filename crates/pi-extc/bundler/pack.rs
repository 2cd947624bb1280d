//! Makes one ES module of an entry and everything that it imports.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use oxc::mangler::MangleOptionsKeepNames;
use rolldown::{
    BundlerBuilder, BundlerOptions, BundlerTransformOptions, CodeSplittingMode, ModuleType, OutputFormat, Platform,
    RawCompressOptions, RawMangleOptions, RawMinifyOptions, RawMinifyOptionsDetailed, ResolveOptions, SourceMapType,
    TsConfig,
};
use rolldown_common::{DecoratorOptions, Output, OutputChunk};
use rolldown_error::{BuildDiagnostic, DiagnosticOptions};

use super::{
    admission::is_inside_package,
    plugin::{Hall, PRELUDE, State},
    protocol::{Answer, Built, Fault, Found, Place, Purpose, Request},
    rule::Rule,
    scan::Wants,
    zeros,
};

/// The newest edition of the language that the engine knows whole.
const EDITION: &str = "es2023";

pub(crate) async fn pack(request: Request) -> Answer {
    let state = Arc::new(State::new(request));
    let bundler = BundlerBuilder::default()
        .with_options(options(&state.request))
        .with_plugins(vec![Arc::new(Hall(Arc::clone(&state)))])
        .build();
    let built = match bundler {
        Ok(mut bundler) => bundler.generate().await,
        Err(error) => Err(error),
    };
    let refused = state.refused();
    if !refused.is_empty() {
        return Answer::Refused(refused);
    }
    let output = match built {
        Ok(output) => output,
        Err(errors) => return Answer::Refused(errors.into_vec().iter().map(|it| fault(it, &state)).collect()),
    };
    let chunk = output.assets.iter().find_map(|it| match it {
        Output::Chunk(chunk) => Some(chunk),
        Output::Asset(_) => None,
    });
    match chunk {
        Some(chunk) => finished(chunk, &state),
        None => Answer::Refused(vec![Fault { message: "nothing was bundled".to_owned(), hint: None, place: None }]),
    }
}

fn options(request: &Request) -> BundlerOptions {
    let words = |words: &[&str]| Some(words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>());
    let keeping = MangleOptionsKeepNames { function: true, class: true };
    let other = |end: &str, ends: &[&str]| (end.to_owned(), ends.iter().map(|&end| end.to_owned()).collect());
    BundlerOptions {
        input: Some(vec![request.entry.to_string_lossy().into_owned().into()]),
        cwd: Some(request.root.clone()),
        platform: Some(Platform::Neutral),
        format: Some(OutputFormat::Esm),
        code_splitting: Some(CodeSplittingMode::Bool(false)),
        sourcemap: Some(SourceMapType::Hidden),
        tsconfig: Some(TsConfig::Auto(false)),
        // Extensions look at names of their classes and functions; errors are easier to read with them.
        minify: Some(RawMinifyOptions::Object(RawMinifyOptionsDetailed {
            mangle: Some(RawMangleOptions { keep_names: Some(keeping), ..RawMangleOptions::default() }),
            compress: Some(RawCompressOptions {
                keep_names: Some(oxc::minifier::CompressOptionsKeepNames { function: true, class: true }),
                ..RawCompressOptions::default()
            }),
            remove_whitespace: true,
        })),
        define: Some([("process.env.NODE_ENV".to_owned(), "\"production\"".to_owned())].into_iter().collect()),
        module_types: Some(
            [(".md", ModuleType::Text), (".txt", ModuleType::Text)]
                .map(|(end, it)| (end.to_owned(), it))
                .into_iter()
                .collect(),
        ),
        resolve: Some(ResolveOptions {
            main_fields: words(&["module", "main"]),
            condition_names: words(&["node"]),
            extensions: words(&[".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx", ".jsx", ".json"]),
            extension_alias: Some(vec![
                other(".js", &[".js", ".ts", ".tsx"]),
                other(".mjs", &[".mjs", ".mts"]),
                other(".cjs", &[".cjs", ".cts"]),
                other(".jsx", &[".jsx", ".tsx"]),
            ]),
            ..ResolveOptions::default()
        }),
        transform: Some(BundlerTransformOptions {
            target: Some(rolldown_common::Either::Left(EDITION.to_owned())),
            // As Pi reads them. Fields that are an `accessor` are written in older words with them.
            decorator: Some(DecoratorOptions { legacy: Some(true), ..DecoratorOptions::default() }),
            ..BundlerTransformOptions::default()
        }),
        ..BundlerOptions::default()
    }
}

fn finished(chunk: &OutputChunk, state: &State) -> Answer {
    // What was shaken off is not part of the extension, and nothing is said about it.
    let kept: BTreeSet<&Path> = chunk.modules.keys.iter().map(|id| Path::new(id.as_str())).collect();
    let mut scanned = state.take_scans();
    scanned.retain(|file, _| kept.contains(file.as_path()));
    let defined: BTreeSet<String> = scanned.values().flat_map(|scan| scan.wants.defined()).cloned().collect();
    let (mut findings, mut faults) = (Vec::new(), Vec::new());
    let (mut assets, mut capabilities) = (BTreeSet::new(), BTreeSet::new());
    for (file, scan) in &scanned {
        findings.extend(scan.findings.iter().cloned());
        match state.request.purpose {
            Purpose::Script => findings.extend(told(file, &scan.wants, &defined)),
            // The engine that it takes along is another.
            Purpose::Component => {}
        }
        let lost = scan.imports.iter().filter_map(|import| state.judge(file, import));
        match state.request.purpose {
            Purpose::Script => findings.extend(lost),
            Purpose::Component => faults.extend(lost.map(unavailable)),
        }
        faults.extend(scan.broken_patterns.iter().map(no_pattern));
        assets.extend(scan.assets.iter().cloned());
        capabilities.extend(scan.capabilities.iter().map(|&it| it.to_owned()));
    }
    let (code, map) = zeros::escaped(&chunk.code, chunk.map.as_ref());
    let (bundle, source_map) = match state.request.purpose {
        Purpose::Script => (format!("{PRELUDE}\n{code}"), moved_down(&map)),
        Purpose::Component => (code.into_owned(), map),
    };
    match (state.request.purpose, chunk.exports.iter().map(|name| name.as_str()).collect::<Vec<&str>>()) {
        (Purpose::Script, exported) if !exported.contains(&"default") => {
            let file = state.request.entry.clone();
            let subject = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let place = Place { file, line: 1, column: 1, length: 1, text: String::new() };
            findings.push(Found { rule: Rule::NoFactory, subject, place });
        }
        (Purpose::Component, exported) if !exported.contains(&"guest") => {
            let hint = "export const guest = { init, callTool, runCommand, handleEvent, shutdown }".to_owned();
            faults.push(Fault { message: "it exports no `guest`".to_owned(), hint: Some(hint), place: None });
        }
        (Purpose::Script | Purpose::Component, _) => {}
    }
    if !faults.is_empty() {
        return Answer::Refused(faults);
    }
    Answer::Built(Box::new(Built {
        bundle,
        source_map,
        sources: state.sources(),
        assets: assets.into_iter().filter(|it| it.exists()).collect(),
        missing: state.missing(),
        findings,
        capabilities: capabilities.into_iter().collect(),
    }))
}

/// What a file uses and nobody has: each use in the extension's own files, the first of each name in those of packages, whose
/// author does not read this.
fn told(file: &Path, wants: &Wants, defined: &BTreeSet<String>) -> Vec<Found> {
    let mut missing: Vec<Found> = wants.missing(defined).cloned().collect();
    if is_inside_package(&file.to_string_lossy()) {
        let mut names = BTreeSet::new();
        missing.retain(|found| names.insert(found.subject.clone()));
    }
    missing
}

fn no_pattern(place: &Place) -> Fault {
    let message = "this is no regular expression".to_owned();
    Fault { message, hint: Some("correct the pattern or its flags".to_owned()), place: Some(place.clone()) }
}

/// An import that a component cannot have.
fn unavailable(found: Found) -> Fault {
    let hint = "import a connector such as pi:extension/fs@1.0.0, or leave \"engine\": \"wasm\" out of extension.json";
    Fault {
        message: format!("`{}` is not there for a component", found.subject),
        hint: Some(hint.to_owned()),
        place: Some(found.place),
    }
}

/// The map of the same code one line further down.
fn moved_down(map: &str) -> String {
    map.replacen("\"mappings\":\"", "\"mappings\":\";", 1)
}

fn fault(error: &BuildDiagnostic, state: &State) -> Fault {
    let root = &state.request.root;
    let options = DiagnosticOptions { cwd: root.clone() };
    let place = match error.to_diagnostic_with(&options).get_primary_location() {
        Some((file, line, column, _)) => {
            let file = root.join(PathBuf::from(file));
            let (line, column) = (u32::try_from(line).unwrap_or(1), u32::try_from(column).unwrap_or(0) + 1);
            let text = read(&file);
            let column = state.before_edits(&file, &text, line, column);
            let text = text.lines().nth((line as usize).saturating_sub(1)).unwrap_or_default().to_owned();
            Place { file, line, column, length: 1, text }
        }
        // Of what says nothing about its place at least the file is known: its own, or the one where all begins.
        None => {
            let named = error.id().map(|id| root.join(id)).filter(|file| file.is_file());
            let file = named.unwrap_or_else(|| state.request.entry.clone());
            let text = read(&file).lines().next().unwrap_or_default().to_owned();
            Place { file, line: 1, column: 1, length: 1, text }
        }
    };
    Fault { message: error.to_message_with(&options), hint: None, place: Some(place) }
}

/// What stands in a file; nothing of one that is no text.
#[expect(clippy::disallowed_methods, reason = "the line is shown as it is written")]
fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_default()
}
