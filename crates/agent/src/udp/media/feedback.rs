//! Feedback by packet: which arrived, when, and with which mark.
//!
//! Source: RFC 8888. A report covers the packets of the last two intervals, so that the loss of one report
//! loses nothing (section 3.1 allows reports to overlap). Differs: arrival times are exact, not in 1/1024 s.

use std::collections::VecDeque;
use trunkline_units::{Span, Time, SECOND};

/// RFC 8698 section 6.4: a target of 100 ms between reports (DELTA).
pub const REPORT_INTERVAL: Span = SECOND / 10;
/// RFC 8888 section 3.1: header and sender 8 B, stream 8 B, time of the report 4 B.
const FIXED_REPORT_BYTES: u16 = 20;

/// A packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArrivedMediaPacket {
    /// Its number in the order of sending.
    pub number: u32,
    /// When it was sent.
    pub sent_at: Time,
    /// When it arrived.
    pub arrived_at: Time,
    /// IP bytes.
    pub bytes: u16,
    /// Whether it was marked: CE.
    pub is_marked: bool,
}

/// Bytes of a report on `packets` packets, without the headers of UDP and IP: 2 B a packet, padded to 4.
#[must_use]
pub fn report_bytes(packets: usize) -> u16 {
    FIXED_REPORT_BYTES + ((packets.min(16_384) as u16 * 2).div_ceil(4)) * 4
}

/// Arrivals that reports under way may still cover.
#[derive(Clone, Debug, Default)]
pub struct FeedbackLog {
    arrivals: VecDeque<ArrivedMediaPacket>,
    first: u64,         // count of arrivals before those held
    reported: [u64; 2], // where the last two reports began
    next: u64,          // the first arrival that the sender has not heard of
}

impl FeedbackLog {
    /// Adds a packet that arrived.
    pub fn push(&mut self, arrival: ArrivedMediaPacket) {
        self.arrivals.push_back(arrival);
    }

    /// Arrivals so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.first + self.arrivals.len() as u64
    }

    /// Begins a report now: the arrivals that it covers, as counts from and to.
    pub fn begin_report(&mut self) -> (u64, u64) {
        let covered = (self.reported[0], self.count());
        self.reported = [self.reported[1], self.count()];
        covered
    }

    /// A report came in: the arrivals of it that are new to the sender.
    pub fn take(&mut self, (from, to): (u64, u64)) -> Vec<ArrivedMediaPacket> {
        let from = from.max(self.next).max(self.first);
        if from >= to {
            return Vec::new();
        }
        self.next = to;
        let skipped = (from - self.first) as usize;
        let taken = self.arrivals.drain(..(to - self.first) as usize).skip(skipped).collect();
        self.first = to;
        taken
    }
}
