//! A queue of queues: one for each flow that the port can distinguish, each with a separate AQM.
//!
//! Source: RFC 8290 (FQ-CoDel); McKenney, "Stochastic fairness queueing", INFOCOM 1990; Linux 6.1
//! `sch_fq_codel.c`, `sch_fq_pie.c`, `sch_sfq.c`, `sch_fq.c`. A packet joins the queue that its
//! flow's hash gives, so two flows may share one. Queues take turns by `FlowRounds`. When all of them
//! together exceed the limit, the longest is cut: half of it from its head, at most `batch` packets (RFC
//! 8290 section 4.1.3), or its newest packet, or the arrival is refused.
//! A label hides the flow (RFC 3032): labelled packets are distinguished by their label stacks, as
//! routers do, unless the port looks behind the labels.
//! With `ways` (CAKE: 8) the hash gives a set of queues: a flow stays in its own while that holds
//! packets, else takes an empty one, and shares only where there is none. A shared queue then belongs to
//! the newcomer, and its former flow looks for another, so flows of a full set may overtake themselves.
//! With `hosts` the quantum of a flow is divided by the number of backlogged queues of its host
//! (Høiland-Jørgensen et al., "Piece of CAKE", 2018, section III-C; Linux counts those that are no
//! longer new).
//! As in Linux, CoDel compares the backlog of all queues when it checks whether a packet is the last.

use crate::network::{Flow, FlowKey, Flows, Hosts, Overflow};
use crate::queue::{QueueDecision, QueueGate, WaitingPacket};
use crate::ring::Ring;
use std::cmp::Reverse;
use trunkline_packet::Packet;
use trunkline_port::aqm::{AqmConfig, Arrival, HeadPacket, QueueBacklog};
use trunkline_port::sched::FlowRounds;
use trunkline_units::Time;

#[cfg(test)]
mod tests;

/// Queues for the label stacks of labelled packets, and for connections that come and go, where each
/// flow has a separate queue.
const LABEL_QUEUES: u64 = 1024;

/// The queue of the flows with one hash.
#[derive(Clone, Debug)]
struct FlowQueue {
    queue: Ring<WaitingPacket>,
    bytes: u64,
    gate: QueueGate,
    /// Hash key of its last flow.
    key: u64,
}

/// Ends of the flows, and backlogged queues of each node that sends and that receives.
#[derive(Clone, Debug, Default)]
struct HostLoads {
    ends: Vec<[u32; 2]>,
    /// Of each queue the nodes of its last flow: which sends, which receives.
    ends_of_queue: Vec<[u32; 2]>,
    loads: Vec<[u32; 2]>,
}

/// All of them.
#[derive(Clone, Debug)]
pub struct FlowQueues {
    queues: Vec<FlowQueue>,
    rounds: FlowRounds,
    held: QueueBacklog,
    config: Flows,
    /// Of the hash.
    seed: u64,
    /// Whether AQMs see the backlog of all queues.
    sees_all: bool,
    hosts: HostLoads,
}

impl FlowQueues {
    /// Empty queues, one for each of `gates`; `flows` are those of the network.
    #[must_use]
    pub fn new(
        config: &Flows,
        aqm: &AqmConfig,
        gates: Vec<QueueGate>,
        seed: u64,
        flows: &[Flow],
    ) -> Self {
        let queue = |gate| FlowQueue { queue: Ring::new(1), bytes: 0, gate, key: 0 };
        let mut hosts = HostLoads::default();
        if config.hosts != Hosts::Flows {
            hosts.ends = flows.iter().map(|flow| [flow.src, flow.dst]).collect();
            let nodes = hosts.ends.iter().flatten().max().map_or(0, |&node| node as usize + 1);
            hosts.loads = vec![[0; 2]; nodes];
            hosts.ends_of_queue = vec![[0; 2]; gates.len()];
        }
        Self {
            rounds: FlowRounds::new(gates.len(), config.quantum_bytes, config.new_first),
            queues: gates.into_iter().map(queue).collect(),
            held: QueueBacklog::default(),
            config: config.clone(),
            seed,
            sees_all: matches!(aqm, AqmConfig::Codel(_)),
            hosts,
        }
    }

    /// Number of queues in a network of `flows` flows.
    #[must_use]
    pub fn count(config: &Flows, flows: usize) -> usize {
        config.queues.map_or(2 * flows + LABEL_QUEUES as usize, |queues| queues as usize)
    }

    /// The queue that a packet joins, which is its flow's from then on if it is empty.
    pub fn queue_of(&mut self, packet: &Packet) -> u16 {
        let flow = 2 * u64::from(packet.flow) + u64::from(packet.is_reverse());
        let hidden = self.hides_headers(packet);
        let label =
            || packet.labels.iter().fold(1, |key, entry| mix_hash(key ^ u64::from(entry.label())));
        // A flow has a separate queue; label stacks and connections of a flow share the queues behind.
        let (key, is_flow) = match packet.connection() {
            _ if hidden => (label(), false),
            Some(connection) => {
                (mix_hash(flow ^ self.seed) ^ u64::from(connection) ^ self.seed, false)
            }
            None => (flow, true),
        };
        let queue = match self.config.queues {
            Some(queues) => self.queue_in_set(key, queues),
            None if is_flow => flow,
            None => {
                self.queues.len() as u64 - LABEL_QUEUES + mix_hash(key ^ self.seed) % LABEL_QUEUES
            }
        };
        let flow_queue = &mut self.queues[queue as usize];
        flow_queue.key = key;
        if flow_queue.queue.is_empty() {
            if let Some(&[from, to]) = self.hosts.ends.get(packet.flow as usize) {
                self.hosts.ends_of_queue[queue as usize] =
                    if packet.is_reverse() { [to, from] } else { [from, to] };
            }
        }
        queue as u16
    }

    /// Whether labels hide the flow of a packet.
    fn hides_headers(&self, packet: &Packet) -> bool {
        !packet.labels.is_empty() && self.config.labelled == FlowKey::Label
    }

    /// The queue of `key` among those that its hash may choose.
    fn queue_in_set(&self, key: u64, queues: u32) -> u64 {
        let hash = mix_hash(key ^ self.seed) % u64::from(queues);
        let ways = u64::from(self.config.ways);
        if ways == 1 {
            return hash;
        }
        let set = hash - hash % ways;
        let queue_at = |at: u64| &self.queues[at as usize];
        let mut ways = (0..ways).map(|way| set + (hash + way) % ways);
        let own = ways.clone().find(|&at| queue_at(at).bytes > 0 && queue_at(at).key == key);
        own.or_else(|| ways.find(|&at| queue_at(at).bytes == 0)).unwrap_or(hash)
    }

    /// Everything that waits.
    #[inline]
    #[must_use]
    pub fn stored_backlog(&self) -> QueueBacklog {
        self.held
    }

    /// Packets waiting, queue by queue.
    pub fn iter(&self) -> impl Iterator<Item = &WaitingPacket> + '_ {
        self.queues.iter().flat_map(|queue| queue.queue.iter())
    }

    /// Judges an arrival by the gate of its queue.
    pub fn admit(
        &mut self,
        queue: u16,
        arrival: &Arrival,
        idle: bool,
        can_mark: bool,
    ) -> QueueDecision {
        let flow_queue = &mut self.queues[usize::from(queue)];
        let backlog = flow_queue.held();
        flow_queue.gate.admit(&Arrival { backlog, ..*arrival }, idle, can_mark)
    }

    /// Puts a packet that was let in into its queue.
    pub fn push(&mut self, queue: u16, waiting: WaitingPacket) {
        let flow_queue = &mut self.queues[usize::from(queue)];
        if flow_queue.queue.is_empty() {
            self.hosts.join(queue);
        }
        flow_queue.queue.push(waiting);
        flow_queue.bytes += u64::from(waiting.bytes());
        flow_queue.gate.on_enqueue(waiting.bytes(), waiting.precedence());
        self.held.packets += 1;
        self.held.bytes += u64::from(waiting.bytes());
        self.rounds.on_enqueue(queue);
    }

    /// Bytes of the packet whose turn it is.
    pub fn head(&mut self, now: Time) -> Option<u32> {
        let queue = self.choose(now)?;
        self.queues[usize::from(queue)].queue.front().map(|waiting| waiting.bytes())
    }

    /// The queue whose turn it is. A queue found empty at its turn is idle from then on, not before (RFC
    /// 8289 section 5.4, `deque`; Linux's `codel_dequeue`, `cobalt_queue_empty`). No queue is checked
    /// while all are empty: `cake_dequeue` checks that first, and HTB asks no queue that is empty.
    fn choose(&mut self, now: Time) -> Option<u16> {
        if self.held.packets == 0 {
            return None;
        }
        let Self { queues, rounds, hosts, config, .. } = self;
        let is_empty = |queue: u16| {
            let flow_queue = &mut queues[usize::from(queue)];
            let empty = flow_queue.queue.is_empty();
            if empty {
                flow_queue.gate.on_idle(now);
            }
            empty
        };
        rounds.choose(is_empty, |queue| hosts.load(config.hosts, queue))
    }

    /// Takes the packet whose turn it is, which is then to be sent, or dropped.
    pub fn take(&mut self, now: Time) -> Option<(WaitingPacket, QueueDecision)> {
        let queue = self.choose(now)?;
        let waiting = self.remove(queue, false)?;
        let WaitingPacket { joined_at: since, size, .. } = waiting;
        let (bytes, precedence, can_mark) = (size.bytes(), size.precedence(), size.can_mark());
        let flow_queue = &mut self.queues[usize::from(queue)];
        let left = if self.sees_all { self.held } else { flow_queue.held() };
        let offer =
            flow_queue.gate.release(&HeadPacket { now, since, bytes, precedence, left, can_mark });
        flow_queue.gate.on_departure(now, bytes, precedence, flow_queue.held());
        let now_empty = flow_queue.queue.is_empty();
        if let QueueDecision::Queued { .. } = offer {
            self.rounds.on_sent(queue, bytes, now_empty);
        } else if now_empty {
            flow_queue.gate.on_idle(now);
        }
        Some((waiting, offer))
    }

    /// Whether a full port refuses the arrival: not where a longer queue makes room for it.
    #[must_use]
    pub fn refuses_when_full(&self) -> bool {
        self.config.overflow == Overflow::Arrival
    }

    /// Takes packets off the longest queue, oldest or newest first.
    pub fn drop_overflow(&mut self, now: Time, mut dropped: impl FnMut(WaitingPacket)) {
        let by_packets = self.config.overflow == Overflow::Tail;
        let length = |flow_queue: &FlowQueue| {
            if by_packets {
                flow_queue.queue.len().into()
            } else {
                flow_queue.bytes
            }
        };
        // The first of the longest, as Linux's search finds it; a queue in no round is empty.
        let lengths = |&queue: &u16| (length(&self.queues[usize::from(queue)]), Reverse(queue));
        let Some(longest) = self.rounds.members().max_by_key(lengths) else { return };
        let longest = usize::from(longest);
        let most = if by_packets { 1 } else { self.config.batch };
        let half = self.queues[longest].bytes / 2;
        let mut bytes = 0;
        for _ in 0..most {
            let Some(waiting) = self.remove(longest as u16, by_packets) else { return };
            let flow_queue = &mut self.queues[longest];
            flow_queue.gate.on_departure(
                now,
                waiting.bytes(),
                waiting.precedence(),
                flow_queue.held(),
            );
            flow_queue.gate.on_overflow(now);
            bytes += u64::from(waiting.bytes());
            dropped(waiting);
            if bytes >= half {
                return;
            }
        }
    }

    /// Takes a packet that is lost with the link, queue by queue.
    pub fn take_lost(&mut self, now: Time) -> Option<WaitingPacket> {
        let queue = self.queues.iter().position(|flow_queue| !flow_queue.queue.is_empty())?;
        let waiting = self.remove(queue as u16, false)?;
        let flow_queue = &mut self.queues[queue];
        flow_queue.gate.on_departure(now, waiting.bytes(), waiting.precedence(), flow_queue.held());
        Some(waiting)
    }

    fn remove(&mut self, queue: u16, newest: bool) -> Option<WaitingPacket> {
        let flow_queue = &mut self.queues[usize::from(queue)];
        let waiting = if newest { flow_queue.queue.pop_back() } else { flow_queue.queue.pop() }?;
        flow_queue.bytes -= u64::from(waiting.bytes());
        if flow_queue.queue.is_empty() {
            self.hosts.leave(queue);
        }
        self.held.packets -= 1;
        self.held.bytes -= u64::from(waiting.bytes());
        Some(waiting)
    }
}

impl HostLoads {
    /// A queue is backlogged.
    fn join(&mut self, queue: u16) {
        self.add(queue, 1);
    }

    /// It is empty.
    fn leave(&mut self, queue: u16) {
        self.add(queue, u32::MAX);
    }

    fn add(&mut self, queue: u16, count: u32) {
        let Some(hosts) = self.ends_of_queue.get(usize::from(queue)) else { return };
        for (end, &host) in hosts.iter().enumerate() {
            let load = &mut self.loads[host as usize][end];
            *load = load.wrapping_add(count);
        }
    }

    /// Among how many a flow's quantum is divided.
    fn load(&self, by: Hosts, queue: u16) -> i64 {
        let Some(&[from, to]) = self.ends_of_queue.get(usize::from(queue)) else { return 1 };
        let of = |host: u32, end: usize| i64::from(self.loads[host as usize][end]);
        match by {
            Hosts::Flows => 1,
            Hosts::Source => of(from, 0).max(1),
            Hosts::Destination => of(to, 1).max(1),
            Hosts::Both => of(from, 0).max(of(to, 1)).max(1),
        }
    }
}

impl FlowQueue {
    fn held(&self) -> QueueBacklog {
        QueueBacklog { packets: self.queue.len(), bytes: self.bytes }
    }
}

/// The finaliser of splitmix64: every bit of the key decides every bit of the hash.
pub(crate) fn mix_hash(key: u64) -> u64 {
    let key = (key ^ (key >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let key = (key ^ (key >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    key ^ (key >> 31)
}
