//! A barrier for threads that meet every some hundred microseconds: a sleep and its end cost as much as many events.
//!
//! The regions of a window take nearly as long as each other, so those that are early look for a short time whether
//! the last one has come, and sleep after that.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// Looks before a thread sleeps: some 10 to 100 us, by the kind of processor.
const LOOKS_BEFORE_SLEEP: u32 = 2_000;

/// Where a number of threads wait for the last of them.
pub(super) struct SpinBarrier {
    threads: usize,
    waiting: AtomicUsize,
    /// Times that all have met.
    meetings: AtomicUsize,
    sleepers: Mutex<()>,
    has_met: Condvar,
}

impl SpinBarrier {
    pub fn new(threads: usize) -> Self {
        Self {
            threads,
            waiting: AtomicUsize::new(0),
            meetings: AtomicUsize::new(0),
            sleepers: Mutex::default(),
            has_met: Condvar::new(),
        }
    }

    /// Returns when all threads have called it.
    pub fn wait(&self) {
        let before = self.meetings.load(Ordering::SeqCst);
        let has_met = || self.meetings.load(Ordering::SeqCst) != before;
        if self.waiting.fetch_add(1, Ordering::SeqCst) + 1 == self.threads {
            self.waiting.store(0, Ordering::SeqCst);
            // Under the lock, so that none falls asleep behind it.
            let lock = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
            self.meetings.fetch_add(1, Ordering::SeqCst);
            drop(lock);
            return self.has_met.notify_all();
        }
        for _ in 0..LOOKS_BEFORE_SLEEP {
            if has_met() {
                return;
            }
            spin_loop();
        }
        let mut lock = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
        while !has_met() {
            lock = self.has_met.wait(lock).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Three threads count 2,000 meetings each; of two meetings none begins before all have left the one before,
    /// whether they look or sleep.
    #[test]
    fn nobody_passes_before_all_have_come() {
        let (barrier, come) = (SpinBarrier::new(3), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let (barrier, come) = (&barrier, &come);
                scope.spawn(move || {
                    for meeting in 1..=2_000 {
                        if meeting % 500 == 0 && thread == meeting / 500 % 3 {
                            std::thread::sleep(Duration::from_millis(2));
                        }
                        come.fetch_add(1, Ordering::SeqCst);
                        barrier.wait();
                        let seen = come.load(Ordering::SeqCst);
                        assert!(
                            (3 * meeting..3 * (meeting + 1)).contains(&seen),
                            "{meeting} {seen}"
                        );
                    }
                });
            }
        });
    }
}
