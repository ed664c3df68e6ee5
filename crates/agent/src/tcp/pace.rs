//! Segments at a pace, and controls that steer by samples of the rate, for both stacks.
//!
//! Source: `pacing.rs`, `rate.rs`; the control sets window and pace at every acknowledgement.

use super::congestion::{Control, Window};
use super::pacing::Pacer;
use super::rate::{Sample, Sampler};
use super::{Ack, TcpConfig};
use trunkline_units::{Stream, Time};

#[derive(Clone, Debug)]
pub(super) struct Pace {
    pacer: Pacer,
    sampler: Option<Sampler>,
    in_flight: u32,  // after the last acknowledgement, and what went since
    found_lost: u64, // by the last acknowledgement
}

/// What the stack knows after an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub now: Time,
    /// Smoothed round trip [ns]; 0 without a sample.
    pub srtt: u64,
    /// Segments in the network; outstanding.
    pub in_flight: u32,
    pub out: u32,
    /// Segments found lost since the start.
    pub found_lost: u64,
    /// A loss is being repaired after duplicates, or after a timeout.
    pub recovering: bool,
    pub timed_out: bool,
}

impl Pace {
    pub fn new(config: &TcpConfig) -> Option<Box<Self>> {
        config.pacing.then(|| {
            let sampler = config.congestion.steers().then(Sampler::default);
            let pacer = Pacer::new(config.mss_bytes, config.linux);
            Box::new(Self { pacer, sampler, in_flight: 0, found_lost: 0 })
        })
    }

    /// The connection is open, after a round trip [ns]; 0: not timed.
    pub fn establish(&mut self, cwnd: f64, ssthresh: f64, rtt: u64) {
        if self.sampler.is_none() {
            self.pacer.follow(cwnd, 0, ssthresh, rtt);
        }
    }

    /// A segment goes now.
    pub fn sent(&mut self, seq: u32, now: Time) {
        self.pacer.sent(now);
        if let Some(sampler) = self.sampler.as_mut() {
            sampler.sent(seq, now);
        }
        self.in_flight += 1;
    }

    /// When the next may go.
    pub fn next_at(&self) -> Time {
        self.pacer.next_at()
    }

    /// After an acknowledgement: window and pace for what comes.
    pub fn follow(
        &mut self,
        ack: &Ack,
        known: &Known,
        (control, window): (&mut Control, &mut Window),
        random: &mut Stream,
    ) {
        let Some(sampler) = self.sampler.as_mut() else {
            self.pacer.follow(window.cwnd, known.out, window.ssthresh, known.srtt);
            return;
        };
        let lost = (known.found_lost - self.found_lost) as u32;
        sampler.lose(lost);
        let sample = Sample {
            lost,
            prior_in_flight: self.in_flight,
            in_flight: known.in_flight,
            srtt: (known.srtt > 0).then_some(known.srtt / 1_000),
            recovering: known.recovering,
            timed_out: known.timed_out,
            next_at: self.pacer.next_at() / 1_000,
            ..sampler.sample(ack, known.now)
        };
        (self.in_flight, self.found_lost) = (known.in_flight, known.found_lost);
        let steered = control.steered(window, &sample, random);
        if steered.limited {
            sampler.limit(known.in_flight);
        }
        self.pacer.set(steered.rate);
    }
}
