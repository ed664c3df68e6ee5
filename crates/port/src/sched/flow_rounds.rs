//! Rounds of flow queueing: a deficit round robin that serves flows first that were idle.
//!
//! Source: RFC 8290 section 4.2; Linux 6.1 `net/sched/sch_fq_codel.c`. A flow that was on no list
//! joins the list of new flows with one quantum. The first flow of the new list, or else of the old
//! one, sends while its deficit is above 0; then it gets a quantum and moves to the end of the old list.
//! A new flow found empty moves to the end of the old list too, so that no flow stays new by emptying
//! each round; an old one found empty leaves.
//! Without `new_first` (stochastic fairness queueing, McKenney 1990; `sch_sfq.c`) there is one list,
//! and a flow leaves it as soon as it is empty.

use std::collections::VecDeque;

/// The order in which flows send.
#[derive(Clone, Debug)]
pub struct FlowRounds {
    quantum: i64,
    new_first: bool,
    new: VecDeque<u16>,
    old: VecDeque<u16>,
    deficits: Vec<i64>,
    listed: Vec<bool>,
}

impl FlowRounds {
    /// For flows `0..flows`, all empty.
    #[must_use]
    pub fn new(flows: usize, quantum_bytes: u32, new_first: bool) -> Self {
        Self {
            quantum: i64::from(quantum_bytes),
            new_first,
            new: VecDeque::new(),
            old: VecDeque::new(),
            deficits: vec![0; flows],
            listed: vec![false; flows],
        }
    }

    /// The flows that take part: those that hold packets, and some that are empty since their last turn.
    pub fn members(&self) -> impl Iterator<Item = u16> + '_ {
        self.new.iter().chain(&self.old).copied()
    }

    /// A packet joined `flow`.
    pub fn on_enqueue(&mut self, flow: u16) {
        let index = usize::from(flow);
        if !std::mem::replace(&mut self.listed[index], true) {
            self.deficits[index] = self.quantum;
            if self.new_first { &mut self.new } else { &mut self.old }.push_back(flow);
        }
    }

    /// The flow whose turn it is; the caller answers whether a flow is empty at its turn, and by how
    /// many a flow's quantum is divided [> 0].
    pub fn choose(
        &mut self,
        mut is_empty: impl FnMut(u16) -> bool,
        divided_by: impl Fn(u16) -> i64,
    ) -> Option<u16> {
        loop {
            let is_new = !self.new.is_empty();
            let flow = *if is_new { &self.new } else { &self.old }.front()?;
            let index = usize::from(flow);
            if self.deficits[index] > 0 && !is_empty(flow) {
                return Some(flow);
            }
            if is_new { &mut self.new } else { &mut self.old }.pop_front();
            if self.deficits[index] <= 0 {
                self.deficits[index] += (self.quantum / divided_by(flow)).max(1);
                self.old.push_back(flow);
            } else if is_new && !self.old.is_empty() {
                self.old.push_back(flow);
            } else {
                self.listed[index] = false;
            }
        }
    }

    /// The flow whose turn it is sent `bytes`.
    pub fn on_sent(&mut self, flow: u16, bytes: u32, now_empty: bool) {
        let index = usize::from(flow);
        self.deficits[index] -= i64::from(bytes);
        if now_empty && !self.new_first {
            self.old.pop_front();
            self.listed[index] = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends packets of 1000 B of flows with `waiting` packets each; quantum 1500 B.
    fn order(rounds: &mut FlowRounds, waiting: &mut [u32], count: usize) -> Vec<u16> {
        let mut sent = Vec::new();
        for _ in 0..count {
            let Some(flow) = rounds.choose(|flow| waiting[usize::from(flow)] == 0, |_| 1) else {
                break;
            };
            waiting[usize::from(flow)] -= 1;
            rounds.on_sent(flow, 1000, waiting[usize::from(flow)] == 0);
            sent.push(flow);
        }
        sent
    }

    mod rfc8290 {
        use super::*;

        /// Section 4.2, by hand, quantum 1500 B: each flow starts with 1500, sends 1000 (500 left, above
        /// 0), sends again (-500), gets 1500 and moves to the end: 0 0 1 1; then with 1000 left one
        /// packet (0), a quantum: 1500, behind: 0 1; then two each again.
        #[test]
        fn s4_2_backlogged_flows_share_bytes_by_deficit() {
            let mut rounds = FlowRounds::new(2, 1500, true);
            let mut waiting = [9, 9];
            rounds.on_enqueue(0);
            rounds.on_enqueue(1);
            assert_eq!(order(&mut rounds, &mut waiting, 10), [0, 0, 1, 1, 0, 1, 0, 0, 1, 1]);
        }

        /// A flow that was idle is served before those that are backlogged, for one quantum.
        #[test]
        fn s4_1_a_sparse_flow_is_served_first() {
            let mut rounds = FlowRounds::new(3, 1500, true);
            let mut waiting = [50, 50, 0];
            rounds.on_enqueue(0);
            rounds.on_enqueue(1);
            order(&mut rounds, &mut waiting, 6);
            waiting[2] = 5;
            rounds.on_enqueue(2);
            // Two packets of its quantum, then it takes turns like the others.
            let sent = order(&mut rounds, &mut waiting, 6);
            assert_eq!(sent[..2], [2, 2]);
            assert_ne!(sent[2], 2);
        }

        /// Section 4.2, last paragraph: a new flow that empties its queue moves to the end of the old
        /// list before it may be new again, so that one that sends a packet whenever it has none does
        /// not starve the rest.
        #[test]
        fn s4_2_a_flow_that_empties_each_round_cannot_stay_new() {
            let mut rounds = FlowRounds::new(2, 1500, true);
            let mut waiting = [100, 1];
            rounds.on_enqueue(0);
            order(&mut rounds, &mut waiting, 2);
            rounds.on_enqueue(1);
            let mut sent = [0, 0];
            for _ in 0..60 {
                let flow = order(&mut rounds, &mut waiting, 1)[0];
                sent[usize::from(flow)] += 1;
                // The greedy one looks again after each packet of the other.
                if flow == 0 && waiting[1] == 0 {
                    waiting[1] = 1;
                    rounds.on_enqueue(1);
                }
            }
            assert!(sent[0] >= 28, "{sent:?}");
        }

        /// Section 4.2: a queue that left the list of old ones because it was empty is added back as a
        /// new one, and so is served before a sparse flow whose packet arrived later; Linux does the
        /// same. By hand, with packets of 1500 B: of a quantum of 1514 B, Ethernet's largest frame, the
        /// first leaves 14 B, so that a second is served before the sparse flow too. Of one of 1500 B it
        /// leaves 0 B.
        #[test]
        fn s4_2_a_queue_that_emptied_is_new_again_and_before_a_later_sparse_flow() {
            let (bulk, backlogged, sparse) = (0, 1, 2);
            for (quantum, expected) in [(1514, [bulk, bulk, sparse]), (1500, [bulk, sparse, bulk])]
            {
                let mut rounds = FlowRounds::new(3, quantum, true);
                let mut waiting = [1, 50, 0];
                let send = |waiting: &mut [u32; 3], rounds: &mut FlowRounds| {
                    let flow =
                        rounds.choose(|flow| waiting[usize::from(flow)] == 0, |_| 1).unwrap();
                    waiting[usize::from(flow)] -= 1;
                    rounds.on_sent(flow, 1500, false);
                    flow
                };
                rounds.on_enqueue(bulk);
                rounds.on_enqueue(backlogged);
                let first = [(); 4].map(|()| send(&mut waiting, &mut rounds));
                assert_eq!(first, [bulk, backlogged, backlogged, backlogged]);
                assert_eq!(rounds.members().collect::<Vec<_>>(), [backlogged]);
                waiting[usize::from(bulk)] = 2;
                rounds.on_enqueue(bulk);
                waiting[usize::from(sparse)] = 1;
                rounds.on_enqueue(sparse);
                let sent = [(); 3].map(|()| send(&mut waiting, &mut rounds));
                assert_eq!(sent, expected, "a quantum of {quantum} B");
            }
        }
    }

    /// Piece of CAKE, section III-C: 0 and 1 are flows of one host and share its quantum, so that 2
    /// alone of its host gets as much as both: of 40 packets 10, 10 and 20, but for a round.
    #[test]
    fn hoiland2018_s3_c_flows_of_a_host_share_its_quantum() {
        let mut rounds = FlowRounds::new(3, 1500, true);
        (0..3).for_each(|flow| rounds.on_enqueue(flow));
        let mut sent = [0i32; 3];
        for _ in 0..40 {
            let flow = rounds.choose(|_| false, |flow| if flow == 2 { 1 } else { 2 }).unwrap();
            rounds.on_sent(flow, 1000, false);
            sent[usize::from(flow)] += 1;
        }
        assert!((sent[0] - 10).abs() <= 1 && (sent[1] - 10).abs() <= 1, "{sent:?}");
    }

    /// McKenney 1990: one list, in turn.
    #[test]
    fn without_new_flows_first_a_late_flow_waits_its_turn() {
        let mut rounds = FlowRounds::new(3, 1000, false);
        let mut waiting = [5, 5, 5];
        rounds.on_enqueue(0);
        rounds.on_enqueue(1);
        assert_eq!(order(&mut rounds, &mut waiting, 1), [0]);
        rounds.on_enqueue(2);
        assert_eq!(order(&mut rounds, &mut waiting, 6), [1, 2, 0, 1, 2, 0]);
    }
}
