//! `.gz` and `.zst`: one compressed stream without a directory. Called by `archive`.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use super::super::limits::copy_within;
use super::super::source::open_regular;
use super::super::{InputError, Limits};
use super::{Container, StreamKind, copy_error, read_error};

/// Read buffer in front of a decompressor.
const BUFFER_BYTES: usize = 256 << 10;

/// Enough of a zstd frame for its header (18 bytes at most).
const ZSTD_HEADER_BYTES: usize = 18;

pub(super) fn unpack(
    path: &Path,
    kind: StreamKind,
    limits: &Limits,
    to: &mut dyn Write,
) -> Result<(), InputError> {
    let file = open_regular(path)?;
    let compressed = file.metadata().map_err(|error| InputError::io("look at", error))?.len();
    let label = Container::Stream(kind).label();
    let reader = BufReader::with_capacity(BUFFER_BYTES, file);
    let mut decoder: Box<dyn Read> = match kind {
        StreamKind::Gzip => Box::new(MultiGzDecoder::new(reader)),
        StreamKind::Zstd => {
            Box::new(zstd_decoder(reader, limits).map_err(|error| read_error(label, error))?)
        }
    };
    copy_within(limits, compressed, &mut decoder, to).map_err(|error| copy_error(label, error))?;
    Ok(())
}

/// A decoder whose window stays below the limit on dictionaries.
fn zstd_decoder(
    reader: BufReader<File>,
    limits: &Limits,
) -> std::io::Result<zstd::Decoder<'static, BufReader<File>>> {
    let mut decoder = zstd::Decoder::with_buffer(reader)?;
    decoder.window_log_max(limits.dictionary_bytes.max(1 << 10).ilog2().min(31))?;
    Ok(decoder)
}

/// The size that a stream declares. A gzip file ends with it (of its last part, modulo 2^32),
/// a zstd frame may begin with it. It serves to tell different files apart cheaply, so a wrong one
/// costs at most a duplicate that is not noticed.
pub(super) fn declared_bytes(path: &Path, kind: StreamKind) -> Option<u64> {
    let mut file = open_regular(path).ok()?;
    match kind {
        StreamKind::Gzip => {
            let mut size = [0; 4];
            file.seek(SeekFrom::End(-4)).ok()?;
            file.read_exact(&mut size).ok()?;
            Some(u64::from(u32::from_le_bytes(size)))
        }
        StreamKind::Zstd => {
            let mut header = Vec::new();
            file.take(ZSTD_HEADER_BYTES as u64).read_to_end(&mut header).ok()?;
            zstd::zstd_safe::get_frame_content_size(&header).ok()?
        }
    }
}
