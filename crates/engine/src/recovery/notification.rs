//! Notification: how the repairing node learns of another node's detection.
//!
//! A notice travels hop by hop, over links that are up when it is sent, and takes each link's delay and
//! a node's processing time per hop; of several routes the fastest counts (flooding, RFC 3469 section
//! 3.5). Traffic does not delay it.

use super::timeline::TimelineRow;
use super::{Recovery, RecoveryLink, TimelineEvent};
use crate::clock::Clock;
use crate::data_plane::AnyDataPlane;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use trunkline_units::{Span, NEVER};

/// Time from `origin` to every node over links that are up; `NEVER` where none leads.
pub(super) fn notice_times(
    lines: &[RecoveryLink],
    nodes: usize,
    origin: u32,
    processing: Span,
) -> Vec<Span> {
    let mut outgoing: Vec<Vec<&RecoveryLink>> = vec![Vec::new(); nodes];
    for line in lines.iter().filter(|line| line.is_up()) {
        outgoing[line.from as usize].push(line);
    }
    let mut time = vec![NEVER; nodes];
    time[origin as usize] = 0;
    let mut open = BinaryHeap::from([Reverse((0, origin))]);
    while let Some(Reverse((at, node))) = open.pop() {
        if at > time[node as usize] {
            continue;
        }
        for line in &outgoing[node as usize] {
            let arrival_time = at.saturating_add(line.delay + processing);
            if arrival_time < time[line.to as usize] {
                time[line.to as usize] = arrival_time;
                open.push(Reverse((arrival_time, line.to)));
            }
        }
    }
    time
}

impl Recovery {
    /// Sends a detector's notice to the node of its protection.
    pub(super) fn notify(&mut self, clock: &mut Clock, index: usize, guard: u32, down: bool) {
        let config = &self.guards[guard as usize].config;
        let (to, processing) = (config.node, config.processing_ns);
        let from = self.detectors[index].node;
        let nodes = self.nodes;
        let travel = notice_times(&self.lines, nodes, from, processing)[to as usize];
        if travel == NEVER {
            return;
        }
        let notices = &mut self.detectors[index].notices;
        // Two notices of one detector do not overtake each other.
        let at = notices.back().map_or(0, |last| last.0).max(clock.now.saturating_add(travel));
        notices.push_back((at, down));
        if notices.len() == 1 {
            clock.schedule_recovery(self.parts.notices + index as u32, at);
        }
    }

    /// The oldest notice of a detector arrives.
    pub(super) fn deliver_notices(&mut self, plane: &mut AnyDataPlane, index: usize) {
        let detector = &mut self.detectors[index];
        let Some((_, down)) = detector.notices.pop_front() else { return };
        let next = detector.notices.front().map_or(NEVER, |next| next.0);
        let (link, listener) = (detector.link, detector.listener);
        plane.clock.schedule_recovery(self.parts.notices + index as u32, next);
        let super::detector::DetectionListener::Guard(guard) = listener else { return };
        let node = self.guards[guard as usize].config.node;
        self.timeline.rows.push(TimelineRow {
            at: plane.clock.now,
            moment: if down { TimelineEvent::Notified } else { TimelineEvent::RepairNotified },
            protection: Some(guard),
            link: Some(link),
            node: Some(node),
        });
        self.on_notice(plane, guard as usize, index as u32, down);
    }
}
