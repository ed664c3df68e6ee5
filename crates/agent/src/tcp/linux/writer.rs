//! The sending application: where its writes end, which segments report by PSH.
//!
//! Source: Linux 6.1 (`tcp_sendmsg_locked`, `tcp_push`, `tcp_stream_memory_free`): each write is 64 KiB
//! in full segments and ends with a marked segment; it is cut short, and so ends, where 128 KiB wait to
//! be sent, and the next begins when less than half of that waits. Within a write a segment is marked
//! when more than half the largest window that was offered has no mark (`forced_push`).

use std::collections::VecDeque;

const WRITE_BYTES: u32 = 1 << 16;
const MAX_UNSENT_BYTES: u32 = 1 << 17;

#[derive(Clone, Debug)]
pub(super) struct ApplicationWriter {
    mss: u32,
    written: u32,
    total: u32,
    marked: u32,          // one past the last segment marked
    marks: VecDeque<u32>, // segments marked
}

impl ApplicationWriter {
    /// Payload of a segment [B], segments of the transfer.
    pub fn new(mss: u32, total: u32) -> Self {
        Self { mss: mss.max(1), written: 0, total, marked: 0, marks: VecDeque::new() }
    }

    /// The application has data up to a segment.
    pub fn extend(&mut self, total: u32) {
        self.total = total;
    }

    fn waits(&self, next: u32, below: u32) -> bool {
        (self.written.saturating_sub(next)).saturating_mul(self.mss) < below
    }

    fn mark(&mut self) {
        if self.marked < self.written {
            self.marks.push_back(self.written - 1);
            self.marked = self.written;
        }
    }

    /// Everything below `una` is acknowledged, `next` is the next to send, `window` the largest that was
    /// offered [B]: writes if there is room.
    pub fn write(&mut self, una: u32, next: u32, window: u64) {
        while self.marks.front().is_some_and(|end| *end < una) {
            self.marks.pop_front();
        }
        if !self.waits(next, MAX_UNSENT_BYTES / 2) {
            return;
        }
        while self.written < self.total && self.waits(next, MAX_UNSENT_BYTES) {
            let max_segments = (WRITE_BYTES / self.mss).max(1).min(self.total - self.written);
            for _ in 0..max_segments {
                if !self.waits(next, MAX_UNSENT_BYTES) {
                    break;
                }
                self.written += 1;
                if u64::from(self.written - self.marked) * u64::from(self.mss) > window / 2 {
                    self.mark();
                }
            }
            self.mark();
        }
    }

    /// Whether the segment is marked.
    pub fn marks(&self, seq: u32) -> bool {
        self.marks.binary_search(&seq).is_ok()
    }
}

#[cfg(test)]
mod linux {
    use super::*;

    /// 64 KiB are 44 segments of 1460 B, 128 KiB 89.8. Three writes: 44, 44 and the 2 that 90 leave.
    /// With 45 unsent, 65700 B, nothing is written; with 44, 64240 B, 44 and 2 more.
    #[test]
    fn tcp_sendmsg_each_write_ends_with_a_mark() {
        let mut writer = ApplicationWriter::new(1460, u32::MAX);
        writer.write(0, 0, 1 << 20);
        assert_eq!(writer.marks, [43, 87, 89]);
        writer.write(0, 45, 1 << 20);
        assert_eq!(writer.written, 90);
        writer.write(44, 46, 1 << 20);
        assert_eq!(writer.marks, [87, 89, 133, 135]);
        assert!(writer.marks(133) && !writer.marks(134));
    }

    /// Three segments in all: the last one ends the only write.
    #[test]
    fn tcp_sendmsg_the_last_segment_of_a_transfer_is_marked() {
        let mut writer = ApplicationWriter::new(1460, 3);
        writer.write(0, 0, 1 << 20);
        assert_eq!(writer.marks, [2]);
    }

    /// Half of a window of 48 segments are 24: the 25th, 36500 B, is more. Of the 44 of a write 19 are
    /// left, which the end of the write marks.
    #[test]
    fn forced_push_marks_more_than_half_the_window() {
        let mut writer = ApplicationWriter::new(1460, 44);
        writer.write(0, 0, 48 * 1460);
        assert_eq!(writer.marks, [24, 43]);
    }
}
