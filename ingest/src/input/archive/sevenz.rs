//! `.7z`: members are compressed in blocks, often many in one, so that unpacking one member means
//! decompressing all before it in its block. Called by `archive`.

use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::Path;

use sevenz_rust2::{Archive, ArchiveEntry, BlockDecoder, Error, Password};

use super::super::limits::{CopyError, copy_within};
use super::super::source::open_regular;
use super::super::{InputError, Limits};
use super::{Member, check_size, copy_error, read_error, refuse_name};

const LABEL: &str = "7z archive";

/// The memory limit in the unit of the reader.
fn memory_kb(limits: &Limits) -> usize {
    usize::try_from(limits.dictionary_bytes >> 10).unwrap_or(usize::MAX)
}

fn open(path: &Path, limits: &Limits) -> Result<(Archive, BufReader<File>), InputError> {
    let mut file = BufReader::new(open_regular(path)?);
    let archive = Archive::read_with_memory_limit(&mut file, &Password::empty(), memory_kb(limits))
        .map_err(|error| seven_error(limits, error))?;
    Ok((archive, file))
}

pub(super) fn list(path: &Path, limits: &Limits) -> Result<Vec<Member>, InputError> {
    let (archive, _) = open(path, limits)?;
    limits.check_members(archive.files.len() as u64)?;
    let files = archive.files.iter().enumerate().filter(|(_, file)| !file.is_directory);
    let member = |(index, file): (usize, &ArchiveEntry)| {
        let refused = if archive.is_file_encrypted(index) {
            Some(InputError::Encrypted)
        } else {
            refuse_name(&file.name).or_else(|| check_block(&archive, index, limits).err())
        };
        Member { index, name: file.name.clone(), bytes: file.size, refused }
    };
    Ok(files.map(member).collect())
}

/// The limits on a member and on what must be decompressed to reach it.
fn check_block(archive: &Archive, index: usize, limits: &Limits) -> Result<(), InputError> {
    let Some(Some(block)) = archive.stream_map.file_block_index.get(index) else {
        return Ok(());
    };
    let first = archive.stream_map.block_first_file_index.get(*block).copied().unwrap_or(0);
    let span = archive.files.get(first..=index).unwrap_or_default();
    let reach = span.iter().fold(0u64, |sum, file| sum.saturating_add(file.size));
    let packed = archive.pack_sizes().iter().fold(0u64, |sum, size| sum.saturating_add(*size));
    let unbounded = Limits { member_bytes: u64::MAX, ..limits.clone() };
    unbounded.check_declared(reach, packed)?;
    limits.check_declared(archive.files.get(index).map_or(0, |file| file.size), packed)
}

pub(super) fn unpack(
    path: &Path,
    index: usize,
    name: &str,
    limits: &Limits,
    to: &mut dyn Write,
) -> Result<(), InputError> {
    let (archive, mut file) = open(path, limits)?;
    let entry = archive.files.get(index).filter(|entry| entry.name == name);
    let entry = entry.ok_or(InputError::Vanished)?;
    if archive.is_file_encrypted(index) {
        return Err(InputError::Encrypted);
    }
    check_block(&archive, index, limits)?;
    let Some(Some(block)) = archive.stream_map.file_block_index.get(index).copied() else {
        return check_size(LABEL, entry.size, 0);
    };
    let packed = archive.pack_sizes().iter().fold(0u64, |sum, size| sum.saturating_add(*size));
    let password = Password::empty();
    let decoder = BlockDecoder::new_with_memory_limit(
        1,
        memory_kb(limits),
        block,
        &archive,
        &password,
        &mut file,
    );
    let mut copied: Option<Result<u64, CopyError>> = None;
    let outcome = decoder.for_each_entries(&mut |found: &ArchiveEntry, bytes: &mut dyn Read| {
        if !std::ptr::eq(found, entry) {
            return Ok(true);
        }
        copied = Some(copy_within(limits, packed, bytes, to));
        Ok(false)
    });
    match copied {
        Some(Ok(count)) => check_size(LABEL, entry.size, count),
        Some(Err(error)) => Err(copy_error(LABEL, error)),
        None => {
            outcome.map_err(|error| seven_error(limits, error))?;
            Err(InputError::Vanished)
        }
    }
}

fn seven_error(limits: &Limits, error: Error) -> InputError {
    match error {
        Error::Io(error, _) | Error::FileOpen(error, _) => read_error(LABEL, error),
        Error::PasswordRequired | Error::MaybeBadPassword(_) => InputError::Encrypted,
        Error::UnsupportedCompressionMethod(method) => InputError::Method { method },
        Error::Unsupported(text) => InputError::Method { method: text.into_owned() },
        Error::MaxMemLimited { .. } => InputError::Memory { limit: limits.dictionary_bytes },
        Error::BadSignature(_) => InputError::NotThatArchive { kind: LABEL },
        other => InputError::Damaged { kind: LABEL, detail: other.to_string() },
    }
}
