//! Deficit round robin: each class in turn may send its quantum of bytes, and carries the rest.
//!
//! Source: Shreedhar & Varghese, "Efficient fair queueing using deficit round robin", SIGCOMM
//! 1995, section 3. A class that becomes backlogged joins the end of the active list with a
//! deficit of 0; on each visit its deficit grows by its quantum and it sends while its head fits
//! in the deficit; a class that empties leaves with its deficit set to 0.
//! Cost: O(1) a packet while each quantum is at least the largest packet (their section 3.3);
//! a smaller quantum is exact too but costs a visit per round that passes without a packet.

use super::{ClassHeads, Discipline, InvalidParameter, SchedulerChoice};
use serde::{Deserialize, Serialize};
use trunkline_units::Time;

/// Quantum of the class with the smallest weight where no quantum is set [B].
pub const BASE_QUANTUM_BYTES: u64 = 1500;

/// Share of a class in a deficit round robin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrrShare {
    /// Quantum [B]; 0 = derived from the weight.
    pub quantum_bytes: u32,
    /// Weight among the classes without a quantum [> 0].
    pub weight: u32,
}

/// No class.
const NONE: u16 = u16::MAX;

/// A class, and the next one in the order of visits.
#[derive(Clone, Copy, Debug)]
struct DrrClass {
    quantum: u64,
    deficit: u64,
    next: u16,
}

/// Deficit round robin over any number of classes.
#[derive(Clone, Debug)]
pub struct Drr {
    classes: Vec<DrrClass>,
    /// Backlogged classes in the order of their visits, a list; a class is in it at most once.
    first: u16,
    last: u16,
    /// Whether the first class has had its quantum on this visit.
    visited: bool,
}

impl Drr {
    /// A deficit round robin; reads `quantum_bytes` of each share or, where that is 0, gives
    /// [`BASE_QUANTUM_BYTES`] times `weight` over the smallest weight.
    ///
    /// # Errors
    /// If there is no class, or a class has neither a quantum nor a weight.
    pub fn new(shares: &[DrrShare]) -> Result<Self, InvalidParameter> {
        let class = |quantum| DrrClass { quantum, deficit: 0, next: NONE };
        let classes = quanta(shares)?.into_iter().map(class).collect();
        Ok(Self { classes, first: NONE, last: 0, visited: false })
    }

    #[inline(always)]
    fn push_last(&mut self, class: u16) {
        // Selections, as the branches are hard to predict. Of an empty list the last class is one that has
        // left, and what follows it makes no difference.
        self.classes[usize::from(self.last)].next = class;
        self.classes[usize::from(class)].next = NONE;
        self.first = if self.first == NONE { class } else { self.first };
        self.last = class;
    }

    /// Visits the classes in turn until `serve` sends from one.
    #[inline(always)]
    fn visit<T>(
        &mut self,
        mut serve: impl FnMut(u16, &mut DrrClass) -> Option<T>,
    ) -> Option<(u16, T)> {
        while self.first != NONE {
            let number = self.first;
            let class = &mut self.classes[usize::from(number)];
            // Without a branch on whether it had its quantum, which is hard to predict.
            class.deficit += class.quantum * u64::from(!self.visited);
            self.visited = true;
            if let Some(sent) = serve(number, class) {
                return Some((number, sent));
            }
            self.pop_first();
            self.push_last(number);
        }
        None
    }

    /// Chooses and sends in one step. `take` gets a class and its deficit; if the head of the class fits, it
    /// takes it and returns its bytes, whether the class is now empty, and what it took.
    #[inline(always)]
    pub fn serve<T>(
        &mut self,
        mut take: impl FnMut(u16, u64) -> Option<(u32, bool, T)>,
    ) -> Option<(u16, T)> {
        let (number, (next, taken)) = self.visit(|number, class| {
            let (bytes, now_empty, taken) = take(number, class.deficit)?;
            class.deficit = if now_empty { 0 } else { class.deficit - u64::from(bytes) };
            Some((if now_empty { class.next } else { number }, taken))
        })?;
        self.first = next;
        self.visited = next == number;
        Some((number, taken))
    }

    #[inline(always)]
    fn pop_first(&mut self) {
        self.first = self.classes[usize::from(self.first)].next;
        self.visited = false;
    }
}

/// Quantum of each class [B].
pub(super) fn quanta(shares: &[DrrShare]) -> Result<Vec<u64>, InvalidParameter> {
    super::at_least_one_class(shares)?;
    for (class, share) in shares.iter().enumerate() {
        InvalidParameter::require(share.quantum_bytes > 0 || share.weight > 0, "weight", || {
            format!("must be above 0 where quantum_bytes is 0 (class {class})")
        })?;
    }
    let by_weight = shares.iter().filter(|share| share.quantum_bytes == 0);
    let smallest = by_weight.map(|share| u64::from(share.weight)).min().unwrap_or(1);
    let quantum = |share: &DrrShare| match u64::from(share.quantum_bytes) {
        0 => BASE_QUANTUM_BYTES * u64::from(share.weight) / smallest,
        quantum => quantum,
    };
    Ok(shares.iter().map(quantum).collect())
}

impl Discipline for Drr {
    #[inline(always)]
    fn on_enqueue(&mut self, class: u16, _bytes: u32, was_empty: bool, _now: Time) {
        if was_empty {
            self.push_last(class);
        }
    }

    #[inline(always)]
    fn choose(&mut self, heads: &mut impl ClassHeads, _now: Time) -> SchedulerChoice {
        let next = self.visit(|number, class| {
            let head = heads.head(number).expect("a class in the active list has a head");
            (u64::from(head) <= class.deficit).then_some(())
        });
        next.map_or(SchedulerChoice::Idle, |(number, ())| SchedulerChoice::Class(number))
    }

    #[inline(always)]
    fn on_dequeue(&mut self, class: u16, bytes: u32, now_empty: bool, _now: Time) {
        if now_empty {
            self.retire(class);
        } else {
            self.classes[usize::from(class)].deficit -= u64::from(bytes);
        }
    }

    fn on_discard(&mut self, class: u16, now_empty: bool) {
        if now_empty {
            self.retire(class);
        }
    }

    /// A class that empties keeps no deficit.
    fn is_stateless_when_empty(&self) -> bool {
        true
    }

    fn never_waits(&self) -> bool {
        true
    }
}

impl Drr {
    /// An empty class leaves the list with its deficit set to 0.
    #[inline(always)]
    fn retire(&mut self, class: u16) {
        self.classes[usize::from(class)].deficit = 0;
        if self.first == class {
            self.pop_first();
        } else {
            self.remove(class);
        }
    }

    /// Takes a class out of the list that is not the first.
    #[cold]
    fn remove(&mut self, class: u16) {
        let mut before = self.first;
        while before != NONE {
            let next = self.classes[usize::from(before)].next;
            if next == class {
                self.classes[usize::from(before)].next = self.classes[usize::from(class)].next;
                self.last = if self.last == class { before } else { self.last };
                return;
            }
            before = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_link::{arrivals, proptest_discipline, saturated, serve, Endless};
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    fn shares(quanta: &[u32]) -> Vec<DrrShare> {
        let share = |&quantum_bytes| DrrShare { quantum_bytes, weight: 1 };
        quanta.iter().map(share).collect()
    }

    proptest_discipline!(|classes| Drr::new(&shares(&vec![700; classes])).unwrap());

    mod sv95 {
        use super::*;

        /// Their Fig. 2 and 3: quantum 500; queue 1 holds 200, 750, 20; queue 2 holds 500, 500;
        /// queue 3 holds 200, 600, 100; queue 4 holds 50, 700, 180.
        /// Round 1: Q1 sends 200 (300 left, 750 waits), Q2 500, Q3 200 (300), Q4 50 (450).
        /// Round 2: Q1 has 800, sends 750 and 20; Q2 500; Q3 800: 600 and 100; Q4 950: 700, 180.
        #[test]
        fn fig2_and_fig3_order_of_service() {
            let mut trace = Vec::new();
            for (class, sizes) in
                [[200, 750, 20].as_slice(), &[500, 500], &[200, 600, 100], &[50, 700, 180]]
                    .iter()
                    .enumerate()
            {
                trace.extend(sizes.iter().map(|&bytes| (0, class as u16, bytes)));
            }
            let sent =
                serve(Drr::new(&shares(&[500; 4])).unwrap(), 1_000_000, 4, &arrivals(&trace));
            let order: Vec<_> = sent.iter().map(|sent| (sent.class, sent.bytes)).collect();
            let first = [(0, 200), (1, 500), (2, 200), (3, 50)];
            let second = [(0, 750), (0, 20), (1, 500), (2, 600), (2, 100), (3, 700), (3, 180)];
            assert_eq!(order, [first.as_slice(), &second].concat());
        }

        /// Quanta 1 : 2 : 5 of backlogged classes with packets of 1000, 300 and 1500 B.
        #[test]
        fn s3_bytes_of_backlogged_classes_are_as_their_quanta() {
            let sent = saturated(
                Drr::new(&shares(&[1500, 3000, 7500])).unwrap(),
                &[1000, 300, 1500],
                8000,
            );
            let total: u64 = sent.iter().sum();
            for (bytes, quantum) in sent.iter().zip([1.0, 2.0, 5.0]) {
                let share = *bytes as f64 / total as f64;
                assert!((share - quantum / 8.0).abs() < 0.002, "{share} for {quantum}");
            }
        }

        proptest! {
            /// Theorem 2 (fairness measure): over any interval in which i and j are backlogged,
            /// |sent_i / f_i - sent_j / f_j| <= 2 Max + Quantum, where f_i = Quantum_i / Quantum
            /// and Quantum is the smallest. Intervals that end between packets are covered.
            #[test]
            fn theorem2_fairness_is_within_two_packets_and_a_quantum(
                factors in prop::collection::vec(1u32..6, 2..6),
                sizes in prop::collection::vec(40u32..1500, 6),
                skip in 0usize..200,
            ) {
                let quanta: Vec<u32> = factors.iter().map(|factor| 1500 * factor).collect();
                let mut drr = Drr::new(&shares(&quanta)).unwrap();
                let mut heads = super::super::super::test_link::Endless(&sizes);
                for (class, &bytes) in sizes.iter().enumerate().take(quanta.len()) {
                    drr.on_enqueue(class as u16, bytes, true, 0);
                }
                let mut sent = vec![0.0; quanta.len()];
                for step in 0..skip + 300 {
                    let SchedulerChoice::Class(class) = drr.choose(&mut heads, 0) else { unreachable!() };
                    let bytes = sizes[usize::from(class)];
                    drr.on_dequeue(class, bytes, false, 0);
                    if step >= skip {
                        sent[usize::from(class)] += f64::from(bytes) / f64::from(factors[usize::from(class)]);
                        let smallest = sent.iter().copied().fold(f64::INFINITY, f64::min);
                        let largest = sent.iter().copied().fold(0.0, f64::max);
                        prop_assert!(largest - smallest <= 2.0 * 1500.0 + 1500.0);
                    }
                }
            }
        }
    }

    /// Queues of sizes as a scheduler sees them.
    struct Queues(Vec<VecDeque<u32>>);

    impl ClassHeads for Queues {
        fn head(&mut self, class: u16) -> Option<u32> {
            self.0[usize::from(class)].front().copied()
        }
    }

    proptest! {
        /// A choice and a departure in one step serve as the two do one after the other.
        #[test]
        fn one_step_serves_as_a_choice_and_a_departure(
            quanta in prop::collection::vec(300u32..3_000, 1..5),
            steps in prop::collection::vec((0u16..5, 40u32..1_500, any::<bool>()), 1..200),
        ) {
            let (mut at_once, mut apart) = (Drr::new(&shares(&quanta)).unwrap(), Drr::new(&shares(&quanta)).unwrap());
            let mut queues = Queues(vec![VecDeque::new(); quanta.len()]);
            for (class, bytes, arrives) in steps {
                let class = class % quanta.len() as u16;
                if arrives {
                    let was_empty = queues.0[usize::from(class)].is_empty();
                    queues.0[usize::from(class)].push_back(bytes);
                    at_once.on_enqueue(class, bytes, was_empty, 0);
                    apart.on_enqueue(class, bytes, was_empty, 0);
                    continue;
                }
                let choice = apart.choose(&mut queues, 0);
                let served = at_once.serve(|class, deficit| {
                    let queue = &queues.0[usize::from(class)];
                    let bytes = queue.front().copied().filter(|&bytes| u64::from(bytes) <= deficit)?;
                    Some((bytes, queue.len() == 1, bytes))
                });
                let SchedulerChoice::Class(class) = choice else {
                    prop_assert_eq!((choice, served), (SchedulerChoice::Idle, None));
                    continue;
                };
                let bytes = queues.0[usize::from(class)].pop_front().unwrap();
                prop_assert_eq!(served, Some((class, bytes)));
                apart.on_dequeue(class, bytes, queues.0[usize::from(class)].is_empty(), 0);
                prop_assert_eq!(format!("{at_once:?}"), format!("{apart:?}"));
            }
        }
    }

    #[test]
    fn a_class_without_quantum_and_weight_is_refused() {
        let share = DrrShare { quantum_bytes: 0, weight: 0 };
        assert_eq!(Drr::new(&[share]).unwrap_err().key, "weight");
    }

    /// A class whose only packet is dropped leaves the list, wherever it is, and joins it at its end.
    #[test]
    fn a_class_that_is_discarded_joins_at_the_end() {
        for (discarded, order) in [(1, [0, 2, 1]), (2, [0, 1, 2]), (0, [1, 2, 0])] {
            let share = DrrShare { quantum_bytes: 100, weight: 1 };
            let mut drr = Drr::new(&[share; 3]).unwrap();
            for class in 0..3 {
                drr.on_enqueue(class, 100, true, 0);
            }
            drr.on_discard(discarded, true);
            drr.on_enqueue(discarded, 100, true, 0);
            for class in order {
                assert_eq!(drr.choose(&mut Endless(&[100; 3]), 0), SchedulerChoice::Class(class));
                drr.on_dequeue(class, 100, true, 0);
            }
            assert_eq!(drr.choose(&mut Endless(&[100; 3]), 0), SchedulerChoice::Idle);
        }
    }
}
