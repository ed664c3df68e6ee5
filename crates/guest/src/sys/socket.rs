//! Sockets of IPv4 and of netlink.

use super::{check, check_len, length, owned, Timespec, NONBLOCK_CLOEXEC, NS_PER_S};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::raw::{c_int, c_uint, c_void};

/// `SOCK_STREAM`.
pub const STREAM: i32 = 1;
/// `SOCK_DGRAM`.
pub const DATAGRAM: i32 = 2;
/// `SOL_SOCKET`.
pub const SOCKET: i32 = 1;
/// `IPPROTO_IP`.
pub const IP: i32 = 0;
/// `IPPROTO_TCP`.
pub const TCP: i32 = 6;

const AF_INET: u16 = 2;
const AF_NETLINK: c_int = 16;
const DONTWAIT: c_int = 0x40;
const TRUNC: c_int = 0x20;
const NOSIGNAL: c_int = 0x4000;
const MORE: c_int = 0x8000;
const END_OF_RECORD: c_int = 0x80;
const ERRQUEUE: c_int = 0x2000;

#[repr(C)]
struct SockaddrIn {
    family: u16,
    port: [u8; 2],
    address: [u8; 4],
    zero: [u8; 8],
}

#[repr(C)]
struct Iovec {
    base: *mut c_void,
    len: usize,
}

#[repr(C)]
struct Msghdr {
    name: *mut c_void,
    namelen: c_uint,
    iov: *mut Iovec,
    iovlen: usize,
    control: *mut c_void,
    controllen: usize,
    flags: c_int,
}

#[repr(C)]
struct Mmsghdr {
    header: Msghdr,
    len: c_uint,
}

unsafe extern "C" {
    fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int;
    fn bind(fd: c_int, address: *const SockaddrIn, len: c_uint) -> c_int;
    fn connect(fd: c_int, address: *const SockaddrIn, len: c_uint) -> c_int;
    fn getsockname(fd: c_int, address: *mut SockaddrIn, len: *mut c_uint) -> c_int;
    fn getpeername(fd: c_int, address: *mut SockaddrIn, len: *mut c_uint) -> c_int;
    fn listen(fd: c_int, backlog: c_int) -> c_int;
    fn accept4(fd: c_int, address: *mut c_void, len: *mut c_uint, flags: c_int) -> c_int;
    fn setsockopt(fd: c_int, level: c_int, name: c_int, value: *const c_void, len: c_uint)
        -> c_int;
    fn getsockopt(
        fd: c_int,
        level: c_int,
        name: c_int,
        value: *mut c_void,
        len: *mut c_uint,
    ) -> c_int;
    fn sendto(
        fd: c_int,
        bytes: *const c_void,
        len: usize,
        flags: c_int,
        to: *const SockaddrIn,
        tolen: c_uint,
    ) -> isize;
    fn shutdown(fd: c_int, how: c_int) -> c_int;
    fn sendmsg(fd: c_int, message: *const Msghdr, flags: c_int) -> isize;
    fn recvmsg(fd: c_int, message: *mut Msghdr, flags: c_int) -> isize;
    fn recv(fd: c_int, bytes: *mut c_void, len: usize, flags: c_int) -> isize;
    fn recvmmsg(
        fd: c_int,
        messages: *mut Mmsghdr,
        count: c_uint,
        flags: c_int,
        timeout: *mut Timespec,
    ) -> c_int;
}

fn address(ip: Ipv4Addr, port: u16) -> SockaddrIn {
    let port = port.to_be_bytes();
    SockaddrIn { family: AF_INET, port, address: ip.octets(), zero: [0; 8] }
}

/// A socket of IPv4 that never blocks.
pub fn inet_socket(kind: i32) -> io::Result<OwnedFd> {
    // SAFETY: it takes numbers only.
    owned(unsafe { socket(c_int::from(AF_INET), kind | NONBLOCK_CLOEXEC, 0) })
}

/// A socket to the kernel's routing and queueing tables, which blocks.
pub fn netlink_socket() -> io::Result<OwnedFd> {
    // SAFETY: it takes numbers only.
    owned(unsafe { socket(AF_NETLINK, 3 | 0o2_000_000, 0) })
}

/// Binds a socket.
pub fn bind_to(fd: &OwnedFd, ip: Ipv4Addr, port: u16) -> io::Result<()> {
    // SAFETY: the address lives through the call and its length is its own.
    check(unsafe { bind(fd.as_raw_fd(), &address(ip, port), length::<SockaddrIn>()) }).map(drop)
}

/// Starts to connect a socket; no error if the connection is in progress.
pub fn connect_to(fd: &OwnedFd, ip: Ipv4Addr, port: u16) -> io::Result<()> {
    // SAFETY: the address lives through the call and its length is its own.
    let done = unsafe { connect(fd.as_raw_fd(), &address(ip, port), length::<SockaddrIn>()) };
    const IN_PROGRESS: i32 = 115;
    match check(done) {
        Err(why) if why.raw_os_error() != Some(IN_PROGRESS) => Err(why),
        _ => Ok(()),
    }
}

/// Listens for connections, `backlog` at once.
pub fn listen_on(fd: &OwnedFd, backlog: i32) -> io::Result<()> {
    // SAFETY: it takes numbers only.
    check(unsafe { listen(fd.as_raw_fd(), backlog) }).map(drop)
}

/// The port that a socket is bound to.
pub fn own_port(fd: &OwnedFd) -> io::Result<u16> {
    port_of(fd, getsockname)
}

/// The port at the other end of a connection.
pub fn peer_port(fd: &OwnedFd) -> io::Result<u16> {
    port_of(fd, getpeername)
}

type NameOf = unsafe extern "C" fn(c_int, *mut SockaddrIn, *mut c_uint) -> c_int;

fn port_of(fd: &OwnedFd, name: NameOf) -> io::Result<u16> {
    let mut bound_address = address(Ipv4Addr::UNSPECIFIED, 0);
    let mut len = length::<SockaddrIn>();
    // SAFETY: the kernel writes at most `len` bytes into the address, which lives through the call.
    check(unsafe { name(fd.as_raw_fd(), &mut bound_address, &mut len) })?;
    Ok(u16::from_be_bytes(bound_address.port))
}

/// Takes a connection.
pub fn accept_from(fd: &OwnedFd) -> io::Result<OwnedFd> {
    let nobody = std::ptr::null_mut();
    // SAFETY: null means that the caller does not need the address.
    owned(unsafe { accept4(fd.as_raw_fd(), nobody, std::ptr::null_mut(), NONBLOCK_CLOEXEC) })
}

/// Sets an option of a socket to bytes.
pub fn set_bytes(fd: &OwnedFd, level: i32, name: i32, value: &[u8]) -> io::Result<()> {
    let len = c_uint::try_from(value.len()).map_err(io::Error::other)?;
    // SAFETY: the value lives through the call and its length is given.
    check(unsafe { setsockopt(fd.as_raw_fd(), level, name, value.as_ptr().cast(), len) }).map(drop)
}

/// Sets an option of a socket to a number.
pub fn set(fd: &OwnedFd, level: i32, name: i32, value: u32) -> io::Result<()> {
    set_bytes(fd, level, name, &value.to_ne_bytes())
}

/// Reads an option of a socket; how many bytes it has.
pub fn get_bytes(fd: &OwnedFd, level: i32, name: i32, value: &mut [u8]) -> io::Result<usize> {
    let mut len = c_uint::try_from(value.len()).map_err(io::Error::other)?;
    // SAFETY: the kernel writes at most `len` bytes into the value and returns how many.
    check(unsafe { getsockopt(fd.as_raw_fd(), level, name, value.as_mut_ptr().cast(), &mut len) })?;
    Ok(len as usize)
}

/// Sends a datagram.
pub fn send_to(fd: &OwnedFd, bytes: &[u8], ip: Ipv4Addr, port: u16) -> io::Result<usize> {
    let to = address(ip, port);
    // SAFETY: bytes and address live through the call and their lengths are their own.
    check_len(unsafe {
        sendto(
            fd.as_raw_fd(),
            bytes.as_ptr().cast(),
            bytes.len(),
            DONTWAIT,
            &to,
            length::<SockaddrIn>(),
        )
    })
}

/// Treatment of the last segment of bytes that are sent, if it is not full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastSegment {
    /// It goes, or the next bytes fill it up.
    Fillable,
    /// It waits for [`send_fin`].
    Held,
    /// It goes alone: the next bytes begin another.
    Own,
}

/// Writes as much to a connection as it takes now. With `stamped`, the kernel stores the time at which
/// the last of these bytes is acknowledged, for [`acknowledged_at`].
pub fn send(fd: &OwnedFd, bytes: &[u8], stamped: bool, last: LastSegment) -> io::Result<usize> {
    // One control message: SOL_SOCKET, SO_TIMESTAMPING, SOF_TIMESTAMPING_TX_ACK (bit 9).
    let mut control = [20_u64, (37 << 32) | 1, 1 << 9];
    let mut part = Iovec { base: bytes.as_ptr().cast_mut().cast(), len: bytes.len() };
    let message = Msghdr {
        name: std::ptr::null_mut(),
        namelen: 0,
        iov: &mut part,
        iovlen: 1,
        control: if stamped { control.as_mut_ptr().cast() } else { std::ptr::null_mut() },
        controllen: if stamped { size_of_val(&control) } else { 0 },
        flags: 0,
    };
    let ending = match last {
        LastSegment::Fillable => 0,
        LastSegment::Held => MORE,
        LastSegment::Own => END_OF_RECORD,
    };
    let flags = DONTWAIT | NOSIGNAL | ending;
    // SAFETY: all it points to lives through the call; the kernel only reads it.
    check_len(unsafe { sendmsg(fd.as_raw_fd(), &message, flags) })
}

/// Sends FIN, on the last segment if that has not left.
pub fn send_fin(fd: &OwnedFd) -> io::Result<()> {
    const WRITE: c_int = 1;
    // SAFETY: it takes numbers only.
    check(unsafe { shutdown(fd.as_raw_fd(), WRITE) }).map(drop)
}

/// Discards the bytes that a connection has received; returns how many, none at its end.
pub fn discard(fd: &OwnedFd) -> io::Result<usize> {
    // SAFETY: with MSG_TRUNC the kernel discards the bytes of a TCP socket and writes nothing.
    check_len(unsafe { recv(fd.as_raw_fd(), std::ptr::null_mut(), 1 << 30, DONTWAIT | TRUNC) })
}

/// The time on the error queue of a connection at which the bytes that [`send`] stamped were
/// acknowledged \[ns of the clock\].
pub fn acknowledged_at(fd: &OwnedFd) -> Option<u64> {
    let (mut byte, mut control) = ([0_u8; 8], [0_u64; 32]);
    let mut part = Iovec { base: byte.as_mut_ptr().cast(), len: byte.len() };
    let mut message = Msghdr {
        name: std::ptr::null_mut(),
        namelen: 0,
        iov: &mut part,
        iovlen: 1,
        control: control.as_mut_ptr().cast(),
        controllen: size_of_val(&control),
        flags: 0,
    };
    // SAFETY: all it points to lives through the call and its lengths are given.
    check_len(unsafe { recvmsg(fd.as_raw_fd(), &mut message, ERRQUEUE | DONTWAIT) }).ok()?;
    let mut ack_time = None;
    each_control(&control, message.controllen, |level, kind, value| {
        if (level, kind) == (SOCKET, 37) {
            ack_time = timestamp(value);
        }
    });
    ack_time
}

/// Calls `take` with level, type and value of each control message.
fn each_control(control: &[u64], length: usize, mut take: impl FnMut(i32, i32, &[u8])) {
    let bytes: Vec<u8> = control.iter().flat_map(|word| word.to_ne_bytes()).take(length).collect();
    let mut rest = bytes.as_slice();
    while let Some((header, _)) = rest.split_first_chunk::<16>() {
        let number =
            |at: usize| i32::from_ne_bytes(header[at..at + 4].try_into().expect("4 bytes"));
        let size = usize::try_from(number(0)).unwrap_or(0);
        if size < 16 || size > rest.len() {
            break;
        }
        take(number(8), number(12), &rest[16..size]);
        rest = rest.get(size.next_multiple_of(8)..).unwrap_or(&[]);
    }
}

fn timestamp(value: &[u8]) -> Option<u64> {
    let (s, rest) = value.split_first_chunk::<8>()?;
    let ns = rest.first_chunk::<8>()?;
    Some(u64::from_ne_bytes(*s) * NS_PER_S + u64::from_ne_bytes(*ns))
}

/// A datagram that arrived: its first bytes, and the kernel's data about it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrival {
    /// The first bytes of its payload.
    pub head: [u8; 16],
    /// TOS byte.
    pub tos: u8,
    /// Time to live.
    pub ttl: u8,
    /// When it arrived \[ns of the clock\].
    pub at: u64,
}

/// Reads up to 64 of the datagrams that wait at a socket; calls `take` with each, returns how many.
pub fn receive(fd: &OwnedFd, mut take: impl FnMut(Arrival)) -> io::Result<usize> {
    const BATCH: usize = 64;
    let mut heads = [[0_u8; 16]; BATCH];
    let mut controls = [[0_u64; 16]; BATCH];
    let mut parts: Vec<Iovec> =
        heads.iter_mut().map(|head| Iovec { base: head.as_mut_ptr().cast(), len: 16 }).collect();
    let mut messages: Vec<Mmsghdr> = parts
        .iter_mut()
        .zip(&mut controls)
        .map(|(part, control)| Mmsghdr {
            header: Msghdr {
                name: std::ptr::null_mut(),
                namelen: 0,
                iov: part,
                iovlen: 1,
                control: control.as_mut_ptr().cast(),
                controllen: size_of_val(control),
                flags: 0,
            },
            len: 0,
        })
        .collect();
    let (first, none) = (messages.as_mut_ptr(), std::ptr::null_mut());
    // SAFETY: there are BATCH messages, and all they point to lives until the end of this function.
    let count = unsafe { recvmmsg(fd.as_raw_fd(), first, BATCH as c_uint, DONTWAIT, none) };
    if count < 0 {
        let why = io::Error::last_os_error();
        return if why.kind() == io::ErrorKind::WouldBlock { Ok(0) } else { Err(why) };
    }
    let count = usize::try_from(count).unwrap_or(0);
    for ((message, head), control) in messages.iter().zip(&heads).zip(&controls).take(count) {
        let mut arrival = Arrival { head: *head, ..Arrival::default() };
        each_control(control, message.header.controllen, |level, kind, value| {
            match (level, kind) {
                (IP, 1) => arrival.tos = value.first().copied().unwrap_or(0),
                (IP, 2) => arrival.ttl = value.first().copied().unwrap_or(0),
                (SOCKET, 35) => arrival.at = timestamp(value).unwrap_or(0),
                _ => {}
            }
        });
        take(arrival);
    }
    Ok(count)
}
