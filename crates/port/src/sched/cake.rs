//! CAKE's shaper and tins: no bursts, and priority up to a rate only.
//!
//! Source: Høiland-Jørgensen, Täht and Morton, "Piece of CAKE", IEEE LANMAN 2018, sections III-A and
//! III-D; Linux 6.1 `net/sched/sch_cake.c`, shaped mode, restated. The largest rate of the tins is
//! that of the shaper, whose clock advances by the time of each packet: a packet leaves when the clock
//! is due. Every tin has such a clock at its own rate. Among the tins whose clock is due, the one of the
//! lowest `priority` sends; if there is none, the one whose clock is due first. So a tin within its rate
//! is served first, and one above it takes the rest.
//! Absent: unlimited mode, the fail-safe clock for dropped packets, `ingress`, ACK filter. Cost:
//! O(tins) a packet.

use super::{ClassHeads, Discipline, InvalidParameter, SchedulerChoice};
use serde::{Deserialize, Serialize};
use trunkline_units::{Time, TransmissionClock};

/// Share of a tin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CakeShare {
    /// Among tins within their rates, 0 is served first.
    pub priority: u32,
    /// Rate up to which that counts [bit/s, > 0].
    pub rate_bit_s: u64,
}

/// A clock that moves on by the time of each packet.
#[derive(Clone, Debug)]
struct ShaperClock {
    rate: TransmissionClock,
    next: Time,
}

impl ShaperClock {
    fn new(rate_bit_s: u64) -> Self {
        Self { rate: TransmissionClock::new(rate_bit_s), next: 0 }
    }
}

#[derive(Clone, Debug)]
struct Tin {
    clock: ShaperClock,
    priority: u32,
    backlogged: bool,
}

/// CAKE's shaper over any number of tins.
#[derive(Clone, Debug)]
pub struct Cake {
    shaper: ShaperClock,
    tins: Vec<Tin>,
}

impl Cake {
    /// A shaper of the largest rate of the tins.
    ///
    /// # Errors
    /// If there is no tin, or one without a rate.
    pub fn new(shares: &[CakeShare]) -> Result<Self, InvalidParameter> {
        super::at_least_one_class(shares)?;
        for (class, share) in shares.iter().enumerate() {
            InvalidParameter::require(share.rate_bit_s > 0, "rate_bit_s", || {
                format!("must be above 0 (class {class})")
            })?;
        }
        let largest = shares.iter().map(|share| share.rate_bit_s).max().unwrap_or(1);
        let tin = |share: &CakeShare| Tin {
            clock: ShaperClock::new(share.rate_bit_s),
            priority: share.priority,
            backlogged: false,
        };
        Ok(Self { shaper: ShaperClock::new(largest), tins: shares.iter().map(tin).collect() })
    }
}

impl Discipline for Cake {
    fn on_enqueue(&mut self, class: u16, _bytes: u32, was_empty: bool, now: Time) {
        if !was_empty {
            return;
        }
        // Clocks do not save time up.
        if self.tins.iter().all(|tin| !tin.backlogged) {
            self.shaper.next = self.shaper.next.max(now);
        }
        let tin = &mut self.tins[usize::from(class)];
        tin.backlogged = true;
        tin.clock.next = tin.clock.next.max(now);
    }

    fn choose(&mut self, _heads: &mut impl ClassHeads, now: Time) -> SchedulerChoice {
        let waiting = self.tins.iter().zip(0u16..).filter(|(tin, _)| tin.backlogged);
        // Tins whose clock is due, by priority; then by clock.
        let rank = |tin: &Tin| match tin.clock.next <= now {
            true => (0, u64::from(tin.priority)),
            false => (1, tin.clock.next),
        };
        let Some((_, class)) = waiting.min_by_key(|(tin, class)| (rank(tin), *class)) else {
            return SchedulerChoice::Idle;
        };
        if self.shaper.next > now {
            return SchedulerChoice::Wait(self.shaper.next);
        }
        SchedulerChoice::Class(class)
    }

    fn on_dequeue(&mut self, class: u16, bytes: u32, now_empty: bool, now: Time) {
        self.shaper.next += self.shaper.rate.span(bytes);
        let Tin { clock, backlogged, .. } = &mut self.tins[usize::from(class)];
        let span = clock.rate.span(bytes);
        // A tin that used capacity left by others does not pay for it later.
        clock.next = if clock.next < now { clock.next + span } else { clock.next.max(now + span) };
        *backlogged = !now_empty;
    }

    fn on_discard(&mut self, class: u16, now_empty: bool) {
        self.tins[usize::from(class)].backlogged = !now_empty;
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_link::{arrivals, backlog, serve, throughput, Arrival};
    use super::*;

    fn cake(shares: &[(u32, u64)]) -> Cake {
        let share = |&(priority, rate_bit_s): &(u32, u64)| CakeShare { priority, rate_bit_s };
        Cake::new(&shares.iter().map(share).collect::<Vec<_>>()).unwrap()
    }

    /// Mbit/s of each tin over 1..9 s on a line of 100 Mbit/s.
    fn rates(shares: &[(u32, u64)], backlogged: &[u16]) -> Vec<f64> {
        let sent = serve(cake(shares), 100_000_000, shares.len(), &backlog(backlogged, 12_000));
        throughput(&sent, shares.len(), 1.0, 9.0).iter().map(|rate| rate / 1e6).collect()
    }

    fn close(rates: &[f64], expected: &[f64]) {
        for (rate, expected) in rates.iter().zip(expected) {
            assert!((rate - expected).abs() < 0.02, "{rates:?} for {expected:?}");
        }
    }

    /// The tins of `diffserv4` at 8 Mbit/s: voice 1/4, video 1/2, bulk 1/16, best effort all.
    const TINS: [(u32, u64); 4] = [(0, 2_000_000), (1, 4_000_000), (2, 500_000), (3, 8_000_000)];

    mod hoiland2018 {
        use super::*;

        /// Section III-A: at 8 Mbit/s 1000 B go every ms from the first on, also after a silence.
        #[test]
        fn s3_a_the_shaper_has_no_burst() {
            let trace = [[(0, 0, 1000); 3], [(50_000, 0, 1000); 3]].concat();
            let sent = serve(cake(&[(0, 8_000_000)]), 100_000_000, 1, &arrivals(&trace));
            let starts: Vec<_> = sent.iter().map(|sent| sent.start / 1000).collect();
            assert_eq!(starts, [0, 1000, 2000, 50_000, 51_000, 52_000]);
        }

        /// Section III-D: all backlogged, each tin gets its rate, best effort the rest: 8 - 2 - 4 -
        /// 0.5 = 1.5 Mbit/s.
        #[test]
        fn s3_d_every_tin_gets_its_rate_before_best_effort_gets_more() {
            close(&rates(&TINS, &[0, 1, 2, 3]), &[2.0, 4.0, 0.5, 1.5]);
        }

        /// A single active tin has the full shaper, whatever its rate.
        #[test]
        fn s3_d_what_others_leave_is_anyones() {
            close(&rates(&TINS, &[0]), &[8.0]);
            close(&rates(&TINS, &[2, 3]), &[0.0, 0.0, 0.5, 7.5]);
        }

        /// A packet of voice waits for the shaper alone: at most the packet before it (1 ms), while
        /// best effort has a backlog.
        #[test]
        fn s3_d_a_tin_within_its_rate_is_served_first() {
            let mut trace = backlog(&[3], 900);
            trace.extend((0..50).map(|at| Arrival { at: at * 17_000_000, class: 0, bytes: 200 }));
            trace.sort_by_key(|packet| packet.at);
            let sent = serve(cake(&TINS), 100_000_000, 4, &trace);
            let voice = sent.iter().filter(|packet| packet.class == 0 && packet.at > 0);
            let longest = voice.map(|packet| packet.start - packet.at).max().unwrap();
            assert!(longest <= 1_000_000, "{longest}");
        }
    }
}
