//! A panic in a run ends that run alone, and is an error like others.

use std::cell::{Cell, RefCell};
use std::panic::{catch_unwind, set_hook, take_hook, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

thread_local! {
    /// Whether a panic of this thread is caught here, and where the last one was.
    static CATCHES: Cell<bool> = const { Cell::new(false) };
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs a function that may panic.
///
/// Rust's own message of a panic is suppressed, unless `RUST_BACKTRACE` is set.
///
/// # Errors
/// The message of the panic, and its file and line.
pub fn catch_panic<T>(what: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if CATCHES.get() {
                note_place(panic);
            }
            if !CATCHES.get() || std::env::var_os("RUST_BACKTRACE").is_some_and(|it| it != "0") {
                before(panic);
            }
        }));
    });
    let outer = CATCHES.replace(true);
    let done = catch_unwind(AssertUnwindSafe(what));
    CATCHES.set(outer);
    done.map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        format!("{text} ({})", PLACE.take())
    })
}

fn note_place(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(|at| format!("{}:{}", at.file(), at.line()));
    PLACE.set(place.unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::catch_panic;

    #[test]
    fn a_panic_is_an_error_with_its_message_and_place_and_the_thread_continues() {
        let number = 7;
        let here = file!();
        let line = line!() + 1;
        let caught = catch_panic(|| -> u8 { panic!("plain") });
        assert_eq!(caught, Err(format!("plain ({here}:{line})")));
        let line = line!() + 1;
        let caught = catch_panic(|| -> u8 { panic!("run {number}") });
        assert_eq!(caught, Err(format!("run 7 ({here}:{line})")));
        assert_eq!(catch_panic(|| number), Ok(7));
    }
}
