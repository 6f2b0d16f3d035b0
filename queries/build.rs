//! Lists the SQL files of this crate, so that adding a question is adding a file.
//!
//! Writes `files.rs` into OUT_DIR: path and text of every `<topic>/*.sql`, sorted by path.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

fn main() {
    let root = env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    println!("cargo::rerun-if-changed={root}");
    let mut files = Vec::new();
    for topic in folder(Path::new(&root)) {
        if topic.is_dir() {
            let sql = |p: &std::path::PathBuf| p.extension().is_some_and(|e| e == "sql");
            files.extend(folder(&topic).into_iter().filter(sql));
        }
    }
    files.sort();
    let mut text = String::from("&[\n");
    for file in files {
        let short = file.strip_prefix(&root).expect("listed below the root");
        let short = short.to_string_lossy().replace('\\', "/");
        let _ = writeln!(text, "    ({short:?}, include_str!({:?})),", file.to_string_lossy());
    }
    text.push_str("]\n");
    fs::write(Path::new(&out).join("files.rs"), text).expect("OUT_DIR can be written");
}

/// The entries of a folder, in no particular order.
fn folder(path: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(path).expect("the crate's own folder can be read");
    entries.filter_map(|e| e.ok().map(|e| e.path())).collect()
}
