//! What a sender shows of itself: to probes, tables and tests.

use super::sender::{Phase, Sender};
use super::{Counters, State};
use trunkline_units::{Span, Time};

impl Sender {
    /// Congestion window, fast recovery's inflation left out [segments].
    #[must_use]
    pub fn cwnd(&self) -> f64 {
        self.cwnd
    }

    /// Slow-start threshold [segments].
    #[must_use]
    pub fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    /// Smoothed round-trip time [ns]; none before the first sample.
    #[must_use]
    pub fn srtt(&self) -> Option<f64> {
        match &self.linux {
            Some(linux) => linux.srtt_ns(),
            None => self.rto.srtt(),
        }
    }

    /// Retransmission timeout, back-off included [ns].
    #[must_use]
    pub fn rto(&self) -> Span {
        match &self.linux {
            Some(linux) => linux.rto_ns(),
            None => self.rto.current(),
        }
    }

    /// What the sender is doing.
    #[must_use]
    pub fn state(&self) -> State {
        if let Some(linux) = &self.linux {
            return linux.state();
        }
        match self.phase {
            Phase::FastRecovery => State::FastRecovery,
            Phase::Timeout => State::Timeout,
            Phase::Open if self.cwnd < self.ssthresh => State::SlowStart,
            Phase::Open => State::CongestionAvoidance,
        }
    }

    /// What the sender has done.
    #[must_use]
    pub fn counters(&self) -> Counters {
        if let Some(linux) = &self.linux {
            return linux.counters();
        }
        Counters {
            // Each segment below `max` was sent for the first time once.
            segments_sent: u64::from(self.max) + self.retransmissions,
            retransmissions: self.retransmissions,
            timeouts: self.timeouts,
            fast_retransmits: self.fast_retransmits,
        }
    }

    /// When all of a finite transfer was acknowledged.
    #[must_use]
    pub fn finished_at(&self) -> Option<Time> {
        self.finished_at
    }
}
