//! The clock, and waiting for times and sockets.

use super::{check, owned, timespec, Timespec, NONBLOCK_CLOEXEC, NS_PER_S};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::raw::{c_int, c_long, c_void};

/// `EPOLLIN`.
pub const READABLE: u32 = 1;
/// `EPOLLOUT`.
pub const WRITABLE: u32 = 4;
/// `EPOLLERR`.
pub const SOCKET_ERROR: u32 = 8;
/// `EPOLLHUP`: both ends have closed, or the connection is broken.
pub const HUNG_UP: u32 = 0x10;

const CLOCK_REALTIME: c_int = 0;
/// Of the kernels of guests \[ns\].
const TICK_NS: u64 = 4_000_000;
/// Ticks in the longest slot of the timer wheel from which a timer of up to 16 s fires: 8 a level
/// (`LVL_CLK_SHIFT` of `kernel/time/timer.c`).
const SLOT_TICKS: u64 = 64;

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
    fn times(used: *mut c_void) -> c_long;
    fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int;
    fn clock_nanosleep(
        clock: c_int,
        flags: c_int,
        until: *const Timespec,
        left: *mut Timespec,
    ) -> c_int;
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
    /// Without any socket yet.
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

    /// Waits for no more events of a socket, not even of its end.
    pub fn remove(&self, fd: &OwnedFd) -> io::Result<()> {
        self.control(2, fd, 0, 0)
    }

    /// Waits until events occur or the time has come \[ns of the clock\]; calls `take` with the events
    /// and data of each, returns whether the time has come.
    pub fn wait(&mut self, until: u64, mut take: impl FnMut(u32, u64)) -> io::Result<bool> {
        if self.armed != until {
            let timer = Itimerspec { interval: Timespec::default(), value: timespec(until) };
            let fd = self.timer.as_raw_fd();
            // SAFETY: the new time lives through the call; null means that the caller does not need the
            // old one.
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

/// The clock \[ns\].
pub fn clock() -> u64 {
    let mut time = Timespec::default();
    // SAFETY: the kernel writes into the time.
    unsafe { clock_gettime(CLOCK_REALTIME, &mut time) };
    u64::try_from(time.s).unwrap_or(0) * NS_PER_S + u64::try_from(time.ns).unwrap_or(0)
}

/// Finds the next multiple of `step` \[ns\] of the clock at which slots of all lengths begin in the timer
/// wheel of a guest's kernel: a timer fires at the end of its slot.
pub fn find_wheel_turn(step: u64) -> u64 {
    let (tick, ticks) = find_tick();
    let mut turn = (clock() / step + 2) * step;
    while (ticks + (turn - tick) / TICK_NS) % SLOT_TICKS != 0 {
        turn += step;
    }
    turn
}

/// Finds a tick: its time by the clock, no more than 1 us too early, and the kernel's count of ticks
/// from it on (`jiffies`). `times` gives the count in hundredths of a second, of which two are five
/// ticks: where it becomes even it is exact.
fn find_tick() -> (u64, u64) {
    const PERIOD_NS: u64 = 5 * TICK_NS;
    let count_at = |at| {
        sleep_until(at);
        // SAFETY: without a place for the times used only the count is returned.
        unsafe { times(std::ptr::null_mut()) }.unsigned_abs()
    };
    // On a multiple, so that the search is the same after a longer set-up.
    let begin = (clock() / PERIOD_NS + 1) * PERIOD_NS;
    let even = count_at(begin) / 2 * 2 + 2;
    let (mut before, mut after) = (0, PERIOD_NS);
    let mut periods = 0;
    while after - before > 1000 {
        periods += 1;
        let middle = before.midpoint(after);
        if count_at(begin + periods * PERIOD_NS + middle) >= even + 2 * periods {
            after = middle;
        } else {
            before = middle;
        }
    }
    (begin + before, even / 2 * 5)
}

/// Sleeps until the clock shows a time \[ns\].
pub fn sleep_until(ns: u64) {
    const ABSOLUTE: c_int = 1;
    let until = timespec(ns);
    // SAFETY: the time lives through the call; with an absolute time nothing is written.
    while unsafe { clock_nanosleep(CLOCK_REALTIME, ABSOLUTE, &until, std::ptr::null_mut()) } == 4 {}
}
