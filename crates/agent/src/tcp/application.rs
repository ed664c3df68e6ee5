//! An application that writes, pauses and writes again, and what its pauses do to the window.
//!
//! Source: RFC 5681 section 4.1 (a window after a pause), RFC 9438 section 5.8 (CUBIC does not grow a window
//! that the application does not fill), RFC 7661 (the window is kept, and does not grow, while less than
//! half of it is used); Linux 6.1 (`tcp_cwnd_restart`, `tcp_cwnd_application_limited`) in `linux/idle.rs`.
//! The last segment of a write is sent though it is not full, as with Nagle's algorithm off. Differs: what
//! waits is not filled up by the next write. Absent: RFC 7661 section 4.4.2's R, the segments sent again.

use super::TcpConfig;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use trunkline_units::{Span, Time, SECOND};

/// Effect of a pause of the application on the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AfterIdle {
    /// After a retransmission timeout without sending it is the first window (RFC 5681 section 4.1); with
    /// `linux` half of it for each timeout (`tcp_slow_start_after_idle`).
    #[default]
    Restart,
    /// It is kept for five minutes (RFC 7661).
    Validate,
    /// It is kept.
    Keep,
}

/// Where writes end.
#[derive(Clone, Debug)]
pub(super) struct WriteEnds {
    mss: u64,
    ends: VecDeque<WriteEnd>, // rising
    before: WriteEnd,         // the last that was forgotten
}

/// One past the last segment of a write, and the bytes written up to there.
#[derive(Clone, Copy, Debug, Default)]
struct WriteEnd {
    segment: u32,
    bytes: u64,
}

impl WriteEnds {
    pub fn new(mss_bytes: u32) -> Self {
        let mss = u64::from(mss_bytes.max(1));
        Self { mss, ends: VecDeque::new(), before: WriteEnd::default() }
    }

    fn last(&self) -> WriteEnd {
        self.ends.back().copied().unwrap_or(self.before)
    }

    /// Adds a write; returns one past its last segment.
    pub fn add(&mut self, bytes: u64) -> u32 {
        let WriteEnd { segment, bytes: before } = self.last();
        let segment = segment.saturating_add(bytes.div_ceil(self.mss) as u32);
        self.ends.push_back(WriteEnd { segment, bytes: before + bytes });
        segment
    }

    /// Forgets writes that lie below a segment.
    pub fn forget_below(&mut self, seq: u32) {
        while self.ends.front().is_some_and(|end| end.segment <= seq) {
            self.before = self.ends.pop_front().unwrap_or(self.before);
        }
    }

    /// One past the first segment that ends a write.
    pub fn first(&self) -> Option<u32> {
        self.ends.front().map(|end| end.segment)
    }

    /// Bytes of all segments below one.
    pub fn bytes_below(&self, seq: u32) -> u64 {
        let passed = self.ends.partition_point(|end| end.segment <= seq);
        let WriteEnd { segment, bytes } = match passed.checked_sub(1) {
            Some(index) => self.ends[index],
            None => self.before,
        };
        bytes + u64::from(seq.saturating_sub(segment)) * self.mss
    }

    /// Whether it ends a write.
    pub fn is_end(&self, seq: u32) -> bool {
        self.ends.binary_search_by_key(&(seq + 1), |end| end.segment).is_ok()
    }

    /// Payload of a segment [B].
    pub fn payload(&self, seq: u32) -> u32 {
        (self.bytes_below(seq + 1) - self.bytes_below(seq)) as u32
    }
}

/// State of a sender whose application writes.
#[derive(Clone, Debug)]
pub(super) struct Application {
    pub ends: WriteEnds,
    pub after_idle: AfterIdle,
    /// The connection is open.
    pub started: bool,
    /// Window at the start of the connection [segments].
    pub initial_window: f64,
    /// When the end of a write was sent last.
    pub sent_at: Option<Time>,
    /// Time up to which the curve of CUBIC has heard of pauses: the last acknowledgement, or write after one.
    pub paused_to: Time,
    /// RFC 7661: since when the window is not validated, what it is validated by, and what was used of it
    /// when that was looked at last [segments].
    pub unvalidated_since: Option<Time>,
    pub usage: WindowUsage,
    pub used: Option<f64>,
    /// Linux: most segments outstanding since then, and since when the window was not full.
    pub most_out: u32,
    pub unfilled_since: Time,
    header: u32,
}

impl Application {
    pub fn new(config: &TcpConfig) -> Self {
        Self {
            ends: WriteEnds::new(config.mss_bytes),
            after_idle: config.after_idle,
            started: false,
            initial_window: config.initial_window,
            sent_at: None,
            paused_to: 0,
            unvalidated_since: None,
            usage: WindowUsage::default(),
            used: None,
            most_out: 0,
            unfilled_since: 0,
            header: config.header_bytes,
        }
    }

    /// IP datagram of a segment [B].
    pub fn datagram_bytes(&self, seq: u32) -> u16 {
        (self.ends.payload(seq) + self.header).min(u32::from(u16::MAX)) as u16
    }
}

/// RFC 7661 section 4.2: pipeACK, the most that was acknowledged in a round trip of the last three, or of the
/// last second. A quarter of a round trip more counts: in slow start the window is just twice that.
#[derive(Clone, Debug, Default)]
pub(super) struct WindowUsage {
    first_at: Option<Time>,
    acks: VecDeque<(Time, u32)>, // of a round trip
    before: u32,                 // acknowledged before them
    most: VecDeque<(Time, u32)>, // acknowledged in the round trip that ended then; falling
    known: bool,
}

impl WindowUsage {
    /// An acknowledgement outside of recovery, with the smoothed round trip.
    pub fn on_ack(&mut self, ack: u32, srtt: Span, now: Time) {
        if self.first_at.is_none() {
            (self.first_at, self.before) = (Some(now), ack);
        }
        self.known |= srtt > 0 && self.first_at.is_some_and(|first| now - first >= srtt);
        self.acks.push_back((now, ack));
        while let Some(&(at, acked)) = self.acks.front() {
            if at + srtt + srtt / 4 >= now {
                break;
            }
            self.before = acked;
            self.acks.pop_front();
        }
        let acked = ack - self.before;
        while self.most.back().is_some_and(|(_, less)| *less <= acked) {
            self.most.pop_back();
        }
        self.most.push_back((now, acked));
    }

    /// Segments in a round trip; none before the first has passed.
    pub fn acked_in_round_trip(&mut self, srtt: Span, now: Time) -> Option<f64> {
        let period = (3 * srtt).max(SECOND);
        while self.most.front().is_some_and(|(at, _)| now - at > period) {
            self.most.pop_front();
        }
        let most = self.most.front().map_or(0, |(_, acked)| *acked);
        self.known.then_some(f64::from(most))
    }

    /// Section 4.4.2: after a recovery it is not known.
    pub fn forget(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Span = 1_000_000;

    /// 3000 B are three segments of 1000, 2500 B three, the last of them of 500, 300 B one.
    #[test]
    fn a_write_ends_with_what_is_left_of_it() {
        let mut ends = WriteEnds::new(1000);
        assert_eq!([3000, 2500, 300].map(|bytes| ends.add(bytes)), [3, 6, 7]);
        let payloads: Vec<u32> = (0..7).map(|seq| ends.payload(seq)).collect();
        assert_eq!(payloads, [1000, 1000, 1000, 1000, 1000, 500, 300]);
        assert_eq!([2, 3, 6].map(|seq| ends.is_end(seq)), [true, false, true]);
        ends.forget_below(6);
        assert_eq!([6, 7].map(|seq| ends.bytes_below(seq)), [5500, 5800]);
        assert_eq!((ends.payload(6), ends.first()), (300, Some(7)));
    }

    /// RFC 7661 section 4.2: at a round trip of 100 ms, 20 and 4 acknowledged 100 ms apart are 24; the largest of
    /// three round trips, or of a second, counts, and none after that.
    #[test]
    fn rfc7661_s4_2_pipe_ack_is_what_a_round_trip_acknowledged() {
        let mut usage = WindowUsage::default();
        assert_eq!(usage.acked_in_round_trip(100 * MS, 0), None);
        usage.on_ack(0, 100 * MS, 0);
        usage.on_ack(20, 100 * MS, 200 * MS);
        assert_eq!(usage.acked_in_round_trip(100 * MS, 200 * MS), Some(20.0));
        usage.on_ack(24, 100 * MS, 300 * MS);
        assert_eq!(usage.acked_in_round_trip(100 * MS, 300 * MS), Some(24.0));
        usage.on_ack(25, 100 * MS, 430 * MS);
        assert_eq!(usage.acked_in_round_trip(100 * MS, 1_300 * MS), Some(24.0));
        assert_eq!(usage.acked_in_round_trip(100 * MS, 1_301 * MS), Some(1.0));
        assert_eq!(usage.acked_in_round_trip(100 * MS, 2_000 * MS), Some(0.0));
    }
}
