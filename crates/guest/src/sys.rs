//! The calls of the C library that the standard library does not offer, each behind a safe wrapper.
//!
//! Only this module has `unsafe`. Layouts are those of Linux on 64-bit machines; constants are those of
//! x86-64 and AArch64, which agree in everything used here.
#![allow(unsafe_code)]

pub mod packet_ring;
pub mod process;
pub mod socket;
pub mod time;
pub mod tracing;

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::raw::{c_int, c_uint};

const NONBLOCK_CLOEXEC: c_int = 0o4000 | 0o2_000_000;
const NS_PER_S: u64 = 1_000_000_000;

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Timespec {
    s: i64,
    ns: i64,
}

fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}

fn check_len(result: isize) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

fn owned(result: c_int) -> io::Result<OwnedFd> {
    // SAFETY: the kernel has just opened it for this process, and it has no other owner.
    check(result).map(|fd| unsafe { OwnedFd::from_raw_fd(fd) })
}

fn length<T>() -> c_uint {
    c_uint::try_from(size_of::<T>()).expect("structures of the kernel are small")
}

fn timespec(ns: u64) -> Timespec {
    let part = |value: u64| i64::try_from(value).expect("times are below 2**63 ns");
    Timespec { s: part(ns / NS_PER_S), ns: part(ns % NS_PER_S) }
}
