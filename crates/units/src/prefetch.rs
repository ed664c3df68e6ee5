//! Prefetch of memory that will be used soon.
//!
//! On networks that outgrow the caches, waiting for memory is the largest cost of a packet-hop,
//! and which memory the next events will touch is known some events ahead.

/// Whether this processor is asked at all.
pub const IS_EFFECTIVE: bool = cfg!(target_arch = "x86_64");

/// Prefetches all of a value; affects only the caches.
#[inline(always)]
pub fn all_lines<T>(value: &T) {
    lines_at(value, usize::MAX);
}

/// Prefetches an element of a slice; for an index that is out of range, some other memory.
#[inline(always)]
pub fn element<T>(slice: &[T], index: u32) {
    lines_at(slice.as_ptr().wrapping_add(index as usize), usize::MAX);
}

/// Prefetches the first line of an element, as [`element`] does.
#[inline(always)]
pub fn element_start<T>(slice: &[T], index: u32) {
    lines_at(slice.as_ptr().wrapping_add(index as usize), 1);
}

/// Prefetches the first `lines` lines, of 64 B, of a value that is perhaps at `start`.
#[inline(always)]
#[allow(unsafe_code)]
fn lines_at<T>(start: *const T, lines: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        for line in (0..std::mem::size_of::<T>()).step_by(64).take(lines) {
            // SAFETY: a prefetch of any address reads nothing and never fails.
            unsafe { _mm_prefetch(start.cast::<i8>().wrapping_add(line), _MM_HINT_T0) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (start, lines);
}
