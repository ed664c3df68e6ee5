//! The end of a run: warm-up cut, conservation, Little's law, and the tables.

use crate::conditioner::Conditioner;
use crate::counters::{Delay, Totals};
use crate::delay_columns;
use crate::link::{Link, Port, QueueCounters};
use crate::observer::Observer;
use crate::path_account::PathAccount;
use crate::simulation::{Agents, Failure, Simulation};
use crate::tables::Table;
use trunkline_agent::tcp::Counters;
use trunkline_packet::{Cause, PacketId};
use trunkline_units::{Time, NEVER};

/// Link, class, counters, area under its queue, packets and bytes it sent.
type PortRow = (usize, usize, QueueCounters, u64, (u64, u64));

impl<O: Observer> Simulation<O> {
    /// Counters start here: remembers what has happened so far, to subtract it.
    pub(crate) fn end_warm_up(&mut self) {
        let now = self.now;
        self.rebase_probes();
        for link in &mut self.links {
            restart_link(link, now);
        }
        self.recovery.lines.iter_mut().for_each(|line| line.forgone = 0);
        self.at_warm_up.debts = self.links.iter().map(|link| debts(link, now)).collect();
        let pool = &mut self.pool;
        self.delays.iter_mut().for_each(|delay| delay.restart(pool));
        self.drops.clear();
        if let Some(accounts) = &mut self.path_accounts {
            accounts.restart(pool);
        }
        for end in self.near_ends.iter_mut().flatten() {
            end.conditioner.iter_mut().for_each(Conditioner::restart);
            end.accounts.iter_mut().for_each(|accounts| accounts.0.clear());
        }
        self.tables.paths.fill(Default::default());
        self.at_warm_up.at = now;
        self.at_warm_up.totals = self.totals.clone();
        self.at_warm_up.tcp = (0..self.flows.len()).map(|flow| self.tcp_counters(flow)).collect();
        self.at_warm_up.goodput =
            (0..self.flows.len()).map(|flow| self.goodput_bytes(flow)).collect();
        self.at_warm_up.in_port = self.links.iter().map(in_classes).collect();
        self.at_warm_up.events = self.events;
        self.at_warm_up.live = self.live();
    }

    /// New application bytes a flow's sink has received, each once.
    pub(crate) fn goodput_bytes(&self, flow: usize) -> u64 {
        match self.flows[flow].agents {
            Agents::Tcp(agent) => self.receivers[agent as usize].goodput_bytes(),
            Agents::Udp(_) => self.totals[flow].datagram_bytes,
        }
    }

    fn tcp_counters(&self, flow: usize) -> Counters {
        match self.flows[flow].agents {
            Agents::Tcp(agent) => self.senders[agent as usize].counters(),
            Agents::Udp(_) => Counters::default(),
        }
    }

    /// Packets and bytes that have left a link's port since the warm-up.
    pub(crate) fn departed(&mut self, link: usize) -> (u64, u64) {
        self.links[link].drain(self.now);
        let before = self.at_warm_up.in_port.get(link);
        let now = in_classes(&self.links[link]);
        let mut departed = (0, 0);
        for (class, (counters, inside)) in counters_of(&self.links[link]).zip(now).enumerate() {
            let (packets, bytes) = before.map_or((0, 0), |classes| classes[class]);
            departed.0 += counters.packets + packets - inside.0 - counters.lost_packets;
            departed.1 += counters.bytes + bytes - inside.1 - counters.lost_bytes;
        }
        departed
    }

    /// Packets refused at a link's port since the warm-up.
    pub(crate) fn dropped_at(&self, link: usize) -> u64 {
        counters_of(&self.links[link]).map(|counters| counters.dropped_packets).sum()
    }

    /// Checks the run and returns its tables.
    ///
    /// # Errors
    /// [`Failure::Conservation`] if packets were lost or made, or if Little's law does not hold.
    pub fn finish(self) -> Result<(Vec<Table>, O), Failure> {
        let mut inside = Inside::default();
        inside.add(&self)?;
        self.finish_with(inside)
    }

    pub(crate) fn finish_with(mut self, inside: Inside) -> Result<(Vec<Table>, O), Failure> {
        let now = self.now;
        for link in &mut self.links {
            link.drain(now);
            link.close_area(now);
            if let Port::Classful(port) = &mut link.port {
                port.classes.iter_mut().for_each(|class| class.close_area(now));
            }
        }
        let live = inside.live as u64;
        self.check_conservation(inside)?;
        self.check_little()?;
        let tables = vec![
            self.flow_table(),
            self.delay_table(),
            self.port_table(),
            self.drop_table(),
            self.colour_table(),
            self.account_table(),
            Table::new("series")
                .ints("probe", std::mem::take(&mut self.sampler.probe))
                .ints("time_ns", std::mem::take(&mut self.sampler.time))
                .floats("value", std::mem::take(&mut self.sampler.value)),
            self.path_table(),
            self.recovery.timeline_table(),
            self.recovery.routes_table(),
            self.summary(live),
        ];
        Ok((tables, self.observer))
    }

    /// Packets inside the network: on wires, in queues, being sent.
    fn inside(&self) -> Vec<PacketId> {
        let mut packets = Vec::new();
        for link in &self.links {
            if !link.outbound {
                packets.extend(link.wire.iter().map(|departure| departure.packet));
            }
            if let Port::Classful(port) = &link.port {
                packets.extend(port.in_service.iter().map(|service| service.packet));
                for class in &port.classes {
                    packets.extend(class.waiting().map(|waiting| waiting.packet));
                }
            }
        }
        packets
    }

    fn check_conservation(&self, inside: Inside) -> Result<(), Failure> {
        let inside = inside.counts;
        for (flow, (totals, (data, acks))) in self.totals.iter().zip(inside).enumerate() {
            let gone = totals.delivered_packets + totals.dropped_packets + data;
            let acks_gone = totals.acks_delivered + totals.acks_dropped + acks;
            let made = totals.sent_packets + totals.copied_packets;
            if made != gone || totals.acks_sent + totals.acks_copied != acks_gone {
                return Err(Failure::Conservation(format!(
                    "flow {flow}: {totals:?}, inside {data} + {acks}"
                )));
            }
        }
        Ok(())
    }

    /// Little's law, exactly: the integral of the packets waiting equals the sum of their waits.
    /// The two are counted independently, so a mistake in either shows in every run.
    fn check_little(&self) -> Result<(), Failure> {
        for (index, link) in self.links.iter().enumerate() {
            let before = &self.at_warm_up.debts[index];
            let now = debts(link, self.now);
            for (class, (counters, area)) in counters_of(link).zip(areas_of(link)).enumerate() {
                // What a failure cut short was counted in a FIFO, which has one class.
                let forgone = i128::from(self.recovery.lines[index].forgone);
                let waits = i128::from(counters.wait) - forgone + now[class] - before[class];
                if waits != i128::from(area) {
                    return Err(Failure::Conservation(format!(
                        "link {index}, class {class}: waits of {waits} ns, a queue of {area} packet ns"
                    )));
                }
            }
        }
        Ok(())
    }

    fn flow_table(&self) -> Table {
        let since: Vec<Totals> = self
            .totals
            .iter()
            .zip(&self.at_warm_up.totals)
            .map(|(now, before)| now.since(before))
            .collect();
        let tcp: Vec<(Counters, Counters)> = (0..self.flows.len())
            .map(|flow| (self.tcp_counters(flow), self.at_warm_up.tcp[flow]))
            .collect();
        let goodput = (0..self.flows.len())
            .map(|flow| (self.goodput_bytes(flow) - self.at_warm_up.goodput[flow]) as i64);
        let column =
            |field: fn(&Totals) -> u64| since.iter().map(move |totals| field(totals) as i64);
        let retransmissions =
            tcp.iter().map(|(now, before)| (now.retransmissions - before.retransmissions) as i64);
        let timeouts = tcp.iter().map(|(now, before)| (now.timeouts - before.timeouts) as i64);
        let fast =
            tcp.iter().map(|(now, before)| (now.fast_retransmits - before.fast_retransmits) as i64);
        let delays: Vec<&Delay> = self.delays.iter().collect();
        let table = Table::new("flows")
            .ints("flow", 0..self.flows.len() as i64)
            .ints("packets_sent", column(|t| t.sent_packets))
            .ints("bytes_sent", column(|t| t.sent_bytes))
            .ints("packets_delivered", column(|t| t.delivered_packets))
            .ints("bytes_delivered", column(|t| t.delivered_bytes))
            .ints("goodput_bytes", goodput)
            .ints("packets_dropped", column(|t| t.dropped_packets))
            .ints("retransmissions", retransmissions)
            .ints("timeouts", timeouts)
            .ints("fast_retransmits", fast)
            .ints("acks_sent", column(|t| t.acks_sent))
            .ints("acks_dropped", column(|t| t.acks_dropped));
        delay_columns::add(table, &delays, &self.pool)
            .ints("reordered", self.delays.iter().map(|d| d.reordered as i64))
            .ints("start_ns", self.flows.iter().map(|plan| plan.start as i64))
            .ints("finished_ns", (0..self.flows.len()).map(|flow| self.finished(flow)))
    }

    /// What entered each path; and of those that are accounted for, how it fared.
    fn path_table(&self) -> Table {
        let paths = &self.tables.paths;
        let none = PathAccount::default();
        let accounts: Vec<Option<&PathAccount>> = (0..paths.len())
            .map(|path| self.path_accounts.as_ref().and_then(|accounts| accounts.of(path)))
            .collect();
        let counted = |count: fn(&PathAccount) -> u64| {
            accounts.iter().map(move |its| its.map_or(-1, |account| count(account) as i64))
        };
        let delays: Vec<&Delay> = accounts.iter().map(|its| &its.unwrap_or(&none).delay).collect();
        let table = Table::new("paths")
            .ints("path", 0..paths.len() as i64)
            .ints("packets", paths.iter().map(|path| path.packets as i64))
            .ints("bytes", paths.iter().map(|path| path.bytes as i64))
            .ints("packets_delivered", counted(|account| account.delay.count))
            .ints("packets_dropped", counted(|account| account.dropped))
            .ints("reordered", counted(|account| account.delay.reordered));
        delay_columns::add(table, &delays, &self.pool)
    }

    /// Delays of each flow as a histogram: buckets that hold a packet.
    fn delay_table(&self) -> Table {
        let mut rows: Vec<(i64, i64, i64)> = Vec::new();
        for (flow, delay) in (0..).zip(&self.delays) {
            let filled = delay.histogram.buckets(&self.pool).filter(|(_, packets)| *packets > 0);
            rows.extend(filled.map(|(upper, packets)| (flow, upper as i64, i64::from(packets))));
        }
        Table::new("delays")
            .ints("flow", rows.iter().map(|row| row.0))
            .ints("upper_ns", rows.iter().map(|row| row.1))
            .ints("packets", rows.iter().map(|row| row.2))
    }

    fn finished(&self, flow: usize) -> i64 {
        let at: Option<Time> = match self.flows[flow].agents {
            Agents::Tcp(agent) => self.senders[agent as usize].finished_at(),
            Agents::Udp(_) => None,
        };
        at.filter(|at| *at != NEVER).map_or(-1, |at| at as i64)
    }

    fn port_table(&self) -> Table {
        let mut rows: Vec<PortRow> = Vec::new();
        for (index, link) in self.links.iter().enumerate() {
            let before = &self.at_warm_up.in_port[index];
            let inside = in_classes(link);
            for (class, (counters, area)) in counters_of(link).zip(areas_of(link)).enumerate() {
                let sent = (
                    counters.packets + before[class].0 - inside[class].0 - counters.lost_packets,
                    counters.bytes + before[class].1 - inside[class].1 - counters.lost_bytes,
                );
                rows.push((index, class, *counters, area, sent));
            }
        }
        let span = self.measured() as f64;
        Table::new("ports")
            .ints("link", rows.iter().map(|row| row.0 as i64))
            .ints("class", rows.iter().map(|row| row.1 as i64))
            .ints(
                "packets_offered",
                rows.iter().map(|row| (row.2.packets + row.2.dropped_packets) as i64),
            )
            .ints(
                "bytes_offered",
                rows.iter().map(|row| (row.2.bytes + row.2.dropped_bytes) as i64),
            )
            .ints("packets_sent", rows.iter().map(|row| row.4 .0 as i64))
            .ints("bytes_sent", rows.iter().map(|row| row.4 .1 as i64))
            .ints("packets_dropped", rows.iter().map(|row| row.2.dropped_packets as i64))
            .floats("wait_mean_ns", rows.iter().map(|row| self.wait_mean(row.0, &row.2)))
            .ints("wait_max_ns", rows.iter().map(|row| row.2.wait_max as i64))
            .floats("queue_mean_packets", rows.iter().map(|row| row.3 as f64 / span))
            .ints("queue_max_packets", rows.iter().map(|row| i64::from(row.2.waiting_max)))
    }

    /// Mean over the packets whose waits were counted: a class counts one when the packet goes.
    fn wait_mean(&self, link: usize, counters: &QueueCounters) -> f64 {
        let packets = match self.links[link].port {
            Port::Fifo(_) => counters.packets,
            Port::Classful(_) => counters.started,
        };
        counters.wait as f64 / packets as f64
    }

    fn drop_table(&self) -> Table {
        let keys = || self.drops.keys();
        Table::new("drops")
            .ints("flow", keys().map(|key| i64::from(key.flow)))
            .ints("reverse", keys().map(|key| i64::from(key.reverse)))
            .ints(
                "link",
                keys().map(|key| if key.link == u32::MAX { -1 } else { i64::from(key.link) }),
            )
            .ints("node", keys().map(|key| i64::from(key.node)))
            .ints("class", keys().map(|key| i64::from(key.class)))
            .ints("precedence", keys().map(|key| i64::from(key.precedence)))
            .ints("cause", keys().map(|key| key.cause as i64))
            .ints("packets", self.drops.values().map(|(packets, _)| *packets as i64))
            .ints("bytes", self.drops.values().map(|(_, bytes)| *bytes as i64))
    }

    /// What each meter saw, by colour.
    fn colour_table(&self) -> Table {
        let mut rows = Vec::new();
        for (index, (link, near)) in self.links.iter().zip(&self.near_ends).enumerate() {
            let near = near.as_ref().and_then(|end| end.conditioner.as_ref());
            let far = link.far_end.as_ref().and_then(|end| end.conditioner.as_ref());
            for (ingress, conditioner) in [(0, near), (1, far)] {
                for (profile, colour, sum) in
                    conditioner.into_iter().flat_map(Conditioner::counters)
                {
                    rows.push((index, ingress, profile, colour, sum));
                }
            }
        }
        Table::new("colours")
            .ints("link", rows.iter().map(|row| row.0 as i64))
            .ints("ingress", rows.iter().map(|row| row.1))
            .ints("profile", rows.iter().map(|row| row.2 as i64))
            .ints("colour", rows.iter().map(|row| row.3 as i64))
            .ints("packets", rows.iter().map(|row| row.4.packets as i64))
            .ints("bytes", rows.iter().map(|row| row.4.bytes as i64))
    }

    fn account_table(&self) -> Table {
        let accounts = self.near_ends.iter().enumerate().filter_map(|(link, end)| {
            end.as_ref().and_then(|end| end.accounts.as_ref()).map(|accounts| (link, accounts))
        });
        let rows: Vec<_> = accounts
            .flat_map(|(link, accounts)| accounts.0.iter().map(move |(key, sum)| (link, key, sum)))
            .collect();
        Table::new("accounts")
            .ints("link", rows.iter().map(|row| row.0 as i64))
            .ints("flow", rows.iter().map(|row| i64::from(row.1.flow)))
            .ints("reverse", rows.iter().map(|row| i64::from(row.1.reverse)))
            .ints("dscp", rows.iter().map(|row| i64::from(row.1.dscp)))
            .ints("colour", rows.iter().map(|row| row.1.colour as i64))
            .ints("class", rows.iter().map(|row| i64::from(row.1.class)))
            .ints("precedence", rows.iter().map(|row| i64::from(row.1.precedence)))
            .ints("packets_offered", rows.iter().map(|row| row.2.packets as i64))
            .ints("bytes_offered", rows.iter().map(|row| row.2.bytes as i64))
            .ints("packets_dropped", rows.iter().map(|row| row.2.dropped_packets as i64))
            .ints("bytes_dropped", rows.iter().map(|row| row.2.dropped_bytes as i64))
    }

    fn summary(&mut self, live: u64) -> Table {
        let hops: u64 = (0..self.links.len()).map(|link| self.departed(link).0).sum();
        let since = |field: fn(&Totals) -> u64| {
            let total = |all: &[Totals]| all.iter().map(field).sum::<u64>();
            (total(&self.totals) - total(&self.at_warm_up.totals)) as i64
        };
        Table::new("summary")
            .ints("events", [(self.events - self.at_warm_up.events) as i64])
            .ints("packet_hops", [hops as i64])
            .ints("packets_sent", [since(|t| t.sent_packets + t.acks_sent)])
            .ints("packets_delivered", [since(|t| t.delivered_packets + t.acks_delivered)])
            .ints("packets_dropped", [since(|t| t.dropped_packets + t.acks_dropped)])
            .ints("packets_copied", [since(|t| t.copied_packets + t.acks_copied)])
            .ints("packets_inside_before", [self.at_warm_up.live as i64])
            .ints("packets_inside_after", [live as i64])
            .ints("packets_peak", [self.census.iter().copied().fold(live, u64::max) as i64])
    }
}

/// Packets inside the network at its end: data and acknowledgements of each flow.
#[derive(Debug, Default)]
pub(crate) struct Inside {
    counts: Vec<(u64, u64)>,
    live: usize,
}

impl Inside {
    pub fn add<O: Observer>(&mut self, region: &Simulation<O>) -> Result<(), Failure> {
        self.counts.resize(region.flows.len(), (0, 0));
        let packets = region.inside();
        for &id in &packets {
            let packet = &region.arena[id];
            let count = &mut self.counts[packet.flow as usize];
            if packet.is_reverse() {
                count.1 += 1;
            } else {
                count.0 += 1;
            }
        }
        self.live += packets.len();
        if packets.len() != region.arena.live() {
            return Err(Failure::Conservation(format!(
                "{} packets stored, {} found on links",
                region.arena.live(),
                packets.len()
            )));
        }
        Ok(())
    }
}

/// Names of the causes in the drops table, by number.
#[must_use]
pub fn causes() -> Vec<&'static str> {
    Cause::ALL.iter().map(|cause| cause.name()).collect()
}

fn counters_of(link: &Link) -> Box<dyn Iterator<Item = &QueueCounters> + '_> {
    match &link.port {
        Port::Fifo(_) => Box::new(std::iter::once(&link.counters)),
        Port::Classful(port) => Box::new(port.classes.iter().map(|class| &class.counters)),
    }
}

fn areas_of(link: &Link) -> Vec<u64> {
    match &link.port {
        Port::Fifo(_) => vec![link.waiting_area],
        Port::Classful(port) => port.classes.iter().map(|class| class.waiting_area).collect(),
    }
}

/// Packets and bytes in each class of a drained port, the one in service included.
fn in_classes(link: &Link) -> Vec<(u64, u64)> {
    match &link.port {
        Port::Fifo(_) => {
            let backlog = link.in_port();
            vec![(backlog.packets.into(), backlog.bytes)]
        }
        Port::Classful(port) => {
            let mut classes: Vec<(u64, u64)> = (0..port.classes.len())
                .map(|class| {
                    let backlog = port.in_class(class as u16);
                    (backlog.packets.into(), backlog.bytes)
                })
                .collect();
            if let Some(service) = &port.in_service {
                let class = &mut classes[usize::from(service.class)];
                class.0 += 1;
                class.1 += u64::from(service.bytes);
            }
            classes
        }
    }
}

/// Waiting time by class that the sum of waits and the integral of the queue do not yet share at
/// `now`: a FIFO counts a wait when the packet comes, ahead of the integral; a class counts it
/// when the packet goes, behind it.
fn debts(link: &Link, now: Time) -> Vec<i128> {
    match &link.port {
        Port::Fifo(_) => {
            let departures: Vec<Time> = link.undeparted().map(|departure| departure.at).collect();
            // Each but the first starts when the one before it has left.
            let starts = departures.iter().take(departures.len().saturating_sub(1));
            vec![-starts.map(|start| i128::from(start - now)).sum::<i128>()]
        }
        Port::Classful(port) => port
            .classes
            .iter()
            .map(|class| class.waiting().map(|waiting| i128::from(now - waiting.since)).sum())
            .collect(),
    }
}

fn restart_link(link: &mut Link, now: Time) {
    link.drain(now);
    link.close_area(now);
    link.counters = QueueCounters::default();
    link.waiting_area = 0;
    if let Some(end) = &mut link.far_end {
        end.conditioner.iter_mut().for_each(Conditioner::restart);
    }
    if let Port::Classful(port) = &mut link.port {
        for class in &mut port.classes {
            class.close_area(now);
            class.counters = QueueCounters::default();
            class.waiting_area = 0;
        }
    }
}

impl Totals {
    /// What was added since `before`.
    fn since(&self, before: &Self) -> Self {
        Self {
            sent_packets: self.sent_packets - before.sent_packets,
            sent_bytes: self.sent_bytes - before.sent_bytes,
            delivered_packets: self.delivered_packets - before.delivered_packets,
            delivered_bytes: self.delivered_bytes - before.delivered_bytes,
            datagram_bytes: self.datagram_bytes - before.datagram_bytes,
            dropped_packets: self.dropped_packets - before.dropped_packets,
            acks_sent: self.acks_sent - before.acks_sent,
            acks_delivered: self.acks_delivered - before.acks_delivered,
            acks_dropped: self.acks_dropped - before.acks_dropped,
            copied_packets: self.copied_packets - before.copied_packets,
            acks_copied: self.acks_copied - before.acks_copied,
        }
    }
}
