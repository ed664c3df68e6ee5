//! The run: one thread does everything in the order of time.

use crate::application::RequestResponse;
use crate::archive::Archive;
use crate::daemons::RouteMonitor;
use crate::marks::MarkCounter;
use crate::namespaces::NodeNamespaces;
use crate::orders::GuestOrders;
use crate::prepared_changes::PreparedChange;
use crate::statistics::{CounterSeries, Snapshot};
use crate::sys::time;
use crate::sys::time::Waiter;
use crate::{tcp, transfers, udp};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const MS: u64 = 1_000_000;
/// Receivers and rings are read in these steps; the times of arrival are the kernel's. Work at each
/// arrival would take an emulated processor's time, and move acknowledgements.
const DRAIN_NS: u64 = 20 * MS;
/// Work of a guest's kernel in its first seconds (it calibrates its clock, for example) takes the
/// processor of an emulated machine 20 ms; to wait for it costs the host nothing.
const SETTLE_NS: u64 = 3000 * MS;
/// Parts of the run after each of which a line reports the progress.
const PROGRESS_PARTS: u64 = 20;

/// An action that is due at some time, with the number of the flow or device; at one time in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum DueAction {
    Count(usize),
    Change(usize),
    Datagram(usize),
    Start(usize),
    Stop(usize),
    Transfer(usize),
    Write(usize),
    Request(usize),
    Drain,
    Sample(usize),
    Tally(usize),
    Read(usize),
    Snapshot(usize, usize),
    Progress(u64),
    End,
}

/// Executes the orders of the run and stores the results.
///
/// # Errors
/// The refused order, by node and line.
pub fn run(
    mut orders: GuestOrders,
    schedule: &dyn Fn(&str) -> Result<Vec<u8>, String>,
    archive: &mut Archive,
) -> Result<(), String> {
    let spaces =
        NodeNamespaces::new(orders.nodes.len()).map_err(|why| format!("namespaces: {why}"))?;
    spaces.prepare(&orders)?;
    let watches = RouteMonitor::start(&orders, &spaces)?;
    let marks = MarkCounter::open(&orders, &spaces)?;
    let mut udp = Vec::new();
    for flow in std::mem::take(&mut orders.udp) {
        let records = schedule(&flow.schedule)?;
        udp.push(udp::UdpFlow::open(flow, &records, &spaces)?);
    }
    let mut tcp = Vec::new();
    for flow in std::mem::take(&mut orders.tcp) {
        tcp.push(tcp::TcpFlow::open(flow, &spaces)?);
    }
    let mut transfers = Vec::new();
    if !orders.transfers.is_empty() {
        crate::sys::process::open_many();
    }
    for flow in std::mem::take(&mut orders.transfers) {
        let records = schedule(&flow.schedule)?;
        transfers.push(transfers::TransferFlow::open(flow, &records, &spaces)?);
    }
    let mut writes = Vec::new();
    for writer in &orders.writes {
        let records = transfers::read_schedule(&schedule(&writer.schedule)?)?;
        tcp[writer.flow].accept_writes();
        writes.push(ScheduledWrites { flow: writer.flow, records, next: 0 });
    }
    let mut exchanges = Vec::new();
    for exchange in &orders.exchanges {
        let (requests, answers) = (exchange.requests, exchange.answers);
        for flow in [requests, answers] {
            tcp[flow].accept_writes();
        }
        let steps = schedule(&exchange.schedule)?;
        exchanges.push(RequestResponse::new(requests, answers, &steps)?);
    }
    let mut series = Vec::new();
    for sample in &orders.samples {
        let name = format!("queue-{}-{}", orders.nodes[sample.node].name, sample.device);
        series.push(CounterSeries::open(name, sample.node, &sample.device, &spaces)?);
    }
    let mut counts = Vec::new();
    for (number, count) in orders.counts.iter().enumerate() {
        counts.push(CounterSeries::open(
            format!("count-{number}"),
            count.node,
            &count.device,
            &spaces,
        )?);
    }
    let mut changes = Vec::new();
    for change in &orders.changes {
        let prepared = spaces.run_in_namespace(change.node, || PreparedChange::prepare(change));
        changes.push(prepared.map_err(|why| why.to_string())??);
    }
    let mut snapshots = Vec::new();
    for &at in &orders.snapshots {
        snapshots.push(Snapshot::open(&orders, &spaces, at < orders.duration_ns)?);
    }
    let mut run = GuestRun {
        zero: 0,
        due: BinaryHeap::new(),
        waiter: Waiter::new().map_err(|why| why.to_string())?,
        payload: vec![0; 1 << 16],
        late_ns: 0,
        orders,
        spaces,
        marks,
        udp,
        tcp,
        transfers,
        writes,
        exchanges,
        series,
        counts,
        changes,
        snapshots,
        watches,
    };
    run.plan().map_err(|why| why.to_string())?;
    run.run_actions()?;
    run.finish(archive)
}

/// Writes to the connection of a TCP flow, and the number of the next.
struct ScheduledWrites {
    flow: usize,
    records: Vec<(u64, u64)>,
    next: usize,
}

impl ScheduledWrites {
    fn due(&self) -> Option<u64> {
        self.records.get(self.next).map(|record| record.0)
    }
}

struct GuestRun {
    zero: u64,
    due: BinaryHeap<Reverse<(u64, DueAction)>>,
    waiter: Waiter,
    payload: Vec<u8>,
    late_ns: u64,
    orders: GuestOrders,
    spaces: NodeNamespaces,
    marks: MarkCounter,
    udp: Vec<udp::UdpFlow>,
    tcp: Vec<tcp::TcpFlow>,
    transfers: Vec<transfers::TransferFlow>,
    writes: Vec<ScheduledWrites>,
    exchanges: Vec<RequestResponse>,
    series: Vec<CounterSeries>,
    counts: Vec<CounterSeries>,
    changes: Vec<PreparedChange>,
    snapshots: Vec<Snapshot>,
    watches: Vec<RouteMonitor>,
}

impl GuestRun {
    fn plan(&mut self) -> std::io::Result<()> {
        for (index, flow) in self.udp.iter().enumerate() {
            self.due.extend(flow.due().map(|at| Reverse((at, DueAction::Datagram(index)))));
        }
        for (index, flow) in self.tcp.iter().enumerate() {
            let orders = flow.orders();
            flow.watch(index, &self.waiter)?;
            if !flow.is_written() {
                self.due.push(Reverse((orders.start_ns, DueAction::Start(index))));
                self.due.extend(orders.stop_ns.map(|at| Reverse((at, DueAction::Stop(index)))));
            }
            self.due.push(Reverse((orders.sample_ns, DueAction::Sample(index))));
        }
        for (index, flow) in self.transfers.iter().enumerate() {
            flow.watch(index, &self.waiter)?;
            self.due.extend(flow.due().map(|at| Reverse((at, DueAction::Transfer(index)))));
            self.due.push(Reverse((flow.sample_ns(), DueAction::Tally(index))));
        }
        for (index, writer) in self.writes.iter().enumerate() {
            self.due.extend(writer.due().map(|at| Reverse((at, DueAction::Write(index)))));
        }
        for (index, user) in self.exchanges.iter_mut().enumerate() {
            self.due.extend(user.pause(0).map(|at| Reverse((at, DueAction::Request(index)))));
        }
        for (index, sample) in self.orders.samples.iter().enumerate() {
            self.due.push(Reverse((sample.step_ns, DueAction::Read(index))));
        }
        for (index, count) in self.orders.counts.iter().enumerate() {
            self.due.push(Reverse((count.at_ns, DueAction::Count(index))));
        }
        for (index, change) in self.orders.changes.iter().enumerate() {
            self.due.push(Reverse((change.at_ns, DueAction::Change(index))));
        }
        for (number, &at) in self.orders.snapshots.iter().enumerate() {
            self.due.push(Reverse((at, DueAction::Snapshot(number, 0))));
        }
        if !self.udp.is_empty() || !self.marks.is_idle() {
            self.due.push(Reverse((DRAIN_NS, DueAction::Drain)));
        }
        let duration = self.orders.duration_ns;
        for part in 1..PROGRESS_PARTS {
            self.due.push(Reverse((duration / PROGRESS_PARTS * part, DueAction::Progress(part))));
        }
        self.due.push(Reverse((duration, DueAction::End)));
        Ok(())
    }

    fn run_actions(&mut self) -> Result<(), String> {
        // A longer set-up must move no timer of the kernel against us. Daemons have timers of their own
        // since their start, and the ticks of the host's kernel are not known.
        let is_guest = std::process::id() == 1;
        let ready = time::clock() + if is_guest { SETTLE_NS } else { 0 } + self.orders.settle_ns;
        self.zero = if is_guest && self.orders.daemons.is_empty() {
            time::sleep_until(ready);
            time::find_wheel_turn(100 * MS)
        } else {
            (ready / (100 * MS) + 2) * (100 * MS)
        };
        println!("trunkline: time zero");
        let mut reached = 0;
        while let Some(Reverse((mut at, mut due))) = self.due.pop() {
            if let (DueAction::Snapshot(..), Some(mut next)) = (due, self.due.peek_mut()) {
                // On an emulated machine reading takes time: actions that became due meanwhile are
                // first.
                let (then, what) = next.0;
                if what != DueAction::End && self.zero + then < time::clock() {
                    *next = Reverse((at, due));
                    (at, due) = (then, what);
                }
            }
            if at > reached || reached == 0 {
                if !self.wait_until(self.zero + at)? {
                    self.due.push(Reverse((at, due)));
                    continue;
                }
                reached = at;
                self.late_ns = self.late_ns.max(time::clock().saturating_sub(self.zero + at));
            }
            if due == DueAction::End {
                return Ok(());
            }
            self.perform_action(at, due)?;
        }
        Ok(())
    }

    /// False: something else is due before that time of the clock.
    fn wait_until(&mut self, clock: u64) -> Result<bool, String> {
        if self.tcp.is_empty() && self.transfers.is_empty() {
            time::sleep_until(clock);
            return Ok(true);
        }
        let mut events = Vec::new();
        loop {
            events.clear();
            let due = self.waiter.wait(clock, |mask, token| events.push((mask, token)));
            for &(mask, token) in &events {
                if let Some((index, number, role)) = transfers::from_token(token) {
                    let flow = &mut self.transfers[index];
                    flow.on_event(index, number, role, mask, &self.waiter)
                        .map_err(|why| format!("flow {}: {why}", flow.id()))?;
                    continue;
                }
                let (index, role) = tcp::from_token(token);
                let flow = &mut self.tcp[index];
                flow.on_event(index, role, mask, &self.waiter)
                    .map_err(|why| format!("flow {}: {why}", flow.orders().path.id))?;
                self.continue_exchange(index)?;
            }
            if due.map_err(|why| why.to_string())? {
                return Ok(true);
            }
            if self.due.peek().is_some_and(|Reverse((then, _))| self.zero + then < clock) {
                return Ok(false);
            }
        }
    }

    /// Something may have arrived over the connection of a TCP flow: the answer follows a request, and the
    /// next request an answer.
    fn continue_exchange(&mut self, flow: usize) -> Result<(), String> {
        let mut all = self.exchanges.iter_mut().enumerate();
        let found = all.find(|(_, user)| [user.requests, user.answers].contains(&flow));
        let Some((index, user)) = found else { return Ok(()) };
        let arrived = self.tcp[flow].arrived_writes();
        if flow == user.requests {
            let Some(bytes) = user.answer(arrived) else { return Ok(()) };
            let answers = user.answers;
            return self.tcp[answers].add_write(bytes, answers, &self.spaces, &self.waiter);
        }
        if let Some(pause) = user.pause(arrived) {
            let at = (time::clock() - self.zero).saturating_add(pause);
            self.due.push(Reverse((at, DueAction::Request(index))));
        }
        Ok(())
    }

    fn perform_action(&mut self, at: u64, due: DueAction) -> Result<(), String> {
        let mut again = |time: u64| self.due.push(Reverse((time, due)));
        match due {
            DueAction::Count(index) => self.counts[index].read(at)?,
            DueAction::Change(index) => self.changes[index].send()?,
            DueAction::Datagram(index) => {
                self.udp[index].send(&mut self.payload);
                self.udp[index].due().into_iter().for_each(again);
            }
            DueAction::Start(index) => self.tcp[index].start(index, &self.spaces, &self.waiter)?,
            DueAction::Stop(index) => {
                self.tcp[index].stop(index, &self.waiter).map_err(|why| why.to_string())?;
            }
            DueAction::Transfer(index) => {
                let flow = &mut self.transfers[index];
                flow.start(index, &self.spaces, &self.waiter)?;
                flow.due().into_iter().for_each(again);
            }
            DueAction::Write(index) => {
                let writer = &mut self.writes[index];
                let (flow, (_, bytes)) = (writer.flow, writer.records[writer.next]);
                writer.next += 1;
                writer.due().into_iter().for_each(again);
                self.tcp[flow].add_write(bytes, flow, &self.spaces, &self.waiter)?;
            }
            DueAction::Request(index) => {
                let user = &mut self.exchanges[index];
                let stop = self.tcp[user.answers].orders().stop_ns;
                if stop.is_none_or(|stop| at < stop) {
                    let (flow, bytes) = (user.requests, user.ask());
                    self.tcp[flow].add_write(bytes, flow, &self.spaces, &self.waiter)?;
                }
            }
            DueAction::Tally(index) => {
                let flow = &mut self.transfers[index];
                again(at + flow.sample_ns());
                flow.sample(at);
            }
            DueAction::Drain => {
                again(at + DRAIN_NS);
                self.drain()?;
            }
            DueAction::Sample(index) => {
                again(at + self.tcp[index].orders().sample_ns);
                self.tcp[index].sample(at);
            }
            DueAction::Read(index) => {
                again(at + self.orders.samples[index].step_ns);
                self.series[index].read(at)?;
            }
            DueAction::Snapshot(number, node) => {
                if node + 1 < self.orders.nodes.len() {
                    self.due.push(Reverse((at, DueAction::Snapshot(number, node + 1))));
                }
                if node == 0 {
                    self.marks.note(at)?;
                }
                self.snapshot(number, node)?;
            }
            DueAction::Progress(part) => println!("trunkline: {} %", 100 / PROGRESS_PARTS * part),
            DueAction::End => {}
        }
        Ok(())
    }

    /// Reads a node; the last one ends the snapshot.
    fn snapshot(&mut self, number: usize, node: usize) -> Result<(), String> {
        let Self { orders, spaces, snapshots, .. } = self;
        snapshots[number].read(node, orders, spaces)?;
        if node + 1 == orders.nodes.len() {
            snapshots[number].print_statistics(orders, spaces)?;
        }
        Ok(())
    }

    fn drain(&mut self) -> Result<(), String> {
        self.marks.drain();
        let until = self.orders.duration_ns;
        self.udp
            .iter_mut()
            .try_for_each(|flow| flow.drain(self.zero, until))
            .map_err(|w| w.to_string())
    }

    fn finish(mut self, archive: &mut Archive) -> Result<(), String> {
        self.drain()?;
        for flow in self.udp {
            flow.finish(archive);
        }
        for flow in self.tcp {
            flow.finish(self.zero, archive);
        }
        self.marks.finish(archive);
        for flow in self.transfers {
            flow.finish(self.zero, self.orders.duration_ns, archive);
        }
        for series in self.series.into_iter().chain(self.counts) {
            series.finish(archive);
        }
        for (number, snapshot) in self.snapshots.into_iter().enumerate() {
            snapshot.finish(number, &self.orders, archive)?;
        }
        for watch in self.watches {
            watch.finish(self.zero, &self.orders, &self.spaces, archive)?;
        }
        for daemon in &self.orders.daemons {
            crate::daemons::store_daemon_log(daemon, &self.orders, archive)?;
        }
        archive.put("late_ns", self.late_ns.to_string());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_one_time_packets_leave_before_anything_is_read_and_the_end_is_last() {
        let mut due = BinaryHeap::new();
        let given = [
            DueAction::End,
            DueAction::Snapshot(0, 0),
            DueAction::Drain,
            DueAction::Datagram(1),
            DueAction::Datagram(0),
            DueAction::Change(0),
        ];
        for what in given {
            due.push(Reverse((5, what)));
        }
        due.push(Reverse((4, DueAction::Drain)));
        let order: Vec<_> =
            std::iter::from_fn(|| due.pop().map(|Reverse((_, what))| what)).collect();
        let last = [
            DueAction::Change(0),
            DueAction::Datagram(0),
            DueAction::Datagram(1),
            DueAction::Drain,
            DueAction::Snapshot(0, 0),
            DueAction::End,
        ];
        assert_eq!(order[0], DueAction::Drain);
        assert_eq!(order[1..], last);
    }
}
