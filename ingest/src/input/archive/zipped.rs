//! `.zip` and `.diagsession`. Called by `archive`.

use std::fs::File;
use std::io::{BufReader, Write};
use std::path::Path;

use zip::ZipArchive;
use zip::result::ZipError;

use super::super::limits::copy_within;
use super::super::source::open_regular;
use super::super::{InputError, Limits};
use super::{Member, check_size, copy_error, read_error, refuse_name};

const LABEL: &str = "zip archive";

fn open(path: &Path) -> Result<ZipArchive<BufReader<File>>, InputError> {
    ZipArchive::new(BufReader::new(open_regular(path)?)).map_err(zip_error)
}

pub(super) fn list(path: &Path, limits: &Limits) -> Result<Vec<Member>, InputError> {
    let mut archive = open(path)?;
    limits.check_members(archive.len() as u64)?;
    // Overlapping members let a small archive expand without end, each within its own limits.
    if archive.has_overlapping_files().map_err(zip_error)? {
        return Err(InputError::Overlap);
    }
    // The reader keeps one member of each name, and does not say which names were several.
    let same_name = archive.has_duplicate_names();
    let mut members = Vec::with_capacity(archive.len());
    for index in 0..archive.len() {
        let entry = archive.by_index_data(index).map_err(zip_error)?;
        if !entry.is_file() {
            continue;
        }
        let name = entry_name(entry.name(), entry.name_raw());
        let refused = if same_name {
            Some(InputError::SameName)
        } else if entry.encrypted() {
            Some(InputError::Encrypted)
        } else {
            refuse_name(&name)
                .or_else(|| limits.check_declared(entry.size(), entry.compressed_size()).err())
        };
        members.push(Member { index, name, bytes: entry.size(), refused });
    }
    Ok(members)
}

/// The name for people; bytes that are not the encoding they claim are replaced.
fn entry_name(name: Result<std::borrow::Cow<'_, str>, ZipError>, raw: &[u8]) -> String {
    name.map_or_else(|_| String::from_utf8_lossy(raw).into_owned(), |name| name.into_owned())
}

pub(super) fn unpack(
    path: &Path,
    index: usize,
    name: &str,
    limits: &Limits,
    to: &mut dyn Write,
) -> Result<(), InputError> {
    let mut archive = open(path)?;
    let mut member = archive.by_index(index).map_err(zip_error)?;
    if entry_name(member.name(), member.name_raw()) != name {
        return Err(InputError::Vanished);
    }
    let (declared, compressed) = (member.size(), member.compressed_size());
    limits.check_declared(declared, compressed)?;
    let found = copy_within(limits, compressed, &mut member, to)
        .map_err(|error| copy_error(LABEL, error))?;
    check_size(LABEL, declared, found)
}

fn zip_error(error: ZipError) -> InputError {
    match error {
        ZipError::Io(error) => read_error(LABEL, error),
        ZipError::InvalidPassword => InputError::Encrypted,
        ZipError::UnsupportedArchive(text) if text == ZipError::PASSWORD_REQUIRED => {
            InputError::Encrypted
        }
        ZipError::UnsupportedArchive(text) => InputError::Method { method: text.to_owned() },
        ZipError::CompressionMethodNotSupported(method) => {
            InputError::Method { method: format!("number {method}") }
        }
        ZipError::FileNotFound => InputError::Vanished,
        other => InputError::Damaged { kind: LABEL, detail: other.to_string() },
    }
}
