//! Weighted round robin: each class in turn sends as many packets as its weight.
//!
//! Source: Katevenis, Sidiropoulos and Courcoubetis, "Weighted round-robin cell multiplexing in a
//! general-purpose ATM switch chip", IEEE JSAC 9(8), 1991. A turn counts packets, not bytes: shares
//! are exact for packets of one size (cells), and a class with larger packets gets more bytes. A
//! class that becomes backlogged joins the end of the round; one that empties leaves it.
//! Absent: interleaving the packets of a turn (their section III). Cost: O(1) a packet.

use super::{ClassHeads, Discipline, InvalidParameter, SchedulerChoice};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use trunkline_units::Time;

/// Share of a class in a weighted round robin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrrShare {
    /// Packets in a turn [> 0].
    pub weight: u32,
}

/// Weighted round robin over any number of classes.
#[derive(Clone, Debug)]
pub struct Wrr {
    weights: Vec<u32>,
    /// Backlogged classes in the order of their turns; a class is in it at most once.
    active: VecDeque<u16>,
    /// Packets that the class in front may still send in this turn.
    bytes_left: u32,
}

impl Wrr {
    /// A weighted round robin.
    ///
    /// # Errors
    /// If there is no class, or a weight is 0.
    pub fn new(shares: &[WrrShare]) -> Result<Self, InvalidParameter> {
        super::at_least_one_class(shares)?;
        for (class, share) in shares.iter().enumerate() {
            InvalidParameter::require(share.weight > 0, "weight", || {
                format!("must be above 0 (class {class})")
            })?;
        }
        let weights = shares.iter().map(|share| share.weight).collect();
        Ok(Self { weights, active: VecDeque::with_capacity(shares.len()), bytes_left: 0 })
    }

    fn begin_turn(&mut self) {
        self.bytes_left = self.active.front().map_or(0, |&class| self.weights[usize::from(class)]);
    }

    fn retire(&mut self, class: u16) {
        if self.active.front() == Some(&class) {
            self.active.pop_front();
            self.begin_turn();
        } else {
            self.active.retain(|&other| other != class);
        }
    }
}

impl Discipline for Wrr {
    #[inline]
    fn on_enqueue(&mut self, class: u16, _bytes: u32, was_empty: bool, _now: Time) {
        if was_empty {
            self.active.push_back(class);
            if self.active.len() == 1 {
                self.begin_turn();
            }
        }
    }

    #[inline]
    fn choose(&mut self, _heads: &mut impl ClassHeads, _now: Time) -> SchedulerChoice {
        self.active.front().map_or(SchedulerChoice::Idle, |&class| SchedulerChoice::Class(class))
    }

    #[inline]
    fn on_dequeue(&mut self, class: u16, _bytes: u32, now_empty: bool, _now: Time) {
        if now_empty {
            self.retire(class);
            return;
        }
        self.bytes_left -= 1;
        if self.bytes_left == 0 {
            self.active.rotate_left(1);
            self.begin_turn();
        }
    }

    fn never_waits(&self) -> bool {
        true
    }

    fn on_discard(&mut self, class: u16, now_empty: bool) {
        if now_empty {
            self.retire(class);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_link::{arrivals, proptest_discipline, saturated, serve};
    use super::*;

    fn wrr(weights: &[u32]) -> Wrr {
        let shares: Vec<_> = weights.iter().map(|&weight| WrrShare { weight }).collect();
        Wrr::new(&shares).unwrap()
    }

    proptest_discipline!(|classes| wrr(&[2, 1, 3, 1, 5][..classes]));

    mod katevenis1991 {
        use super::*;

        /// Weights 3, 1, 2, all backlogged: the round 0 0 0 1 2 2.
        #[test]
        fn s3_a_turn_is_as_many_packets_as_the_weight() {
            let trace = [[(0, 0, 100); 6], [(0, 1, 100); 6], [(0, 2, 100); 6]].concat();
            let sent = serve(wrr(&[3, 1, 2]), 8_000_000, 3, &arrivals(&trace));
            let order: Vec<_> = sent.iter().take(12).map(|sent| sent.class).collect();
            assert_eq!(order, [0, 0, 0, 1, 2, 2, 0, 0, 0, 1, 2, 2]);
        }

        /// Turns are of packets: with equal weights 1500 B against 300 B is 5 to 1 in bytes.
        #[test]
        fn s3_larger_packets_get_more_bytes() {
            assert_eq!(saturated(wrr(&[1, 1]), &[1500, 300], 200), [150_000, 30_000]);
        }

        /// A class that empties in its turn gives the rest of it up: 0 of weight 3 has one packet.
        #[test]
        fn s3_an_empty_class_leaves_the_round() {
            let trace = [(0, 0, 100), (0, 1, 100), (0, 1, 100), (0, 1, 100)];
            let sent = serve(wrr(&[3, 1]), 8_000_000, 2, &arrivals(&trace));
            assert_eq!(sent.iter().map(|sent| sent.class).collect::<Vec<_>>(), [0, 1, 1, 1]);
        }
    }
}
