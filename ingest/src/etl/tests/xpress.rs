//! Plain LZ77, against a compressor written here and against streams written by hand.

use super::build::Random;
use crate::etl::xpress::{Ending, SLACK, decompress};

/// A compressor as simple as can be: the longest match at any of a few distances.
pub fn compress(data: &[u8]) -> Vec<u8> {
    let mut out = vec![0; 4];
    let (mut flags_at, mut flags, mut bits, mut nibble_at, mut at) = (0, 0u32, 0, 0, 0);
    while at < data.len() {
        let match_at = |distance: usize| {
            let longest = data.len() - at;
            (0..longest).take_while(|i| data[at + i] == data[at + i - distance]).count()
        };
        let nearest = (1..=at.min(600)).chain([at.min(8192)]).filter(|distance| *distance > 0);
        let best = nearest.map(|distance| (match_at(distance), distance)).max();
        flags <<= 1;
        bits += 1;
        match best.filter(|(length, _)| *length >= 3) {
            Some((length, distance)) => {
                flags |= 1;
                put_match(&mut out, &mut nibble_at, length, distance);
                at += length;
            }
            None => {
                out.push(data[at]);
                at += 1;
            }
        }
        if bits == 32 {
            out[flags_at..flags_at + 4].copy_from_slice(&flags.to_le_bytes());
            (flags_at, flags, bits) = (out.len(), 0, 0);
            out.extend([0; 4]);
        }
    }
    // What is left of the last flag word is padded with ones.
    let padded = if bits == 0 { u32::MAX } else { flags << (32 - bits) | (u32::MAX >> bits) };
    out[flags_at..flags_at + 4].copy_from_slice(&padded.to_le_bytes());
    out
}

fn put_match(out: &mut Vec<u8>, nibble_at: &mut usize, length: usize, distance: usize) {
    let length = length - 3;
    let code = length.min(7);
    out.extend((((distance - 1) << 3 | code) as u16).to_le_bytes());
    if code < 7 {
        return;
    }
    let nibble = (length - 7).min(15) as u8;
    if *nibble_at == 0 {
        *nibble_at = out.len();
        out.push(nibble);
    } else {
        out[*nibble_at] |= nibble << 4;
        *nibble_at = 0;
    }
    if nibble < 15 {
        return;
    }
    let rest = length - 22;
    if rest < 255 {
        out.push(rest as u8);
    } else if length < 1 << 16 {
        out.push(255);
        out.extend((length as u16).to_le_bytes());
    } else {
        out.extend([255, 0, 0]);
        out.extend((length as u32).to_le_bytes());
    }
}

fn unpack(input: &[u8], size: usize) -> (Vec<u8>, Ending) {
    let mut out = vec![0x55; size + SLACK];
    let (valid, ending) = decompress(input, &mut out, size);
    out.truncate(valid);
    (out, ending)
}

#[test]
fn stream_written_by_hand() {
    // Three literals, then a match of distance 3 and length 9 with code 6.
    let flags = 0b0001_u32 << 28 | 0x0FFF_FFFF;
    let mut stream = flags.to_le_bytes().to_vec();
    stream.extend(b"abc");
    stream.extend((2u16 << 3 | 6).to_le_bytes());
    assert_eq!(unpack(&stream, 12), (b"abcabcabcabc".to_vec(), Ending::Complete));
}

#[test]
fn two_matches_share_a_nibble() {
    // Lengths 10 and 12: codes 7, nibbles 0 and 2 in one byte, which follows the first match.
    let flags = 0b011_u32 << 29 | 0x1FFF_FFFF;
    let mut stream = flags.to_le_bytes().to_vec();
    stream.push(b'z');
    stream.extend(7u16.to_le_bytes());
    stream.push(0x20);
    stream.extend(7u16.to_le_bytes());
    assert_eq!(unpack(&stream, 23), (vec![b'z'; 23], Ending::Complete));
}

#[test]
fn all_lengths_and_short_distances() {
    for length in [3, 9, 10, 24, 25, 26, 279, 280, 281, 300, 65_537, 65_538, 65_539, 70_000] {
        for distance in [1, 2, 3, 5, 7, 8, 9, 31, 32, 33, 600] {
            let mut data: Vec<u8> = (0..distance).map(|i| (i * 7 % 251) as u8).collect();
            (0..length).for_each(|i| data.push(data[i]));
            data.extend(b"the end");
            let (out, ending) = unpack(&compress(&data), data.len());
            assert!(out == data, "length {length} distance {distance}");
            assert_eq!(ending, Ending::Complete);
        }
    }
}

#[test]
fn random_data_of_all_sizes() {
    let mut random = Random(1);
    for size in (0..300).chain([1000, 4095, 9000, 20_000]) {
        let spread = 1 + random.below(255);
        let data: Vec<u8> = (0..size).map(|_| random.below(spread) as u8).collect();
        let (out, ending) = unpack(&compress(&data), size);
        assert!(out == data, "size {size}");
        // With nothing to produce, no input is looked at.
        assert!(ending == Ending::Complete || size == 0);
    }
}

#[test]
fn declared_size_and_input_must_agree() {
    let data = b"some data some data some data and more";
    let stream = compress(data);
    let (out, ending) = unpack(&stream, data.len() + 1);
    assert_eq!((&out[..], ending), (&data[..], Ending::InputShort));
    let (out, ending) = unpack(&stream, 4);
    assert_eq!((&out[..], ending), (&data[..4], Ending::InputLeft));
    for cut in 0..stream.len() {
        let (out, ending) = unpack(&stream[..cut], data.len());
        assert!(data.starts_with(&out), "cut {cut}");
        assert_eq!(ending, Ending::InputShort, "cut {cut}");
    }
}

#[test]
fn impossible_matches_keep_what_was_before() {
    let mut stream = (0b01_u32 << 30).to_le_bytes().to_vec();
    stream.push(b'a');
    stream.extend((1u16 << 3).to_le_bytes());
    assert_eq!(unpack(&stream, 50), (b"a".to_vec(), Ending::Distance));
    stream[5..7].copy_from_slice(&3u16.to_le_bytes());
    assert_eq!(unpack(&stream, 3), (b"aaa".to_vec(), Ending::Overrun));
}

#[test]
fn noise_never_panics() {
    let mut random = Random(2);
    for _ in 0..3000 {
        let input: Vec<u8> = (0..random.below(400)).map(|_| random.below(256) as u8).collect();
        let size = random.below(2000) as usize;
        assert!(unpack(&input, size).0.len() <= size);
    }
}
