//! A fence around code that we did not write: a panic inside it becomes a value, without its usual print-out,
//! so that one hostile file costs that file. Used for every call into the PDB and cabinet readers.
//!
//! It holds as long as programs are built with unwinding panics, which is the default.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    static CONTAINED: Cell<u32> = const { Cell::new(0) };
}

/// Runs `work`; a panic gives its message instead of the result.
///
/// What `work` has changed when it panics may be half done: callers throw it away.
pub(super) fn contain<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    silence_contained_panics();
    CONTAINED.with(|depth| depth.set(depth.get() + 1));
    let result = catch_unwind(AssertUnwindSafe(work));
    CONTAINED.with(|depth| depth.set(depth.get() - 1));
    result.map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        text.unwrap_or_else(|| "no message".to_owned())
    })
}

/// Keeps the hook of the program for all other panics.
fn silence_contained_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            // During the end of a thread the flag is gone; then the panic is not one of ours.
            let contained = CONTAINED.try_with(|depth| depth.get() > 0).unwrap_or(false);
            if !contained {
                previous(info);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_its_message() {
        assert_eq!(contain(|| 7), Ok(7));
        assert_eq!(contain(|| -> u8 { panic!("page {}", 3) }), Err("page 3".to_owned()));
        let nested = contain(|| contain(|| -> u8 { panic!("inner") }));
        assert_eq!(nested, Ok(Err("inner".to_owned())));
    }
}
