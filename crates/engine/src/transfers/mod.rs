//! Transfers that come and go: connections that a run opens, measures and frees.
//!
//! A flow of transfers has many connections. Their packets carry the flow's number, so that every count
//! by flow holds for all of them together, and the connection's number in a separate field
//! (`connections.rs`). A connection is freed when its sender has every acknowledgement and none of its
//! packets is in the network; of ends in two regions the one of the sender sees to that, some time later, which
//! changes memory alone. Memory is that of the open ones. A transfer is complete when its last byte is at the
//! receiver. Where connections are kept, they stay open: one of a flow of transfers, whose transfers queue, and
//! of users one for each object that they fetch at a time.

mod connections;
mod measures;
mod min_time;
mod workload;

pub(crate) use connections::{ConnectionChange, ConnectionNews, RECEIVER_END, SENDER_END};
pub(crate) use measures::viewing_table;

use crate::histogram::Pool;
use crate::hosts::{FlowAgents, FlowPlan, Hosts};
use crate::network::{Agent, Network};
use crate::observer::Observer;
use crate::route::Fib;
use crate::tables::Table;
use connections::{Connection, ConnectionTransfer};
use trunkline_agent::tcp::{Counters, Receiver, Sender};
use trunkline_agent::workload::{Request, Viewing};
use trunkline_packet::{flag, Packet};
use trunkline_units::{Time, NEVER};
use workload::{Opener, StartedTransfer, Workload};

/// All workloads and their connections.
#[derive(Debug, Default)]
pub(crate) struct Workloads {
    all: Vec<Workload>,
    connections: Vec<Connection>,
    free: Vec<u32>,
    /// Slots of connections whose last packet was lost after they had finished.
    vacated: Vec<usize>,
    /// Slots of connections with changes that the regions of their senders must know.
    changed: Vec<usize>,
    /// Index of the first connection's sender and receiver.
    first_agent: u32,
    requests_buffer: Vec<Request>,
}

impl Workloads {
    /// The workloads of a network, in the order of its flows. `agents` is the number of connections
    /// that last for the entire run.
    pub fn new(
        network: &Network,
        plans: &[FlowPlan],
        starts: &[Time],
        fib: &Fib,
        seed: u64,
        agents: u32,
    ) -> Self {
        let mut all = Vec::new();
        let mut index_of = vec![0; network.flows.len()];
        for (flow, flow_config) in network.flows.iter().enumerate() {
            if flow_config.transfers.is_some() {
                index_of[flow] = all.len() as u32;
                all.push(flow);
            }
        }
        let of_flow = |flow: usize| {
            let flow_config = &network.flows[flow];
            let Agent::Tcp(tcp) = &*flow_config.agent else { return None };
            let floor =
                min_time::MinTransferTime::new(network, flow_config, &plans[flow], fib, tcp);
            let run = ([starts[flow], network.run.duration_ns], seed);
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

    /// End of its flow at which a workload opens its transfers.
    pub fn wakes_end(&self, workload: u32) -> usize {
        self.all[workload as usize].wakes_end()
    }

    /// Connections of a workload whose senders have still something to do.
    pub fn open_in(&self, workload: u32) -> u64 {
        self.all[workload as usize].open
    }

    /// The slot of a connection that is in use.
    fn find_slot(&self, workload: u32, number: u32) -> Option<usize> {
        self.all[workload as usize].slots.find(number)
    }

    /// Counts packets of a connection that enter the network, or leave it.
    #[inline]
    fn count_packets(&mut self, slot: usize, entering: i32) {
        let connection = &mut self.connections[slot];
        connection.packets_inside += entering;
        if !connection.has_end[SENDER_END] {
            self.note_change(slot);
        }
    }

    /// The region of a connection's sender must know of a change.
    fn note_change(&mut self, slot: usize) {
        let connection = &mut self.connections[slot];
        if !std::mem::replace(&mut connection.is_changed, true) {
            self.changed.push(slot);
        }
    }

    /// Slot of the connection with an agent.
    pub fn slot_of_agent(&self, agent: u32) -> usize {
        (agent - self.first_agent) as usize
    }

    /// A packet of the connection with this agent enters the network.
    #[inline]
    pub fn enter(&mut self, agent: u32) {
        self.count_packets(self.slot_of_agent(agent), 1);
    }

    /// Starts afresh at the end of the warm-up.
    pub fn restart(&mut self, pool: &mut Pool) {
        self.all.iter_mut().for_each(|workload| workload.measures.restart(pool));
    }

    /// Joins the workloads of another region, whose histograms come behind `blocks` blocks of the pool; `owns`
    /// tests whether a node is its own.
    pub fn join(
        &mut self,
        part: &mut Self,
        flows: &[FlowPlan],
        owns: &dyn Fn(u32) -> bool,
        blocks: usize,
        pool: &mut Pool,
    ) {
        for (own, more) in self.all.iter_mut().zip(&mut part.all) {
            own.open += more.open;
            own.closed_bytes += more.closed_bytes;
            add(&mut own.closed, more.closed);
            own.measures.join(&mut more.measures, blocks, pool);
            if own.wakes_end() == RECEIVER_END && owns(flows[own.flow as usize].dst) {
                std::mem::swap(&mut own.opener, &mut more.opener);
            }
        }
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
    /// Serves an event of one end of a flow of transfers: the timer of a connection, or the opening of
    /// connections.
    #[cold]
    #[inline(never)]
    pub(crate) fn wake_workload(&mut self, workload: u32, end: usize) {
        let now = self.plane.clock.now;
        let workload_state = &mut self.workloads.all[workload as usize];
        match workload_state.timers[end].take_due(now) {
            Some(number) => self.wake_connection(workload, number, end),
            None if workload_state.wakes_end() == end => self.open_due(workload),
            None => {}
        }
        let workload_state = &self.workloads.all[workload as usize];
        let next = workload_state.next_at_end(end);
        let source = self.flows[workload_state.flow as usize].wakes[end];
        match next {
            NEVER => self.plane.clock.cancel(source),
            next => self.plane.clock.schedule(source, next.max(now)),
        }
    }

    /// The timer of a connection.
    fn wake_connection(&mut self, workload: u32, number: u32, end: usize) {
        let Some(slot) = self.workloads.find_slot(workload, number) else { return };
        let connection = &mut self.workloads.connections[slot];
        connection.due[end] = NEVER;
        let (plan, flow) = (connection.plan, self.workloads.all[workload as usize].flow);
        if end == SENDER_END {
            self.serve_sender_timer(flow, &plan, self.workloads.first_agent + slot as u32);
        } else {
            self.serve_receiver_timer(flow, &plan);
            if !self.workloads.connections[slot].has_end[SENDER_END] {
                self.workloads.note_change(slot);
            }
        }
        self.settle(slot);
    }

    /// A workload opens the connections that are due.
    fn open_due(&mut self, workload: u32) {
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
    }

    fn arm_workload(&mut self, workload: u32) {
        let workload_state = &self.workloads.all[workload as usize];
        let source = self.flows[workload_state.flow as usize].wakes[workload_state.wakes_end()];
        self.plane.clock.bring_forward(source, workload_state.next_at());
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
        for slot in std::mem::take(&mut self.workloads.vacated) {
            self.settle(slot);
        }
        let workload_state = &mut self.workloads.all[workload as usize];
        let floor = workload_state.floor.time_for(bytes, true);
        let started = self.plane.clock.now;
        let recorded_as = workload_state.measures.start(bytes, started, floor);
        let transfer = StartedTransfer {
            bytes,
            started,
            number: recorded_as,
            opens: true,
            user,
            requested_bytes,
        };
        let number = workload_state.slots.next_number();
        let slot = self.add_connection(workload, transfer);
        let workload_state = &mut self.workloads.all[workload as usize];
        workload_state.open += 1;
        let is_of_arrivals = matches!(workload_state.opener, Opener::Arrivals(_));
        if let Some(kept) = workload_state.kept.as_mut().filter(|_| is_of_arrivals) {
            kept.only = Some(slot as u32);
        }
        let flow = workload_state.flow;
        let agent = self.workloads.first_agent + slot as u32;
        let plan = self.workloads.connections[slot].plan;
        if let Some(letter) = self.plane.region.letter_to(plan.dst) {
            letter.connections.opened.push(ConnectionTransfer { workload, number, transfer });
        }
        if plan.connects() {
            self.connect(flow, &plan, agent);
        } else {
            self.senders[agent as usize].start(self.plane.clock.now);
            self.send_allowed_segments(flow, &plan, agent);
        }
        self.keep_timers(slot);
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
        let plan = self.workloads.connections[slot as usize].plan;
        let agent = self.workloads.first_agent + slot;
        if let Some(letter) = self.plane.region.letter_to(plan.dst) {
            let number = plan.connection;
            letter.connections.written.push(ConnectionTransfer { workload, number, transfer });
        } else {
            self.expect_transfer(slot as usize, transfer, idle.is_some());
        }
        let random = &mut self.streams[flow as usize];
        self.senders[agent as usize].write(bytes, self.plane.clock.now, random);
        self.send_allowed_segments(flow, &plan, agent);
        self.keep_timers(slot as usize);
        true
    }

    /// The receiving end of a connection that is kept, and perhaps idle, will get a transfer behind those before.
    fn expect_transfer(&mut self, slot: usize, transfer: StartedTransfer, is_idle: bool) {
        let connection = &mut self.workloads.connections[slot];
        if is_idle {
            connection.carry(transfer);
        } else if let Some(kept) = &mut self.workloads.all[connection.workload as usize].kept {
            kept.waiting.push_back(transfer);
        }
        let agent = self.workloads.first_agent as usize + slot;
        self.receivers[agent].expect_write(transfer.bytes);
    }

    /// Adds the next connection of a workload, with a new sender and receiver; returns its slot.
    fn add_connection(&mut self, workload: u32, transfer: StartedTransfer) -> usize {
        let workload_state = &mut self.workloads.all[workload as usize];
        let is_kept = workload_state.kept.is_some();
        workload_state.tcp.size_bytes = (!is_kept).then_some(transfer.bytes);
        let (mut sender, mut receiver) =
            (Sender::new(&workload_state.tcp), Receiver::new(&workload_state.tcp));
        if is_kept {
            sender.accept_writes(&workload_state.tcp, transfer.bytes);
            receiver.expect_write(transfer.bytes);
        }
        let flow = workload_state.flow;
        let flow_plan = self.flows[flow as usize];
        let slot =
            self.workloads.free.pop().map_or(self.workloads.connections.len(), |it| it as usize);
        let agent = self.workloads.first_agent as usize + slot;
        let plan = FlowPlan {
            agents: FlowAgents::Tcp(agent as u32),
            stop: NEVER,
            connection: workload_state.slots.next_number(),
            mark: flag::CONNECTION | flow_plan.mark,
            ..flow_plan
        };
        workload_state.slots.push(slot as u32);
        let mut connection = Connection::new(plan, workload, transfer);
        connection.has_end = [plan.src, plan.dst].map(|node| self.plane.region.owns(node));
        if slot == self.workloads.connections.len() {
            self.workloads.connections.push(connection);
            self.senders.push(sender);
            self.receivers.push(receiver);
        } else {
            self.workloads.connections[slot] = connection;
            (self.senders[agent], self.receivers[agent]) = (sender, receiver);
        }
        self.renew_handshake(flow, agent as u32);
        slot
    }

    /// Keeps the times at which the ends of a connection wake: those that its agents have asked for since.
    fn keep_timers(&mut self, slot: usize) {
        let agent = self.workloads.first_agent + slot as u32;
        let asked = [self.sender_timer(agent), self.receiver_timer(agent)];
        let connection = &mut self.workloads.connections[slot];
        let timers = &mut self.workloads.all[connection.workload as usize].timers;
        for (end, at) in asked.into_iter().enumerate() {
            if at < connection.due[end] {
                timers[end].reset(connection.plan.connection, connection.due[end], at);
                connection.due[end] = at;
            }
        }
    }

    /// Wakes a sender now.
    pub(crate) fn wake_sender_now(&mut self, plan: &FlowPlan) {
        let now = self.plane.clock.now;
        self.plane.clock.bring_forward(plan.wakes[SENDER_END], now);
        if let (true, FlowAgents::Tcp(agent)) = (plan.mark & flag::CONNECTION != 0, plan.agents) {
            let slot = self.workloads.slot_of_agent(agent);
            let connection = &mut self.workloads.connections[slot];
            let timers = &mut self.workloads.all[connection.workload as usize].timers[SENDER_END];
            timers.reset(plan.connection, connection.due[SENDER_END], now);
            connection.due[SENDER_END] = now;
        }
    }

    /// Receiver of a data packet of a connection that has arrived.
    #[inline(never)]
    pub(crate) fn plan_for_data(&mut self, packet: &Packet) -> Option<FlowPlan> {
        let slot = self.slot_of(packet)?;
        self.workloads.count_packets(slot, -1);
        // Order is that of the connection; delays are those of the flow.
        let connection = &self.workloads.connections[slot];
        self.plane.measured.deliveries[packet.flow as usize].delays.next_seq = connection.next_seq;
        Some(connection.plan)
    }

    /// Receiver of an acknowledgement of a connection that has arrived.
    #[inline(never)]
    pub(crate) fn plan_for_ack(&mut self, packet: &Packet) -> Option<FlowPlan> {
        let slot = self.slot_of(packet)?;
        self.workloads.count_packets(slot, -1);
        Some(self.workloads.connections[slot].plan)
    }

    /// Slot of the connection that a packet belongs to, if that is known here.
    fn slot_of(&self, packet: &Packet) -> Option<usize> {
        let FlowAgents::Transfers(workload) = self.flows[packet.flow as usize].agents else {
            return None;
        };
        self.workloads.find_slot(workload, packet.connection()?)
    }

    /// Agents and headers of the connection that a packet belongs to.
    pub(crate) fn plan_of_connection(&self, packet: &Packet) -> Option<&FlowPlan> {
        Some(&self.workloads.connections[self.slot_of(packet)?].plan)
    }

    /// Packets of a connection were copied or lost in the network.
    #[cold]
    #[inline(never)]
    pub(crate) fn count_inside(&mut self, packet: &Packet, entering: i32) {
        let FlowPlan { src, agents, .. } = self.flows[packet.flow as usize];
        let (FlowAgents::Transfers(workload), Some(number)) = (agents, packet.connection()) else {
            return;
        };
        let Some(slot) = self.workloads.find_slot(workload, number) else {
            let change =
                ConnectionChange { workload, number, packets_inside: entering, is_quiet: None };
            if let Some(letter) = self.plane.region.letter_to(src) {
                letter.connections.changed.push(change);
            }
            return;
        };
        self.workloads.count_packets(slot, entering);
        let connection = &self.workloads.connections[slot];
        if connection.packets_inside == 0 && !connection.is_sending {
            // Whoever caused this may still be at it: it is freed when the next one is opened.
            self.workloads.vacated.push(slot);
        }
    }

    /// A receiver has dealt with a data packet.
    #[inline(never)]
    pub(crate) fn received(&mut self, agent: u32) {
        let slot = self.workloads.slot_of_agent(agent);
        let connection_state = &mut self.workloads.connections[slot];
        let workload = &mut self.workloads.all[connection_state.workload as usize];
        connection_state.next_seq =
            self.plane.measured.deliveries[workload.flow as usize].delays.next_seq;
        let agent = agent as usize;
        while !connection_state.complete
            && self.receivers[agent].goodput_bytes() >= connection_state.due_bytes
        {
            connection_state.complete = true;
            let transfer = connection_state.transfer;
            if transfer.started >= self.plane.measured.at_warm_up.at {
                let time = self.plane.clock.now - transfer.started;
                let floor = workload.floor.time_for(transfer.bytes, transfer.opens);
                let pool = &mut self.plane.measured.pool;
                workload.measures.finish(transfer.bytes, time, floor, pool);
                workload.measures.record_end(transfer.number, self.plane.clock.now);
            }
            if let Some(kept) = workload.kept.as_mut() {
                if let Some(next) = kept.waiting.pop_front() {
                    connection_state.carry(next);
                    continue;
                }
                kept.idle.entry(transfer.user).or_default().push(slot as u32);
            }
            let workload = connection_state.workload;
            self.complete(workload, &transfer);
            break;
        }
        self.settle(slot);
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

    /// Keeps the timers of a connection after an event of it; if it is over, frees it.
    #[inline(never)]
    pub(crate) fn settle(&mut self, slot: usize) {
        let connection = &self.workloads.connections[slot];
        if !connection.open {
            return;
        }
        self.keep_timers(slot);
        let connection = &mut self.workloads.connections[slot];
        let agent = self.workloads.first_agent + slot as u32;
        if !connection.has_end[SENDER_END] || !self.is_sender_end_over(agent) {
            return;
        }
        let connection = &mut self.workloads.connections[slot];
        let workload = &mut self.workloads.all[connection.workload as usize];
        if std::mem::replace(&mut connection.is_sending, false) {
            workload.open -= 1;
            let due = std::mem::replace(&mut connection.due[SENDER_END], NEVER);
            workload.timers[SENDER_END].reset(connection.plan.connection, due, NEVER);
        }
        let (number, inside, dst) =
            (connection.workload, connection.packets_inside, connection.plan.dst);
        let key = (number, connection.plan.connection);
        let is_quiet = match connection.has_end[RECEIVER_END] {
            true => self.receiver_timer(agent) == NEVER,
            false => connection.is_far_end_quiet,
        };
        if inside == 0 && is_quiet {
            self.free(slot);
            if let Some(letter) = self.plane.region.letter_to(dst) {
                letter.connections.closed.push(key);
            }
        }
    }

    /// Frees the slot of a connection.
    fn free(&mut self, slot: usize) {
        self.close(slot);
        let connection = &mut self.workloads.connections[slot];
        connection.open = false;
        self.workloads.all[connection.workload as usize].slots.remove(connection.plan.connection);
        self.workloads.free.push(slot as u32);
    }

    /// Enters the counts of a connection into those of its workload.
    fn close(&mut self, slot: usize) {
        let agent = self.workloads.first_agent as usize + slot;
        let workload = self.workloads.connections[slot].workload;
        let workload = &mut self.workloads.all[workload as usize];
        workload.closed_bytes += self.receivers[agent].goodput_bytes();
        add(&mut workload.closed, self.senders[agent].counters());
    }

    /// Closes all connections at the end of a run, before its regions are joined.
    pub(crate) fn close_all(&mut self) {
        for slot in 0..self.workloads.connections.len() {
            if std::mem::replace(&mut self.workloads.connections[slot].open, false) {
                self.close(slot);
            }
        }
        self.workloads.all.iter_mut().for_each(|workload| workload.slots = Default::default());
    }

    /// Writes changes of connections into the letters to the regions of their senders.
    pub(crate) fn report_connections(&mut self) {
        for slot in std::mem::take(&mut self.workloads.changed) {
            let agent = self.workloads.first_agent + slot as u32;
            let is_quiet = Some(self.receiver_timer(agent) == NEVER);
            let connection = &mut self.workloads.connections[slot];
            connection.is_changed = false;
            let change = ConnectionChange {
                workload: connection.workload,
                number: connection.plan.connection,
                packets_inside: std::mem::take(&mut connection.packets_inside),
                is_quiet,
            };
            if let Some(letter) = self.plane.region.letter_to(connection.plan.src) {
                letter.connections.changed.push(change);
            }
        }
    }

    /// Takes what another region writes of connections, except for changes, which are taken together.
    pub(crate) fn take_connection_news(&mut self, news: &mut ConnectionNews) {
        for ConnectionTransfer { workload, number, transfer } in news.opened.drain(..) {
            debug_assert_eq!(self.workloads.all[workload as usize].slots.next_number(), number);
            self.add_connection(workload, transfer);
        }
        for ConnectionTransfer { workload, number, transfer } in news.written.drain(..) {
            let Some(slot) = self.workloads.find_slot(workload, number) else { continue };
            let kept = self.workloads.all[workload as usize].kept.as_mut();
            let idle = kept.and_then(|kept| kept.idle.get_mut(&transfer.user)?.pop());
            self.expect_transfer(slot, transfer, idle.is_some());
        }
        for (workload, number) in news.closed.drain(..) {
            if let Some(slot) = self.workloads.find_slot(workload, number) {
                self.free(slot);
            }
        }
    }

    /// Takes the changes of all regions in a window.
    pub(crate) fn take_connection_changes(&mut self, changes: &mut Vec<ConnectionChange>) {
        let mut slots = Vec::new();
        for change in changes.drain(..) {
            let Some(slot) = self.workloads.find_slot(change.workload, change.number) else {
                continue;
            };
            let connection = &mut self.workloads.connections[slot];
            connection.packets_inside += change.packets_inside;
            connection.is_far_end_quiet = change.is_quiet.unwrap_or(connection.is_far_end_quiet);
            slots.push(slot);
        }
        slots.into_iter().for_each(|slot| self.settle(slot));
    }

    /// Connections of a workload that are open, by their agents.
    pub(crate) fn agents_of(&self, workload: u32) -> impl Iterator<Item = usize> + '_ {
        let first = self.workloads.first_agent as usize;
        self.workloads.all[workload as usize].slots.all().map(move |slot| first + slot)
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

#[cfg(test)]
mod tests;
