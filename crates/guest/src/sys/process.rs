//! Namespaces, mounts, modules and the end of processes.

use super::{check, owned};
use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::raw::{c_char, c_int, c_long, c_uint, c_ulong};

unsafe extern "C" {
    fn unshare(flags: c_int) -> c_int;
    fn setns(fd: c_int, kind: c_int) -> c_int;
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
    fn ioctl(fd: c_int, request: c_ulong, ...) -> c_int;
    fn getrlimit(what: c_int, limits: *mut [u64; 2]) -> c_int;
    fn setrlimit(what: c_int, limits: *const [u64; 2]) -> c_int;
    fn personality(kind: c_ulong) -> c_int;
    fn sched_setscheduler(process: c_int, policy: c_int, priority: *const c_int) -> c_int;
    fn sched_setaffinity(process: c_int, size: usize, mask: *const u64) -> c_int;
}

/// Moves this thread into a new network namespace. Without root it takes a new user namespace for
/// that, in which this user is root.
pub fn new_network() -> io::Result<()> {
    const NEW_USER: c_int = 0x1000_0000;
    const NEW_NETWORK: c_int = 0x4000_0000;
    // SAFETY: it has no argument and cannot fail.
    let user = unsafe { geteuid() };
    let kind = if user == 0 { NEW_NETWORK } else { NEW_NETWORK | NEW_USER };
    // SAFETY: it takes a number only.
    check(unsafe { unshare(kind) })?;
    if user != 0 {
        // user_namespaces(7): programs started from here keep their rights as user 0 only.
        fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    }
    Ok(())
}

/// Moves this thread into a network namespace.
pub fn enter_network(namespace: &impl AsRawFd) -> io::Result<()> {
    // SAFETY: it takes numbers only.
    check(unsafe { setns(namespace.as_raw_fd(), 0x4000_0000) }).map(drop)
}

/// Has a process wait while any other has something to do.
pub fn put_last(process: u32) -> io::Result<()> {
    const IDLE: c_int = 5;
    let process = c_int::try_from(process).map_err(io::Error::other)?;
    // SAFETY: the priority, of which this policy has one, lives through the call.
    check(unsafe { sched_setscheduler(process, IDLE, &0) }).map(drop)
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

/// Leaves no image of its memory behind when it dies; a guest's is as large as its memory.
pub fn leave_no_core() -> io::Result<()> {
    const CORE: c_int = 4;
    // SAFETY: the limits, soft and hard, live through the call.
    check(unsafe { setrlimit(CORE, &[0, 0]) }).map(drop)
}

/// Lets this process have as many descriptors as it may: in a guest half a million.
pub fn open_many() {
    const FILES: c_int = 7;
    const MAX_DESCRIPTORS: u64 = 1 << 19;
    let mut limits = [0; 2];
    // SAFETY: the limits, soft and hard, live through the calls.
    unsafe {
        if setrlimit(FILES, &[MAX_DESCRIPTORS, MAX_DESCRIPTORS]) < 0
            && getrlimit(FILES, &mut limits) == 0
        {
            setrlimit(FILES, &[limits[1], limits[1]]);
        }
    }
}

/// Keeps this process on one processor, numbered below 1024.
pub fn stay_on(processor: usize) -> io::Result<()> {
    let mut mask = [0_u64; 16];
    *mask.get_mut(processor / 64).ok_or(io::ErrorKind::InvalidInput)? = 1 << (processor % 64);
    // SAFETY: the mask lives through the call and its size is given.
    check(unsafe { sched_setaffinity(0, size_of_val(&mask), mask.as_ptr()) }).map(drop)
}

/// Seeds the kernel's random numbers, as far as no other source has changed them.
pub fn seed_random(seed: u64) -> io::Result<()> {
    const ADD_ENTROPY: c_ulong = 0x4008_5203;
    const RESEED: c_ulong = 0x5207;
    let device = File::options().write(true).open("/dev/urandom")?;
    // `struct rand_pool_info`: bits to count, bytes that follow; 32 bytes make the generator ready.
    let mut information = [0_u32; 10];
    information[..2].copy_from_slice(&[256, 32]);
    for (number, word) in (0_u32..).zip(&mut information[2..]) {
        let [low, high] = [seed & 0xFFFF_FFFF, seed >> 32].map(|half| half as u32);
        *word = if number % 2 == 0 { low } else { high } ^ number;
    }
    // SAFETY: the information lives through the call and has its own length.
    check(unsafe { ioctl(device.as_raw_fd(), ADD_ENTROPY, information.as_ptr()) })?;
    // SAFETY: this request has no argument. It fails while the generator is not ready, which the request
    // before has ensured.
    check(unsafe { ioctl(device.as_raw_fd(), RESEED, 0) }).map(drop)
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

/// Loads a kernel module; no error if it is already loaded.
pub fn load_module(file: &File) -> io::Result<()> {
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
    // SAFETY: sync has no argument; reboot takes a number.
    unsafe {
        sync();
        reboot(0x4321_FEDC);
    }
    loop {
        std::thread::park();
    }
}

/// A file in memory that ends with its last descriptor.
pub fn memory_file() -> io::Result<File> {
    // SAFETY: the name is a string that lives for ever.
    owned(unsafe { memfd_create(c"batch".as_ptr(), 1) }).map(File::from)
}
