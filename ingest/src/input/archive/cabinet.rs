//! `.cab`: members are compressed in folders, one after the other. Called by `archive`.
//!
//! The reader of the `cab` crate trusts what a cabinet says of sizes, so [`check_layout`] holds
//! those against each other first.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use cab::Cabinet;

use super::super::limits::copy_within;
use super::super::source::open_regular;
use super::super::{InputError, Limits};
use super::{Member, check_size, copy_error, read_error, refuse_name};

const LABEL: &str = "cabinet";

/// Bytes of a data block without data.
const BLOCK_BYTES_MIN: u64 = 8;

fn damaged(detail: impl Into<String>) -> InputError {
    InputError::Damaged { kind: LABEL, detail: detail.into() }
}

fn open(path: &Path) -> Result<Cabinet<BufReader<File>>, InputError> {
    Cabinet::new(BufReader::new(open_regular(path)?)).map_err(|error| read_error(LABEL, error))
}

/// The members in the order of the folders, as the reader lists them.
fn entries(cabinet: &Cabinet<BufReader<File>>) -> Vec<(String, u64)> {
    let folders = cabinet.folder_entries();
    let files = folders.flat_map(|folder| {
        let files = folder.file_entries();
        files.map(|file| (file.name().to_owned(), u64::from(file.uncompressed_size())))
    });
    files.collect()
}

pub(super) fn list(path: &Path, limits: &Limits) -> Result<Vec<Member>, InputError> {
    check_layout(path)?;
    let found = entries(&open(path)?);
    limits.check_members(found.len() as u64)?;
    let compressed = open_regular(path)?.metadata().map_or(0, |metadata| metadata.len());
    let mut names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    let repeated = |name: &str| {
        let first = names.partition_point(|other| *other < name);
        names.get(first + 1) == Some(&name)
    };
    let member = |(index, (name, bytes)): (usize, &(String, u64))| {
        let refused = if repeated(name) {
            // The reader finds members by name only.
            Some(InputError::SameName)
        } else {
            refuse_name(name).or_else(|| limits.check_declared(*bytes, compressed).err())
        };
        // Cabinets come from Windows: their separator is its.
        Member { index, name: name.replace('\\', "/"), bytes: *bytes, refused }
    };
    Ok(found.iter().enumerate().map(member).collect())
}

pub(super) fn unpack(
    path: &Path,
    index: usize,
    name: &str,
    limits: &Limits,
    to: &mut dyn Write,
) -> Result<(), InputError> {
    check_layout(path)?;
    let compressed = open_regular(path)?.metadata().map_or(0, |metadata| metadata.len());
    let mut cabinet = open(path)?;
    let found = entries(&cabinet).into_iter().nth(index);
    let found = found.filter(|(found, _)| found.replace('\\', "/") == name);
    let (raw_name, declared) = found.ok_or(InputError::Vanished)?;
    limits.check_declared(declared, compressed)?;
    let mut member = cabinet.read_file(&raw_name).map_err(|error| read_error(LABEL, error))?;
    let count = copy_within(limits, compressed, &mut member, to)
        .map_err(|error| copy_error(LABEL, error))?;
    check_size(LABEL, declared, count)
}

/// One folder of a cabinet: where its data begins and how much there is.
struct Folder {
    data_offset: u64,
    blocks: u16,
    stored: bool,
    bytes: u64,
}

/// Walks folders, data blocks and files without decompressing, and refuses a cabinet in which a
/// file reaches beyond its folder or a stored block is not as long as it says.
fn check_layout(path: &Path) -> Result<(), InputError> {
    let mut file = BufReader::new(open_regular(path)?);
    walk_layout(&mut file)
        .map_err(|error| read_error(LABEL, error))?
        .map_or(Ok(()), |detail| Err(damaged(detail)))
}

/// The complaint about a cabinet, if any.
fn walk_layout(file: &mut BufReader<File>) -> io::Result<Option<&'static str>> {
    let header: [u8; 36] = read_array(file)?;
    if &header[..4] != b"MSCF" {
        return Ok(Some("it does not begin like one"));
    }
    let word = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
    let files_offset = u32::from_le_bytes([header[16], header[17], header[18], header[19]]);
    let (folder_count, file_count, flags) = (word(26), word(28), word(30));
    if flags & 3 != 0 {
        return Ok(Some("it is one of a set, which must be joined first"));
    }
    let (mut folder_extra, mut block_extra) = (0, 0);
    if flags & 4 != 0 {
        let sizes: [u8; 4] = read_array(file)?;
        file.seek_relative(i64::from(u16::from_le_bytes([sizes[0], sizes[1]])))?;
        (folder_extra, block_extra) = (i64::from(sizes[2]), i64::from(sizes[3]));
    }
    let mut folders = Vec::new();
    for _ in 0..folder_count {
        let entry: [u8; 8] = read_array(file)?;
        file.seek_relative(folder_extra)?;
        folders.push(Folder {
            data_offset: u64::from(u32::from_le_bytes([entry[0], entry[1], entry[2], entry[3]])),
            blocks: u16::from_le_bytes([entry[4], entry[5]]),
            stored: entry[6] & 0x0f == 0,
            bytes: 0,
        });
    }
    // Blocks that are not shared fit into the file; shared ones would take for ever to walk.
    let blocks: u64 = folders.iter().map(|folder| u64::from(folder.blocks)).sum();
    if blocks > file.get_ref().metadata()?.len() / BLOCK_BYTES_MIN {
        return Ok(Some("it has more data blocks than fit into it"));
    }
    for folder in &mut folders {
        if let Some(complaint) = walk_blocks(file, folder, block_extra)? {
            return Ok(Some(complaint));
        }
    }
    file.seek(SeekFrom::Start(u64::from(files_offset)))?;
    for _ in 0..file_count {
        let entry: [u8; 16] = read_array(file)?;
        let long = |at: usize| {
            u64::from(u32::from_le_bytes([entry[at], entry[at + 1], entry[at + 2], entry[at + 3]]))
        };
        let folder = usize::from(u16::from_le_bytes([entry[8], entry[9]]));
        let Some(folder) = folders.get(folder) else {
            return Ok(Some("a file is in a folder that does not exist"));
        };
        if long(4) + long(0) > folder.bytes {
            return Ok(Some("a file reaches beyond its folder"));
        }
        while read_array::<1>(file)? != [0] {}
    }
    Ok(None)
}

/// Adds up the data blocks of one folder.
fn walk_blocks(
    file: &mut BufReader<File>,
    folder: &mut Folder,
    block_extra: i64,
) -> io::Result<Option<&'static str>> {
    file.seek(SeekFrom::Start(folder.data_offset))?;
    for _ in 0..folder.blocks {
        let block: [u8; 8] = read_array(file)?;
        let packed = u16::from_le_bytes([block[4], block[5]]);
        let bytes = u16::from_le_bytes([block[6], block[7]]);
        if folder.stored && packed != bytes {
            return Ok(Some("a stored block is not as long as it says"));
        }
        folder.bytes += u64::from(bytes);
        file.seek_relative(block_extra + i64::from(packed))?;
    }
    Ok(None)
}

fn read_array<const N: usize>(file: &mut BufReader<File>) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}
