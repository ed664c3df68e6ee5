//! Strict priority, non-preemptive (head of the line): the lowest number is served first.
//!
//! Source: Cobham, Operations Research 2(1), 1954. A packet being sent is never interrupted.
//! Classes of equal priority take turns, one packet each (a round robin by packets, so the one
//! with larger packets gets more bytes); a class that becomes backlogged joins at the end of the
//! turn. Cost: O(log backlogged classes) a packet.

use super::heap::ClassHeap;
use super::{ClassHeads, Discipline, InvalidParameter, SchedulerChoice};
use serde::{Deserialize, Serialize};
use trunkline_units::Time;

/// Share of a class under strict priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriorityShare {
    /// 0 is served first.
    pub priority: u32,
}

/// Strict priority over any number of classes.
#[derive(Clone, Debug)]
pub struct Priority {
    levels: Vec<u32>,
    /// Backlogged classes by (priority, turn).
    ready: ClassHeap<(u32, u64)>,
    turn: u64,
}

impl Priority {
    /// A priority scheduler; reads `priority` of each share.
    ///
    /// # Errors
    /// If there is no class.
    pub fn new(shares: &[PriorityShare]) -> Result<Self, InvalidParameter> {
        super::at_least_one_class(shares)?;
        Ok(Self {
            levels: shares.iter().map(|share| share.priority).collect(),
            ready: ClassHeap::new(shares.len()),
            turn: 0,
        })
    }

    fn join(&mut self, class: u16) {
        self.turn += 1;
        self.ready.set(class, (self.levels[usize::from(class)], self.turn));
    }
}

impl Discipline for Priority {
    #[inline]
    fn on_enqueue(&mut self, class: u16, _bytes: u32, was_empty: bool, _now: Time) {
        if was_empty {
            self.join(class);
        }
    }

    #[inline]
    fn choose(&mut self, _heads: &mut impl ClassHeads, _now: Time) -> SchedulerChoice {
        self.ready.first().map_or(SchedulerChoice::Idle, |(_, class)| SchedulerChoice::Class(class))
    }

    #[inline]
    fn on_dequeue(&mut self, class: u16, _bytes: u32, now_empty: bool, _now: Time) {
        if now_empty {
            self.ready.remove(class);
        } else {
            self.join(class);
        }
    }

    fn on_discard(&mut self, class: u16, now_empty: bool) {
        if now_empty {
            self.ready.remove(class);
        }
    }

    /// A turn orders those that wait together.
    fn is_stateless_when_empty(&self) -> bool {
        true
    }

    fn never_waits(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_link::{arrivals, proptest_discipline, serve, Arrival};
    use super::*;

    fn shares(priorities: &[u32]) -> Vec<PriorityShare> {
        priorities.iter().map(|&priority| PriorityShare { priority }).collect()
    }

    proptest_discipline!(|classes| Priority::new(&shares(&vec![1; classes])).unwrap());

    mod cobham1954 {
        use super::*;

        /// 1 byte = 1 us at 8 Mbit/s. The low packet (100 B) holds the line over 0..100 us; of
        /// those that arrived meanwhile, all of the high class are sent before the rest of the low.
        #[test]
        fn the_lowest_number_is_served_first_and_interrupts_nothing() {
            let trace = [(0, 1, 100), (1, 1, 100), (50, 0, 10), (60, 0, 10), (115, 0, 10)];
            let sent =
                serve(Priority::new(&shares(&[0, 7])).unwrap(), 8_000_000, 2, &arrivals(&trace));
            let order: Vec<_> = sent.iter().map(|sent| (sent.start / 1000, sent.class)).collect();
            assert_eq!(order, [(0, 1), (100, 0), (110, 0), (120, 0), (130, 1)]);
        }

        /// M/M/1-like check with equal fixed sizes: mean waits of two Poisson classes, rho 0.3
        /// and 0.4, deterministic service s = 1 ms. Cobham: W1 = R / (1 - rho1),
        /// W2 = R / ((1 - rho1)(1 - rho1 - rho2)), R = (rho1 + rho2) s / 2 = 0.35 ms, so
        /// W1 = 0.5 ms and W2 = 0.35 / (0.7 * 0.3) = 1.6667 ms.
        #[test]
        fn mean_waits_of_two_poisson_classes_are_those_of_the_formula() {
            let mut random = trunkline_units::RandomStream::new(11, "test", "arrivals");
            let mut trace = Vec::new();
            for (class, rho) in [(0u16, 0.3), (1, 0.4)] {
                let mut at = 0.0;
                while at < 400e9 {
                    at += random.exponential(1e6 / rho);
                    trace.push(Arrival { at: at as u64, class, bytes: 1000 });
                }
            }
            trace.sort_by_key(|arrival| arrival.at);
            let sent = serve(Priority::new(&shares(&[0, 1])).unwrap(), 8_000_000, 2, &trace);
            let mean = |class| {
                let waits: Vec<f64> = sent
                    .iter()
                    .filter(|sent| sent.class == class)
                    .map(|sent| (sent.start - sent.at) as f64 / 1e6)
                    .collect();
                waits.iter().sum::<f64>() / waits.len() as f64
            };
            assert!((mean(0) - 0.5).abs() < 0.02, "{}", mean(0));
            assert!((mean(1) - 1.6667).abs() < 0.08, "{}", mean(1));
        }
    }

    #[test]
    fn equal_priorities_take_turns_by_packet() {
        let trace = [(0, 2, 10), (1, 0, 10), (1, 0, 10), (1, 0, 10), (2, 1, 10), (2, 1, 10)];
        let sent =
            serve(Priority::new(&shares(&[5, 5, 5])).unwrap(), 8_000_000, 3, &arrivals(&trace));
        let order: Vec<_> = sent.iter().map(|sent| sent.class).collect();
        assert_eq!(order, [2, 0, 1, 0, 1, 0]);
    }
}
