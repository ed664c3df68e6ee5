//! The application that sends: how its writes end, which the segments tell (PSH).
//!
//! Source: Linux 6.1 (`tcp_sendmsg_locked`, `tcp_push`, `tcp_stream_memory_free`): each write is of
//! 64 KiB in whole segments and ends with a segment marked; one is cut short, and so ends, where 128
//! KiB wait to be sent, and the next begins when less than half of that waits.
//! Differs: the mark within a write that is longer than half the receiver's window is left out: that
//! window grows as long, and while it grows every segment is acknowledged.

use std::collections::VecDeque;

const WRITE: u32 = 1 << 16;
const MOST_UNSENT: u32 = 1 << 17;

#[derive(Clone, Debug)]
pub(super) struct Writer {
    mss: u32,
    written: u32,
    total: u32,
    ends: VecDeque<u32>, // segments that end a write
}

impl Writer {
    /// Payload of a segment [B], segments of the whole transfer.
    pub fn new(mss: u32, total: u32) -> Self {
        Self { mss: mss.max(1), written: 0, total, ends: VecDeque::new() }
    }

    fn waits(&self, next: u32, below: u32) -> bool {
        (self.written.saturating_sub(next)).saturating_mul(self.mss) < below
    }

    /// All below `una` is acknowledged, `next` is the next to send: writes if there is room.
    pub fn write(&mut self, una: u32, next: u32) {
        while self.ends.front().is_some_and(|end| *end < una) {
            self.ends.pop_front();
        }
        if !self.waits(next, MOST_UNSENT / 2) {
            return;
        }
        while self.written < self.total && self.waits(next, MOST_UNSENT) {
            let most = (WRITE / self.mss).max(1).min(self.total - self.written);
            for _ in 0..most {
                if !self.waits(next, MOST_UNSENT) {
                    break;
                }
                self.written += 1;
            }
            self.ends.push_back(self.written - 1);
        }
    }

    /// Whether the segment ends a write.
    pub fn ends(&self, seq: u32) -> bool {
        self.ends.binary_search(&seq).is_ok()
    }
}

#[cfg(test)]
mod linux {
    use super::*;

    /// 64 KiB are 44 segments of 1460 B, 128 KiB 89.8. Three writes: 44, 44 and the 2 that 90 leave.
    /// With 45 unsent, 65700 B, nothing is written; with 44, 64240 B, 44 and 2 more.
    #[test]
    fn tcp_sendmsg_each_write_ends_with_a_mark() {
        let mut writer = Writer::new(1460, u32::MAX);
        writer.write(0, 0);
        assert_eq!(writer.ends, [43, 87, 89]);
        writer.write(0, 45);
        assert_eq!(writer.written, 90);
        writer.write(44, 46);
        assert_eq!(writer.ends, [87, 89, 133, 135]);
        assert!(writer.ends(133) && !writer.ends(134));
    }

    /// Three segments in all: the last one ends the only write.
    #[test]
    fn tcp_sendmsg_the_last_segment_of_a_transfer_is_marked() {
        let mut writer = Writer::new(1460, 3);
        writer.write(0, 0);
        assert_eq!(writer.ends, [2]);
    }
}
