//! Markdown as a page shows it, with the code in it coloured.
//!
//! Only what is written here becomes a tag: HTML in a message is text like any other, links lead to the web or to a
//! mailbox, and pictures of elsewhere are named and not fetched. Every tag that is opened is closed in its place.

use std::fmt::Write as _;

use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag};

use super::html::escaped;
use crate::code::{Meaning, Reader};

/// What a link may begin with.
const LINKS: [&str; 3] = ["http://", "https://", "mailto:"];

/// What becomes of the end of a line inside a paragraph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Breaks {
    /// It is kept: people press enter where they mean it.
    Kept,
    /// Text flows over it, as Markdown says.
    Flowing,
}

/// The text as elements that may stand inside an article.
pub(super) fn prose(text: &str, breaks: Breaks) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = Writer { written: String::new(), ends: Vec::new(), table: None, code: None, breaks };
    for event in Parser::new_ext(text, options) {
        writer.take(event);
    }
    writer.written
}

/// A table as far as it is written.
struct Table {
    columns: Vec<Alignment>,
    column: usize,
    is_head: bool,
}

struct Writer {
    written: String,
    /// What closes the elements that are open, the innermost last.
    ends: Vec<String>,
    table: Option<Table>,
    /// A block of code as far as it is read.
    code: Option<Code>,
    breaks: Breaks,
}

struct Code {
    language: String,
    text: String,
}

impl Writer {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(_) => {
                if let Some(Code { language, text }) = self.code.take() {
                    code(&text, &language, &mut self.written);
                }
                let end = self.ends.pop().unwrap_or_default();
                self.written.push_str(&end);
                self.leave(&end);
            }
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                write!(self.written, "<code>{}</code>", escaped(&text)).expect("text can be written");
            }
            Event::FootnoteReference(name) => self.text(&format!("[^{name}]")),
            Event::SoftBreak if self.breaks == Breaks::Flowing => self.written.push('\n'),
            Event::SoftBreak | Event::HardBreak => self.written.push_str("<br>\n"),
            Event::Rule => self.written.push_str("<hr>\n"),
            Event::TaskListMarker(is_done) => self.written.push_str(if is_done { "☑ " } else { "☐ " }),
        }
    }

    fn text(&mut self, text: &str) {
        match &mut self.code {
            Some(code) => code.text.push_str(text),
            None => self.written.push_str(&escaped(text)),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.open("<p>", "</p>\n"),
            Tag::Heading { level, .. } => {
                // The title of the page is the only one above them.
                let level = match level {
                    HeadingLevel::H1 => 2,
                    HeadingLevel::H2 => 3,
                    HeadingLevel::H3 => 4,
                    HeadingLevel::H4 => 5,
                    HeadingLevel::H5 | HeadingLevel::H6 => 6,
                };
                self.open(&format!("<h{level}>"), &format!("</h{level}>\n"));
            }
            Tag::BlockQuote(_) => self.open("<blockquote>\n", "</blockquote>\n"),
            Tag::CodeBlock(kind) => {
                let language = match &kind {
                    CodeBlockKind::Fenced(words) => words.split_whitespace().next().unwrap_or_default(),
                    CodeBlockKind::Indented => "",
                };
                match language {
                    "" => self.open("<pre><code>", "</code></pre>\n"),
                    language => {
                        let open = format!("<pre><code class=\"language-{}\">", escaped(language));
                        self.open(&open, "</code></pre>\n");
                    }
                }
                self.code = Some(Code { language: language.to_owned(), text: String::new() });
            }
            Tag::HtmlBlock | Tag::MetadataBlock(_) => self.open("<pre>", "</pre>\n"),
            Tag::List(None) => self.open("<ul>\n", "</ul>\n"),
            Tag::List(Some(1)) => self.open("<ol>\n", "</ol>\n"),
            Tag::List(Some(first)) => self.open(&format!("<ol start=\"{first}\">\n"), "</ol>\n"),
            Tag::Item => self.open("<li>", "</li>\n"),
            Tag::Table(columns) => {
                self.table = Some(Table { columns, column: 0, is_head: false });
                self.open("<table>\n", "</tbody></table>\n");
            }
            Tag::TableHead => {
                if let Some(table) = &mut self.table {
                    (table.column, table.is_head) = (0, true);
                }
                self.open("<thead><tr>", "</tr></thead>\n<tbody>\n");
            }
            Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.column = 0;
                }
                self.open("<tr>", "</tr>\n");
            }
            Tag::TableCell => self.cell(),
            Tag::Emphasis => self.open("<em>", "</em>"),
            Tag::Strong => self.open("<strong>", "</strong>"),
            Tag::Strikethrough => self.open("<del>", "</del>"),
            Tag::Superscript => self.open("<sup>", "</sup>"),
            Tag::Subscript => self.open("<sub>", "</sub>"),
            Tag::Link { dest_url, .. } => match LINKS.iter().any(|scheme| dest_url.starts_with(scheme)) {
                true => self.open(&format!("<a rel=\"noreferrer\" href=\"{}\">", escaped(&dest_url)), "</a>"),
                // A link to a file, or one that would do something: only its words are shown.
                false => self.open("", ""),
            },
            Tag::Image { dest_url, .. } => self.open("[", &format!("]({})", escaped(&dest_url))),
            Tag::FootnoteDefinition(name) => self.open(&format!("<p>[^{}]: ", escaped(&name)), "</p>\n"),
            Tag::DefinitionList => self.open("<dl>\n", "</dl>\n"),
            Tag::DefinitionListTitle => self.open("<dt>", "</dt>\n"),
            Tag::DefinitionListDefinition => self.open("<dd>", "</dd>\n"),
        }
    }

    fn cell(&mut self) {
        let (name, alignment) = match &mut self.table {
            Some(table) => {
                let alignment = table.columns.get(table.column).copied().unwrap_or(Alignment::None);
                table.column += 1;
                (if table.is_head { "th" } else { "td" }, alignment)
            }
            None => ("td", Alignment::None),
        };
        let class = match alignment {
            Alignment::None | Alignment::Left => "",
            Alignment::Center => " class=\"centre\"",
            Alignment::Right => " class=\"right\"",
        };
        self.open(&format!("<{name}{class}>"), &format!("</{name}>"));
    }

    /// What follows the end of an element.
    fn leave(&mut self, end: &str) {
        if end.starts_with("</tr></thead>")
            && let Some(table) = &mut self.table
        {
            table.is_head = false;
        }
    }

    fn open(&mut self, start: &str, end: &str) {
        self.written.push_str(start);
        self.ends.push(end.to_owned());
    }
}

/// A block of code, each stretch by what it means.
fn code(text: &str, language: &str, written: &mut String) {
    let Some(mut reader) = Reader::new(language, text.len()) else { return written.push_str(&escaped(text)) };
    for line in text.lines() {
        for (bytes, meaning) in reader.line(line) {
            let words = escaped(&line[bytes]);
            match class(meaning) {
                None => written.push_str(&words),
                Some(class) => {
                    write!(written, "<span class=\"{class}\">{words}</span>").expect("text can be written");
                }
            }
        }
        written.push('\n');
    }
}

/// What the style of the page calls it.
fn class(meaning: Meaning) -> Option<&'static str> {
    match meaning {
        Meaning::Plain => None,
        Meaning::Comment => Some("comment"),
        Meaning::String => Some("string"),
        Meaning::Number => Some("number"),
        Meaning::Keyword => Some("keyword"),
        Meaning::Function => Some("function"),
        Meaning::Kind => Some("kind"),
        Meaning::Added => Some("more"),
        Meaning::Removed => Some("less"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, breaks: Breaks, expected: &str) {
        assert_eq!(prose(text, breaks), expected, "{text:?}");
    }

    #[test]
    fn markdown_becomes_elements() {
        let flowing = |text, expected| check(text, Breaks::Flowing, expected);
        flowing(
            "# One\n\n*a* **b** ~~c~~ `d<e`",
            "<h2>One</h2>\n<p><em>a</em> <strong>b</strong> <del>c</del> <code>d&lt;e</code></p>\n",
        );
        flowing("- a\n- b\n  1. c", "<ul>\n<li>a</li>\n<li>b<ol>\n<li>c</li>\n</ol>\n</li>\n</ul>\n");
        flowing(
            "```rust x\nlet a = 1 < 2;\n```",
            "<pre><code class=\"language-rust\"><span class=\"keyword\">let</span> a = <span class=\"number\">1</span> &lt; \
             <span class=\"number\">2</span>;\n</code></pre>\n",
        );
        flowing("```nonsense\na < b\n```", "<pre><code class=\"language-nonsense\">a &lt; b\n</code></pre>\n");
        flowing(
            "| a | b |\n|---|--:|\n| 1 | 2 |",
            "<table>\n<thead><tr><th>a</th><th class=\"right\">b</th></tr></thead>\n<tbody>\n<tr><td>1</td><td class=\"right\">2</td></tr>\n</tbody></table>\n",
        );
        flowing("one\ntwo", "<p>one\ntwo</p>\n");
        check("one\ntwo", Breaks::Kept, "<p>one<br>\ntwo</p>\n");
    }

    #[test]
    fn nothing_in_a_text_is_obeyed() {
        let flowing = |text, expected| check(text, Breaks::Flowing, expected);
        flowing("a <b onclick=x>b</b>", "<p>a &lt;b onclick=x&gt;b&lt;/b&gt;</p>\n");
        flowing("<script>\nalert(1)\n</script>", "<pre>&lt;script&gt;\nalert(1)\n&lt;/script&gt;</pre>\n");
        flowing("[x](javascript:alert(1))", "<p>x</p>\n");
        flowing(
            "[x](https://a.example/?q=\"1\")",
            "<p><a rel=\"noreferrer\" href=\"https://a.example/?q=&quot;1&quot;\">x</a></p>\n",
        );
        flowing("![alt](https://a.example/x.png)", "<p>[alt](https://a.example/x.png)</p>\n");
        flowing(
            "```js\n\"</script>\"\n```",
            "<pre><code class=\"language-js\"><span class=\"string\">&quot;&lt;/script&gt;&quot;</span>\n</code></pre>\n",
        );
        flowing("```\"><script>\nx\n```", "<pre><code class=\"language-&quot;&gt;&lt;script&gt;\">x\n</code></pre>\n");
    }
}
