//! The request by which a program would change the kernel's tables, taken before the kernel has it.
//!
//! Source: ptrace(2), netlink(7), rtnetlink(7). The program stops at each call of the kernel; at the first
//! `sendmsg` of a message that changes something its bytes are read, and the program is ended.

use super::{check, check_len};
use std::fs::File;
use std::io;
use std::os::raw::{c_int, c_long, c_uint};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

const TRACE_ME: c_uint = 0;
const CONTINUE_TO_CALL: c_uint = 24;
const SET_OPTIONS: c_uint = 0x4200;
/// Stops at calls are marked by a bit, and the program ends with this process.
const OPTIONS: usize = 1 | 0x10_0000;
const MARKED_TRAP: c_int = 5 | 0x80;
/// `sizeof(struct nlmsghdr)`.
const HEADER_BYTES: usize = 16;

unsafe extern "C" {
    fn ptrace(request: c_uint, ...) -> c_long;
    fn waitpid(process: c_int, status: *mut c_int, options: c_int) -> c_int;
}

/// Runs a program up to its first request that changes something. Nothing: it ended without one.
pub fn take_change_request(command: &mut Command) -> io::Result<Option<Vec<u8>>> {
    let ask_for_tracing = || {
        // SAFETY: this request has no arguments.
        check_len(unsafe { ptrace(TRACE_ME) } as isize).map(drop)
    };
    // SAFETY: between fork and exec it makes one call of the kernel, which takes no memory.
    let mut child = unsafe { command.pre_exec(ask_for_tracing) }.spawn()?;
    let process = c_int::try_from(child.id()).map_err(io::Error::other)?;
    let memory = File::open(format!("/proc/{process}/mem"))?;
    // It has become the program, and waits.
    wait_for_stop(process)?;
    // SAFETY: it takes numbers only.
    check_len(unsafe { ptrace(SET_OPTIONS, process, 0_usize, OPTIONS) } as isize)?;
    let mut signal = 0;
    loop {
        // SAFETY: it takes numbers only.
        check_len(unsafe { ptrace(CONTINUE_TO_CALL, process, 0_usize, signal as usize) } as isize)?;
        signal = match wait_for_stop(process)? {
            None => return Ok(None),
            Some(MARKED_TRAP) => 0,
            Some(other) => other,
        };
        if signal != 0 {
            continue;
        }
        if let Some(message) = read_sent_message(process, &memory)? {
            if is_change(&message) {
                child.kill()?;
                child.wait()?;
                return Ok(Some(message));
            }
        }
    }
}

/// The signal that stopped it. Nothing: it has ended.
fn wait_for_stop(process: c_int) -> io::Result<Option<c_int>> {
    let mut status = 0;
    // SAFETY: the status lives through the call.
    check(unsafe { waitpid(process, &mut status, 0) })?;
    Ok((status & 0xFF == 0x7F).then_some(status >> 8 & 0xFF))
}

/// The bytes that a program which stopped at a call gives to `sendmsg`, if it is that call.
fn read_sent_message(process: c_int, memory: &File) -> io::Result<Option<Vec<u8>>> {
    let Some(header) = message_header_in_call(process)? else { return Ok(None) };
    let word = |at: u64| -> io::Result<u64> {
        let mut bytes = [0; 8];
        memory.read_exact_at(&mut bytes, at)?;
        Ok(u64::from_ne_bytes(bytes))
    };
    // `struct msghdr`: the parts are its third word and their number the fourth; a part is where it
    // begins and its length.
    let (parts, count) = (word(header + 16)?, word(header + 24)?);
    let mut message = Vec::new();
    for part in 0..count {
        let (from, length) = (word(parts + 16 * part)?, word(parts + 16 * part + 8)?);
        let start = message.len();
        message.resize(start + usize::try_from(length).map_err(io::Error::other)?, 0);
        memory.read_exact_at(&mut message[start..], from)?;
    }
    Ok(Some(message))
}

/// Where the `struct msghdr` of the call is, if the call is `sendmsg`.
#[cfg(target_arch = "x86_64")]
fn message_header_in_call(process: c_int) -> io::Result<Option<u64>> {
    const SEND_MESSAGE: u64 = 46;
    const PEEK_USER: c_uint = 3;
    // `struct user_regs_struct`; user-mode Linux knows no other way.
    const NUMBER: usize = 15 * 8;
    const SECOND_ARGUMENT: usize = 13 * 8;
    // SAFETY: it takes numbers only. The values of these registers are no small negative numbers.
    let read =
        |place: usize| check_len(unsafe { ptrace(PEEK_USER, process, place, 0_usize) } as isize);
    Ok(match read(NUMBER)? as u64 {
        SEND_MESSAGE => Some(read(SECOND_ARGUMENT)? as u64),
        _ => None,
    })
}

/// Where the `struct msghdr` of the call is, if the call is `sendmsg`.
#[cfg(not(target_arch = "x86_64"))]
fn message_header_in_call(process: c_int) -> io::Result<Option<u64>> {
    const SEND_MESSAGE: u64 = 211;
    const GET_CALL: c_uint = 0x420E;
    const ENTRY: u64 = 1;
    // `struct ptrace_syscall_info`: the kind in the first byte, then address and stack; from the fourth
    // word on the call's number and arguments.
    let mut call = [0_u64; 11];
    // SAFETY: the words live through the call and their size is given.
    check_len(unsafe { ptrace(GET_CALL, process, size_of_val(&call), call.as_mut_ptr()) } as isize)?;
    Ok((call[0] & 0xFF == ENTRY && call[3] == SEND_MESSAGE).then_some(call[5]))
}

/// The types of messages come in fours: new, delete, get, set.
fn is_change(message: &[u8]) -> bool {
    message.len() >= HEADER_BYTES && message[4] & 3 != 2
}

#[cfg(test)]
mod tests {
    use super::*;

    /// rtnetlink(7): RTM_GETLINK is 18, RTM_NEWROUTE 24, RTM_DELTFILTER 45.
    #[test]
    fn only_messages_that_change_something_are_taken() {
        let of_type = |number: u8| [[0, 0, 0, 0, number, 0, 0, 0], [0; 8]].concat();
        assert!(!is_change(&of_type(18)));
        assert!(is_change(&of_type(24)) && is_change(&of_type(45)));
        assert!(!is_change(&of_type(24)[..15]));
    }

    /// rtnetlink(7), `linux/if_link.h`: RTM_NEWLINK is 16, IFLA_TXQLEN 13; the kernel has seen none of it.
    #[test]
    fn the_request_of_ip_is_taken_before_the_kernel_has_it() {
        let mut command = Command::new("ip");
        command.args(["link", "set", "dev", "lo", "txqueuelen", "77"]);
        let message = match take_change_request(&mut command) {
            // No `ip` here, or a host that forbids tracing.
            Err(why)
                if matches!(
                    why.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
                ) =>
            {
                return;
            }
            taken => taken.expect("it ran").expect("it asks"),
        };
        assert_eq!((message[4], message.len()), (16, 16 + 16 + 8));
        assert_eq!(message[32..], [8, 0, 13, 0, 77, 0, 0, 0]);
        let length =
            std::fs::read_to_string("/sys/class/net/lo/tx_queue_len").expect("it is there");
        assert_ne!(length.trim(), "77");
    }

    #[test]
    fn a_program_that_sends_nothing_has_no_request() {
        assert_eq!(take_change_request(&mut Command::new("true")).expect("it ran"), None);
    }
}
