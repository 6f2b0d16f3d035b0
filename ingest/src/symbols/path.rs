//! Where symbols are looked for: the text that a user writes, in the syntax of `_NT_SYMBOL_PATH`, parsed into
//! places. Nothing is opened here. Called by the command line and by tests; `find` walks the result.

use std::path::PathBuf;

use super::SymbolError;

/// The variable that Windows tools share. It counts only when the user asks for it.
pub const ENVIRONMENT_VARIABLE: &str = "_NT_SYMBOL_PATH";

/// Places to look in, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SymbolPath {
    /// The entries, first one first.
    pub entries: Vec<Entry>,
}

/// One entry of a symbol path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A directory: files directly in it, or in the layout of a store.
    Directory(PathBuf),
    /// `srv*A*B*...`: stores asked from left to right; what a later one has is kept in the first local one.
    Chain(Vec<Store>),
    /// `cache*DIR`: a store that keeps what entries after it had to unpack or download.
    Cache(PathBuf),
}

/// One member of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Store {
    /// A directory in the layout `name/id/name`.
    Local(PathBuf),
    /// The same layout behind HTTP or HTTPS.
    Server(String),
}

impl SymbolPath {
    /// Parses entries separated by `;`. Empty entries are skipped, as the Windows tools do.
    ///
    /// # Errors
    /// A server by another protocol than HTTP, and a `symsrv` entry that names another library.
    pub fn parse(text: &str) -> Result<SymbolPath, SymbolError> {
        let mut entries = Vec::new();
        for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
            entries.extend(parse_entry(part)?);
        }
        Ok(SymbolPath { entries })
    }

    /// The path in the environment variable `_NT_SYMBOL_PATH`, empty when it is not set.
    ///
    /// # Errors
    /// As [`SymbolPath::parse`].
    pub fn from_environment() -> Result<SymbolPath, SymbolError> {
        SymbolPath::parse(&std::env::var(ENVIRONMENT_VARIABLE).unwrap_or_default())
    }

    /// Puts the entries of another path behind those of this one.
    pub fn extend(&mut self, other: SymbolPath) {
        self.entries.extend(other.entries);
    }

    /// Whether an entry would need the network.
    pub fn has_server(&self) -> bool {
        self.entries.iter().any(|entry| match entry {
            Entry::Chain(stores) => stores.iter().any(|store| matches!(store, Store::Server(_))),
            Entry::Directory(_) | Entry::Cache(_) => false,
        })
    }
}

fn parse_entry(text: &str) -> Result<Option<Entry>, SymbolError> {
    let (head, rest) = text.split_once('*').unwrap_or((text, ""));
    let entry = match head.to_ascii_lowercase().as_str() {
        "srv" => chain(rest)?,
        "symsrv" => {
            let (library, rest) = rest.split_once('*').unwrap_or((rest, ""));
            if !library.eq_ignore_ascii_case("symsrv.dll") {
                return Err(SymbolError::Path {
                    entry: text.to_owned(),
                    reason: "only symsrv.dll is a known symbol server library",
                });
            }
            chain(rest)?
        }
        // `cache*` alone means a default directory of the debugger, of which we have none.
        "cache" if !rest.is_empty() => Some(Entry::Cache(local_path(rest))),
        "cache" => None,
        _ => match server(text)? {
            Some(url) => Some(Entry::Chain(vec![Store::Server(url)])),
            None => Some(Entry::Directory(local_path(text))),
        },
    };
    Ok(entry)
}

/// Members between asterisks; an empty one stands for the debugger's default store and is skipped.
fn chain(text: &str) -> Result<Option<Entry>, SymbolError> {
    let mut stores = Vec::new();
    for part in text.split('*').map(str::trim).filter(|part| !part.is_empty()) {
        stores.push(match server(part)? {
            Some(url) => Store::Server(url),
            None => Store::Local(local_path(part)),
        });
    }
    Ok((!stores.is_empty()).then_some(Entry::Chain(stores)))
}

/// The URL without a trailing slash, if this is one.
fn server(text: &str) -> Result<Option<String>, SymbolError> {
    let Some((scheme, rest)) = text.split_once("://") else { return Ok(None) };
    let known = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    // A `?` or `#` would swallow the file names that are appended.
    if !known || rest.is_empty() || rest.contains(['?', '#', ' ']) {
        return Err(SymbolError::Path {
            entry: text.to_owned(),
            reason: "a symbol server is http://HOST/PATH or https://HOST/PATH",
        });
    }
    Ok(Some(text.trim_end_matches('/').to_owned()))
}

/// A directory as the user wrote it. Away from Windows a path with backslashes names nothing, so that
/// `symbols\store`, copied from there, means `symbols/store`.
pub(super) fn local_path(text: &str) -> PathBuf {
    if cfg!(windows) || !text.contains('\\') || std::path::Path::new(text).exists() {
        PathBuf::from(text)
    } else {
        PathBuf::from(text.replace('\\', "/"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local(path: &str) -> Store {
        Store::Local(PathBuf::from(path))
    }

    fn server(url: &str) -> Store {
        Store::Server(url.to_owned())
    }

    #[test]
    fn every_form_of_entry() {
        let cases: &[(&str, Vec<Entry>)] = &[
            ("", vec![]),
            (";;  ;", vec![]),
            ("/a/b", vec![Entry::Directory("/a/b".into())]),
            (" /a ; /b c ", vec![Entry::Directory("/a".into()), Entry::Directory("/b c".into())]),
            ("srv*/store", vec![Entry::Chain(vec![local("/store")])]),
            (
                "SRV*/cache*https://host/symbols/",
                vec![Entry::Chain(vec![local("/cache"), server("https://host/symbols")])],
            ),
            (
                "srv*/a*/b*http://host:8080",
                vec![Entry::Chain(vec![local("/a"), local("/b"), server("http://host:8080")])],
            ),
            ("srv**https://host", vec![Entry::Chain(vec![server("https://host")])]),
            (
                "symsrv*symsrv.dll*/cache*https://host/x",
                vec![Entry::Chain(vec![local("/cache"), server("https://host/x")])],
            ),
            (
                "cache*/c;srv*https://host",
                vec![Entry::Cache("/c".into()), Entry::Chain(vec![server("https://host")])],
            ),
            ("cache*;srv*;srv", vec![]),
            ("https://host/y", vec![Entry::Chain(vec![server("https://host/y")])]),
        ];
        for (text, entries) in cases {
            assert_eq!(&SymbolPath::parse(text).unwrap().entries, entries, "{text}");
        }
    }

    #[test]
    fn drive_letters_and_backslashes_survive() {
        let path = SymbolPath::parse(r"srv*C:\Symbols*\\server\share;D:\build\out").unwrap();
        let shown = format!("{path:?}").replace(r"\\", "/").replace('\\', "/");
        assert_eq!(path.entries.len(), 2);
        assert!(shown.contains("C:/Symbols") && shown.contains("D:/build/out"), "{shown}");
        assert!(shown.contains("/server/share"), "{shown}");
    }

    #[test]
    fn what_is_refused() {
        for text in ["srv*ftp://host", "symsrv*other.dll*/x", "https://", "srv*https://h?x=y"] {
            assert!(SymbolPath::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn whether_the_network_would_be_needed() {
        assert!(SymbolPath::parse("/a;srv*/b*https://h").unwrap().has_server());
        assert!(!SymbolPath::parse("/a;srv*/b;cache*/c").unwrap().has_server());
    }
}
