//! The receive buffer, and the window that the receiver offers.
//!
//! Source: Linux 6.1 (`tcp_select_initial_window`, `tcp_init_buffer_space`, `tcp_grow_window`,
//! `__tcp_select_window`, `tcp_rcv_rtt_measure`, `tcp_rcv_space_adjust`). Half of the memory is window. The
//! window is 65535 B at most at first; it grows by two segments for each arrival, without SACK only for
//! arrivals in order, up to the memory that is free. The memory follows the data read in a round trip
//! (dynamic right-sizing, Feng et al. 2001), so that a window of twice that data fits, and more while it
//! grows. A window is never taken back. What fills a gap is acknowledged before the application reads it
//! and what waited behind it, so that the window is that of the rest of the memory until the next
//! acknowledgement (`ICSK_ACK_NOW` of `tcp_data_queue`). Segments that wait are merged to blocks of 17
//! pieces (`skb_try_coalesce`).
//! Differs: time stamps do not time the round trip; a segment is one piece, wherever its pages end.

use crate::tcp::TcpConfig;
use trunkline_units::Time;

/// Largest window without a scale [B].
const MAX_UNSCALED: u64 = 65_535;
const MAX_SCALE: u32 = 14;
/// `rmem_max`, which the scale allows for [B].
const MAX_SOCKET_BUFFER: u64 = 212_992;
/// Data expected to be read in the first round trip [segments].
const EXPECTED_FIRST_READ: u64 = 10;
/// Memory of a segment besides its data (`sk_buff`, shared information, headers) [B].
const OVERHEAD: u64 = 1_280;
/// Segments that share the memory of one (`MAX_SKB_FRAGS`).
const MERGED_SEGMENTS: u64 = 17;
/// Of a segment that is being received, as dynamic right-sizing supposes [B].
const SUPPOSED_OVERHEAD: u64 = 832;
const SUPPOSED_STEP: u64 = 128;

/// Window that a receiver offers in the handshake [B].
pub(super) fn compute_first_window(config: &TcpConfig) -> u64 {
    let (mss, most) = (u64::from(config.mss_bytes.max(1)), largest_window(config));
    let Some(buffer) = config.receive_buffer else { return most };
    let space = most.min(buffer.initial_bytes / 2);
    let window = if space > mss { space - space % mss } else { space };
    window.min(MAX_UNSCALED)
}

/// Window that the configuration allows [B].
fn largest_window(config: &TcpConfig) -> u64 {
    u64::from(config.window_packets.max(1)) * u64::from(config.mss_bytes.max(1))
}

#[derive(Clone, Debug)]
pub(in crate::tcp) struct ReceiveBuffer {
    /// One past the highest segment received.
    pub high: u32,
    /// Segments that wait for others before them.
    pub held: u32,
    /// Segments in order that are acknowledged before they are read.
    pub unread: u32,
    mss: u64,
    unit: u64,   // of a scaled window [B]
    memory: u64, // [B]; 0: the window is always the same
    max_memory: u64,
    clamp: u64,                      // largest window [B]
    goal: u64,                       // window that is offered if memory is free [B]
    offered: u64,                    // in the last acknowledgement [B]
    edge: u64,                       // first byte not offered
    trip: Option<Time>,              // least time that a window took to come
    window_end: Option<(u64, Time)>, // byte with which a window has come, that began then
    read_last: u64,                  // in the last round trip [B]
    read_from: (u64, Time),          // bytes read when this round trip began
}

impl ReceiveBuffer {
    /// Nothing has arrived.
    pub fn new(config: &TcpConfig) -> Self {
        let mss = u64::from(config.mss_bytes.max(1));
        let first = compute_first_window(config);
        let (memory, max_memory) =
            config.receive_buffer.map_or((0, 0), |buffer| (buffer.initial_bytes, buffer.max_bytes));
        let allowed = largest_window(config);
        let most = first.max(max_memory).max(MAX_SOCKET_BUFFER).min(allowed).max(1);
        let scale = most.ilog2().saturating_sub(MAX_UNSCALED.ilog2()).min(MAX_SCALE);
        let full = memory / 2;
        let mut clamp = allowed.min(MAX_UNSCALED << scale).min(full);
        if clamp > 2 * mss && clamp + mss > full {
            clamp = (full - mss).max(2 * mss); // one segment is reserved
        }
        let goal = first.min(clamp);
        Self {
            high: 0,
            held: 0,
            unread: 0,
            mss,
            unit: 1 << scale,
            memory,
            max_memory,
            clamp,
            goal,
            offered: first,
            edge: first,
            trip: None,
            window_end: None,
            read_last: goal.min(EXPECTED_FIRST_READ * mss),
            read_from: (0, 0),
        }
    }

    /// Window of the memory that `more` segments leave besides those unread, and those held in `blocks`
    /// blocks [B].
    fn free(&self, blocks: u64, more: u64) -> u64 {
        let segments = u64::from(self.held + self.unread);
        let merged = segments.div_ceil(MERGED_SEGMENTS).max(blocks + u64::from(self.unread > 0));
        let held = segments * self.mss + merged * OVERHEAD;
        self.memory.saturating_sub(held + more * (self.mss + OVERHEAD)) / 2
    }

    /// A segment arrived that may open the window. True: it did.
    pub fn grow(&mut self, blocks: u8) -> bool {
        let room = self.clamp.min(self.free(blocks.into(), 1)).saturating_sub(self.goal);
        self.goal += room.min(2 * self.mss);
        room > 0
    }

    /// The window for an acknowledgement of all below `next` [B], and whether less than half of it is
    /// free.
    pub fn offer(&mut self, next: u32, blocks: u8) -> (u32, bool) {
        if self.memory == 0 {
            return (self.offered as u32, false);
        }
        let (at, full) = (u64::from(next) * self.mss, self.clamp.min(self.memory / 2));
        let mut free = self.free(blocks.into(), 0);
        self.unread = 0;
        let short = free < full / 2;
        if short {
            free -= free % self.unit;
            if free < self.memory / 32 || free < self.mss {
                free = 0;
            }
        }
        free = free.min(self.goal);
        let window = if self.unit > 1 {
            free.next_multiple_of(self.unit)
        } else if self.offered + self.mss <= free || self.offered > free {
            free - free % self.mss
        } else {
            self.offered
        };
        let before = self.edge.saturating_sub(at).next_multiple_of(self.unit);
        self.offered = window.max(before);
        self.edge = at + self.offered;
        (self.offered as u32, short)
    }

    /// The expected segment arrived; `next` is expected now, segments that waited behind it left out.
    pub fn time(&mut self, next: u32, now: Time) {
        let next = u64::from(next) * self.mss;
        match self.window_end {
            Some((end, _)) if next < end => return,
            Some((_, began)) => {
                let trip = (now - began).max(1);
                self.trip = Some(self.trip.map_or(trip, |min_trip| min_trip.min(trip)));
            }
            None => self.read_from.1 = now,
        }
        self.window_end = Some((next + self.offered, now));
    }

    /// All below `next` is read.
    pub fn read(&mut self, next: u32, now: Time) {
        let (from, began) = self.read_from;
        if self.memory == 0 || self.trip.is_none_or(|trip| now - began < trip) {
            return;
        }
        let read = u64::from(next) * self.mss;
        let copied = read - from;
        if copied > self.read_last {
            let base = 2 * copied + 16 * self.mss;
            let window = base + 2 * (base * (copied - self.read_last) / self.read_last);
            let memory = (window / self.mss * self.supposed_memory()).min(self.max_memory);
            if memory > self.memory {
                self.memory = memory;
                self.clamp = memory / 2;
            }
            self.read_last = copied;
        }
        self.read_from = (read, now);
    }

    /// Memory that a segment is supposed to take: twice its data at least [B].
    fn supposed_memory(&self) -> u64 {
        let least = self.mss + SUPPOSED_OVERHEAD;
        least + (2 * self.mss).saturating_sub(least).next_multiple_of(SUPPOSED_STEP)
    }
}

#[cfg(test)]
mod linux {
    use super::*;
    use crate::tcp::ReceiveBufferConfig;

    const MS: Time = 1_000_000;

    fn config(window_packets: u32, initial_bytes: u64, max_bytes: u64) -> TcpConfig {
        let buffer = ReceiveBufferConfig { initial_bytes, max_bytes };
        TcpConfig {
            mss_bytes: 1460,
            window_packets,
            receive_buffer: Some(buffer),
            linux: true,
            ..crate::tcp::config::tests::plain()
        }
    }

    fn buffer(window_packets: u32, initial_bytes: u64, max_bytes: u64) -> ReceiveBuffer {
        ReceiveBuffer::new(&config(window_packets, initial_bytes, max_bytes))
    }

    /// Half of 131072 B in whole segments: 44, 64240 B. One segment is reserved: 65536 - 1460 = 64076 B are
    /// the most, so nothing grows. The scale is for 6291456 B, more than 2^22: 22 - 15 = 7, units of 128 B.
    /// An acknowledgement of 2 offers 64076 B in whole units, 64128 B.
    #[test]
    fn tcp_init_buffer_space_a_window_of_the_default_buffer_does_not_grow() {
        let mut buffer = buffer(100_000, 131_072, 6_291_456);
        assert_eq!((buffer.offered, buffer.goal, buffer.unit), (64_240, 64_076, 128));
        assert!(!buffer.grow(0));
        assert_eq!(buffer.offer(2, 0), (64_128, false));
    }

    /// 4 MiB are 2097152 B of window, less a segment 2095692. From 65535 B that is 696 steps of 2920 B.
    #[test]
    fn tcp_grow_window_by_two_segments_up_to_half_the_buffer() {
        let mut buffer = buffer(100_000, 4 << 20, 64 << 20);
        let steps = std::iter::repeat_with(|| buffer.grow(0)).take_while(|grown| *grown).count();
        assert_eq!((buffer.goal, steps), (2_095_692, 696));
    }

    /// A window of 10 from the start never grows; one of 47 takes two steps from 44.
    #[test]
    fn tcp_grow_window_ends_at_its_clamp() {
        assert!(!buffer(10, 4 << 20, 4 << 20).grow(0));
        let mut buffer = buffer(47, 4 << 20, 4 << 20);
        let grown = [buffer.grow(0), buffer.grow(0), buffer.grow(0)];
        assert_eq!((buffer.goal, grown), (47 * 1460, [true, true, false]));
    }

    /// One a 10 ms: a window of 64240 B after the first segment has come with the 45th, after 440 ms. It has
    /// read 65700 B, where 14600 were expected: 2 * 65700 + 16 * 1460 = 154760, and twice 154760 *
    /// (65700 - 14600) / 14600 = 541660: 1238080 B, 848 segments of 2932 B of memory.
    #[test]
    fn tcp_rcv_space_adjust_memory_for_what_is_read_in_a_round_trip() {
        let mut buffer = buffer(100_000, 131_072, 6_291_456);
        for next in 1..=45 {
            let now = u64::from(next) * 10 * MS;
            buffer.time(next, now);
            buffer.read(next, now);
        }
        assert_eq!((buffer.trip, buffer.memory), (Some(440 * MS), 848 * 2932));
        assert!(buffer.grow(0));
        assert_eq!(buffer.goal, 64_076 + 2920);
    }

    /// The same with `tcp_rmem` at most 292000 B.
    #[test]
    fn tcp_rcv_space_adjust_no_more_than_the_most() {
        let mut buffer = buffer(100, 131_072, 292_000);
        for next in 1..=45 {
            buffer.time(next, u64::from(next) * 10 * MS);
            buffer.read(next, u64::from(next) * 10 * MS);
        }
        assert_eq!((buffer.memory, buffer.clamp), (292_000, 146_000));
    }

    /// 100,000 segments are more than 64 MiB, 2^26 B: the scale is 26 - 15 = 11, the unit 2048 B. 65535 B and
    /// one step, 68455 B, are 33.4 units: 34 are 69632 B.
    #[test]
    fn rfc7323_s2_3_the_window_is_rounded_up_to_its_unit() {
        let mut buffer = buffer(100_000, 4 << 20, 64 << 20);
        buffer.grow(0);
        assert_eq!(buffer.offer(1, 0), (69_632, false));
    }

    /// Of 131072 B of memory 40 segments held, three times 17 merged, take 40 * 1460 + 3 * 1280 B: (131072 -
    /// 62240) / 2 = 34416 B are free, more than half of 64076. Of 50 are 27116, less. What was offered stays
    /// offered: 64240 B at first.
    #[test]
    fn tcp_select_window_is_never_taken_back() {
        let mut buffer = buffer(100_000, 131_072, 6_291_456);
        buffer.held = 40;
        assert_eq!(buffer.offer(0, 1), (64_256, false));
        buffer.held = 50;
        assert_eq!(buffer.offer(1, 1), (62_848, true));
    }

    /// The default buffer of `hello`, 292000 B: 71 segments that a late one puts in order take 71 * 1460 +
    /// 5 * 1280 B (17 a block) until they are read: (292000 - 110060) / 2 = 90970 B, in units of 4 B 90972, 62
    /// segments, as measured. The next acknowledgement offers half of all again.
    #[test]
    fn tcp_data_queue_what_fills_a_gap_is_acknowledged_before_it_is_read() {
        let mut buffer = buffer(100, 292_000, 292_000);
        while buffer.grow(0) {}
        buffer.edge = 0;
        buffer.unread = 71;
        assert_eq!(buffer.offer(0, 0), (90_972, false));
        buffer.edge = 0;
        assert_eq!(buffer.offer(0, 0).0 / 1460, 99);
    }

    /// Without a buffer the window is what the configuration says.
    #[test]
    fn a_window_without_a_buffer_is_constant() {
        let mut buffer = ReceiveBuffer::new(&TcpConfig { receive_buffer: None, ..config(7, 1, 1) });
        assert!(!buffer.grow(0));
        assert_eq!(buffer.offer(3, 0), (7 * 1460, false));
    }

    /// `tcp_init_buffer_space`: "Force reservation of one segment", but two segments are left: of 3650 B 2920 B, not
    /// 2190.
    #[test]
    fn tcp_init_buffer_space_leaves_two_segments() {
        assert_eq!(buffer(100_000, 7_300, 7_300).clamp, 2_920);
    }

    /// RFC 7323 section 2.3: a scale of 14 at most, so that no window is above 65535 * 2^14 B.
    #[test]
    fn rfc7323_s2_3_the_largest_window_is_a_gibibyte() {
        let buffer = buffer(1_000_000, 4 << 30, 4 << 30);
        assert_eq!((buffer.unit, buffer.clamp), (1 << 14, 65_535 << 14));
    }

    /// `tcp_rcv_space_adjust`: memory that is what it was leaves the clamp, a segment below half of it.
    #[test]
    fn tcp_rcv_space_adjust_no_more_memory_leaves_the_clamp() {
        let mut buffer = buffer(100, 292_000, 292_000);
        let clamp = buffer.clamp;
        assert_eq!(clamp, 146_000 - 1_460);
        for next in 1..=140 {
            buffer.time(next, u64::from(next) * 10 * MS);
            buffer.read(next, u64::from(next) * 10 * MS);
        }
        assert!(buffer.read_last > 14_600);
        assert_eq!((buffer.memory, buffer.clamp), (292_000, clamp));
    }

    /// `tcp_rcv_space_adjust`: a segment of 800 B takes 832 B more, which is more than its data again; one of 1460 B
    /// is filled up in steps of 128 B to twice its data.
    #[test]
    fn tcp_rcv_space_adjust_memory_of_a_segment() {
        for (mss_bytes, memory) in [(800, 1_632), (1_460, 2_932)] {
            let config = TcpConfig { mss_bytes, ..config(100, 131_072, 131_072) };
            assert_eq!(ReceiveBuffer::new(&config).supposed_memory(), memory);
        }
    }

    /// `__tcp_select_window`: with less than a 32nd of the memory free, or less than a segment, the window is closed.
    /// 131072 B: 80 held take 116800 + 5 * 1280 B and leave 3936 B, below 4096; 79 leave 4666, whole units of 128 B
    /// 4608. 40960 B, units of 4: 24 held take 35040 + 2 * 1280 and leave 1680; with 25 950 are left, below a segment.
    #[test]
    fn tcp_select_window_closes_where_little_is_free() {
        for (memory, most, held, window) in [
            (131_072, 6_291_456, 80, 0),
            (131_072, 6_291_456, 79, 4_608),
            (40_960, 40_960, 24, 1_680),
            (40_960, 40_960, 25, 0),
            (41_980, 41_980, 25, 1_460), // a whole segment
        ] {
            let mut buffer = buffer(if most > memory { 100_000 } else { 100 }, memory, most);
            (buffer.held, buffer.edge) = (held, 0);
            assert_eq!(buffer.offer(0, 0), (window, true), "{memory} {held}");
        }
    }

    /// `__tcp_select_window` without a scale: "Get the largest window that is a nice multiple of mss"; it stays where it
    /// is while less than a segment more is free. 58400 B are 40 segments; of 30000 B 20 segments are 29200.
    #[test]
    fn tcp_select_window_without_a_scale_moves_by_segments() {
        let mut buffer = buffer(40, 131_072, 131_072);
        assert_eq!((buffer.unit, buffer.offered), (1, 58_400));
        for (free, window) in [
            (30_000, 29_200),
            (30_659, 29_200),
            (30_660, 30_660),
            (31_000, 30_660),
            (30_660, 30_660),
            (30_659, 29_200),
        ] {
            (buffer.goal, buffer.edge) = (free, 0);
            assert_eq!(buffer.offer(0, 0), (window, false), "{free}");
        }
    }
}
