//! One self-contained HTML file: overview, findings, and the pictures behind them. Called by
//! `etwas html`.
//!
//! # Invariants
//! * Names and command lines come from other people's machines. They are only ever inside the one
//!   block of JSON, which [`embed`] makes harmless, and the script sets them as text.
//! * The page asks nobody for anything: its policy allows the two scripts and two styles in it, by
//!   their hashes, and nothing else.

mod data;
mod figures;

use std::io::Write;

use base64::Engine as _;
use etwas_queries::{Error, Lake};
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};

/// Charts over time; uPlot, MIT, <https://github.com/leeoniya/uPlot>.
const CHART_SCRIPT: &str = include_str!("../../assets/uplot/uPlot.iife.min.js");
const CHART_STYLE: &str = include_str!("../../assets/uplot/uPlot.min.css");
const CHART_LICENSE: &str = include_str!("../../assets/uplot/LICENSE");
const STYLE: &str = include_str!("../../assets/style.css");
const SCRIPT: &str = include_str!("../../assets/app.js");

/// What a report is made of.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Glob on the names of traces; all where there is none.
    pub trace: Option<String>,
    /// Questions whose answers are shown as tables.
    pub questions: Vec<String>,
}

/// What went into a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Traces in the overview.
    pub traces: usize,
    /// Findings.
    pub findings: usize,
    /// Traces that have pictures.
    pub pictured: usize,
    /// Figures.
    pub figures: usize,
}

/// Collects what a report shows. Nothing is written yet, so that a wrong question costs no file.
pub fn collect(lake: &Lake, options: &Options) -> Result<(Json, Summary), Error> {
    data::collect(lake, options)
}

/// Writes the page around its data.
pub fn write(out: &mut dyn Write, data: &Json) -> std::io::Result<()> {
    let policy = format!(
        "default-src 'none'; script-src {} {}; style-src {} {}; base-uri 'none'; form-action 'none'",
        hash(CHART_SCRIPT),
        hash(SCRIPT),
        hash(CHART_STYLE),
        hash(STYLE)
    );
    let license = CHART_LICENSE.replace("--", "- -");
    write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>etwas report</title>\n\
         <style>{CHART_STYLE}</style>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <noscript>This report draws its pictures with a script inside this file.</noscript>\n\
         <div id=\"app\"></div>\n\
         <script type=\"application/json\" id=\"data\">"
    )?;
    out.write_all(embed(data).as_bytes())?;
    write!(
        out,
        "</script>\n<!-- uPlot\n{license}-->\n<script>{CHART_SCRIPT}</script>\n\
         <script>{SCRIPT}</script>\n</body>\n</html>\n"
    )?;
    out.flush()
}

/// JSON that can stand inside a `script` element: whatever could end the element or begin markup is
/// written as an escape, which JSON reads as the same text.
fn embed(data: &Json) -> String {
    let text = data.to_string();
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    for c in text.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    out
}

/// The hash by which a policy knows an inline script or style.
fn hash(text: &str) -> String {
    // A parser turns CR LF into LF before it hashes; the files are LF already.
    let digest = Sha256::digest(text.as_bytes());
    format!("'sha256-{}'", base64::engine::general_purpose::STANDARD.encode(digest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_the_data() {
        let hostile = "</script><script>alert(1)</script><!--&\u{2028}\u{2029}\"'\u{0}";
        let data = serde_json::json!({ "name": hostile, "</script>": 1 });
        let text = embed(&data);
        assert!(!text.contains(['<', '>', '&', '\u{2028}', '\u{2029}', '\u{0}']), "{text}");
        let back: Json = serde_json::from_str(&text).unwrap();
        assert_eq!(back["name"], hostile);
        let mut page = Vec::new();
        write(&mut page, &data).unwrap();
        let page = String::from_utf8(page).unwrap();
        assert!(!page.contains("alert(1)<"));
        assert_eq!(page.matches("<script").count(), 3);
        assert_eq!(page.matches("</script").count(), 3);
    }

    #[test]
    fn the_page_names_no_place_to_load_from() {
        for (name, text) in [("script", SCRIPT), ("style", STYLE), ("chart style", CHART_STYLE)] {
            for word in
                ["http:", "https:", "url(", "@import", "innerHTML", "eval(", "</script", "\r"]
            {
                // The name of a namespace is no address.
                let text = text.replace("http://www.w3.org/2000/svg", "");
                assert!(!text.contains(word), "{word} in the {name}");
            }
        }
        assert!(!CHART_SCRIPT.contains("</script") && !CHART_SCRIPT.contains('\r'));
    }

    #[test]
    fn hashes_are_those_of_the_standard() {
        // SHA-256 of the empty text, as published.
        assert_eq!(hash(""), "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='");
    }
}
