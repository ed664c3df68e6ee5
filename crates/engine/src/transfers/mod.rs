//! Transfers that come and go: connections that a run opens, measures and frees.
//!
//! A flow of transfers has many connections. Their packets carry the flow's number, so that every count
//! by flow holds for all of them together, and the connection's number in a separate field. A connection
//! is freed when its sender has every acknowledgement and none of its packets is in the network: the
//! next connection takes its slot, with another number, as it would have another port: queues by flow and
//! equal-cost routes tell the two apart. Memory is that of the open ones. A transfer is complete when its
//! last byte is at the receiver. Where connections are kept, they stay open: one of a flow of transfers, whose
//! transfers queue, and of users one for each object that they fetch at a time.

mod measures;
mod min_time;
mod workload;

pub(crate) use measures::viewing_table;

use crate::histogram::Pool;
use crate::hosts::{FlowAgents, FlowPlan, Hosts};
use crate::network::{Agent, Network};
use crate::observer::Observer;
use crate::route::Fib;
use crate::tables::Table;
use trunkline_agent::tcp::{Counters, Receiver, Sender};
use trunkline_agent::workload::{Request, Viewing};
use trunkline_packet::flag;
use trunkline_units::{Time, NEVER};
use workload::{Opener, StartedTransfer, Workload};

/// Bits of a connection's number that are its slot; those above count the connections in it before.
const SLOT_BITS: u32 = 22;

/// The slot of the connection with a number.
fn find_slot(connection: u32) -> usize {
    (connection & ((1 << SLOT_BITS) - 1)) as usize
}

/// One connection.
#[derive(Clone, Copy, Debug)]
struct Connection {
    plan: FlowPlan,
    workload: u32,
    transfer: StartedTransfer,
    /// Bytes at the receiver with which the transfer is complete [B].
    due_bytes: u64,
    complete: bool,
    open: bool,
    /// Its packets in the network, both ways.
    packets_inside: u32,
    /// Of the order of its data packets: one past the highest that has arrived.
    next_seq: u32,
}

impl Connection {
    /// It carries the next transfer.
    fn carry(&mut self, transfer: StartedTransfer) {
        (self.transfer, self.complete) = (transfer, false);
        self.due_bytes += transfer.bytes;
    }
}

/// All workloads and their connections.
#[derive(Debug, Default)]
pub(crate) struct Workloads {
    all: Vec<Workload>,
    connections: Vec<Connection>,
    free: Vec<u32>,
    /// Connections whose last packet was lost after they had finished.
    vacated: Vec<u32>,
    /// Index of the first connection's sender and receiver.
    first_agent: u32,
    requests_buffer: Vec<Request>,
}

impl Workloads {
    /// The workloads of a network, in the order of its flows. `agents` is the number of connections
    /// that last for the entire run.
    pub fn new(network: &Network, plans: &[FlowPlan], fib: &Fib, seed: u64, agents: u32) -> Self {
        let mut all = Vec::new();
        let mut index_of = vec![0; network.flows.len()];
        for (flow, flow_config) in network.flows.iter().enumerate() {
            if flow_config.transfers.is_some() {
                index_of[flow] = all.len() as u32;
                all.push(flow);
            }
        }
        let run = (network.run.duration_ns, seed);
        let of_flow = |flow: usize| {
            let flow_config = &network.flows[flow];
            let Agent::Tcp(tcp) = &*flow_config.agent else { return None };
            let floor =
                min_time::MinTransferTime::new(network, flow_config, &plans[flow], fib, tcp);
            Workload::new(
                flow as u32,
                flow_config,
                tcp.clone(),
                floor,
                &plans[flow],
                run,
                &index_of,
            )
        };
        let mut all: Vec<Workload> = all.into_iter().filter_map(of_flow).collect();
        for index in 0..all.len() {
            if let Opener::Pages { requests, .. } | Opener::Video { requests, .. } =
                all[index].opener
            {
                all[requests as usize].opener = Opener::Requests { of: index as u32 };
            }
        }
        Self { all, first_agent: agents, ..Self::default() }
    }

    /// When a workload opens its next transfer by itself.
    pub fn next_at(&self, workload: u32) -> Time {
        self.all[workload as usize].next_at()
    }

    /// Connections of a workload that are open.
    pub fn open_in(&self, workload: u32) -> u64 {
        self.all[workload as usize].open
    }

    /// A packet of a connection enters the network.
    #[inline]
    pub fn enter(&mut self, connection: u32) {
        self.connections[find_slot(connection)].packets_inside += 1;
    }

    /// A packet of a connection is lost in the network.
    #[cold]
    pub fn count_lost_packet(&mut self, connection: u32, senders: &[Sender]) {
        let slot = find_slot(connection);
        let connection_state = &mut self.connections[slot];
        connection_state.packets_inside -= 1;
        let agent = self.first_agent as usize + slot;
        if connection_state.packets_inside == 0 && senders[agent].finished_at().is_some() {
            // Whoever caused this may still be at it: it is freed when the next one is opened.
            self.vacated.push(connection);
        }
    }

    /// Starts afresh at the end of the warm-up.
    pub fn restart(&mut self, pool: &mut Pool) {
        self.all.iter_mut().for_each(|workload| workload.measures.restart(pool));
    }

    /// Transfers, and their measures.
    pub fn tables(&self, pool: &Pool) -> Vec<Table> {
        let all: Vec<_> =
            self.all.iter().map(|workload| (workload.flow, &workload.measures)).collect();
        measures::tables(&all, pool)
    }

    /// Playback of each viewer of films until `now`, with its flow.
    pub fn viewings(&self, now: Time) -> Vec<(u32, Viewing)> {
        let of_workload = |workload: &Workload| match &workload.opener {
            Opener::Video { players, .. } => {
                let viewings = players.viewings(now.min(workload.stop));
                viewings.map(|viewing| (workload.flow, viewing)).collect()
            }
            _ => Vec::new(),
        };
        self.all.iter().flat_map(of_workload).collect()
    }
}

impl<O: Observer> Hosts<O> {
    /// A workload opens the connections that are due.
    #[cold]
    pub(crate) fn wake_workload(&mut self, workload: u32) {
        while self.workloads.next_at(workload) <= self.plane.clock.now {
            let workload_state = &mut self.workloads.all[workload as usize];
            match &mut workload_state.opener {
                Opener::Arrivals(source) => {
                    let bytes = source.take();
                    self.open(workload, bytes, 0, 0);
                }
                Opener::Pages { users, .. } => {
                    let mut requests = std::mem::take(&mut self.workloads.requests_buffer);
                    if users.on_timer(self.plane.clock.now, &mut requests) {
                        workload_state.measures.start_page();
                    }
                    self.send_requests(workload, requests);
                }
                Opener::Video { players, .. } => {
                    let mut requests = std::mem::take(&mut self.workloads.requests_buffer);
                    requests.extend(players.on_timer(self.plane.clock.now));
                    self.send_requests(workload, requests);
                }
                Opener::Requests { .. } => return,
            }
        }
        self.arm_workload(workload);
    }

    fn arm_workload(&mut self, workload: u32) {
        let workload_state = &self.workloads.all[workload as usize];
        let (next, source) =
            (workload_state.next_at(), self.plane.clock.sources.senders + workload_state.flow);
        self.plane.clock.bring_forward(source, next);
    }

    /// Sends the requests of users or players; those who have stopped request nothing more.
    fn send_requests(&mut self, workload: u32, mut user_requests: Vec<Request>) {
        if self.plane.clock.now >= self.workloads.all[workload as usize].stop {
            user_requests.clear();
        }
        if let Opener::Pages { requests, request_bytes, .. }
        | Opener::Video { requests, request_bytes, .. } =
            self.workloads.all[workload as usize].opener
        {
            for Request { user, bytes } in user_requests.drain(..) {
                self.open(requests, request_bytes, user, bytes);
            }
        }
        self.workloads.requests_buffer = user_requests;
    }

    /// Starts a transfer over a connection that is open, or opens one, and sends the first segments.
    fn open(&mut self, workload: u32, bytes: u64, user: u32, requested_bytes: u64) {
        if self.write(workload, bytes, user, requested_bytes) {
            return;
        }
        for connection in std::mem::take(&mut self.workloads.vacated) {
            self.settle(connection);
        }
        let connection = self.take_connection(workload, bytes);
        let slot = find_slot(connection) as u32;
        let workload_state = &mut self.workloads.all[workload as usize];
        workload_state.open += 1;
        let floor = workload_state.floor.time_for(bytes, true);
        let number = workload_state.measures.start(bytes, self.plane.clock.now, floor);
        let is_of_arrivals = matches!(workload_state.opener, Opener::Arrivals(_));
        if let Some(kept) = workload_state.kept.as_mut().filter(|_| is_of_arrivals) {
            kept.only = Some(slot);
        }
        let flow = workload_state.flow;
        let agent = self.workloads.first_agent + slot;
        let wake = self.plane.clock.sources.receivers + self.flows.len() as u32 + 2 * slot;
        let plan = FlowPlan {
            agents: FlowAgents::Tcp(agent),
            start: self.plane.clock.now,
            stop: NEVER,
            connection,
            mark: flag::CONNECTION | self.flows[flow as usize].mark,
            wakes: [wake, wake + 1],
            ..self.flows[flow as usize]
        };
        self.workloads.connections[slot as usize] = Connection {
            plan,
            workload,
            transfer: StartedTransfer {
                bytes,
                started: self.plane.clock.now,
                number,
                opens: true,
                user,
                requested_bytes,
            },
            due_bytes: bytes,
            complete: false,
            open: true,
            packets_inside: 0,
            next_seq: 0,
        };
        if plan.connects() {
            return self.connect(flow, &plan, agent);
        }
        self.senders[agent as usize].start(self.plane.clock.now);
        self.send_allowed_segments(flow, &plan, agent);
    }

    /// Writes to a connection that stays open. False: there is none for the user.
    fn write(&mut self, workload: u32, bytes: u64, user: u32, requested_bytes: u64) -> bool {
        let workload_state = &mut self.workloads.all[workload as usize];
        let Some(kept) = workload_state.kept.as_mut() else { return false };
        let idle = kept.idle.get_mut(&user).and_then(Vec::pop);
        let Some(slot) = idle.or(kept.only) else { return false };
        let floor = workload_state.floor.time_for(bytes, false);
        let number = workload_state.measures.start(bytes, self.plane.clock.now, floor);
        let transfer = StartedTransfer {
            bytes,
            started: self.plane.clock.now,
            number,
            opens: false,
            user,
            requested_bytes,
        };
        let flow = workload_state.flow;
        if idle.is_some() {
            self.workloads.connections[slot as usize].carry(transfer);
        } else {
            kept.waiting.push_back(transfer);
        }
        let plan = self.workloads.connections[slot as usize].plan;
        let agent = self.workloads.first_agent + slot;
        self.receivers[agent as usize].expect_write(bytes);
        let random = &mut self.streams[plan.stream as usize];
        self.senders[agent as usize].write(bytes, self.plane.clock.now, random);
        self.send_allowed_segments(flow, &plan, agent);
        true
    }

    /// The number of a new connection, in a free slot, with a new sender and receiver.
    fn take_connection(&mut self, workload: u32, bytes: u64) -> u32 {
        let workload_state = &mut self.workloads.all[workload as usize];
        let is_kept = workload_state.kept.is_some();
        workload_state.tcp.size_bytes = (!is_kept).then_some(bytes);
        let (mut sender, mut receiver) =
            (Sender::new(&workload_state.tcp), Receiver::new(&workload_state.tcp));
        if is_kept {
            sender.accept_writes(&workload_state.tcp, bytes);
            receiver.expect_write(bytes);
        }
        if let Some(slot) = self.workloads.free.pop() {
            let agent = (self.workloads.first_agent + slot) as usize;
            (self.senders[agent], self.receivers[agent]) = (sender, receiver);
            let last = self.workloads.connections[slot as usize].plan.connection;
            return last.wrapping_add(1 << SLOT_BITS);
        }
        let slot = self.workloads.connections.len() as u32;
        self.senders.push(sender);
        self.receivers.push(receiver);
        let plan = self.flows[workload_state.flow as usize];
        self.workloads.connections.push(Connection {
            plan,
            workload,
            transfer: StartedTransfer {
                bytes,
                started: 0,
                number: 0,
                opens: true,
                user: 0,
                requested_bytes: 0,
            },
            due_bytes: bytes,
            complete: false,
            open: false,
            packets_inside: 0,
            next_seq: 0,
        });
        self.plane.clock.calendar.grow(2);
        slot
    }

    /// Receiver of a data packet of a connection that has arrived.
    #[inline(never)]
    pub(crate) fn plan_for_data(&mut self, connection: u32) -> FlowPlan {
        let connection_state = &mut self.workloads.connections[find_slot(connection)];
        connection_state.packets_inside -= 1;
        // Order is that of the connection; delays are those of the flow.
        let flow = self.workloads.all[connection_state.workload as usize].flow;
        self.plane.measured.delays[flow as usize].next_seq = connection_state.next_seq;
        connection_state.plan
    }

    /// Receiver of an acknowledgement of a connection that has arrived.
    #[inline(never)]
    pub(crate) fn plan_for_ack(&mut self, connection: u32) -> FlowPlan {
        let connection_state = &mut self.workloads.connections[find_slot(connection)];
        connection_state.packets_inside -= 1;
        connection_state.plan
    }

    /// A receiver has dealt with a data packet.
    #[inline(never)]
    pub(crate) fn received(&mut self, connection: u32) {
        let connection_state = &mut self.workloads.connections[find_slot(connection)];
        let workload = &mut self.workloads.all[connection_state.workload as usize];
        connection_state.next_seq = self.plane.measured.delays[workload.flow as usize].next_seq;
        let agent = self.workloads.first_agent as usize + find_slot(connection);
        while !connection_state.complete
            && self.receivers[agent].goodput_bytes() >= connection_state.due_bytes
        {
            connection_state.complete = true;
            let transfer = connection_state.transfer;
            if transfer.started >= self.plane.measured.at_warm_up.at {
                let time = self.plane.clock.now - transfer.started;
                let floor = workload.floor.time_for(transfer.bytes, transfer.opens);
                workload.measures.finish(
                    transfer.bytes,
                    transfer.number,
                    time,
                    floor,
                    &mut self.plane.measured.pool,
                );
            }
            if let Some(kept) = workload.kept.as_mut() {
                if let Some(next) = kept.waiting.pop_front() {
                    connection_state.carry(next);
                    continue;
                }
                let slot = find_slot(connection) as u32;
                kept.idle.entry(transfer.user).or_default().push(slot);
            }
            let workload = connection_state.workload;
            self.complete(workload, &transfer);
            break;
        }
        self.settle(connection);
    }

    /// Follow-ups of a complete transfer.
    fn complete(&mut self, index: u32, transfer: &StartedTransfer) {
        let workload = &mut self.workloads.all[index as usize];
        let stop = workload.stop;
        match &mut workload.opener {
            Opener::Arrivals(_) => {}
            Opener::Requests { of } => {
                let of = *of;
                self.open(of, transfer.requested_bytes, transfer.user, 0);
            }
            // A film ends with its flow: later chunks are not watched.
            Opener::Video { .. } if self.plane.clock.now >= stop => {}
            Opener::Video { players, .. } => {
                players.on_object(transfer.user, self.plane.clock.now);
                self.arm_workload(index);
            }
            Opener::Pages { users, .. } => {
                let mut requests = std::mem::take(&mut self.workloads.requests_buffer);
                let done = users.on_object(transfer.user, self.plane.clock.now, &mut requests);
                let measures = &mut self.workloads.all[index as usize].measures;
                if let Some(done) =
                    done.filter(|page| page.started >= self.plane.measured.at_warm_up.at)
                {
                    let time = self.plane.clock.now - done.started;
                    measures.finish_page(
                        done.bytes,
                        done.objects,
                        time,
                        &mut self.plane.measured.pool,
                    );
                }
                self.send_requests(index, requests);
                self.arm_workload(index);
            }
        }
    }

    /// Frees a connection that is over.
    #[inline(never)]
    pub(crate) fn settle(&mut self, connection: u32) {
        let connection_state = &self.workloads.connections[find_slot(connection)];
        let agent = self.workloads.first_agent as usize + find_slot(connection);
        if !connection_state.open
            || connection_state.packets_inside > 0
            || !self.is_connection_over(agent as u32)
        {
            return;
        }
        let connection_state = &mut self.workloads.connections[find_slot(connection)];
        connection_state.open = false;
        let wakes = connection_state.plan.wakes;
        let workload = &mut self.workloads.all[connection_state.workload as usize];
        workload.open -= 1;
        workload.closed_bytes += connection_state.due_bytes;
        add(&mut workload.closed, self.senders[agent].counters());
        self.workloads.free.push(find_slot(connection) as u32);
        wakes.into_iter().for_each(|source| self.plane.clock.calendar.cancel(source));
    }

    /// The timer of a connection: two numbers each, sender and receiver.
    #[cold]
    pub(crate) fn wake_connection(&mut self, number: u32) {
        let plan = *self.plan_of_connection(number / 2);
        let connection = &self.workloads.connections[(number / 2) as usize];
        let flow = self.workloads.all[connection.workload as usize].flow;
        if number % 2 == 0 {
            self.serve_sender_timer(flow, &plan, self.workloads.first_agent + number / 2);
        } else {
            self.serve_receiver_timer(flow, &plan);
        }
    }

    /// The node with a timer that `wake_receiver` serves.
    pub(crate) fn node_of_timer(&self, number: u32) -> u32 {
        let Some(plan) = self.flows.get(number as usize) else {
            let timer = number - self.flows.len() as u32;
            let plan = self.plan_of_connection(timer / 2);
            return if timer % 2 == 0 { plan.src } else { plan.dst };
        };
        plan.dst
    }

    /// Agents and headers of a connection.
    pub(crate) fn plan_of_connection(&self, connection: u32) -> &FlowPlan {
        &self.workloads.connections[find_slot(connection)].plan
    }

    /// Connections of a workload that are open, by their agents.
    pub(crate) fn agents_of(&self, workload: u32) -> impl Iterator<Item = usize> + '_ {
        let first = self.workloads.first_agent as usize;
        let all = self.workloads.connections.iter().enumerate();
        all.filter(move |(_, connection)| connection.open && connection.workload == workload)
            .map(move |(slot, _)| first + slot)
    }

    /// Application bytes that a workload's receivers have had, each once.
    pub(crate) fn bytes_of_workload(&self, workload: u32) -> u64 {
        let open = self.agents_of(workload).map(|agent| self.receivers[agent].goodput_bytes());
        self.workloads.all[workload as usize].closed_bytes + open.sum::<u64>()
    }

    /// Counters of a workload's senders.
    pub(crate) fn counters_of_workload(&self, workload: u32) -> Counters {
        let mut sum = self.workloads.all[workload as usize].closed;
        self.agents_of(workload).for_each(|agent| add(&mut sum, self.senders[agent].counters()));
        sum
    }
}

fn add(sum: &mut Counters, more: Counters) {
    sum.segments_sent += more.segments_sent;
    sum.retransmissions += more.retransmissions;
    sum.timeouts += more.timeouts;
    sum.fast_retransmits += more.fast_retransmits;
}
