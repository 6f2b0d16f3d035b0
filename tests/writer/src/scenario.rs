//! A scenario: its text, its truths, and the files it becomes.
//!
//! Parsing lowers the text once, so that every mistake is found with its line; writing lowers it
//! again for the wished variant.

use crate::Error;
use crate::cast::Cast;
use crate::container::{self, Layout};
use crate::expand::{Line, expand};
use crate::lower::{Lower, lower, settle};
use crate::machine::{FileSpec, Machine};
use crate::portable::Portable;
use crate::text::Statement;
use crate::truth::{Truth, extract};

/// Longest text a scenario may have.
const TEXT_BYTES_MAX: usize = 16 << 20;
/// Buffer size of rotated copies, small so that every CPU has several buffers.
const ROTATED_BUFFER_BYTES: u32 = 4096;

/// Other bytes of the same meaning: same events, same times.
#[derive(Clone, Debug, Default)]
pub struct Variant {
    /// Compressed buffers.
    pub compressed: bool,
    /// Width of the kernel's records, 32 or 64; kernel and high addresses move with it.
    pub bits: Option<u8>,
    /// Buffer size.
    pub buffer_bytes: Option<u32>,
    /// Width of the header record alone.
    pub file_bits: Option<u8>,
    /// Buffers in the order of a circular file that has wrapped.
    pub rotate: bool,
}

impl Variant {
    pub(crate) fn apply(&self, machine: &mut Machine) {
        machine.compressed |= self.compressed;
        if let Some(bits @ (32 | 64)) = self.bits {
            machine.bits = bits;
            machine.header_bits = bits;
        }
        if let Some(bits @ (32 | 64)) = self.file_bits {
            machine.header_bits = bits;
        }
        if self.rotate {
            machine.buffer = machine.buffer.min(ROTATED_BUFFER_BYTES);
        }
        if let Some(bytes) = self.buffer_bytes {
            machine.buffer = bytes.clamp(1024, 16 << 20).next_multiple_of(1024);
        }
    }
}

/// A written file.
#[derive(Clone, Debug)]
pub struct OutFile {
    /// File name, with `.etl`.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// A symbol that the scenario's frames name.
#[derive(Clone, Debug, PartialEq)]
pub struct Symbol {
    /// Module as frames call it, lower case.
    pub module: String,
    /// Name of the function.
    pub name: String,
    /// Its offset in the image.
    pub rva: u64,
}

/// A parsed scenario.
#[derive(Debug)]
pub struct Scenario {
    /// Name, from its `scenario` line; files are named after it.
    pub name: String,
    statements: Vec<Statement>,
    files: Vec<FileSpec>,
    truths: Vec<Truth>,
    symbols: Vec<Symbol>,
    symbol_files: Vec<OutFile>,
}

impl Scenario {
    /// Reads a scenario. Any text gives a scenario or an error with its line; nothing panics.
    pub fn parse(text: &str) -> Result<Scenario, Error> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(Error { line: 1, message: "the text is too long".into() });
        }
        let lines =
            text.lines().enumerate().map(|(at, text)| Line { number: at + 1, text }).collect();
        let (lines, truths) = extract(lines)?;
        let mut statements = expand(&lines)?;
        let files = settle(&mut statements)?;
        let lowered = lower(&statements, files.clone(), &Variant::default())?;
        // The other width must work too, so that writing never fails.
        let other = if files[0].machine.wide() { 32 } else { 64 };
        let variant = Variant { bits: Some(other), ..Variant::default() };
        lower(&statements, files.clone(), &variant)?;
        let symbols: Vec<Symbol> = lowered
            .cast
            .symbols()
            .map(|(module, name, rva)| Symbol { module: module.into(), name: name.into(), rva })
            .collect();
        let symbol_files = symbol_files(&lowered.cast, &symbols);
        let name = name_of(&statements)?;
        Ok(Scenario { name, statements, files, truths, symbols, symbol_files })
    }

    /// Writes the files of the scenario.
    pub fn write(&self, variant: &Variant) -> Vec<OutFile> {
        // Parsing has lowered the same statements at both widths, so there is no error left.
        match lower(&self.statements, self.files.clone(), variant) {
            Ok(lowered) => self.files_of(lowered, variant),
            Err(_) => Vec::new(),
        }
    }

    fn files_of(&self, lowered: Lower, variant: &Variant) -> Vec<OutFile> {
        let layout = Layout { rotate: variant.rotate };
        let Lower { files, mut timelines, .. } = lowered;
        let several = files.len() > 1;
        let mut out = Vec::new();
        for (at, (spec, timeline)) in files.iter().zip(&mut timelines).enumerate() {
            if at == 0 && several && timeline.is_empty() {
                continue;
            }
            let name = match spec.suffix.as_str() {
                "" => format!("{}.etl", self.name),
                suffix if suffix.ends_with(".etl") => suffix.to_string(),
                suffix => format!("{}.{suffix}.etl", self.name),
            };
            out.push(OutFile { name, bytes: container::write(spec, timeline, layout) });
        }
        out
    }

    /// The truths, in the order of the text.
    pub fn truths(&self) -> &[Truth] {
        &self.truths
    }

    /// Every symbol that frames name, with its place.
    pub fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// A symbol store for the scenario: small images whose exports name its symbols. Names are paths
    /// below the store.
    pub fn symbol_files(&self) -> &[OutFile] {
        &self.symbol_files
    }
}

fn symbol_files(cast: &Cast, symbols: &[Symbol]) -> Vec<OutFile> {
    let mut files: Vec<OutFile> = Vec::new();
    for image in &cast.images {
        let mut exports: Vec<(&str, u64)> = symbols
            .iter()
            .filter(|s| image.is_called(&s.module))
            .map(|s| (s.name.as_str(), s.rva))
            .collect();
        exports.sort_unstable();
        let (name, timestamp, size) = (image.name.as_str(), image.timestamp, image.size);
        let portable = Portable { name, timestamp, size, exports };
        let path = portable.store_path();
        if portable.exports.is_empty() || files.iter().any(|f| f.name == path) {
            continue;
        }
        files.extend(portable.bytes().map(|bytes| OutFile { name: path, bytes }));
    }
    files
}

fn name_of(statements: &[Statement]) -> Result<String, Error> {
    let Some(statement) = statements.iter().find(|s| s.word == "scenario") else {
        return Ok("scenario".into());
    };
    let fail = |message| Error { line: statement.line, message };
    let reader = statement.reader();
    let name = reader.need_word("a name").map_err(fail)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
        return Err(fail(format!("'{name}' is no name for a file")));
    }
    reader.finish().map_err(fail)?;
    Ok(name.to_string())
}
