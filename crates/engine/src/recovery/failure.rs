//! Failures: links that go down and come up together.
//!
//! Packets on a link and in its port are lost when it fails: `failed_queued` those that wait in the
//! queue, `failed_in_flight` those being transmitted or in flight. Packets that arrive at a link that is
//! down are lost as `link_down`, or `node_down` where the failure is a node's. Links that are drained
//! before a planned outage still carry packets; protections and routing take them for failed at once.

use super::timeline::TimelineRow;
use super::{Recovery, TimelineEvent};
use crate::classifier::Assignment;
use crate::clock::Clock;
use crate::data_plane::{AnyDataPlane, DataPlane};
use crate::link::LostPacket;
use crate::network::recovery::{Drain, Failure, Outage, Outages};
use crate::observer::Observer;
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

/// A change of a link by a failure.
#[derive(Clone, Copy, Debug)]
pub(super) enum LinkChange {
    Drain(Drain),
    /// `node`: the failure is a node's.
    Down {
        node: bool,
    },
    Up {
        node: bool,
        ends_drain: bool,
    },
}

impl Recovery {
    /// A failure begins or ends, or the drain before it begins: its links, and the change of each.
    pub(super) fn advance_failure(
        &mut self,
        clock: &mut Clock,
        index: usize,
    ) -> (Vec<u32>, LinkChange) {
        let breakage = &mut self.breakages[index];
        let change = if let Some(drain) = breakage.drain.take() {
            breakage.has_drained_metric = drain.by_metric;
            LinkChange::Drain(drain)
        } else {
            breakage.down = !breakage.down;
            let node = breakage.node;
            breakage.advance();
            match breakage.down {
                true => LinkChange::Down { node },
                false => {
                    let ends_drain = std::mem::take(&mut breakage.has_drained_metric);
                    LinkChange::Up { node, ends_drain }
                }
            }
        };
        let (links, next_at) = (breakage.links.clone(), breakage.next_at);
        clock.schedule_recovery(index as u32, next_at);
        if let LinkChange::Drain(_) = change {
            for &link in &links {
                self.note_link(clock.now, link, TimelineEvent::Drained);
            }
        }
        (links, change)
    }

    /// One link of a failure changes.
    pub(super) fn change_link<O: Observer>(
        &mut self,
        plane: &mut DataPlane<O>,
        link: u32,
        change: LinkChange,
    ) {
        match change {
            LinkChange::Drain(drain) => self.drain_link(plane, link, drain),
            LinkChange::Down { node } => self.take_down(plane, link, node),
            LinkChange::Up { node, .. } => self.bring_up(plane, link, node),
        }
    }

    fn take_down<O: Observer>(&mut self, plane: &mut DataPlane<O>, index: u32, node: bool) {
        let line = &mut self.lines[index as usize];
        line.failures += 1;
        line.node_failures += u32::from(node);
        plane.ports.refusals[index as usize] = line.refusal();
        if line.failures > 1 {
            return;
        }
        let from = line.from;
        let held = plane.cut_link(index);
        // No packet is small enough for a link that is down: the check of its size, which every packet
        // passes, then replaces a check of the link.
        plane.ports.links[index as usize].mtu = 0;
        plane.clock.cancel_arrival(index);
        plane.clock.cancel_transmitter(index);
        for lost in held {
            // Other regions lose their packets of the link before or after this.
            plane.observer.on_region_step();
            drop_held_packets(plane, index, from, lost);
        }
        plane.lose_late_packets(index, from);
        self.note_link(plane.clock.now, index, TimelineEvent::Failed);
        self.link_changed(&mut plane.clock, index, true);
    }

    fn bring_up(&mut self, plane: &mut AnyDataPlane, index: u32, node: bool) {
        let line = &mut self.lines[index as usize];
        line.failures -= 1;
        line.node_failures -= u32::from(node);
        plane.ports.refusals[index as usize] = line.refusal();
        if !line.is_up() {
            return;
        }
        line.is_drained = false;
        plane.ports.links[index as usize].mtu = line.mtu;
        self.note_link(plane.clock.now, index, TimelineEvent::Repaired);
        self.link_changed(&mut plane.clock, index, false);
        self.retry_restorations(&mut plane.clock);
    }

    /// A row for the link, and one for each protection that watches it.
    fn note_link(&mut self, at: Time, link: u32, moment: TimelineEvent) {
        let watching = self.guards.iter().zip(0..);
        let watching = watching.filter(|(guard, _)| guard.config.watches.contains(&link));
        let row = |protection| TimelineRow { at, moment, protection, link: Some(link), node: None };
        let rows: Vec<TimelineRow> =
            std::iter::once(row(None)).chain(watching.map(|(_, index)| row(Some(index)))).collect();
        self.timeline.rows.extend(rows);
    }
}

fn drop_held_packets<O: Observer>(
    plane: &mut DataPlane<O>,
    link: u32,
    node: u32,
    lost: Vec<LostPacket>,
) {
    for LostPacket { packet, queued, class, precedence } in lost {
        let (cause, place) = match queued {
            true => (Cause::FailedQueued, Assignment { class, precedence }),
            false => (Cause::FailedInFlight, Assignment::outside(precedence)),
        };
        plane.drop_packet(packet, cause, Some(link), node, place);
    }
}
