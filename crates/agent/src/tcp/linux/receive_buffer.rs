//! The receive buffer, and how far the receiver opens its window.
//!
//! Source: Linux 6.1 (`tcp_grow_window`, `tcp_rcv_rtt_measure`, `tcp_rcv_space_adjust`), which size the
//! buffer by the data read in a round trip (dynamic right-sizing, Feng et al. 2001): 4 MB at first, 64
//! MB at most, half of it window. The window grows by two segments for each arrival, without SACK only
//! for arrivals in order, up to the buffer or its clamp (`tcp_select_initial_window`). When much is read
//! at once, as when a hole is filled, the buffer is enlarged.
//! Differs: time stamps do not time the round trip; held segments take no room.

use trunkline_units::Time;

const FIRST_BYTES: u64 = 4 << 20;
const MAX_BYTES: u64 = 64 << 20;
/// Data expected to be read in the first round trip [segments].
const EXPECTED_FIRST_READ: u64 = 10;

#[derive(Clone, Debug)]
pub(in crate::tcp) struct ReceiveBuffer {
    /// One past the highest segment received.
    pub high: u32,
    window: u64, // that is advertised [segments]
    room: u64,   // most that the buffer lets it be [segments]
    max_bytes: u64,
    trip: Option<Time>,              // least time that a window took to come
    window_end: Option<(u64, Time)>, // when this comes a window has come, that began then
    read_last: u64,                  // in the last round trip [segments]
    read_from: (u64, Time),          // segments read when this round trip began
}

impl ReceiveBuffer {
    /// Nothing has arrived; first and largest window [segments], payload of a segment [B].
    pub fn new(window: u32, largest: u32, mss: u32) -> Self {
        let segments = |bytes: u64| (bytes / 2 / u64::from(mss.max(1))).min(largest.into());
        Self {
            high: 0,
            window: u64::from(window),
            room: segments(FIRST_BYTES),
            max_bytes: segments(MAX_BYTES),
            trip: None,
            window_end: None,
            read_last: EXPECTED_FIRST_READ,
            read_from: (0, 0),
        }
    }

    /// A segment arrived that may open the window. True: it did.
    pub fn grow(&mut self) -> bool {
        let grows = self.window < self.room;
        if grows {
            self.window = (self.window + 2).min(self.room);
        }
        grows
    }

    /// The expected segment arrived; `next` is expected now, segments that waited behind it left out.
    pub fn time(&mut self, next: u32, now: Time) {
        let next = u64::from(next);
        match self.window_end {
            Some((end, _)) if next < end => return,
            Some((_, began)) => {
                let trip = (now - began).max(1);
                self.trip = Some(self.trip.map_or(trip, |min_trip| min_trip.min(trip)));
            }
            None => self.read_from.1 = now,
        }
        self.window_end = Some((next + self.window, now));
    }

    /// All below `next` is read.
    pub fn read(&mut self, next: u32, now: Time) {
        let (from, began) = self.read_from;
        if self.trip.is_none_or(|trip| now - began < trip) {
            return;
        }
        let copied = u64::from(next) - from;
        if copied > self.read_last {
            let base = 2 * copied + 16;
            let target_bytes = base + 2 * (base * (copied - self.read_last) / self.read_last);
            self.room = self.room.max(target_bytes.min(self.max_bytes));
            self.read_last = copied;
        }
        self.read_from = (u64::from(next), now);
    }
}

#[cfg(test)]
mod linux {
    use super::*;

    const MS: Time = 1_000_000;

    /// 4 MB are 2097152 B of window: 1436 segments of 1460 B. From 44 that is 696 steps of 2.
    #[test]
    fn tcp_grow_window_by_two_segments_up_to_half_the_buffer() {
        let mut buffer = ReceiveBuffer::new(44, u32::MAX, 1460);
        let steps = std::iter::repeat_with(|| buffer.grow()).take_while(|grown| *grown).count();
        assert_eq!((buffer.window, steps), (1436, 696));
    }

    /// A window of 10 from the start never grows, one of 47 takes two steps from 44.
    #[test]
    fn tcp_grow_window_ends_at_its_clamp() {
        assert!(!ReceiveBuffer::new(10, 10, 1460).grow());
        let mut buffer = ReceiveBuffer::new(44, 47, 1460);
        let grown = [buffer.grow(), buffer.grow(), buffer.grow()];
        assert_eq!((buffer.window, grown), (47, [true, true, false]));
    }

    /// Ten in order, one each 10 ms, with a window of 4: 4 take 40 ms. Then 90 at once: 2 * 90 + 16 =
    /// 196, and 2 * 196 * (90 - 10) / 10 = 3136 more.
    #[test]
    fn tcp_rcv_space_adjust_much_read_at_once_enlarges_the_buffer() {
        let mut buffer = ReceiveBuffer::new(4, u32::MAX, 1460);
        for next in 1..=10 {
            let now = u64::from(next) * 10 * MS;
            buffer.time(next, now);
            buffer.read(next, now);
        }
        assert_eq!((buffer.trip, buffer.room), (Some(40 * MS), 1436));
        buffer.time(11, 150 * MS);
        buffer.read(100, 150 * MS);
        assert_eq!(buffer.read_last, 91);
        // Since the read at 90 ms, 9 had been read: 91, 2 * 91 + 16 = 198, 198 * 81 / 10 = 1603.
        assert_eq!(buffer.room, 198 + 2 * 1603);
    }
}
