//! The end of a run: warm-up cut, conservation, Little's law.

mod rows;

use crate::calendar::Calendar;
use crate::conditioner::Conditioner;
use crate::control::{self, ControlPlane};
use crate::data_plane::AnyDataPlane;
use crate::delivered_marks::DeliveredMarks;
use crate::hosts::{FlowAgents, Hosts};
use crate::link::{Link, Port};
use crate::measurements::FlowCounters;
use crate::observer::Observer;
use crate::queue::QueueCounters;
use crate::simulation::{RunError, Simulation};
use crate::tables::Table;
use trunkline_agent::tcp::Counters;
use trunkline_packet::PacketId;
use trunkline_units::Time;

impl<O: Observer> Simulation<O> {
    /// Checks the run and returns its tables.
    ///
    /// # Errors
    /// [`RunError::Conservation`] if packets were lost or made, or if Little's law does not hold.
    pub fn finish(self) -> Result<(Vec<Table>, O), RunError> {
        let mut inside = PacketsInside::default();
        inside.add(&self)?;
        let (tables, observer) = self.finish_with(inside)?;
        Ok((tables, O::join(vec![observer])))
    }

    pub(crate) fn finish_with(
        mut self,
        inside: PacketsInside,
    ) -> Result<(Vec<Table>, O), RunError> {
        let tables = self.close(inside)?;
        Ok((tables, self.hosts.plane.observer))
    }

    /// Counters start here: stores the counts so far, to subtract them.
    pub(crate) fn end_warm_up(&mut self) {
        self.sampler.rebase(&mut self.hosts);
        self.hosts.end_warm_up();
        if let Some(control) = &mut self.control {
            control.restart(&mut self.hosts.plane.measured.pool);
        }
        self.hosts.plane.forward_at_warm_up_end(self.limits.end);
    }

    fn close(&mut self, inside: PacketsInside) -> Result<Vec<Table>, RunError> {
        self.hosts.plane.end_areas();
        let live = inside.live as u64;
        self.hosts.plane.check_conservation(inside)?;
        self.hosts.plane.check_little()?;
        let control = self.control.as_deref();
        control.map_or(Ok(()), ControlPlane::check).map_err(RunError::Conservation)?;
        // No table needs the events and draws to come; the columns may have their memory.
        self.hosts.plane.clock.calendar = Calendar::default();
        self.hosts.streams = Vec::new();
        let mut tables = vec![
            self.hosts.flow_table(),
            self.hosts.delay_table(),
            self.hosts.plane.port_table(),
            self.hosts.plane.drop_table(),
            self.hosts.plane.mark_table(),
            self.hosts.plane.colour_table(),
            self.hosts.plane.account_table(),
            Table::new("series")
                .ints("probe", std::mem::take(&mut self.sampler.probe))
                .ints("time_ns", std::mem::take(&mut self.sampler.time))
                .floats("value", std::mem::take(&mut self.sampler.value)),
            self.hosts.plane.path_table(),
            self.recovery.timeline_table(),
            self.recovery.routes_table(),
            self.hosts.plane.summary(live, &self.census),
        ];
        tables.extend(control::control_tables(self.control.as_deref()));
        tables.extend(self.hosts.workloads.tables(&self.hosts.plane.measured.pool));
        tables.push(self.hosts.video_table());
        tables.push(self.hosts.call_table());
        tables.push(self.hosts.echo_table());
        tables.extend(
            self.hosts.plane.measured.delivered_marks.as_deref().map(DeliveredMarks::table),
        );
        Ok(tables)
    }
}

impl<O: Observer> Hosts<O> {
    fn end_warm_up(&mut self) {
        let plane = &mut self.plane;
        plane.restart_counters();
        let pool = &mut plane.measured.pool;
        self.echoes.iter_mut().for_each(|echo| echo.restart(pool));
        self.workloads.restart(pool);
        if self.plane.clock.now > 0 {
            self.plane.measured.at_warm_up.flows =
                (0..self.flows.len()).map(|flow| self.flow_counters(flow)).collect();
        }
    }

    /// Counters of a flow since the run began.
    fn flow_counters(&self, flow: usize) -> FlowCounters {
        FlowCounters {
            totals: self.plane.measured.totals[flow],
            delivered: self.plane.measured.deliveries[flow].totals,
            tcp: self.tcp_counters(flow),
            goodput: self.goodput_bytes(flow),
        }
    }

    /// New application bytes a flow's sink has received, each once.
    pub(crate) fn goodput_bytes(&self, flow: usize) -> u64 {
        match self.flows[flow].agents {
            FlowAgents::Tcp(agent) => self.receivers[agent as usize].goodput_bytes(),
            FlowAgents::Udp(_) | FlowAgents::Adaptive(_) => {
                self.plane.measured.deliveries[flow].totals.datagram_bytes
            }
            FlowAgents::Transfers(index) => self.bytes_of_workload(index),
            FlowAgents::Control(_) => 0,
        }
    }

    fn tcp_counters(&self, flow: usize) -> Counters {
        match self.flows[flow].agents {
            FlowAgents::Tcp(agent) => self.senders[agent as usize].counters(),
            FlowAgents::Udp(_) | FlowAgents::Adaptive(_) | FlowAgents::Control(_) => {
                Counters::default()
            }
            FlowAgents::Transfers(index) => self.counters_of_workload(index),
        }
    }
}

impl AnyDataPlane {
    /// The counters of links and of flows start here.
    fn restart_counters(&mut self) {
        let now = self.clock.now;
        for index in 0..self.ports.links.len() {
            self.drain_link(index);
            restart_link(&mut self.ports.links[index], now);
        }
        self.ports.forgone.fill(0);
        for end in self.ports.near_ends.iter_mut().flatten() {
            end.conditioner.iter_mut().for_each(Conditioner::restart);
            end.accounts.iter_mut().for_each(|accounts| accounts.0.clear());
        }
        self.tables.mpls.paths.fill(Default::default());
        self.measured.restart(now);
        let live = self.packets_in_network();
        let (links, baseline) = (&self.ports.links, &mut self.measured.at_warm_up);
        baseline.debts = links.iter().map(|link| unaccounted_waits(link, now)).collect();
        baseline.in_port = links.iter().map(in_classes).collect();
        (baseline.events, baseline.live) = (self.clock.events, live);
    }

    /// Closes the integrals of all queues at the end of the run.
    fn end_areas(&mut self) {
        let now = self.clock.now;
        for index in 0..self.ports.links.len() {
            self.drain_link(index);
            let link = &mut self.ports.links[index];
            link.end_area(now);
            if let Port::Classful(port) = &mut link.port {
                port.classes.iter_mut().for_each(|class| class.end_area(now));
            }
        }
    }

    /// Packets and bytes that have left a link's port since the warm-up.
    pub(crate) fn departed(&mut self, link: usize) -> (u64, u64) {
        self.drain_link(link);
        let before = self.measured.at_warm_up.in_port.get(link);
        let now = in_classes(&self.ports.links[link]);
        let mut departed = (0, 0);
        for (class, (counters, inside)) in
            counters_of(&self.ports.links[link]).into_iter().zip(now).enumerate()
        {
            let (packets, bytes) = before.map_or((0, 0), |classes| classes[class]);
            let never = counters.never_sent();
            departed.0 += counters.packets + packets - inside.0 - never.0;
            departed.1 += counters.bytes + bytes - inside.1 - never.1;
        }
        departed
    }

    /// Packets dropped at a link's port since the warm-up.
    pub(crate) fn dropped_at(&self, link: usize) -> u64 {
        counters_of(&self.ports.links[link]).iter().map(QueueCounters::all_dropped).sum()
    }

    /// Packets inside the network: on wires, in queues, being sent.
    fn inside(&self) -> Vec<PacketId> {
        let mut packets: Vec<PacketId> = self.stages.packets().collect();
        for link in &self.ports.links {
            packets.extend(link.on_wire());
            if let Port::Classful(port) = &link.port {
                let service = port.in_service.filter(|service| !service.on_wire);
                packets.extend(service.map(|service| service.packet));
                for class in &port.classes {
                    packets.extend(class.waiting().map(|waiting| waiting.packet));
                }
            }
        }
        packets
    }

    fn check_conservation(&self, inside: PacketsInside) -> Result<(), RunError> {
        let inside = inside.counts;
        let totals = self.measured.totals.iter().zip(&self.measured.deliveries);
        for (flow, ((totals, arrived), (data, acks))) in totals.zip(inside).enumerate() {
            let arrived = arrived.totals;
            let gone = arrived.packets + totals.dropped_packets + data;
            let acks_gone = totals.acks_delivered + totals.acks_dropped + acks;
            let packets_made = totals.sent_packets + totals.copied_packets;
            if packets_made != gone || totals.acks_sent + totals.acks_copied != acks_gone {
                return Err(RunError::Conservation(format!(
                    "flow {flow}: {totals:?}, {arrived:?}, inside {data} + {acks}"
                )));
            }
        }
        Ok(())
    }

    /// Little's law, exactly: the integral of the packets waiting equals the sum of their waits. The two
    /// are counted independently, so an error in either appears in every run.
    fn check_little(&self) -> Result<(), RunError> {
        for (index, link) in self.ports.links.iter().enumerate() {
            let before = &self.measured.at_warm_up.debts[index];
            let now = unaccounted_waits(link, self.clock.now);
            for (class, (counters, area)) in
                counters_of(link).into_iter().zip(areas_of(link)).enumerate()
            {
                // A FIFO, which has one class, had counted the waits that a failure cut short.
                let waits = counters.wait + counters.discarded_wait - self.ports.forgone[index]
                    + now[class]
                    - before[class];
                if waits != area {
                    return Err(RunError::Conservation(format!(
                        "link {index}, class {class}: waits of {waits} ns, a queue of {area} packet ns"
                    )));
                }
            }
        }
        Ok(())
    }
}

/// Packets inside the network at its end: data and acknowledgements of each flow.
#[derive(Debug, Default)]
pub(crate) struct PacketsInside {
    counts: Vec<(u64, u64)>,
    live: usize,
}

impl PacketsInside {
    pub fn add(&mut self, region: &Simulation<impl Observer>) -> Result<(), RunError> {
        self.counts.resize(region.hosts.flows.len(), (0, 0));
        let packets = region.hosts.plane.inside();
        for &id in &packets {
            let packet = &region.hosts.plane.arena[id];
            let count = &mut self.counts[packet.flow as usize];
            if packet.is_reverse() {
                count.1 += 1;
            } else {
                count.0 += 1;
            }
        }
        self.live += packets.len();
        if packets.len() != region.hosts.plane.arena.live() {
            return Err(RunError::Conservation(format!(
                "{} packets stored, {} found on links",
                region.hosts.plane.arena.live(),
                packets.len()
            )));
        }
        Ok(())
    }
}

fn counters_of(link: &Link) -> Vec<QueueCounters> {
    match &link.port {
        Port::Fifo(_) => vec![link.fifo_counters()],
        Port::Classful(port) => port.classes.iter().map(|class| class.counters).collect(),
    }
}

fn areas_of(link: &Link) -> Vec<i128> {
    match &link.port {
        Port::Fifo(_) => vec![link.area.sum],
        Port::Classful(port) => port.classes.iter().map(|class| class.area.sum).collect(),
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
                    let backlog = port.class_backlog(class as u16);
                    (backlog.packets.into(), backlog.bytes)
                })
                .collect();
            if let Some(service) = &port.in_service {
                let class = &mut classes[usize::from(service.class)];
                class.0 += 1;
                class.1 += u64::from(service.size.bytes());
            }
            classes
        }
    }
}

/// Waiting time by class that the sum of waits and the integral of the queue do not yet share at `now`:
/// a FIFO counts a wait on the packet's arrival, ahead of the integral; a class counts it on its
/// departure, behind it.
fn unaccounted_waits(link: &Link, now: Time) -> Vec<i128> {
    match &link.port {
        Port::Fifo(_) => vec![-link.waits_to_come(now)],
        Port::Classful(port) => port.classes.iter().map(|class| class.waits_so_far(now)).collect(),
    }
}

fn restart_link(link: &mut Link, now: Time) {
    link.close_area(now);
    link.restart_counters();
    link.restart_area(now);
    if let Some(end) = &mut link.far_end {
        end.conditioner.iter_mut().for_each(Conditioner::restart);
    }
    if let Port::Classful(port) = &mut link.port {
        for class in &mut port.classes {
            class.close_area(now);
            class.counters =
                QueueCounters { waiting_max: class.stored_backlog().packets, ..Default::default() };
            class.restart_area(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Network;
    use crate::observer::NoObserver;
    use serde_json::json;
    use trunkline_packet::Packet;

    /// Requests of 100 B from `a` to `b`, 1,000 a second, and their replies of 50 B: 1 Mbit/s, 5 ms, and a FIFO
    /// that marks one way, a queue with CoDel the other.
    fn echo_over_two_ports() -> Network {
        let link = |name: &str, from: u32, port: u32| {
            json!({"name": name, "from": from, "to": 1 - from, "rate_bit_s": 1_000_000,
                "delay_ns": 5_000_000, "header_bytes": 0, "mtu_bytes": 1500, "metric": 1,
                "loss": 0.0, "port": port})
        };
        let port = |aqm: serde_json::Value| {
            let queue = json!({"limit_packets": 50, "limit_bytes": null, "counts_in_service": false,
                "aqm": aqm});
            json!({"name": "p", "classifier": {"rows": [], "flow_rows": []},
                "scheduler": {"kind": "fifo", "shares": [{}]},
                "classes": [{"name": "c", "queue": queue}]})
        };
        let agent = json!({"protocol": "udp", "arrivals": {"cbr": {"jitter": 0.0}},
            "rate_bit_s": 800_000, "size": {"fixed": {"bytes": 100}}, "header_bytes": 28,
            "tick_ns": 0, "phase_ns": 0});
        let flow = json!({"name": "ping", "src": 0, "dst": 1, "start_ns": 0, "stop_ns": null,
            "start_jitter_ns": 0, "dscp": 0, "ttl": 64, "fec": 0, "fec_reverse": 0, "agent": agent,
            "echo": {"over": "udp", "reply_bytes": 50, "timeout_ns": 1_000_000_000}});
        let run = json!({"duration_ns": 100_000_000, "warmup_ns": 0, "seed": 1, "trace": false,
            "events_per_instant": 1000});
        // The integral of the queue of a plain port comes from its waits.
        let step = json!({"kind": "step", "threshold": 40, "unit": "packets"});
        let codel = json!({"kind": "codel", "target_ns": 5_000_000, "interval_ns": 100_000_000,
            "mtu_bytes": 1500, "ce_threshold_ns": null, "arithmetic": "exact"});
        let network = json!({"format": 2, "name": "", "run": run,
            "nodes": [{"name": "a"}, {"name": "b"}], "flows": [flow],
            "links": [link("a->b", 0, 0), link("b->a", 1, 1)],
            "ports": [port(step), port(codel)],
            "paths": [], "ftn": [], "ilm": [], "nhlfe": [], "probes": []});
        serde_json::from_value(network).expect("a network")
    }

    fn class_of(hosts: &mut Hosts<NoObserver>) -> &mut crate::class_queue::ClassQueue {
        match &mut hosts.plane.ports.links[1].port {
            Port::Classful(port) => &mut port.classes[0],
            Port::Fifo(_) => unreachable!("CoDel judges packets when they leave"),
        }
    }

    /// The books of a run that is over balance; a packet or a wait more in any of them, and they do not.
    #[test]
    fn a_packet_or_a_wait_too_many_in_any_account_is_an_error() {
        type Spoil = fn(&mut Hosts<NoObserver>);
        let spoils: [(Spoil, &str); 14] = [
            (|hosts| hosts.plane.measured.totals[0].sent_packets += 1, "flow 0: Totals"),
            (|hosts| hosts.plane.measured.totals[0].copied_packets += 1, "flow 0: Totals"),
            (|hosts| hosts.plane.measured.totals[0].dropped_packets += 1, "flow 0: Totals"),
            (|hosts| hosts.plane.measured.totals[0].acks_sent += 1, "flow 0: Totals"),
            (|hosts| hosts.plane.measured.totals[0].acks_copied += 1, "flow 0: Totals"),
            (|hosts| hosts.plane.measured.totals[0].acks_delivered += 1, "flow 0: Totals"),
            (|hosts| hosts.plane.measured.totals[0].acks_dropped += 1, "flow 0: Totals"),
            (|hosts| hosts.plane.measured.deliveries[0].totals.packets += 1, "flow 0: Totals"),
            (|hosts| hosts.plane.ports.links[0].counters.wait += 1, "link 0, class 0: waits of"),
            (|hosts| hosts.plane.ports.links[0].area.sum += 1, "link 0, class 0: waits of"),
            (|hosts| class_of(hosts).counters.wait += 1, "link 1, class 0: waits of"),
            (|hosts| class_of(hosts).counters.discarded_wait += 1, "link 1, class 0: waits of"),
            (|hosts| class_of(hosts).area.sum += 1, "link 1, class 0: waits of"),
            (
                |hosts| _ = hosts.plane.arena.insert(Packet::new(0, 0, 0, 100, 0)),
                "packets stored, ",
            ),
        ];
        let network = echo_over_two_ports();
        let run = || {
            let mut simulation = Simulation::new(&network, 1, NoObserver).expect("a network");
            simulation.run(&|_| false).expect("the run ends");
            simulation
        };
        run().finish().expect("its books balance");
        for (place, (spoil, why)) in spoils.into_iter().enumerate() {
            let mut simulation = run();
            spoil(&mut simulation.hosts);
            match simulation.finish().map(|_| ()) {
                Err(RunError::Conservation(what)) => assert!(what.contains(why), "{place}: {what}"),
                other => panic!("{place}: {other:?}"),
            }
        }
    }
}
