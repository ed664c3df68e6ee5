//! Failures: links that go down and come up together.
//!
//! Packets on a link and in its port are lost when it fails: `failed_queued` those that wait in the
//! queue, `failed_in_flight` those being transmitted or in flight. Packets that arrive at a link that is
//! down are lost as `link_down`, or `node_down` where the failure is a node's. Links that are drained
//! before a planned outage still carry packets; protections and routing take them for failed at once.

use super::timeline::TimelineRow;
use super::TimelineEvent;
use crate::classifier::Assignment;
use crate::link::LostPacket;
use crate::network::recovery::{Drain, Failure, Outage, Outages};
use crate::observer::Observer;
use crate::simulation::Simulation;
use trunkline_packet::Cause;
use trunkline_units::{RandomStream, Time, NEVER};

/// A failure as it runs.
#[derive(Clone, Debug)]
pub(super) struct RunningFailure {
    links: Vec<u32>,
    node: bool,
    down: bool,
    next_at: Time,
    outages: OutageSchedule,
    /// Still to come.
    drain: Option<Drain>,
    /// Routers advertise its links with the largest metric.
    has_drained_metric: bool,
}

#[derive(Clone, Debug)]
enum OutageSchedule {
    Fixed(std::vec::IntoIter<Outage>, Option<Time>),
    Random { mtbf: f64, mttr: f64, random: Box<RandomStream> },
}

impl RunningFailure {
    pub fn new(failure: &Failure, seed: u64) -> Self {
        let outages = match &failure.outages {
            Outages::Fixed { at } => OutageSchedule::Fixed(at.clone().into_iter(), None),
            Outages::Random { mtbf_ns, mttr_ns } => OutageSchedule::Random {
                mtbf: *mtbf_ns as f64,
                mttr: *mttr_ns as f64,
                random: Box::new(RandomStream::new(
                    seed,
                    &format!("failures[{}]", failure.name),
                    "outages",
                )),
            },
        };
        let links = failure.links.clone();
        let mut breakage = Self {
            links,
            node: failure.node,
            down: false,
            next_at: 0,
            outages,
            drain: failure.drain,
            has_drained_metric: false,
        };
        breakage.advance();
        breakage
    }

    /// When it is next drained, down or up.
    pub fn next_at(&self) -> Time {
        self.drain.map_or(self.next_at, |drain| drain.at_ns)
    }

    /// Sets when the state `down` that begins at `next_at` ends.
    fn advance(&mut self) {
        self.next_at = match &mut self.outages {
            OutageSchedule::Fixed(outages, repaired) if !self.down => match outages.next() {
                Some(outage) => {
                    *repaired = outage.repaired_ns;
                    outage.failed_ns
                }
                None => NEVER,
            },
            OutageSchedule::Fixed(_, repaired) => repaired.unwrap_or(NEVER),
            OutageSchedule::Random { mtbf, mttr, random } => {
                let span = random.exponential(if self.down { *mttr } else { *mtbf });
                // A time up or down lasts at least a nanosecond.
                self.next_at.saturating_add((span as u64).max(1))
            }
        };
    }
}

impl<O: Observer> Simulation<O> {
    /// A failure begins or ends, or the drain before it begins.
    pub(super) fn change_failure(&mut self, index: usize) {
        let breakage = &mut self.recovery.breakages[index];
        if let Some(drain) = breakage.drain.take() {
            breakage.has_drained_metric = drain.by_metric;
            let (links, next_at) = (breakage.links.clone(), breakage.next_at);
            self.schedule_recovery(index as u32, next_at);
            for &link in &links {
                self.note_link(link, TimelineEvent::Drained);
            }
            for link in links {
                self.drain_link(link, drain);
            }
            return;
        }
        breakage.down = !breakage.down;
        let (down, node) = (breakage.down, breakage.node);
        let ends_drain = !down && std::mem::take(&mut breakage.has_drained_metric);
        breakage.advance();
        let (links, next_at) = (breakage.links.clone(), breakage.next_at);
        self.schedule_recovery(index as u32, next_at);
        for link in links {
            if down {
                self.take_down(link, node);
            } else {
                if ends_drain {
                    self.report_drain(link, false);
                }
                self.bring_up(link, node);
            }
        }
    }

    fn take_down(&mut self, index: u32, node: bool) {
        let line = &mut self.recovery.lines[index as usize];
        line.failures += 1;
        line.node_failures += u32::from(node);
        if line.failures > 1 {
            return;
        }
        let from = line.from;
        let held = self.cut_link(index);
        // No packet is small enough for a link that is down: the check of its size, which every packet
        // passes, then replaces a check of the link.
        self.links[index as usize].mtu = 0;
        self.calendar.cancel(self.sources.arrivals + index);
        self.calendar.cancel(self.sources.transmitters + index);
        for lost in held {
            // Other regions lose their packets of the link before or after this.
            self.observer.on_region_step();
            self.drop_held_packets(index, from, lost);
        }
        self.lose_late_packets(index, from);
        self.note_link(index, TimelineEvent::Failed);
        self.link_changed(index, true);
    }

    fn drop_held_packets(&mut self, link: u32, node: u32, lost: Vec<LostPacket>) {
        for LostPacket { packet, queued, class, precedence } in lost {
            let (cause, place) = match queued {
                true => (Cause::FailedQueued, Assignment { class, precedence }),
                false => (Cause::FailedInFlight, Assignment::outside(precedence)),
            };
            self.drop_packet(packet, cause, Some(link), node, place);
        }
    }

    fn bring_up(&mut self, index: u32, node: bool) {
        let line = &mut self.recovery.lines[index as usize];
        line.failures -= 1;
        line.node_failures -= u32::from(node);
        if !line.is_up() {
            return;
        }
        line.is_drained = false;
        self.links[index as usize].mtu = line.mtu;
        self.note_link(index, TimelineEvent::Repaired);
        self.link_changed(index, false);
        self.retry_restorations();
    }

    /// A row for the link, and one for each protection that watches it.
    fn note_link(&mut self, link: u32, moment: TimelineEvent) {
        let at = self.now;
        let watching = self.recovery.guards.iter().zip(0..);
        let watching = watching.filter(|(guard, _)| guard.config.watches.contains(&link));
        let row = |protection| TimelineRow { at, moment, protection, link: Some(link), node: None };
        let rows: Vec<TimelineRow> =
            std::iter::once(row(None)).chain(watching.map(|(_, index)| row(Some(index)))).collect();
        self.recovery.timeline.rows.extend(rows);
    }
}
