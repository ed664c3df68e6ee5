//! The sending application: where its writes end, which segments report by PSH, and what a send buffer holds.
//!
//! Source: Linux 6.1 (`tcp_sendmsg_locked`, `tcp_push`, `tcp_stream_memory_free`): each write is 64 KiB
//! in full segments and ends with a marked segment; it is cut short, and so ends, where 128 KiB wait to
//! be sent, and the next begins when less than half of that waits. Within a write a segment is marked
//! when more than half the largest window that was offered has no mark (`forced_push`). A segment is written
//! while the buffer is not full, so that the last may not fit; an application that found it full writes again
//! when a third is free (`sk_stream_write_space`).

use std::collections::VecDeque;

const WRITE_BYTES: u32 = 1 << 16;
const MAX_UNSENT_BYTES: u32 = 1 << 17;

/// Send buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct SendMemory {
    /// Its size, and what a segment takes of it until it is acknowledged [B].
    pub bytes: u64,
    pub per_segment: u64,
}

#[derive(Clone, Debug)]
pub(super) struct ApplicationWriter {
    mss: u32,
    written: u32,
    total: u32,
    marked: u32,          // one past the last segment marked
    marks: VecDeque<u32>, // segments marked
    memory: Option<SendMemory>,
    found_full: bool, // SOCK_NOSPACE
}

impl ApplicationWriter {
    /// Payload of a segment [B], segments of the transfer.
    pub fn new(mss: u32, total: u32, memory: Option<SendMemory>) -> Self {
        Self {
            mss: mss.max(1),
            written: 0,
            total,
            marked: 0,
            marks: VecDeque::new(),
            memory,
            found_full: false,
        }
    }

    /// One past the last segment that may be sent: the last written where memory is short.
    pub fn sendable(&self) -> u32 {
        self.memory.map_or(u32::MAX, |_| self.written)
    }

    /// Whether its memory is what holds the application back.
    pub fn is_full(&self) -> bool {
        self.found_full
    }

    fn used_bytes(&self, una: u32, memory: SendMemory) -> u64 {
        u64::from(self.written.saturating_sub(una)) * memory.per_segment
    }

    fn has_room(&self, una: u32) -> bool {
        self.memory.is_none_or(|memory| self.used_bytes(una, memory) < memory.bytes)
    }

    fn wakes(&self, una: u32) -> bool {
        !self.found_full
            || self.memory.is_none_or(|memory| {
                let used = self.used_bytes(una, memory);
                memory.bytes.saturating_sub(used) >= used / 2
            })
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
        if !self.waits(next, MAX_UNSENT_BYTES / 2) || !self.wakes(una) {
            return;
        }
        self.found_full = false;
        while self.written < self.total && self.waits(next, MAX_UNSENT_BYTES) && !self.found_full {
            let max_segments = (WRITE_BYTES / self.mss).max(1).min(self.total - self.written);
            for _ in 0..max_segments {
                self.found_full = !self.has_room(una);
                if self.found_full || !self.waits(next, MAX_UNSENT_BYTES) {
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
        let mut writer = ApplicationWriter::new(1460, u32::MAX, None);
        writer.write(0, 0, 1 << 20);
        assert_eq!(writer.marks, [43, 87, 89]);
        writer.write(0, 45, 1 << 20);
        assert_eq!(writer.written, 90);
        writer.write(44, 46, 1 << 20);
        assert_eq!(writer.marks, [87, 89, 133, 135]);
        assert!(writer.marks(133) && !writer.marks(134));
    }

    /// 64 KiB and 2740 B a segment: 23 take 63020 B, so a 24th is written, 65760 B. It writes again once 65536 - used
    /// is half of used: of 15 segments, 41100 B, but not of 16, 43840 B.
    #[test]
    fn sk_stream_write_space_a_full_buffer_is_written_to_when_a_third_is_free() {
        let memory = SendMemory { bytes: 1 << 16, per_segment: 2740 };
        let mut writer = ApplicationWriter::new(1460, u32::MAX, Some(memory));
        writer.write(0, 0, 1 << 20);
        assert_eq!((writer.written, writer.is_full(), writer.marks.back()), (24, true, Some(&23)));
        writer.write(8, 24, 1 << 20);
        assert_eq!(writer.sendable(), 24);
        writer.write(9, 24, 1 << 20);
        assert_eq!(writer.sendable(), 33);
    }

    /// Three segments in all: the last one ends the only write.
    #[test]
    fn tcp_sendmsg_the_last_segment_of_a_transfer_is_marked() {
        let mut writer = ApplicationWriter::new(1460, 3, None);
        writer.write(0, 0, 1 << 20);
        assert_eq!(writer.marks, [2]);
    }

    /// Half of a window of 48 segments are 24: the 25th, 36500 B, is more. Of the 44 of a write 19 are
    /// left, which the end of the write marks.
    #[test]
    fn forced_push_marks_more_than_half_the_window() {
        let mut writer = ApplicationWriter::new(1460, 44, None);
        writer.write(0, 0, 48 * 1460);
        assert_eq!(writer.marks, [24, 43]);
    }

    /// `sk_stream_memory_free`: "wmem_queued < sndbuf". A buffer of just 24 segments takes 24. 65536 B that wait are not
    /// less than half of 128 KiB, and 131072 B not less than that: segments of 1024 B, 128 of them, then 64 more.
    #[test]
    fn sk_stream_memory_free_below_the_buffer_and_the_low_water_mark() {
        let memory = SendMemory { bytes: 24 * 2740, per_segment: 2740 };
        let mut writer = ApplicationWriter::new(1460, u32::MAX, Some(memory));
        writer.write(0, 0, 1 << 20);
        assert_eq!((writer.written, writer.is_full()), (24, true));
        let mut writer = ApplicationWriter::new(1024, u32::MAX, None);
        for (next, written) in [(0, 128), (64, 128), (65, 193)] {
            writer.write(0, next, 1 << 20);
            assert_eq!(writer.written, written, "{next}");
        }
    }
}
