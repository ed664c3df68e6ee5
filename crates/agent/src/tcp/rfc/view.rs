//! Values of a sender for probes, tables and tests.

use super::{Phase, Sender, OVER};
use crate::tcp::{Counters, State};
use trunkline_units::{Span, Time};

impl Sender {
    /// Congestion window, fast recovery's inflation left out [segments].
    #[must_use]
    pub fn window(&self) -> f64 {
        self.window.cwnd
    }

    /// Slow-start threshold [segments].
    #[must_use]
    pub fn ssthresh(&self) -> f64 {
        self.window.ssthresh
    }

    /// Smoothed round-trip time [ns]; none before the first sample.
    #[must_use]
    pub fn srtt(&self) -> Option<f64> {
        self.rto.srtt()
    }

    /// Latest sample of the round-trip time [ns]; none before the first.
    #[must_use]
    pub fn rtt(&self) -> Option<f64> {
        self.rto.rtt()
    }

    /// Retransmission timeout, back-off included [ns].
    #[must_use]
    pub fn rto(&self) -> Span {
        self.rto.current()
    }

    /// Pace of its segments [B/s of payload]; none where it does not pace, or has none yet.
    #[must_use]
    pub fn pacing_rate(&self) -> Option<u64> {
        self.pace.as_ref().and_then(|pace| pace.known_rate())
    }

    /// State of the sender.
    #[must_use]
    pub fn state(&self) -> State {
        match self.phase {
            Phase::FastRecovery => State::FastRecovery,
            Phase::Timeout => State::Timeout,
            Phase::Open if self.window.cwnd < self.window.ssthresh => State::SlowStart,
            Phase::Open => State::CongestionAvoidance,
        }
    }

    /// Counters of the sender.
    #[must_use]
    pub fn counters(&self) -> Counters {
        Counters {
            // Each segment below `max` was sent for the first time once.
            segments_sent: u64::from(self.max) + u64::from(self.retransmissions),
            retransmissions: u64::from(self.retransmissions),
            timeouts: u64::from(self.rto.expiries()),
            fast_retransmits: u64::from(self.fast_retransmits),
        }
    }

    /// When all of a finite transfer was acknowledged.
    #[must_use]
    pub fn finished_at(&self) -> Option<Time> {
        (self.timed == OVER).then_some(self.timed_at)
    }
}
