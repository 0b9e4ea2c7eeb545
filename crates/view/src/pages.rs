//! The files of the pages, which are in the program.

/// A file.
pub(crate) struct Page {
    /// Its path in URLs.
    pub(crate) path: &'static str,
    /// Its media type.
    pub(crate) kind: &'static str,
    /// What it holds.
    pub(crate) bytes: &'static [u8],
}

/// What stands in the first page for the token of the page.
pub(crate) const TOKEN_PLACE: &str = "@page-token@";

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

macro_rules! pages {
    ($($path:literal, $kind:ident, $file:literal;)*) => {
        /// All of them.
        pub(crate) const PAGES: &[Page] =
            &[$(Page { path: $path, kind: $kind, bytes: include_bytes!(concat!("../pages/", $file)) }),*];
    };
}

pages! {
    "/", HTML, "index.html";
    "/style.css", STYLE, "style.css";
    "/main.js", SCRIPT, "main.js";
    "/ask.js", SCRIPT, "ask.js";
    "/elements.js", SCRIPT, "elements.js";
    "/numbers.js", SCRIPT, "numbers.js";
    "/monitors.js", SCRIPT, "monitors.js";
    "/series.js", SCRIPT, "series.js";
    "/chart.js", SCRIPT, "chart.js";
    "/more.js", SCRIPT, "more.js";
    "/map.js", SCRIPT, "map.js";
    "/runs.js", SCRIPT, "runs.js";
    "/running.js", SCRIPT, "running.js";
    "/lines.js", SCRIPT, "lines.js";
    "/vendor/uPlot.js", SCRIPT, "vendor/uPlot.js";
    "/vendor/uPlot.css", STYLE, "vendor/uPlot.css";
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn vendored_files_are_those_of_their_release() {
        // uPlot 1.6.32 of the npm registry: dist/uPlot.esm.js, dist/uPlot.min.css, LICENSE (crates/view/pages/vendor/README.md).
        for (path, digest) in [
            ("/vendor/uPlot.js", "5dd9b3281aa64b461b42d9945f6adb2649d346502b12281a9ae0d46599a80eba"),
            ("/vendor/uPlot.css", "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04"),
        ] {
            let page = PAGES.iter().find(|page| page.path == path).unwrap();
            let found: String = Sha256::digest(page.bytes).iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(found, digest, "{path}");
        }
        assert!(include_str!("../pages/vendor/LICENSE").starts_with("The MIT License (MIT)"));
    }

    #[test]
    fn pages_name_no_other_server_and_make_no_html() {
        for page in PAGES.iter().filter(|page| !page.path.starts_with("/vendor")) {
            let text = std::str::from_utf8(page.bytes).unwrap();
            // The namespace of SVG is a name.
            let text = text.replace("http://www.w3.org/2000/svg", "");
            for word in
                ["http://", "https://", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("]
            {
                assert!(!text.contains(word), "{} has {word}", page.path);
            }
            // Every module that is imported is served.
            for part in text.split("from \"./").skip(1) {
                let module = format!("/{}", part.split('"').next().unwrap());
                assert!(PAGES.iter().any(|page| page.path == module), "{} imports {module}", page.path);
            }
        }
    }
}
