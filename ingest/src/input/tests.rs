//! Inputs from outside: what arguments come to, and the bytes that come out.

mod archives;
mod lists;
mod recordings;

use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use super::*;

/// A folder to make files in, and to look at as a user would who stands in it.
struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Makes a file, and the folders it is in.
    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Arguments that name these places here.
    fn args(&self, names: &[&str]) -> InputArgs {
        let inputs = names.iter().map(|name| self.at(name).into_os_string()).collect();
        InputArgs { inputs, ..InputArgs::default() }
    }

    /// A text without the path of this folder in it.
    fn short(&self, text: &str) -> String {
        let here = self.dir.path().to_string_lossy().replace('\\', "/");
        text.replace(&format!("{here}/"), "").replace(&here, ".")
    }

    fn paths(&self, list: &InputList) -> Vec<String> {
        list.inputs.iter().map(|input| self.short(&input.path)).collect()
    }

    /// Problems as `path: message`.
    fn problems(&self, list: &InputList) -> Vec<String> {
        let line = |problem: &InputProblem| {
            format!("{}: {}", self.short(&problem.path), self.short(&problem.message))
        };
        list.problems.iter().map(line).collect()
    }

    fn expand(&self, names: &[&str]) -> InputList {
        expand(&self.args(names), &Limits::default())
    }
}

/// All bytes of an input, read by position in uneven pieces.
fn content(input: &Input, limits: &Limits) -> Result<Vec<u8>, InputError> {
    let scratch = tempfile::tempdir().unwrap();
    let open = input.open(limits, scratch.path())?;
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0, "the copy has no name");
    let source = open.source();
    let mut bytes = Vec::new();
    let mut piece = [0; 777];
    loop {
        let count = source.read_at(bytes.len() as u64, &mut piece).unwrap();
        if count == 0 {
            break;
        }
        bytes.extend_from_slice(&piece[..count]);
    }
    assert_eq!(source.len(), bytes.len() as u64);
    assert_eq!(open.len(), bytes.len() as u64);
    open.check_unchanged()?;
    let head = input.read_head(limits, 100)?;
    assert_eq!(head, bytes[..bytes.len().min(100)]);
    assert_eq!(input.content_hash(limits)?, *blake3::hash(&bytes).as_bytes());
    Ok(bytes)
}

/// Bytes that compress somewhat, different for each seed.
fn sample(seed: u64, count: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..count).map(|at| if at % 64 < 48 { at as u8 } else { next() as u8 }).collect()
}

fn zip_of(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Deflated);
    for (name, bytes) in members {
        writer.start_file(*name, options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// `solid` puts all members into one block.
fn seven_of(members: &[(&str, &[u8])], solid: bool) -> Vec<u8> {
    use sevenz_rust2::{ArchiveEntry, ArchiveWriter, SourceReader};
    let mut writer = ArchiveWriter::new(Cursor::new(Vec::new())).unwrap();
    let entry = |name: &str| ArchiveEntry::new_file(name);
    if solid {
        let entries = members.iter().map(|(name, _)| entry(name)).collect();
        let readers: Vec<SourceReader<&[u8]>> =
            members.iter().map(|(_, bytes)| SourceReader::new(*bytes)).collect();
        writer.push_archive_entries(entries, readers).unwrap();
    } else {
        for (name, bytes) in members {
            writer.push_archive_entry(entry(name), Some(*bytes)).unwrap();
        }
    }
    writer.finish().unwrap().into_inner()
}

fn cab_of(members: &[(&str, &[u8])], kind: cab::CompressionType) -> Vec<u8> {
    let mut builder = cab::CabinetBuilder::new();
    let folder = builder.add_folder(kind);
    for (name, _) in members {
        folder.add_file(*name);
    }
    let mut writer = builder.build(Cursor::new(Vec::new())).unwrap();
    let mut left = members.iter();
    while let Some(mut file) = writer.next_file().unwrap() {
        file.write_all(left.next().unwrap().1).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn gz_of(bytes: &[u8]) -> Vec<u8> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

fn zst_of(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}
