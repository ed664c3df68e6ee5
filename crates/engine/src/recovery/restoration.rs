//! Restoration: a path computed after the failure and signalled before it is used.
//!
//! The head computes the shortest path over links that are up and not drained, by metric, then signals
//! it: a request to the tail and a reply with the labels (RSVP Path and Resv, RFC 3209 section 2.2),
//! each hop with the link's delay and a node's processing time.
//! Absent: admission of bandwidth.

use super::protection::ProtectionState;
use super::{routes, Recovery, TimelineEvent};
use crate::clock::Clock;
use crate::data_plane::AnyDataPlane;
use crate::route::{Edge, Fib, RouteSearch, LOCAL_DELIVERY, UNREACHABLE};
use trunkline_units::{Span, NEVER};

impl Recovery {
    /// The head computes a path and begins to set it up.
    pub(super) fn compute_path(&mut self, clock: &mut Clock, index: usize) {
        let guard = &self.guards[index];
        let (config, egress) = (&guard.config, guard.egress);
        let Some(route) = self.shortest(config.node, egress) else {
            self.guards[index].route.clear();
            self.note(clock.now, index, TimelineEvent::NoPath);
            return self.enter(clock, index, ProtectionState::Stranded, NEVER);
        };
        let hop = |link: &u32| {
            let back = self.lines[*link as usize].reverse.unwrap_or(*link);
            let delay = |link: u32| self.lines[link as usize].delay;
            delay(*link) + delay(back)
        };
        let processing = (2 * route.len() as u64).saturating_mul(config.processing_ns);
        let times = route.iter().map(hop).chain([config.compute_ns, processing, config.switch_ns]);
        let ready = times.fold(clock.now, Span::saturating_add);
        self.guards[index].route = route;
        self.enter(clock, index, ProtectionState::Switching, ready);
    }

    /// Tries again for protections that found no path.
    pub(super) fn retry_restorations(&mut self, clock: &mut Clock) {
        for index in 0..self.guards.len() {
            if self.guards[index].state == ProtectionState::Stranded {
                self.compute_path(clock, index);
            }
        }
    }

    /// Puts the labels of a computed path into the tables; false if a link of it failed meanwhile.
    pub(super) fn install_path(&mut self, plane: &mut AnyDataPlane, index: usize) -> bool {
        let guard = &self.guards[index];
        let (route, path) = (guard.route.clone(), guard.config.path);
        if !route.iter().all(|link| self.lines[*link as usize].is_up()) {
            return false;
        }
        if let Some(routes) = &mut self.routes {
            routes.rows.extend(route.iter().map(|&link| routes::RouteRow {
                at: plane.clock.now,
                protection: Some(index as u32),
                node: self.lines[link as usize].from,
                destination: None,
                link: Some(link),
            }));
        }
        let mut out = None;
        for &link in route.iter().rev() {
            let label = self.next_label;
            self.next_label -= 1;
            let node = self.lines[link as usize].to;
            plane.tables.mpls.install(node, label, out, path);
            out = Some((label, link));
            self.guards[index].label = label;
        }
        true
    }

    /// Links of the shortest path over links that are up and not drained.
    fn shortest(&self, from: u32, to: u32) -> Option<Vec<u32>> {
        let edge = |line: &super::RecoveryLink| Edge {
            from: line.from,
            to: line.to,
            metric: (line.is_up() && !line.is_drained).then_some(line.metric),
        };
        let edges: Vec<Edge> = self.lines.iter().map(edge).collect();
        let fib = Fib::new(self.nodes, &edges, &[to], RouteSearch::default());
        let (mut node, mut route) = (from, Vec::new());
        loop {
            match fib.next(node, 0) {
                LOCAL_DELIVERY => return Some(route),
                UNREACHABLE => return None,
                link => {
                    route.push(link);
                    node = self.lines[link as usize].to;
                }
            }
        }
    }
}
