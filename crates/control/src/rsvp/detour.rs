//! Detours: a separate path from each node of a protected path around the link or node behind it.
//!
//! Source: RFC 4090 sections 3.1 (one-to-one backup), 4.2 (DETOUR), 6.1.1 (sender
//! template-specific), 6.3 (computed by the node itself), 7.1.2 (merge point).
//! Differs: a detour ends where it first meets the path behind the protected element, with the path's
//! label there; a node that finds no route tries again after the retry time of a head.
//! `merging.rs` has the merging of detours with each other.

use super::message::{
    other_sender, Detour, Kind, PathKey, PathRequest, RsvpMessage, ALIAS_BIT, NO_ROUTE,
};
use super::state::PathState;
use super::te_database::{RouteBounds, RouteRequirements};
use super::{Rsvp, RsvpTimer};
use crate::NetworkPlane;
use std::collections::BTreeSet;
use std::sync::Arc;
use trunkline_units::NEVER;

fn detour_key(node: u32, key: PathKey) -> PathKey {
    PathKey { sender: other_sender(node, key.sender), ..key }
}

impl Rsvp {
    /// A node's detour of a path that is up: its key, links, and where they meet again.
    pub(super) fn detour_of(
        &self,
        node: u32,
        key: PathKey,
        state: &PathState,
    ) -> Option<(PathKey, Arc<[u32]>, usize)> {
        let own = detour_key(node, key);
        let detour = self
            .states
            .get(&(node, own))
            .filter(|detour_state| detour_state.reserved && detour_state.hop == 0)?;
        let beyond = detour.request.detour.as_ref()?.beyond.len();
        Some((own, detour.request.route.clone(), state.request.route.len() - beyond))
    }

    /// A node makes its detour of a path, unless it has one.
    pub(super) fn begin_detour(&mut self, node: u32, key: PathKey, plane: &mut dyn NetworkPlane) {
        let Some(state) = self.states.get(&(node, key)).filter(|request| request.reserved) else {
            return;
        };
        let Some(desired) = state.request.protection().filter(|request| request.one_to_one) else {
            return;
        };
        let own = detour_key(node, key);
        if self.states.contains_key(&(node, own)) || state.repair.is_some() {
            return;
        }
        let Some((links, avoided)) = self.find_detour_route(node, key, state) else {
            return self.await_detour(node, key, plane);
        };
        let request = &state.request;
        let end = links.last().map(|link| self.lines[*link as usize].to);
        let meets =
            request.route.iter().position(|link| Some(self.lines[*link as usize].to) == end);
        let beyond = request.route[meets.map_or(request.route.len(), |place| place + 1)..].into();
        let request = Arc::new(PathRequest {
            route: links.into(),
            bandwidth: if desired.bandwidth { request.bandwidth } else { 0 },
            detour: Some(Detour { pairs: Arc::new([(node, avoided)]), beyond }),
            ..request.as_ref().clone()
        });
        let link = request.route[0];
        if self.admission_error(node, link, own, &request).is_some() {
            return self.await_detour(node, key, plane);
        }
        self.open(node, own, request.clone(), 0, plane.now());
        self.send(link, RsvpMessage::for_path(Kind::Path, own, request, 1), plane);
    }

    fn await_detour(&mut self, node: u32, key: PathKey, plane: &dyn NetworkPlane) {
        let at = plane.now() + self.config.retry_ns;
        self.timers.set(at, RsvpTimer::Detour(node, key));
    }

    /// Links of a detour, and the node that it avoids: configured for a first route, else computed.
    fn find_detour_route(
        &self,
        node: u32,
        key: PathKey,
        state: &PathState,
    ) -> Option<(Vec<u32>, u32)> {
        let head = &self.heads[key.session as usize];
        let protection = head.protection.as_ref()?;
        let (request, out) = (&state.request, state.out_link()?);
        let next = self.lines[out as usize].to;
        let begins = |links: &&Vec<u32>| self.lines[links[0] as usize].from == node;
        if head.first.as_ref() == request.route.as_ref() {
            if let Some(links) = protection.detours.iter().find(begins) {
                return Some((links.clone(), next));
            }
        }
        if !protection.computed {
            return None;
        }
        let avoid_node_options = [protection.node && next != request.tail, false];
        avoid_node_options.into_iter().find_map(|avoid_node| {
            let avoid: BTreeSet<u32> = (0..self.lines.len() as u32)
                .filter(|&link| {
                    let line = &self.lines[link as usize];
                    let same = link == out || self.lines[out as usize].reverse == Some(link);
                    same || avoid_node && (line.from == next || line.to == next)
                })
                .collect();
            let requirements = RouteRequirements {
                ends: (node, request.tail),
                bandwidth: if protection.bandwidth { request.bandwidth } else { 0 },
                te_class: self.te_class(request.class_type, request.setup)?,
                avoid: &avoid,
                own: (&request.route, request.bandwidth),
                cost: &self.costs.igp,
                bounds: RouteBounds::default(),
            };
            let route = self.database(node).route(&self.lines, &requirements)?;
            let behind = |link: &u32| {
                let to = self.lines[*link as usize].to;
                request.route[state.hop..].iter().any(|it| self.lines[*it as usize].to == to)
            };
            let end = route.iter().position(behind)?;
            Some((route[..=end].to_vec(), next))
        })
    }

    /// The end of a detour: it continues as the path that it joins.
    pub(super) fn merge(&mut self, node: u32, key: PathKey, plane: &mut dyn NetworkPlane) {
        let Some(state) = self.states.get(&(node, key)) else { return };
        let main = PathKey { sender: state.request.head, ..key };
        let joined = self.states.get(&(node, main)).filter(|main_state| main_state.reserved);
        let Some((label, record)) =
            joined.map(|main_state| (main_state.label, main_state.record.clone()))
        else {
            return self.drop_path(node, key, (NO_ROUTE, 0), plane);
        };
        if let Some(state) = self.states.get_mut(&(node, key)) {
            (state.reserved, state.label, state.record) = (true, label, record);
        }
        self.reply(node, key, plane);
    }

    /// Whether detours of a path end at a node in it.
    pub(super) fn merges_detour(&self, node: u32, key: PathKey) -> bool {
        let ends = |state: &PathState| state.request.detour.is_some() && state.out_link().is_none();
        key.sender == self.ends(key.session).0
            && self.states.range(key.of_senders(node)).any(|it| ends(it.1))
    }

    /// The last detour of a path without another sender has left its end.
    pub(super) fn end_merged(&mut self, node: u32, key: PathKey, plane: &mut dyn NetworkPlane) {
        let main = PathKey { sender: self.ends(key.session).0, ..key };
        let alone = self
            .states
            .get(&(node, main))
            .is_some_and(|state| state.orphan && state.tunnel.is_none());
        if alone && !self.merges_detour(node, main) {
            self.on_path_tear(node, main, plane);
        }
    }

    /// Whether a detour keeps a path's state alive: at the first node of the detour, and at its end.
    pub(super) fn is_carried(&self, node: u32, key: PathKey, kind: Kind) -> bool {
        let Some(state) = self.states.get(&(node, key)) else { return false };
        match kind {
            Kind::Path => state.path_until != NEVER && self.merges_detour(node, key),
            _ => {
                state.repair.is_some()
                    && !state.is_on_bypass()
                    && self.detour_of(node, key, state).is_some()
            }
        }
    }

    /// A path has been removed from a node: its detour there is removed too.
    pub(super) fn end_detour(&mut self, node: u32, key: PathKey, plane: &mut dyn NetworkPlane) {
        let own = detour_key(node, key);
        if key.sender == self.ends(key.session).0 && self.states.contains_key(&(node, own)) {
            self.on_path_tear(node, own, plane);
        }
    }

    /// A detour has ended for the node that it begins at.
    pub(super) fn on_lost_detour(&mut self, key: PathKey, plane: &mut dyn NetworkPlane) {
        let node = key.sender & !ALIAS_BIT;
        let main = PathKey { sender: self.ends(key.session).0, ..key };
        self.on_path_tear(node, key, plane);
        let Some(state) = self.states.get(&(node, main)) else { return };
        if state.repair.is_some() {
            return self.drop_repaired_path(node, main, plane);
        }
        self.update_protection_flags(node, main, plane);
        self.await_detour(node, main, plane);
    }

    /// A repaired path has lost its backup.
    pub(super) fn drop_repaired_path(
        &mut self,
        node: u32,
        key: PathKey,
        plane: &mut dyn NetworkPlane,
    ) {
        let out = self.states.get(&(node, key)).and_then(PathState::out_link);
        if let Some(out) = out {
            self.drop_path(node, key, (NO_ROUTE, out), plane);
        }
    }
}
