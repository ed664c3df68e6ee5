//! Segments at a pace, and controls that steer by samples of the rate, for both stacks.
//!
//! Source: `pacing.rs`, `rate_sample.rs`; the control sets window and pace at every acknowledgement.

use super::congestion::{Control, Window};
use super::lost_segments::LostSegments;
use super::pacing::Pacer;
use super::rate_sample::{RateSample, RateSampler};
use super::{Ack, TcpConfig};
use trunkline_units::{RandomStream, Time, NEVER};

#[derive(Clone, Debug)]
pub(super) struct SendPace {
    pacer: Pacer,
    sampler: Option<RateSampler>,
    in_flight: u32, // when the acknowledgement arrived
    found_lost: u64,
    rtt: u64,         // of the handshake [ns]; 0: not timed
    paused: bool,     // the application, with nothing in the network
    held_until: Time, // the next segment; `NEVER`: not held
}

/// State of the stack when a segment is sent, which counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct SendContext {
    /// Segments in the network; found lost since the start.
    pub in_flight: u32,
    pub found_lost: u64,
}

/// State of the stack after an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckContext {
    pub now: Time,
    /// Smoothed round trip [ns]; 0 without a sample.
    pub srtt: u64,
    /// Segments in the network; outstanding.
    pub in_flight: u32,
    pub out: u32,
    /// A loss is being repaired after duplicates, or after a timeout.
    pub recovering: bool,
    pub timed_out: bool,
}

impl SendPace {
    pub fn new(config: &TcpConfig) -> Option<Box<Self>> {
        config.pacing.then(|| {
            let sampler = config.congestion.steers().then(RateSampler::default);
            let pacer = Pacer::new(config.mss_bytes);
            Box::new(Self {
                pacer,
                sampler,
                in_flight: 0,
                found_lost: 0,
                rtt: 0,
                paused: false,
                held_until: NEVER,
            })
        })
    }

    /// The connection is open, after a round trip [ns]; 0: not timed.
    pub fn establish(&mut self, rtt: u64) {
        self.rtt = rtt;
    }

    /// The first segments go.
    pub fn start(&mut self, control: &mut Control, window: &Window, now: Time) {
        let Some(sampler) = self.sampler.as_mut() else {
            return self.pacer.follow(window.cwnd, 0, window.ssthresh, self.rtt);
        };
        let rtt = (self.rtt > 0).then_some(self.rtt / 1_000);
        sampler.open(rtt);
        self.pacer.set(control.on_established(window, rtt, now));
    }

    /// An acknowledgement arrives: segments in the network, and found lost, before it.
    pub fn note_before_ack(&mut self, in_flight: u32, found_lost: u64) {
        (self.in_flight, self.found_lost) = (in_flight, found_lost);
    }

    /// A segment is sent now.
    pub fn sent(
        &mut self,
        seq: u32,
        now: Time,
        known: &SendContext,
        (control, window): (&mut Control, &mut Window),
    ) {
        if let Some(sampler) = self.sampler.as_mut() {
            if std::mem::take(&mut self.paused) {
                self.pacer.set(control.on_restart(window, now));
            }
            sampler.sent(seq, now, known, window.cwnd);
        }
        self.pacer.sent(now);
    }

    /// The application writes, and nothing waits: whether the window, or it, has held the sender back.
    pub fn limit_by_application(&mut self, in_flight: u32, window: f64) {
        if f64::from(in_flight) < window.trunc() {
            self.paused = in_flight == 0;
            self.sampler.iter_mut().for_each(|sampler| sampler.limit(in_flight));
        }
    }

    /// The pace [B/s]; 0: unknown.
    pub fn rate(&self) -> u64 {
        self.pacer.rate()
    }

    /// The pace that a probe records [B/s]; none: unknown yet.
    pub fn known_rate(&self) -> Option<u64> {
        Some(self.rate()).filter(|rate| *rate > 0)
    }

    /// When the next may go.
    pub fn next_at(&self) -> Time {
        self.pacer.next_at()
    }

    /// Whether the next segment is held back; if so, [`Self::held_until`] says until when.
    pub fn holds(&mut self, now: Time) -> bool {
        let holds = self.next_at() > now;
        self.held_until = if holds { self.next_at() } else { NEVER };
        holds
    }

    /// Until when the next segment is held back; [`NEVER`] if it is not.
    pub fn held_until(&self) -> Time {
        self.held_until
    }

    /// The time is `now`: what was held until then is not held any more.
    pub fn end_hold(&mut self, now: Time) {
        if now >= self.held_until {
            self.held_until = NEVER;
        }
    }

    /// After an acknowledgement: sets window and pace.
    pub fn update_after_ack(
        &mut self,
        ack: &Ack,
        known: &AckContext,
        lost: &mut LostSegments,
        (control, window): (&mut Control, &mut Window),
        random: &mut RandomStream,
    ) {
        let Some(sampler) = self.sampler.as_mut() else {
            self.pacer.follow(window.cwnd, known.out, window.ssthresh, known.srtt);
            return;
        };
        let sample = RateSample {
            lost: (lost.count() - self.found_lost) as u32,
            prior_in_flight: self.in_flight,
            in_flight: known.in_flight,
            srtt: (known.srtt > 0).then_some(known.srtt / 1_000),
            recovering: known.recovering,
            timed_out: known.timed_out,
            next_at: self.pacer.next_at() / 1_000,
            ..sampler.sample(ack, known.now, lost.count())
        };
        for segment in sampler.describe_losses(lost) {
            control.on_lost(window, &segment, sample.total);
        }
        let steered = control.steer(window, &sample, random);
        if steered.limited {
            sampler.limit(known.in_flight);
        }
        self.pacer.set(steered.rate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::config::tests::plain;
    use crate::tcp::congestion::{BbrConfig, CongestionConfig, Growth};

    /// Linux's `bbr_init_pacing_rate_from_rtt` counts whole microseconds of the handshake's round trip: ten
    /// segments of 1460 B in it at the gain of start-up, 2 / ln 2, less 1 %.
    #[test]
    fn bbr_init_pacing_rate_from_rtt_is_that_of_the_handshake() {
        let congestion = CongestionConfig::Bbr(BbrConfig {});
        let config = TcpConfig { pacing: true, congestion, ..plain() };
        for (rtt_ns, rtt_us) in [(12_345_678, 12_345.0), (1_999, 1.0)] {
            let mut pace = SendPace::new(&config).expect("it has a pace");
            let growth = Growth::Segments;
            let window = Window { cwnd: 10.0, ssthresh: 1e9, cap: 10_000, credit: 0, growth };
            pace.establish(rtt_ns);
            pace.start(&mut Control::new(&config), &window, 0);
            let expected = 14_600.0 / rtt_us * 1e6 * 2.0 / std::f64::consts::LN_2 * 0.99;
            let rate = pace.pacer.rate() as f64;
            assert!((rate / expected - 1.0).abs() < 2e-3, "{rate} for {expected}");
        }
    }
}
