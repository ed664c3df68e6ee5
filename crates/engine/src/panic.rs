//! A panic in a run ends that run alone.

use std::panic::{catch_unwind, AssertUnwindSafe};

/// Does something that may panic.
///
/// # Errors
/// The message of the panic.
pub fn caught<T>(what: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(what)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::caught;

    #[test]
    fn a_panic_is_an_error_with_its_message_and_the_thread_goes_on() {
        let number = 7;
        assert_eq!(caught(|| -> u8 { panic!("plain") }), Err("plain".into()));
        assert_eq!(caught(|| -> u8 { panic!("run {number}") }), Err("run 7".into()));
        assert_eq!(caught(|| number), Ok(7));
    }
}
