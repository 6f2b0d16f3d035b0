//! The compressor of compressed recordings: MS-XCA "Plain LZ77", as one stream without prefix.
//!
//! Greedy matching over a window of 8 KiB. The output is not the one Windows would choose, but it
//! uses every form of the format: literals, short matches, the shared nibble, long length codes.

/// Farthest distance a match can name: 13 bits and one.
const WINDOW_BYTES: usize = 8192;
/// Shortest match the format knows.
const MATCH_BYTES_MIN: usize = 3;
/// Longest match we write; the u16 form holds it.
const MATCH_BYTES_MAX: usize = 60_000;
/// How many earlier places with the same three bytes are tried.
const CHAIN_LENGTH_MAX: usize = 16;

/// Compresses `input`.
pub(crate) fn compress(input: &[u8]) -> Vec<u8> {
    let mut out = Output { bytes: vec![0; 4], flags_at: 0, flags: 0, used: 0, nibble_at: None };
    let mut finder = Finder::new(input);
    let mut at = 0;
    while at < input.len() {
        match finder.longest(at) {
            Some((distance, length)) => {
                out.matched(distance, length);
                for skipped in at..at + length {
                    finder.insert(skipped);
                }
                at += length;
            }
            None => {
                out.literal(input[at]);
                finder.insert(at);
                at += 1;
            }
        }
    }
    out.finish()
}

/// The stream under construction: a flag word is reserved before its 32 symbols.
struct Output {
    bytes: Vec<u8>,
    flags_at: usize,
    flags: u32,
    used: u32,
    nibble_at: Option<usize>,
}

impl Output {
    fn flag(&mut self, bit: u32) {
        self.flags = (self.flags << 1) | bit;
        self.used += 1;
    }

    fn close_word_when_full(&mut self) {
        if self.used == 32 {
            self.bytes[self.flags_at..self.flags_at + 4].copy_from_slice(&self.flags.to_le_bytes());
            self.flags_at = self.bytes.len();
            self.bytes.extend_from_slice(&[0; 4]);
            self.flags = 0;
            self.used = 0;
        }
    }

    fn literal(&mut self, byte: u8) {
        self.flag(0);
        self.bytes.push(byte);
        self.close_word_when_full();
    }

    fn matched(&mut self, distance: usize, length: usize) {
        self.flag(1);
        let rest = length - MATCH_BYTES_MIN;
        let code = rest.min(7);
        let word = (((distance - 1) << 3) | code) as u16;
        self.bytes.extend_from_slice(&word.to_le_bytes());
        if code == 7 {
            self.long_length(rest);
        }
        self.close_word_when_full();
    }

    fn long_length(&mut self, rest: usize) {
        let nibble = (rest - 7).min(15) as u8;
        match self.nibble_at.take() {
            None => {
                self.nibble_at = Some(self.bytes.len());
                self.bytes.push(nibble);
            }
            Some(at) => self.bytes[at] |= nibble << 4,
        }
        if nibble < 15 {
            return;
        }
        let byte = (rest - 22).min(255) as u8;
        self.bytes.push(byte);
        if byte == 255 {
            self.bytes.extend_from_slice(&(rest as u16).to_le_bytes());
        }
    }

    /// The unused bits of the last flag word are ones.
    fn finish(mut self) -> Vec<u8> {
        let unused = 32 - self.used;
        let flags =
            if unused == 32 { u32::MAX } else { (self.flags << unused) | ((1u32 << unused) - 1) };
        self.bytes[self.flags_at..self.flags_at + 4].copy_from_slice(&flags.to_le_bytes());
        self.bytes
    }
}

/// Earlier places of each three-byte prefix, as chains through a hash table.
struct Finder<'a> {
    input: &'a [u8],
    head: Vec<u32>,
    previous: Vec<u32>,
}

const NOWHERE: u32 = u32::MAX;

impl<'a> Finder<'a> {
    fn new(input: &'a [u8]) -> Finder<'a> {
        Finder { input, head: vec![NOWHERE; 1 << 14], previous: vec![NOWHERE; input.len()] }
    }

    fn slot(&self, at: usize) -> Option<usize> {
        let three = self.input.get(at..at + MATCH_BYTES_MIN)?;
        let key = u32::from_le_bytes([three[0], three[1], three[2], 0]);
        Some((key.wrapping_mul(0x9E37_79B1) >> 18) as usize)
    }

    fn insert(&mut self, at: usize) {
        if let Some(slot) = self.slot(at) {
            self.previous[at] = self.head[slot];
            self.head[slot] = at as u32;
        }
    }

    fn longest(&self, at: usize) -> Option<(usize, usize)> {
        let mut place = self.head[self.slot(at)?];
        let limit = (self.input.len() - at).min(MATCH_BYTES_MAX);
        let mut best: Option<(usize, usize)> = None;
        for _ in 0..CHAIN_LENGTH_MAX {
            if place == NOWHERE || at - place as usize > WINDOW_BYTES {
                break;
            }
            let from = place as usize;
            let length =
                (0..limit).take_while(|i| self.input[from + i] == self.input[at + i]).count();
            if length >= MATCH_BYTES_MIN && best.is_none_or(|(_, longest)| length > longest) {
                best = Some((at - from, length));
            }
            if length == limit {
                break;
            }
            place = self.previous[from];
        }
        best
    }
}

/// The way back, for tests only: written from the recipe, not from [`compress`].
#[cfg(test)]
pub(crate) fn decompress(src: &[u8], length: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(length);
    let (mut at, mut flags, mut left, mut nibble) = (0usize, 0u32, 0u32, None::<usize>);
    while out.len() < length {
        if left == 0 {
            flags = u32::from_le_bytes(src[at..at + 4].try_into().unwrap());
            at += 4;
            left = 32;
        }
        left -= 1;
        if (flags >> left) & 1 == 0 {
            out.push(src[at]);
            at += 1;
            continue;
        }
        let word = u16::from_le_bytes([src[at], src[at + 1]]) as usize;
        at += 2;
        let distance = (word >> 3) + 1;
        let mut count = word & 7;
        if count == 7 {
            count = match nibble.take() {
                None => {
                    nibble = Some(at);
                    at += 1;
                    (src[at - 1] & 15) as usize
                }
                Some(place) => (src[place] >> 4) as usize,
            };
            if count == 15 {
                count = src[at] as usize;
                at += 1;
                if count == 255 {
                    count = u16::from_le_bytes([src[at], src[at + 1]]) as usize - 22;
                    at += 2;
                }
                count += 15;
            }
            count += 7;
        }
        for _ in 0..count + 3 {
            out.push(out[out.len() - distance]);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(input: &[u8]) {
        assert_eq!(decompress(&compress(input), input.len()), input);
    }

    #[test]
    fn the_published_example_form() {
        // 26 letters: no match, one flag word of zeros then ones, then the letters.
        let letters: Vec<u8> = (b'a'..=b'z').collect();
        let mut expected = vec![0x3f, 0, 0, 0];
        expected.extend_from_slice(&letters);
        assert_eq!(compress(&letters), expected);
    }

    #[test]
    fn three_hundred_times_abc() {
        // MS-XCA's second example: "abc" 100 times is three literals and one long match.
        let input = b"abc".repeat(100);
        let expected =
            [0xff, 0xff, 0xff, 0x1f, 0x61, 0x62, 0x63, 0x17, 0x00, 0x0f, 0xff, 0x26, 0x01];
        assert_eq!(compress(&input), expected);
    }

    #[test]
    fn every_length_class_comes_back() {
        for length in [0, 1, 2, 3, 4, 9, 10, 11, 24, 25, 26, 279, 280, 281, 5000, 65_440] {
            round_trip(&vec![7u8; length]);
            let mixed: Vec<u8> = (0..length).map(|i| ((i * i / 7) % 251) as u8).collect();
            round_trip(&mixed);
        }
    }
}
