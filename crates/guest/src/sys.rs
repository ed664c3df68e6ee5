//! The calls of the C library that the standard library does not offer, each behind a safe wrapper.
//!
//! This is the only file with `unsafe`. Layouts are those of Linux on 64-bit machines; constants are
//! those of x86-64 and AArch64, which agree in all that is used here.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::raw::{c_char, c_int, c_long, c_uint, c_ulong, c_void};

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
/// `EPOLLIN`.
pub const READABLE: u32 = 1;
/// `EPOLLOUT`.
pub const WRITABLE: u32 = 4;
/// `EPOLLERR`.
pub const FAILED: u32 = 8;

const AF_INET: u16 = 2;
const AF_NETLINK: c_int = 16;
const CLOCK_REALTIME: c_int = 0;
const NONBLOCK_CLOEXEC: c_int = 0o4000 | 0o2_000_000;
const DONTWAIT: c_int = 0x40;
const TRUNC: c_int = 0x20;
const NOSIGNAL: c_int = 0x4000;
const ERRQUEUE: c_int = 0x2000;
const NS_PER_S: u64 = 1_000_000_000;

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Timespec {
    s: i64,
    ns: i64,
}

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

#[cfg_attr(target_arch = "x86_64", repr(C, packed))]
#[cfg_attr(not(target_arch = "x86_64"), repr(C))]
#[derive(Clone, Copy)]
struct EpollEvent {
    events: u32,
    data: u64,
}

#[repr(C)]
struct Itimerspec {
    interval: Timespec,
    value: Timespec,
}

unsafe extern "C" {
    fn unshare(flags: c_int) -> c_int;
    fn setns(fd: c_int, kind: c_int) -> c_int;
    fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int;
    fn bind(fd: c_int, address: *const SockaddrIn, len: c_uint) -> c_int;
    fn connect(fd: c_int, address: *const SockaddrIn, len: c_uint) -> c_int;
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
    fn epoll_create1(flags: c_int) -> c_int;
    fn epoll_ctl(epoll: c_int, operation: c_int, fd: c_int, event: *mut EpollEvent) -> c_int;
    fn epoll_wait(epoll: c_int, events: *mut EpollEvent, most: c_int, timeout_ms: c_int) -> c_int;
    fn timerfd_create(clock: c_int, flags: c_int) -> c_int;
    fn timerfd_settime(
        fd: c_int,
        flags: c_int,
        new: *const Itimerspec,
        old: *mut Itimerspec,
    ) -> c_int;
    fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int;
    fn clock_nanosleep(
        clock: c_int,
        flags: c_int,
        until: *const Timespec,
        left: *mut Timespec,
    ) -> c_int;
    fn prctl(option: c_int, a: c_ulong, b: c_ulong, c: c_ulong, d: c_ulong) -> c_int;
    fn mount(
        source: *const c_char,
        target: *const c_char,
        kind: *const c_char,
        flags: c_ulong,
        data: *const c_char,
    ) -> c_int;
    fn reboot(command: c_int) -> c_int;
    fn sync();
    fn syscall(number: c_long, ...) -> c_long;
    fn memfd_create(name: *const c_char, flags: c_uint) -> c_int;
    fn geteuid() -> c_uint;
    fn personality(kind: c_ulong) -> c_int;
    fn sched_setaffinity(process: c_int, size: usize, mask: *const u64) -> c_int;
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
    // SAFETY: the kernel has just opened it for us, and nobody else knows it.
    check(result).map(|fd| unsafe { OwnedFd::from_raw_fd(fd) })
}

fn length<T>() -> c_uint {
    c_uint::try_from(size_of::<T>()).expect("structures of the kernel are small")
}

/// Whether this process is root.
pub fn is_root() -> bool {
    // SAFETY: it takes nothing and cannot fail.
    unsafe { geteuid() == 0 }
}

/// Moves this thread into a new network namespace, and a new user namespace before that if asked.
pub fn new_network(new_user: bool) -> io::Result<()> {
    let flags = if new_user { 0x5000_0000 } else { 0x4000_0000 };
    // SAFETY: it takes a number only.
    check(unsafe { unshare(flags) }).map(drop)
}

/// Moves this thread into a network namespace.
pub fn enter_network(namespace: &impl AsRawFd) -> io::Result<()> {
    // SAFETY: it takes numbers only.
    check(unsafe { setns(namespace.as_raw_fd(), 0x4000_0000) }).map(drop)
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

/// Starts to connect a socket; that it is under way is no error.
pub fn connect_to(fd: &OwnedFd, ip: Ipv4Addr, port: u16) -> io::Result<()> {
    // SAFETY: the address lives through the call and its length is its own.
    let done = unsafe { connect(fd.as_raw_fd(), &address(ip, port), length::<SockaddrIn>()) };
    const IN_PROGRESS: i32 = 115;
    match check(done) {
        Err(why) if why.raw_os_error() != Some(IN_PROGRESS) => Err(why),
        _ => Ok(()),
    }
}

/// Listens for one connection.
pub fn listen_on(fd: &OwnedFd) -> io::Result<()> {
    // SAFETY: it takes numbers only.
    check(unsafe { listen(fd.as_raw_fd(), 8) }).map(drop)
}

/// Takes a connection.
pub fn accept_from(fd: &OwnedFd) -> io::Result<OwnedFd> {
    let nobody = std::ptr::null_mut();
    // SAFETY: null says that nobody asks for the address.
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
    // SAFETY: the kernel writes at most `len` bytes into the value and says how many.
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

/// Writes to a connection what it takes now. With `stamped`, the kernel keeps the time at which the
/// last of these bytes is acknowledged, for [`acknowledged_at`].
pub fn send(fd: &OwnedFd, bytes: &[u8], stamped: bool) -> io::Result<usize> {
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
    // SAFETY: all it points to lives through the call; the kernel only reads it.
    check_len(unsafe { sendmsg(fd.as_raw_fd(), &message, DONTWAIT | NOSIGNAL) })
}

/// Throws away what a connection has received; how many bytes, none at its end.
pub fn discard(fd: &OwnedFd) -> io::Result<usize> {
    // SAFETY: with MSG_TRUNC the kernel throws the bytes of a TCP socket away and writes nothing.
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
    let mut found = None;
    each_control(&control, message.controllen, |level, kind, value| {
        if (level, kind) == (SOCKET, 37) {
            found = timestamp(value);
        }
    });
    found
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

/// A datagram that arrived: how it begins, and what the kernel says of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrival {
    /// The first bytes of its payload.
    pub head: [u8; 16],
    /// TOS byte.
    pub tos: u8,
    /// Time to live.
    pub ttl: u8,
    /// When it came \[ns of the clock\].
    pub at: u64,
}

/// Reads up to 64 of the datagrams that wait at a socket; calls `take` with each, says how many.
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

/// Waits for sockets and for a time.
#[derive(Debug)]
pub struct Waiter {
    epoll: OwnedFd,
    timer: OwnedFd,
    armed: u64,
}

const TIMER: u64 = u64::MAX;

impl Waiter {
    /// Waits for nothing yet.
    pub fn new() -> io::Result<Self> {
        // SAFETY: both take numbers only.
        let epoll = owned(unsafe { epoll_create1(0o2_000_000) })?;
        let timer = owned(unsafe { timerfd_create(CLOCK_REALTIME, NONBLOCK_CLOEXEC) })?;
        let waiter = Self { epoll, timer, armed: 0 };
        waiter.control(1, &waiter.timer, READABLE, TIMER)?;
        Ok(waiter)
    }

    fn control(&self, operation: c_int, fd: &OwnedFd, events: u32, data: u64) -> io::Result<()> {
        let mut event = EpollEvent { events, data };
        // SAFETY: the event lives through the call; the kernel copies it.
        check(unsafe { epoll_ctl(self.epoll.as_raw_fd(), operation, fd.as_raw_fd(), &mut event) })
            .map(drop)
    }

    /// Begins to wait for events of a socket; `data` is given back with them.
    pub fn add(&self, fd: &OwnedFd, events: u32, data: u64) -> io::Result<()> {
        self.control(1, fd, events, data)
    }

    /// Waits for other events of a socket.
    pub fn change(&self, fd: &OwnedFd, events: u32, data: u64) -> io::Result<()> {
        self.control(3, fd, events, data)
    }

    /// Waits until events come or the time has come \[ns of the clock\]; calls `take` with the
    /// events and data of each, says whether the time has come.
    pub fn wait(&mut self, until: u64, mut take: impl FnMut(u32, u64)) -> io::Result<bool> {
        if self.armed != until {
            let timer = Itimerspec { interval: Timespec::default(), value: timespec(until) };
            let fd = self.timer.as_raw_fd();
            // SAFETY: the new time lives through the call; null says that nobody asks for the old.
            check(unsafe { timerfd_settime(fd, 1, &timer, std::ptr::null_mut()) })?;
            self.armed = until;
        }
        let mut events = [EpollEvent { events: 0, data: 0 }; 64];
        // SAFETY: there is room for 64 events.
        let count = unsafe { epoll_wait(self.epoll.as_raw_fd(), events.as_mut_ptr(), 64, -1) };
        let mut due = false;
        for event in events.iter().take(usize::try_from(count).unwrap_or(0)) {
            if event.data == TIMER {
                due = true;
            } else {
                take(event.events, event.data);
            }
        }
        Ok(due)
    }
}

fn timespec(ns: u64) -> Timespec {
    let part = |value: u64| i64::try_from(value).expect("times are below 2**63 ns");
    Timespec { s: part(ns / NS_PER_S), ns: part(ns % NS_PER_S) }
}

/// The clock \[ns\].
pub fn clock() -> u64 {
    let mut time = Timespec::default();
    // SAFETY: the kernel writes into the time.
    unsafe { clock_gettime(CLOCK_REALTIME, &mut time) };
    u64::try_from(time.s).unwrap_or(0) * NS_PER_S + u64::try_from(time.ns).unwrap_or(0)
}

/// Sleeps until the clock shows a time \[ns\].
pub fn sleep_until(ns: u64) {
    const ABSOLUTE: c_int = 1;
    let until = timespec(ns);
    // SAFETY: the time lives through the call; with an absolute time nothing is written.
    while unsafe { clock_nanosleep(CLOCK_REALTIME, ABSOLUTE, &until, std::ptr::null_mut()) } == 4 {}
}

/// Lets timers fire when they are due; by default the kernel may hold them back by 50 us.
pub fn sharpen_timers() -> io::Result<()> {
    const SET_TIMERSLACK: c_int = 29;
    // SAFETY: it takes numbers only.
    check(unsafe { prctl(SET_TIMERSLACK, 1, 0, 0, 0) }).map(drop)
}

/// Has the kernel kill this process when its parent dies.
pub fn die_with_parent() -> io::Result<()> {
    const SET_PDEATHSIG: c_int = 1;
    // SAFETY: it takes numbers only.
    check(unsafe { prctl(SET_PDEATHSIG, 9, 0, 0, 0) }).map(drop)
}

/// Lets programs that this process becomes lie at the same addresses each time.
pub fn fix_addresses() -> io::Result<()> {
    const NO_RANDOM: c_ulong = 0x0004_0000;
    // SAFETY: it takes a number only.
    check(unsafe { personality(NO_RANDOM) }).map(drop)
}

/// Keeps this process on one processor, numbered below 1024.
pub fn stay_on(processor: usize) -> io::Result<()> {
    let mut mask = [0_u64; 16];
    *mask.get_mut(processor / 64).ok_or(io::ErrorKind::InvalidInput)? = 1 << (processor % 64);
    // SAFETY: the mask lives through the call and its size is given.
    check(unsafe { sched_setaffinity(0, size_of_val(&mask), mask.as_ptr()) }).map(drop)
}

/// Mounts a file system.
pub fn mount_on(source: &str, target: &str, kind: &str, data: &str) -> io::Result<()> {
    let [source, target, kind, data] =
        [source, target, kind, data].map(|text| CString::new(text).expect("no NUL in our texts"));
    // SAFETY: the strings live through the call.
    check(unsafe {
        mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), 0, data.as_ptr().cast())
    })
    .map(drop)
}

/// Loads a kernel module; that it is there already is no error.
pub fn load_module(file: &std::fs::File) -> io::Result<()> {
    #[cfg(target_arch = "x86_64")]
    const FINIT_MODULE: c_long = 313;
    #[cfg(not(target_arch = "x86_64"))]
    const FINIT_MODULE: c_long = 273;
    const EXISTS: i32 = 17;
    // SAFETY: the parameters are an empty string that lives for ever.
    let result = unsafe { syscall(FINIT_MODULE, file.as_raw_fd(), c"".as_ptr(), 0) };
    match io::Error::last_os_error() {
        why if result < 0 && why.raw_os_error() != Some(EXISTS) => Err(why),
        _ => Ok(()),
    }
}

/// Turns the machine off.
pub fn power_off() -> ! {
    // SAFETY: sync takes nothing; reboot takes a number.
    unsafe {
        sync();
        reboot(0x4321_FEDC);
    }
    loop {
        std::thread::park();
    }
}

/// A file in memory that goes with its last descriptor.
pub fn memory_file() -> io::Result<std::fs::File> {
    // SAFETY: the name is a string that lives for ever.
    owned(unsafe { memfd_create(c"batch".as_ptr(), 1) }).map(std::fs::File::from)
}
