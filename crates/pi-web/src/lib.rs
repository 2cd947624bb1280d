//! The page: the web client that is built from `web/` (TypeScript), as bytes, and the shell of the self-contained export.
//!
//! It serves nothing itself and knows no other crate: routes, headers and tokens belong to `pi-server`, the data shown on the page
//! comes over the protocol of `pi-wire`. The build script builds the page with npm; without Node there is a plain page that says
//! what is missing.
//!
//! Start with [`asset`].

mod files {
    use super::Asset;

    include!(concat!(env!("OUT_DIR"), "/files.rs"));
}

/// The path of the page itself.
pub const PAGE: &str = "index.html";

/// Where the data of a self-contained file goes.
const DATA: &str = "@PI-DATA@";
const PLAIN: &str = include_str!("plain.html");
const PLAIN_VIEWER: &str = include_str!("plain_viewer.html");
const WHY: &str = "@PI-WHY@";

/// One file of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asset {
    /// Below the root of the server, without a slash at its beginning.
    pub path: &'static str,
    /// With the character set where there is one.
    pub media_type: &'static str,
    pub bytes: &'static [u8],
    /// The same bytes, compressed; missing where that gains nothing.
    pub brotli: Option<&'static [u8]>,
    /// With its quotes, as the header has it.
    pub etag: &'static str,
    /// Whether the path names these bytes for ever, because their digest is in it.
    pub is_immutable: bool,
}

/// The file at a path, without a slash at its beginning.
pub fn asset(path: &str) -> Option<&'static Asset> {
    files::FILES.iter().find(|asset| asset.path == path)
}

/// Why the page is not in this build, if it is not. [`plain_page`] says it to a browser.
pub const fn missing() -> Option<&'static str> {
    files::MISSING
}

/// A page without script that says what is missing and how to get it.
pub fn plain_page() -> String {
    PLAIN.replace(WHY, &escape(missing().unwrap_or("the page is in this build")))
}

/// One HTML file that shows `json` with nothing fetched from anywhere. `json` is one JSON value as text, as the viewer in
/// `web/src/viewer.ts` reads it.
pub fn viewer_html(json: &str) -> String {
    match files::VIEWER {
        // In JSON a `<` stands in strings only, where it may be written like this; so no end of an element can be in it.
        Some(shell) => shell.replacen(DATA, &json.replace('<', "\\u003c"), 1),
        None => PLAIN_VIEWER.replacen(DATA, &escape(json), 1),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the first load may weigh, compressed.
    const FIRST_LOAD: usize = 150_000;

    /// Everything that a browser fetches before it shows the page.
    fn first_load() -> Vec<&'static Asset> {
        let page = asset(PAGE).expect("a built page has its own file");
        let html = std::str::from_utf8(page.bytes).expect("HTML is text");
        let named = html.split('"').filter_map(|value| asset(value.strip_prefix('/')?));
        [page].into_iter().chain(named).collect()
    }

    #[test]
    fn first_load_is_small() {
        if let Some(why) = missing() {
            return assert!(plain_page().contains(&escape(why)));
        }
        let files = first_load();
        assert!(files.iter().any(|file| file.path.ends_with(".js")), "{files:#?}");
        let size: usize = files.iter().map(|file| file.brotli.unwrap_or(file.bytes).len()).sum();
        assert!(size < FIRST_LOAD, "the first load has {size} bytes");
    }

    #[test]
    fn page_has_nothing_inline_and_names_no_other_origin() {
        let Some(page) = asset(PAGE) else {
            return assert!(missing().is_some());
        };
        let html = std::str::from_utf8(page.bytes).expect("HTML is text");
        assert!(!html.contains("style="), "{html}");
        assert!(!html.contains("://"), "{html}");
        for script in html.split("<script").skip(1) {
            assert!(script.split('>').next().is_some_and(|head| head.contains("src=\"/")), "{script}");
        }
    }

    #[test]
    fn names_that_never_change_their_meaning_are_told_from_others() {
        for file in files::FILES {
            assert_eq!(file.is_immutable, file.path.starts_with("assets/"), "{}", file.path);
        }
    }

    #[test]
    fn data_cannot_leave_its_element() {
        let html = viewer_html(r#"{"content":"</script><script>alert(1)</script><!--"}"#);
        assert!(!html.contains("<script>alert"), "{html}");
    }

    #[test]
    fn unknown_path_has_no_file() {
        assert_eq!(asset("../Cargo.toml"), None);
        assert_eq!(asset(""), None);
    }
}
