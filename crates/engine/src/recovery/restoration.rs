//! Restoration: a path computed after the failure and signalled before it is used.
//!
//! The head computes the shortest path over links that are up and not drained, by metric, then signals
//! it: a request to the tail and a reply with the labels (RSVP Path and Resv, RFC 3209 section 2.2),
//! each hop with the link's delay and a node's processing time.
//! Absent: admission of bandwidth.

use super::protection::ProtectionState;
use super::{routes, TimelineEvent};
use crate::observer::Observer;
use crate::route::{Edge, Fib, RouteSearch, LOCAL_DELIVERY, UNREACHABLE};
use crate::simulation::Simulation;
use trunkline_units::{Span, NEVER};

impl<O: Observer> Simulation<O> {
    /// The head computes a path and begins to set it up.
    pub(super) fn compute_path(&mut self, index: usize) {
        let guard = &self.recovery.guards[index];
        let (config, egress) = (&guard.config, guard.egress);
        let Some(route) = self.shortest(config.node, egress) else {
            self.recovery.guards[index].route.clear();
            self.note(index, TimelineEvent::NoPath);
            return self.enter(index, ProtectionState::Stranded, NEVER);
        };
        let hop = |link: &u32| {
            let back = self.recovery.lines[*link as usize].reverse.unwrap_or(*link);
            let delay = |link: u32| self.recovery.lines[link as usize].delay;
            delay(*link) + delay(back)
        };
        let processing = (2 * route.len() as u64).saturating_mul(config.processing_ns);
        let times = route.iter().map(hop).chain([config.compute_ns, processing, config.switch_ns]);
        let ready = times.fold(self.now, Span::saturating_add);
        self.recovery.guards[index].route = route;
        self.enter(index, ProtectionState::Switching, ready);
    }

    /// Tries again for protections that found no path.
    pub(super) fn retry_restorations(&mut self) {
        for index in 0..self.recovery.guards.len() {
            if self.recovery.guards[index].state == ProtectionState::Stranded {
                self.compute_path(index);
            }
        }
    }

    /// Puts the labels of a computed path into the tables; false if a link of it failed meanwhile.
    pub(super) fn install_path(&mut self, index: usize) -> bool {
        let guard = &self.recovery.guards[index];
        let (route, path) = (guard.route.clone(), guard.config.path);
        if !route.iter().all(|link| self.recovery.lines[*link as usize].is_up()) {
            return false;
        }
        if let Some(routes) = &mut self.recovery.routes {
            routes.rows.extend(route.iter().map(|&link| routes::RouteRow {
                at: self.now,
                protection: Some(index as u32),
                node: self.recovery.lines[link as usize].from,
                destination: None,
                link: Some(link),
            }));
        }
        let mut out = None;
        for &link in route.iter().rev() {
            let label = self.recovery.next_label;
            self.recovery.next_label -= 1;
            let node = self.recovery.lines[link as usize].to;
            self.tables.install(node, label, out, path);
            out = Some((label, link));
            self.recovery.guards[index].label = label;
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
        let edges: Vec<Edge> = self.recovery.lines.iter().map(edge).collect();
        let fib = Fib::new(self.node_names.len(), &edges, &[to], RouteSearch::default());
        let (mut node, mut route) = (from, Vec::new());
        loop {
            match fib.next(node, 0) {
                LOCAL_DELIVERY => return Some(route),
                UNREACHABLE => return None,
                link => {
                    route.push(link);
                    node = self.recovery.lines[link as usize].to;
                }
            }
        }
    }
}
