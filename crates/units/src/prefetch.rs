//! Prefetch of memory that will be used soon.
//!
//! On networks that outgrow the caches, waiting for memory is the largest cost of a packet-hop,
//! and which memory the next events will touch is known some events ahead.

/// Whether this processor is asked at all.
pub const IS_EFFECTIVE: bool = cfg!(target_arch = "x86_64");

/// Prefetches all of a value; affects only the caches.
#[inline(always)]
pub fn all_lines<T>(value: &T) {
    first_lines(value, usize::MAX);
}

/// Prefetches the first `lines` lines of a value, of 64 B.
#[inline(always)]
#[allow(unsafe_code)]
pub fn first_lines<T>(value: &T, lines: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        let start = std::ptr::from_ref(value).cast::<i8>();
        for line in (0..std::mem::size_of::<T>()).step_by(64).take(lines) {
            // SAFETY: the address lies in `value`; a prefetch of any address reads nothing.
            unsafe { _mm_prefetch(start.add(line), _MM_HINT_T0) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (value, lines);
}

/// Prefetches an element of a slice, if the index is in range.
#[inline(always)]
pub fn element<T>(slice: &[T], index: u32) {
    if let Some(value) = slice.get(index as usize) {
        all_lines(value);
    }
}
