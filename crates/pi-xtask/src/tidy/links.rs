//! The links between pages of Markdown: each leads to a file that git tracks, and to a heading that is there.
//!
//! Targets with a scheme (`https:`, `mailto:`) are not ours to check, and what stands in code is no link.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;

/// A page of Markdown: its path from the root of the checkout, and its text.
pub(crate) struct Page {
    pub name: String,
    pub text: String,
}

/// Checks every link of the pages. A folder can be linked to if a tracked file stands in it.
pub(crate) fn check(names: &[String], pages: &[Page]) -> Vec<Finding> {
    let mut known: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    known.extend(names.iter().flat_map(|name| name.match_indices('/').map(|(at, _)| &name[..at])));
    let anchors: BTreeMap<&str, BTreeSet<String>> =
        pages.iter().map(|page| (page.name.as_str(), anchors(&page.text))).collect();
    let mut findings = Vec::new();
    for page in pages {
        for link in links(&page.text) {
            if let Some((problem, advice)) = fault(&page.name, &link.target, &known, &anchors) {
                findings.push(Finding::new(format!("{}:{}", page.name, link.line), problem, advice));
            }
        }
    }
    findings
}

/// What is wrong with a link on this page, and what to do about it.
fn fault(
    page: &str,
    target: &str,
    known: &BTreeSet<&str>,
    anchors: &BTreeMap<&str, BTreeSet<String>>,
) -> Option<(String, &'static str)> {
    if is_foreign(target) {
        return None;
    }
    let (path, anchor) = match target.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor)),
        None => (target, None),
    };
    let Some(file) = resolve(page, &decoded(path)) else {
        return Some((
            format!("links to {target}, which is outside the checkout"),
            "link to a file of ours, or by https",
        ));
    };
    if !file.is_empty() && !known.contains(file.as_str()) {
        return Some((format!("links to {path}, and there is no {file}"), "correct the path, or add the file to git"));
    }
    let anchor = decoded(anchor?);
    let readme = if file.is_empty() { "README.md".to_owned() } else { format!("{file}/README.md") };
    // The top of a page is always there, and places in files that are no Markdown (`#L10`) are not ours to know.
    let headings = anchors.get(file.as_str()).or_else(|| anchors.get(readme.as_str()))?;
    let missing = !anchor.is_empty() && !headings.contains(&anchor);
    missing.then(|| {
        (format!("links to {target}, and there is no heading #{anchor}"), "name a heading as GitHub spells it")
    })
}

/// Whether it begins with a scheme, or with the name of a host.
fn is_foreign(target: &str) -> bool {
    let scheme = target.split_once(':').map(|(scheme, _)| scheme);
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
    target.starts_with("//")
        || scheme.is_some_and(|it| it.starts_with(|it: char| it.is_ascii_alphabetic()) && it.chars().all(plain))
}

/// The path from the root of the checkout, unless it leads out of it. No path at all is the page itself.
fn resolve(page: &str, path: &str) -> Option<String> {
    if path.is_empty() {
        return Some(page.to_owned());
    }
    let folder = if path.starts_with('/') { "" } else { page.rsplit_once('/').map_or("", |(folder, _)| folder) };
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Text with `%20` and the like as the characters that they stand for.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let code = behind.get(..2).filter(|_| *first == b'%').and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[derive(Debug, PartialEq)]
struct Link {
    /// Counted from one.
    line: usize,
    target: String,
}

/// Every link outside code: `[text](target)`, `[name]: target`, and the attributes `href` and `src`.
fn links(text: &str) -> Vec<Link> {
    let text = without_spans(&without_blocks(text));
    let mut links = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let inline = line.match_indices("](").filter_map(|(at, mark)| inline_target(&line[at + mark.len()..]));
        let attributes = ["href=\"", "src=\""].into_iter().flat_map(|name| line.split(name).skip(1));
        let attributes = attributes.filter_map(|rest| rest.split_once('"').map(|(target, _)| target));
        let targets = inline.chain(defined_target(line)).chain(attributes);
        links.extend(targets.map(|target| Link { line: index + 1, target: target.to_owned() }));
    }
    links
}

/// What stands between the round brackets, without a title; brackets inside it come in pairs.
fn inline_target(rest: &str) -> Option<&str> {
    if let Some(rest) = rest.strip_prefix('<') {
        return rest.split_once('>').map(|(target, _)| target);
    }
    let mut open = 0_usize;
    let end = rest.find(|letter: char| {
        match letter {
            '(' => open += 1,
            ')' if open > 0 => open -= 1,
            ')' => return true,
            _ => {}
        }
        letter.is_whitespace()
    })?;
    Some(&rest[..end])
}

/// `[name]: target`, at the beginning of a line.
fn defined_target(line: &str) -> Option<&str> {
    let (name, rest) = line.trim_start().strip_prefix('[')?.split_once("]:")?;
    let target = rest.split_whitespace().next()?;
    (!name.starts_with('^')).then(|| target.trim_start_matches('<').trim_end_matches('>'))
}

/// What can stand behind `#` in a link to this page: its headings, and the ids that it gives.
fn anchors(text: &str) -> BTreeSet<String> {
    let text = without_blocks(text);
    let mut anchors = BTreeSet::new();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for heading in headings(&text) {
        let slug = slug(heading);
        let count = counts.entry(slug.clone()).or_default();
        anchors.insert(if *count == 0 { slug } else { format!("{slug}-{count}") });
        *count += 1;
    }
    let ids = ["id=\"", "name=\""].into_iter().flat_map(|name| text.split(name).skip(1));
    anchors.extend(ids.filter_map(|rest| rest.split_once('"').map(|(id, _)| id.to_owned())));
    anchors
}

/// Lines that begin with `#`, and lines that are underlined.
fn headings(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().collect();
    let marked = |line: &&'_ str| {
        let depth = line.len() - line.trim_start_matches('#').len();
        (1..=6).contains(&depth) && line[depth..].starts_with([' ', '\t'])
    };
    let underlined = |index: usize| {
        let under = lines.get(index + 1).map_or("", |line| line.trim_end());
        !lines[index].trim().is_empty()
            && !under.is_empty()
            && ['=', '-'].iter().any(|mark| under.chars().all(|it| it == *mark))
    };
    let is_heading = |(index, line): &(usize, &&str)| marked(line) || underlined(*index);
    lines.iter().enumerate().filter(is_heading).map(|(_, line)| line.trim_matches(['#', ' ', '\t'])).collect()
}

/// The anchor that GitHub gives to a heading: lower case, blanks as `-`, other marks left out. Of a link counts the text.
fn slug(heading: &str) -> String {
    let mut text = String::new();
    let mut rest = heading;
    while let Some((before, behind)) = rest.split_once("](") {
        text.push_str(before);
        rest = behind.split_once(')').map_or("", |(_, behind)| behind);
    }
    text.push_str(rest);
    let kept = text.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    kept.flat_map(char::to_lowercase).map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

/// The text with the lines of code blocks empty, so that lines keep their numbers.
fn without_blocks(text: &str) -> String {
    let mut fence: Option<&str> = None;
    let mut kept = String::new();
    for line in text.lines() {
        let trimmed = line.trim_start();
        let mark = trimmed.len() - trimmed.trim_start_matches(['`', '~']).len();
        let (mark, rest) = trimmed.split_at(mark);
        match fence {
            Some(open) if mark.starts_with(open) && rest.trim().is_empty() => fence = None,
            Some(_) => {}
            None if mark.starts_with("```") && !rest.contains('`') || mark.starts_with("~~~") => fence = Some(mark),
            None => kept.push_str(line),
        }
        kept.push('\n');
    }
    kept
}

/// The text without what stands between backticks; a span ends with its paragraph.
fn without_spans(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('`') {
        let (before, behind) = rest.split_at(at);
        kept.push_str(before);
        let ticks = behind.len() - behind.trim_start_matches('`').len();
        let (mark, behind) = behind.split_at(ticks);
        let paragraph = &behind[..behind.find("\n\n").unwrap_or(behind.len())];
        rest = match closing(paragraph, mark) {
            Some(end) => {
                kept.extend(paragraph[..end].chars().filter(|letter| *letter == '\n'));
                &behind[end + ticks..]
            }
            None => behind,
        };
    }
    kept + rest
}

/// Where just as many backticks stand again.
fn closing(text: &str, mark: &str) -> Option<usize> {
    let alone = |at: usize| !text[..at].ends_with('`') && !text[at + mark.len()..].starts_with('`');
    text.match_indices(mark).map(|(at, _)| at).find(|at| alone(*at))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks one page at `docs/page.md` beside a few others.
    #[track_caller]
    fn check_page(text: &str, expected: &[&str]) {
        let names = ["README.md", "docs/page.md", "docs/other page.md", "docs/adr/README.md", "src/lib.rs"];
        let other =
            "# Über `client_id` and more!\n## Same\n## Same\nOld\n---\n### A [link](x.md) here\n<a id=\"mark\"></a>";
        let page = |name: &str, text: &str| Page { name: name.to_owned(), text: text.to_owned() };
        let pages = [
            page("docs/page.md", text),
            page("README.md", "# Top"),
            page("docs/other page.md", other),
            page("docs/adr/README.md", "# Decisions"),
        ];
        let found: Vec<String> = check(&names.map(str::to_owned), &pages)
            .into_iter()
            .filter(|finding| !finding.place.starts_with("docs/other"))
            .map(|finding| format!("{}: {}", finding.place, finding.problem))
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn links_to_files_folders_and_headings_pass() {
        for text in [
            "[a](../README.md), [b](adr), ![c](../src/lib.rs#L10), [d](/README.md#top), [e](..)",
            "[a](<other page.md>) [b](other%20page.md#same-1 \"a title\") [c](adr/#decisions) [d](adr/../page.md)",
            "[a](other%20page.md#über-client_id-and-more) [b](other%20page.md#old) [c](other%20page.md#mark)",
            "[a](other%20page.md#a-link-here) [b](other%20page.md#)",
            "# Here\n[up](#here)\n[name]: ../README.md 'title'\n[^note]: gone.md is a note\n<img src=\"../src/lib.rs\">",
            "[a](https://example.org/gone.md#x) [b](mailto:me@example.org) [c](//example.org)",
        ] {
            check_page(text, &[]);
        }
    }

    #[test]
    fn link_to_a_missing_file_is_found_with_its_line() {
        check_page("first\n[a](gone.md)", &["docs/page.md:2: links to gone.md, and there is no docs/gone.md"]);
        check_page("[`a`](../lib.rs)", &["docs/page.md:1: links to ../lib.rs, and there is no lib.rs"]);
        check_page("[a]: gone.md", &["docs/page.md:1: links to gone.md, and there is no docs/gone.md"]);
        check_page("<a href=\"gone.md\">", &["docs/page.md:1: links to gone.md, and there is no docs/gone.md"]);
        check_page("[a](a_(b).md)", &["docs/page.md:1: links to a_(b).md, and there is no docs/a_(b).md"]);
        check_page("[a](Readme.md)", &["docs/page.md:1: links to Readme.md, and there is no docs/Readme.md"]);
        check_page("[a](../../x.md)", &["docs/page.md:1: links to ../../x.md, which is outside the checkout"]);
    }

    #[test]
    fn link_to_a_missing_heading_is_found() {
        check_page("# Here\n[a](#there)", &["docs/page.md:2: links to #there, and there is no heading #there"]);
        check_page(
            "[a](../README.md#top) [b](../README.md#Top)",
            &["docs/page.md:1: links to ../README.md#Top, and there is no heading #Top"],
        );
        check_page(
            "[a](other%20page.md#same-2)",
            &["docs/page.md:1: links to other%20page.md#same-2, and there is no heading #same-2"],
        );
        check_page("```\n# Here\n```\n[a](#here)", &["docs/page.md:4: links to #here, and there is no heading #here"]);
        check_page("[a](adr#x)", &["docs/page.md:1: links to adr#x, and there is no heading #x"]);
    }

    #[test]
    fn code_holds_no_links() {
        check_page(
            "`[a](gone.md)` and ``[`b`](gone.md)``\n\n````\n```\n[c](gone.md)\n````\n~~~ts\nf[0](gone)\n~~~",
            &[],
        );
        check_page("`a\nb` [c](gone.md) `d`", &["docs/page.md:2: links to gone.md, and there is no docs/gone.md"]);
        check_page(
            "a lone ` mark\n\n[c](gone.md) `d`",
            &["docs/page.md:3: links to gone.md, and there is no docs/gone.md"],
        );
    }
}
