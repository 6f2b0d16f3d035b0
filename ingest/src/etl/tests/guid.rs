//! GUIDs: bytes, text, and text that is none.

use crate::etl::{Guid, GuidParseError};

const CLASS: Guid =
    Guid::new(0x2CB1_5D1D, 0x5FC1, 0x11D2, [0xAB, 0xE1, 0x00, 0xA0, 0xC9, 0x11, 0xF5, 0x18]);

#[test]
fn fields_are_little_endian_on_disk() {
    assert_eq!(CLASS.0[..8], [0x1D, 0x5D, 0xB1, 0x2C, 0xC1, 0x5F, 0xD2, 0x11]);
    assert_eq!(CLASS.0[8..], [0xAB, 0xE1, 0x00, 0xA0, 0xC9, 0x11, 0xF5, 0x18]);
}

#[test]
fn text_and_back() {
    let text = "2cb15d1d-5fc1-11d2-abe1-00a0c911f518";
    assert_eq!(CLASS.to_string(), text);
    assert_eq!(text.parse(), Ok(CLASS));
    assert_eq!("{2CB15D1D-5FC1-11D2-ABE1-00A0C911F518}".parse(), Ok(CLASS));
    assert!(Guid::ZERO.is_zero() && !CLASS.is_zero());
}

#[test]
fn other_text_is_refused() {
    let short = "2cb15d1d-5fc1-11d2-abe1-00a0c911f51";
    let brace = "{2cb15d1d-5fc1-11d2-abe1-00a0c911f518";
    let place = "2cb15d1d5-fc1-11d2-abe1-00a0c911f518";
    let digit = "2cb15d1g-5fc1-11d2-abe1-00a0c911f518";
    let wide = "2cb15d1d-5fc1-11d2-abe1-00a0c911f5\u{e9}";
    for text in ["", short, brace, place, digit, wide] {
        assert_eq!(text.parse::<Guid>(), Err(GuidParseError), "{text}");
    }
}
