//! ArrivedMediaPacket processes.
//!
//! All but `schedule` send the first datagram at the flow's start. Constant bit rates carry the
//! remainder of every division, so 16.8 Mbit/s of 210 B is 10,000 datagrams a second for ever.

use super::sizes::clamp_size;
use super::{gumbel, Arrivals, Gaps, UdpConfig};
use trunkline_units::{RandomStream, Span, Time, TransmissionClock, NEVER, SECOND};

#[derive(Clone, Debug)]
pub(super) enum ArrivalProcess {
    Cbr(TransmissionClock),
    Jittered { clock: TransmissionClock, jitter: f64, due: Time },
    Poisson { mean_gap: f64 },
    OnOff { clock: TransmissionClock, mean_on: f64, mean_off: f64, on_left: Span, end: Time },
    Gaps(Gaps),
    Schedule { start: Time, list: Vec<(u64, u16)>, next: usize },
}

impl ArrivalProcess {
    pub(super) fn new(config: &UdpConfig, start: Time, end: Time) -> Self {
        match &config.arrivals {
            Arrivals::Cbr { jitter } if *jitter > 0.0 => Self::Jittered {
                clock: TransmissionClock::new(config.rate_bit_s),
                jitter: jitter.min(1.0),
                due: start,
            },
            Arrivals::Cbr { .. } => Self::Cbr(TransmissionClock::new(config.rate_bit_s)),
            Arrivals::Poisson => {
                let bits = 8.0 * config.size.mean();
                Self::Poisson { mean_gap: bits * SECOND as f64 / config.rate_bit_s as f64 }
            }
            Arrivals::OnOff { mean_on_ns, mean_off_ns } => Self::OnOff {
                clock: TransmissionClock::new(config.rate_bit_s),
                mean_on: (*mean_on_ns).max(1) as f64,
                mean_off: *mean_off_ns as f64,
                on_left: 0,
                end,
            },
            Arrivals::Gaps(gaps) => Self::Gaps(gaps.clone()),
            Arrivals::Tfrc { .. } | Arrivals::Media(_) => {
                Self::Schedule { start, list: Vec::new(), next: 0 }
            }
            Arrivals::Schedule { times_ns, sizes } => {
                let list =
                    times_ns.iter().copied().zip(sizes.iter().map(|bytes| clamp_size(*bytes)));
                Self::Schedule { start, list: list.collect(), next: 0 }
            }
        }
    }

    /// When the first datagram of a flow that starts at `start` is due.
    pub(super) fn first(&self, start: Time) -> Time {
        match self {
            Self::Schedule { list, .. } => list.first().map_or(NEVER, |(time, _)| start + time),
            _ => start,
        }
    }

    /// Size of the datagram that is due, if the process sets it.
    #[inline]
    pub(super) fn scheduled_size(&self) -> Option<u16> {
        match self {
            Self::Schedule { list, next, .. } => list.get(*next).map(|(_, bytes)| *bytes),
            _ => None,
        }
    }

    /// When the datagram after the one of `bytes` due at `at` is due.
    #[inline]
    pub(super) fn next_after(&mut self, at: Time, bytes: u16, random: &mut RandomStream) -> Time {
        let bytes = u32::from(bytes);
        match self {
            Self::Cbr(clock) => at + clock.span(bytes),
            Self::Jittered { clock, jitter, due } => {
                let gap = clock.span(bytes);
                *due += gap;
                // The next gap depends on the size of its datagram, which is drawn later; this gap is
                // used instead.
                at.max(*due + (random.uniform() * *jitter * gap as f64) as Span)
            }
            Self::Poisson { mean_gap } => later(at, random.exponential(*mean_gap)),
            Self::Gaps(Gaps::Fixed { gap_ns }) => at + *gap_ns,
            Self::Gaps(Gaps::Exponential { mean_ns }) => {
                later(at, random.exponential(*mean_ns as f64))
            }
            Self::Gaps(Gaps::Gumbel { location_ns, scale_ns }) => {
                later(at, gumbel(*location_ns, *scale_ns, random))
            }
            Self::OnOff { clock, mean_on, mean_off, on_left, end } => {
                let mut gap = clock.span(bytes);
                let mut at = at;
                while gap >= *on_left {
                    // A gap may cover more periods than can be drawn.
                    if at >= *end {
                        return NEVER;
                    }
                    gap -= *on_left;
                    at += *on_left;
                    // The first period begins with the flow: no silence before it.
                    if *on_left > 0 {
                        at = later(at, random.exponential(*mean_off));
                    }
                    *on_left = ((random.exponential(*mean_on) + 0.5) as Span).max(1);
                }
                *on_left -= gap;
                at + gap
            }
            Self::Schedule { start, list, next } => {
                *next += 1;
                list.get(*next).map_or(NEVER, |(time, _)| at.max(*start + time))
            }
        }
    }
}

/// A time after another, to the nearest nanosecond; [`NEVER`] where time does not reach.
#[inline]
fn later(at: Time, span: f64) -> Time {
    at.saturating_add((span + 0.5) as Span)
}
