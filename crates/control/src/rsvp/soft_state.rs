//! Soft state: refresh and expiry.
//!
//! Source: RFC 2205 section 3.7 (refresh and lifetime).
//! Differs: a node that lost the link before it tears the path behind it at once.

use super::message::{Kind, PathKey, NO_ROUTE};
use super::state::PathState;
use super::{event, Rsvp, RsvpTimer};
use crate::{LinkNews, NetworkPlane};
use trunkline_units::NEVER;

impl Rsvp {
    /// Refreshes a state at a neighbour.
    pub(super) fn refresh(
        &mut self,
        node: u32,
        key: PathKey,
        kind: Kind,
        plane: &mut dyn NetworkPlane,
    ) {
        let Some(message) = self.describe(node, key, kind) else { return };
        let state = &self.states[&(node, key)];
        let route = &state.request.route;
        let around = if kind == Kind::Path { state.is_on_bypass() } else { state.tunnel.is_some() };
        let link = match kind {
            Kind::Path => Some(route[message.hop - 1]),
            _ => self.lines[route[message.hop] as usize].reverse,
        };
        if around {
            match kind {
                Kind::Path => self.send_around(node, key, kind, plane),
                _ => self.send_up(message, plane),
            }
        } else if self.config.summary {
            // Identifiers refresh it.
            return;
        } else if let Some(link) = link {
            self.transmit(link, message, plane);
        }
        let at = plane.now() + self.refresh_span(node);
        self.timers.set(at, RsvpTimer::Refresh(node, key, kind));
    }

    /// A state's time may be over.
    pub(super) fn expire(
        &mut self,
        node: u32,
        key: PathKey,
        kind: Kind,
        plane: &mut dyn NetworkPlane,
    ) {
        let Some(state) = self.states.get(&(node, key)) else { return };
        let until = if kind == Kind::Path { state.path_until } else { state.resv_until };
        if until > plane.now() {
            if until != NEVER {
                self.timers.set(until, RsvpTimer::Expire(node, key, kind));
            }
            return;
        }
        if self.is_carried(node, key, kind) {
            let until = plane.now() + self.lifetime();
            return self.timers.set(until, RsvpTimer::Expire(node, key, kind));
        }
        plane.record_row(self.record_event(event::TIMED_OUT, key, (node, state.out_link()), None));
        match (kind, state.out_link()) {
            (Kind::Resv, Some(_)) => self.unreserve(node, key, plane),
            _ => self.on_path_tear(node, key, plane),
        }
    }

    /// A node notices that a link to it has gone down, with the one back, or has come up.
    pub fn link_changed(&mut self, node: u32, link: u32, down: bool, plane: &mut dyn NetworkPlane) {
        self.timers.advance(plane.now());
        let at = (node, link);
        if down != self.down.contains(&at) {
            let _ = if down { self.down.insert(at) } else { self.down.remove(&at) };
            let back = self.lines[link as usize].reverse;
            for each in [Some(link), back].into_iter().flatten() {
                if let Some(span) = self.config.flooding_ns {
                    self.timers.set(plane.now() + span, RsvpTimer::News(each, LinkNews::Up(!down)));
                }
            }
            if down {
                self.lose_link(node, link, back, plane);
            } else {
                self.regain_link(node, link, back, plane);
            }
        }
    }

    fn lose_link(&mut self, node: u32, link: u32, back: Option<u32>, plane: &mut dyn NetworkPlane) {
        for key in self.paths_over_link(node, link, back) {
            let Some(state) = self.states.get_mut(&(node, key)) else { continue };
            let before = state.in_link() == Some(link);
            if before && state.request.protection().is_some() {
                // The node before may yet send its Path around the failure (RFC 4090 section 7).
                state.orphan = true;
            } else if before {
                self.on_path_tear(node, key, plane);
            } else if state.repair.is_none() && !self.repair(node, key, plane) {
                self.drop_path(node, key, (NO_ROUTE, back.unwrap_or(link)), plane);
            }
        }
    }

    /// Paths at a node that arrive over a link or leave on the one back.
    pub(super) fn paths_over_link(&self, node: u32, link: u32, back: Option<u32>) -> Vec<PathKey> {
        let range = (node, PathKey::first(0))..=(node, PathKey::last(u32::MAX));
        let hit = |state: &PathState| state.in_link() == Some(link) || state.out_link() == back;
        self.states.range(range).filter(|(_, it)| hit(it)).map(|(at, _)| at.1).collect()
    }
}
