//! The tables of a run, each a list of columns.

use super::{areas_of, counters_of, in_classes};
use crate::conditioner::Conditioner;
use crate::counters::{DelayStatistics, DeliveredTotals, Totals};
use crate::data_plane::AnyDataPlane;
use crate::delay_columns;
use crate::hosts::{FlowAgents, Hosts};
use crate::link::Port;
use crate::measurements::FlowCounters;
use crate::observer::Observer;
use crate::path_account::PathAccount;
use crate::queue::QueueCounters;
use crate::tables::Table;
use trunkline_units::{Time, NEVER};

/// Link, class, counters, area under its queue, packets and bytes it sent.
type PortRow = (usize, usize, QueueCounters, i128, (u64, u64));

impl<O: Observer> Hosts<O> {
    /// Counts and delays of each flow. The agents are gone after it, as no other table needs them: the columns
    /// of delays may have their memory.
    pub(super) fn flow_table(&mut self) -> Table {
        let table = self.list_flow_counts();
        let finished: Vec<i64> = (0..self.flows.len()).map(|flow| self.finished(flow)).collect();
        (self.senders, self.receivers) = (Vec::new(), Vec::new());
        let arrived = &self.plane.measured.deliveries;
        let delays: Vec<&DelayStatistics> = arrived.iter().map(|arrived| &arrived.delays).collect();
        delay_columns::add_delay_columns(table, &delays, &self.plane.measured.pool)
            .ints("reordered", delays.iter().map(|d| d.reordered as i64))
            .ints("start_ns", self.starts.iter().map(|&start| start as i64))
            .ints("finished_ns", finished)
    }

    /// The columns of counts.
    fn list_flow_counts(&self) -> Table {
        let flows = 0..self.flows.len();
        let before = |flow| self.plane.measured.at_warm_up.flow(flow);
        let column = |field: fn(&FlowCounters) -> u64| {
            let since = move |flow| field(&self.flow_counters(flow)) - field(&before(flow));
            flows.clone().map(move |flow| since(flow) as i64)
        };
        Table::new("flows")
            .ints("flow", 0..self.flows.len() as i64)
            .ints("packets_sent", column(|flow| flow.totals.sent_packets))
            .ints("bytes_sent", column(|flow| flow.totals.sent_bytes))
            .ints("packets_delivered", column(|flow| flow.delivered.packets))
            .ints("bytes_delivered", column(|flow| flow.delivered.bytes))
            .ints("goodput_bytes", column(|flow| flow.goodput))
            .ints("packets_dropped", column(|flow| flow.totals.dropped_packets))
            .ints("packets_copied", column(|flow| flow.totals.copied_packets))
            .ints("retransmissions", column(|flow| flow.tcp.retransmissions))
            .ints("timeouts", column(|flow| flow.tcp.timeouts))
            .ints("fast_retransmits", column(|flow| flow.tcp.fast_retransmits))
            .ints("acks_sent", column(|flow| flow.totals.acks_sent))
            .ints("acks_dropped", column(|flow| flow.totals.acks_dropped))
            .ints(
                "packets_ce",
                flows.clone().map(|flow| self.plane.measured.marks.received(flow as u32) as i64),
            )
            .ints(
                "packets_timed",
                self.plane.measured.deliveries.iter().map(|arrived| arrived.delays.count as i64),
            )
    }

    /// Delays of each flow as a histogram: buckets that hold a packet.
    pub(super) fn delay_table(&self) -> Table {
        let mut rows: Vec<(i64, i64, i64)> = Vec::new();
        for (flow, arrived) in (0..).zip(&self.plane.measured.deliveries) {
            let filled = arrived
                .delays
                .histogram
                .buckets(&self.plane.measured.pool)
                .filter(|(_, packets)| *packets > 0);
            rows.extend(filled.map(|(upper, packets)| (flow, upper as i64, i64::from(packets))));
        }
        Table::new("delays")
            .ints("flow", rows.iter().map(|row| row.0))
            .ints("upper_ns", rows.iter().map(|row| row.1))
            .ints("packets", rows.iter().map(|row| row.2))
    }

    /// Late packets of the flows that are calls.
    pub(super) fn call_table(&self) -> Table {
        // An echo flow's requests are late from 0 on.
        let is_call = |flow: &usize| !matches!(self.flows[*flow].late_from, 0 | NEVER);
        let calls = || (0..self.flows.len()).filter(is_call);
        let late = |flow: usize| {
            self.plane.measured.totals[flow].late_packets
                - self.plane.measured.at_warm_up.flow(flow).totals.late_packets
        };
        Table::new("calls")
            .ints("flow", calls().map(|flow| flow as i64))
            .ints("packets_late", calls().map(|flow| late(flow) as i64))
    }

    fn finished(&self, flow: usize) -> i64 {
        let at: Option<Time> = match self.flows[flow].agents {
            FlowAgents::Tcp(agent) => self.senders[agent as usize].finished_at(),
            FlowAgents::Udp(_)
            | FlowAgents::Adaptive(_)
            | FlowAgents::Transfers(_)
            | FlowAgents::Control(_) => None,
        };
        at.filter(|at| *at != NEVER).map_or(-1, |at| at as i64)
    }
}

impl AnyDataPlane {
    /// Packets that entered each path; and delay, loss and order of the accounted ones.
    pub(super) fn path_table(&self) -> Table {
        // The last one counts traffic with labels of LDP, which is no path.
        let paths = &self.tables.mpls.paths[..self.tables.mpls.paths.len() - 1];
        let none = PathAccount::default();
        let accounts: Vec<Option<&PathAccount>> = (0..paths.len())
            .map(|path| {
                self.measured
                    .path_accounts
                    .as_ref()
                    .and_then(|accounts| accounts.account_of_path(path))
            })
            .collect();
        let counted = |count: fn(&PathAccount) -> u64| {
            accounts
                .iter()
                .map(move |path_account| path_account.map_or(-1, |account| count(account) as i64))
        };
        let delays: Vec<&DelayStatistics> =
            accounts.iter().map(|path_account| &path_account.unwrap_or(&none).delay).collect();
        let table = Table::new("paths")
            .ints("path", 0..paths.len() as i64)
            .ints("packets", paths.iter().map(|path| path.packets as i64))
            .ints("bytes", paths.iter().map(|path| path.bytes as i64))
            .ints("packets_delivered", counted(|account| account.delay.count))
            .ints("packets_dropped", counted(|account| account.dropped))
            .ints("reordered", counted(|account| account.delay.reordered));
        delay_columns::add_delay_columns(table, &delays, &self.measured.pool)
    }

    pub(super) fn port_table(&self) -> Table {
        let mut rows: Vec<PortRow> = Vec::new();
        for (index, link) in self.ports.links.iter().enumerate() {
            let before = &self.measured.at_warm_up.in_port[index];
            let inside = in_classes(link);
            for (class, (counters, area)) in
                counters_of(link).into_iter().zip(areas_of(link)).enumerate()
            {
                let never = counters.never_sent();
                let sent = (
                    counters.packets + before[class].0 - inside[class].0 - never.0,
                    counters.bytes + before[class].1 - inside[class].1 - never.1,
                );
                rows.push((index, class, counters, area, sent));
            }
        }
        let span = self.measured_time() as f64;
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
            .ints("packets_dropped", rows.iter().map(|row| row.2.all_dropped() as i64))
            .ints(
                "packets_marked",
                rows.iter()
                    .map(|row| self.measured.marks.of_class(row.0 as u32, row.1 as u16) as i64),
            )
            .ints("packets_waited", rows.iter().map(|row| self.waited(row.0, &row.2) as i64))
            .floats("wait_mean_ns", rows.iter().map(|row| self.wait_mean(row.0, &row.2)))
            .ints("wait_max_ns", rows.iter().map(|row| row.2.wait_max as i64))
            .floats("queue_mean_packets", rows.iter().map(|row| row.3 as f64 / span))
            .ints("queue_max_packets", rows.iter().map(|row| i64::from(row.2.waiting_max)))
    }

    /// Packets whose waits were counted: a class counts a wait on departure.
    fn waited(&self, link: usize, counters: &QueueCounters) -> u64 {
        match self.ports.links[link].port {
            Port::Fifo(_) => counters.packets,
            Port::Classful(_) => counters.started,
        }
    }

    fn wait_mean(&self, link: usize, counters: &QueueCounters) -> f64 {
        counters.wait as f64 / self.waited(link, counters) as f64
    }

    pub(super) fn drop_table(&self) -> Table {
        let keys = || self.measured.drops.rows().map(|row| row.key);
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
            .ints("packets", self.measured.drops.rows().map(|row| row.packets as i64))
            .ints("bytes", self.measured.drops.rows().map(|row| row.bytes as i64))
    }

    /// Packets that ports marked, by flow.
    pub(super) fn mark_table(&self) -> Table {
        let keys = || self.measured.marks.rows().map(|(key, _)| key);
        Table::new("marks")
            .ints("flow", keys().map(|key| i64::from(key.flow)))
            .ints("reverse", keys().map(|key| i64::from(key.reverse)))
            .ints("link", keys().map(|key| i64::from(key.link)))
            .ints("class", keys().map(|key| i64::from(key.class)))
            .ints("precedence", keys().map(|key| i64::from(key.precedence)))
            .ints("packets", self.measured.marks.rows().map(|(_, count)| count.0 as i64))
            .ints("bytes", self.measured.marks.rows().map(|(_, count)| count.1 as i64))
    }

    /// Packets of each meter, by colour.
    pub(super) fn colour_table(&self) -> Table {
        let mut rows = Vec::new();
        for (index, (link, near)) in self.ports.links.iter().zip(&self.ports.near_ends).enumerate()
        {
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

    pub(super) fn account_table(&self) -> Table {
        let accounts = self.ports.near_ends.iter().enumerate().filter_map(|(link, end)| {
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

    pub(super) fn summary(&mut self, live: u64, census: &[u64]) -> Table {
        let hops: u64 = (0..self.ports.links.len()).map(|link| self.departed(link).0).sum();
        let since = |field: fn(&Totals, &DeliveredTotals) -> u64| {
            let totals = self.measured.totals.iter().zip(&self.measured.deliveries);
            let now: u64 = totals.map(|(totals, arrived)| field(totals, &arrived.totals)).sum();
            let at_warm_up = self.measured.at_warm_up.flows.iter();
            let before: u64 = at_warm_up.map(|flow| field(&flow.totals, &flow.delivered)).sum();
            (now - before) as i64
        };
        Table::new("summary")
            .ints("events", [(self.clock.events - self.measured.at_warm_up.events) as i64])
            .ints("packet_hops", [hops as i64])
            .ints("packets_sent", [since(|t, _| t.sent_packets + t.acks_sent)])
            .ints("packets_delivered", [since(|t, arrived| arrived.packets + t.acks_delivered)])
            .ints("packets_dropped", [since(|t, _| t.dropped_packets + t.acks_dropped)])
            .ints("packets_copied", [since(|t, _| t.copied_packets + t.acks_copied)])
            .ints("packets_inside_before", [self.measured.at_warm_up.live as i64])
            .ints("packets_inside_after", [live as i64])
            .ints("packets_peak", [census.iter().copied().fold(live, u64::max) as i64])
    }
}
