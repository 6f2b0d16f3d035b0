//! MS-XCA Plain LZ77, the compression of buffers in merged files (etl-format.md 6).
//!
//! The format: 32-bit flag words, read from the most significant bit, say of each token whether it is a literal
//! byte or a match; a match is a 16-bit word of distance and length with up to three longer lengths behind it.
//! `buffer.rs` calls it with output of exactly the declared size and keeps what was produced on failure.

use super::bytes::{u8_at, u16_at, u32_at};

/// Extra room behind the declared output, so that copies can work in whole chunks.
pub(crate) const SLACK: usize = CHUNK;

/// Bytes copied at once; longer than most literal runs and matches of event data.
const CHUNK: usize = 32;

/// Shortest match.
const MATCH_MIN: usize = 3;

/// How decompression ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The declared size was reached with the last input byte.
    Complete,
    /// The declared size was reached, but input is left over.
    InputLeft,
    /// The input ended before the declared size.
    InputShort,
    /// A match reaches back before the start of the output.
    Distance,
    /// A match reaches beyond the declared size.
    Overrun,
}

impl Ending {
    /// What went wrong, in a few words.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Ending::Complete => "complete",
            Ending::InputLeft => "compressed data goes on behind the declared size",
            Ending::InputShort => "compressed data ends before the declared size",
            Ending::Distance => "a match reaches back before the start",
            Ending::Overrun => "a match reaches beyond the declared size",
        }
    }
}

/// Decompresses `input` into the first `size` bytes of `out`, which is `SLACK` bytes longer.
/// Gives how many bytes are valid, and how it ended.
pub(crate) fn decompress(input: &[u8], out: &mut [u8], size: usize) -> (usize, Ending) {
    debug_assert!(out.len() >= size + SLACK);
    let mut read = 0;
    let mut written = 0;
    // A nibble of length waits in the upper half of the byte at this position; 0 for none (never a valid position).
    let mut nibble_at = 0;
    while written < size {
        let Some(mut flags) = u32_at(input, read) else {
            return (written, Ending::InputShort);
        };
        read += 4;
        let mut left = 32;
        while left > 0 {
            let literals = flags.leading_zeros().min(left) as usize;
            match copy_literals(input, read, out, written, literals, size) {
                Ok(()) => {}
                Err(copied) if written + copied == size => {
                    return (size, ending(read + copied, input));
                }
                Err(copied) => return (written + copied, Ending::InputShort),
            }
            read += literals;
            written += literals;
            left -= literals as u32;
            if left == 0 {
                break;
            }
            if written == size {
                return (written, ending(read, input));
            }
            // Two steps, as a shift by 32 is none.
            flags = flags << literals << 1;
            left -= 1;
            let Some((distance, length)) = read_match(input, &mut read, &mut nibble_at) else {
                return (written, Ending::InputShort);
            };
            if distance > written {
                return (written, Ending::Distance);
            }
            if length > size - written {
                copy_match(out, written, distance, size - written);
                return (size, Ending::Overrun);
            }
            copy_match(out, written, distance, length);
            written += length;
        }
    }
    (written, ending(read, input))
}

/// How it ended when the declared size was reached with `read` bytes of input used. Where the last token was the
/// last of its flag word, the next flag word is there already, with all its bits padded.
fn ending(read: usize, input: &[u8]) -> Ending {
    match input.get(read..) {
        None | Some([]) | Some([0xFF, 0xFF, 0xFF, 0xFF]) => Ending::Complete,
        Some(_) => Ending::InputLeft,
    }
}

/// Copies a run of at most 32 literals. `Err` gives how many there were when input or declared size ended first.
#[inline]
fn copy_literals(
    input: &[u8],
    read: usize,
    out: &mut [u8],
    written: usize,
    count: usize,
    size: usize,
) -> Result<(), usize> {
    let room = size - written;
    let source = input.get(read..).unwrap_or(&[]);
    if count <= room
        && let Some(chunk) = source.first_chunk::<CHUNK>()
        && let Some(target) = out[written..].first_chunk_mut::<CHUNK>()
    {
        *target = *chunk;
        return Ok(());
    }
    let copied = count.min(room).min(source.len());
    out[written..written + copied].copy_from_slice(&source[..copied]);
    if copied == count { Ok(()) } else { Err(copied) }
}

/// Reads one match: its distance and length. `None` when the input ends within it.
#[inline]
fn read_match(input: &[u8], read: &mut usize, nibble_at: &mut usize) -> Option<(usize, usize)> {
    let word = u16_at(input, *read)?;
    *read += 2;
    let distance = usize::from(word >> 3) + 1;
    let code = usize::from(word & 7);
    if code < 7 {
        return Some((distance, code + MATCH_MIN));
    }
    // Whether a nibble waits is as good as random, so this is written without branches.
    let fresh = *nibble_at == 0;
    let at = if fresh { *read } else { *nibble_at };
    let nibble = (u8_at(input, at)? >> if fresh { 0 } else { 4 }) & 15;
    *nibble_at = if fresh { at } else { 0 };
    *read += usize::from(fresh);
    if nibble < 15 {
        return Some((distance, 7 + usize::from(nibble) + MATCH_MIN));
    }
    let byte = u8_at(input, *read)?;
    *read += 1;
    if byte < 255 {
        return Some((distance, 15 + 7 + usize::from(byte) + MATCH_MIN));
    }
    // Beyond 255 the length is written whole, less the shortest match.
    let short = u16_at(input, *read)?;
    *read += 2;
    if short != 0 {
        return Some((distance, usize::from(short) + MATCH_MIN));
    }
    let long = u32_at(input, *read)?;
    *read += 4;
    Some((distance, (long as usize).saturating_add(MATCH_MIN)))
}

/// Copies `length` bytes from `distance` before `written`; the two may overlap, which repeats the pattern.
/// Bytes up to `SLACK` behind the match may be overwritten, as later output replaces them.
#[inline]
fn copy_match(out: &mut [u8], written: usize, distance: usize, length: usize) {
    let from = written - distance;
    let end = written + length;
    if distance >= CHUNK {
        let (before, after) = out.split_at_mut(written);
        if let Some(source) = before[from..].first_chunk::<CHUNK>()
            && let Some(target) = after.first_chunk_mut::<CHUNK>()
        {
            *target = *source;
        }
        let mut done = CHUNK;
        while done < length {
            out.copy_within(from + done..from + done + CHUNK, written + done);
            done += CHUNK;
        }
    } else if distance >= 8 {
        let mut done = 0;
        while done < length {
            out.copy_within(from + done..from + done + 8, written + done);
            done += 8;
        }
    } else if distance == 1 {
        let byte = out[from];
        out[written..end].fill(byte);
    } else {
        for at in written..end {
            out[at] = out[at - distance];
        }
    }
}
