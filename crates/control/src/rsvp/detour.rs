//! Detours: a path of its own around the link or node behind each node of a protected path.
//!
//! Source: RFC 4090 sections 3.1 (one-to-one backup), 4.2 (DETOUR), 6.1.1 (sender
//! template-specific), 6.3 (computed by the node itself), 7.1.2 (merge point).
//! Differs: a detour ends where it first meets the path behind what it goes around, with the
//! path's label there; a node that finds no way tries again after the time of a head.
//! `merging.rs` is how detours merge with each other.

use super::database::Wanted;
use super::message::{other_sender, Detour, Key, Kind, Message, Request, ALIAS, NO_ROUTE};
use super::state::State;
use super::{Rsvp, Timer};
use crate::Plane;
use std::collections::BTreeSet;
use std::sync::Arc;
use trunkline_units::NEVER;

fn key_at(node: u32, key: Key) -> Key {
    Key { sender: other_sender(node, key.sender), ..key }
}

impl Rsvp {
    /// A node's detour of a path that is up: its key, links, and where they meet again.
    pub(super) fn detour_of(
        &self,
        node: u32,
        key: Key,
        state: &State,
    ) -> Option<(Key, Arc<[u32]>, usize)> {
        let own = key_at(node, key);
        let detour = self.states.get(&(node, own)).filter(|its| its.reserved && its.hop == 0)?;
        let beyond = detour.request.detour.as_ref()?.beyond.len();
        Some((own, detour.request.route.clone(), state.request.route.len() - beyond))
    }

    /// A node makes its detour of a path, unless it has one.
    pub(super) fn begin_detour(&mut self, node: u32, key: Key, plane: &mut dyn Plane) {
        let Some(state) = self.states.get(&(node, key)).filter(|its| its.reserved) else { return };
        let Some(desired) = state.request.protection().filter(|its| its.one_to_one) else { return };
        let own = key_at(node, key);
        if self.states.contains_key(&(node, own)) || state.repair.is_some() {
            return;
        }
        let Some((links, avoided)) = self.way_around(node, key, state) else {
            return self.await_detour(node, key, plane);
        };
        let its = &state.request;
        let end = links.last().map(|link| self.lines[*link as usize].to);
        let meets = its.route.iter().position(|link| Some(self.lines[*link as usize].to) == end);
        let beyond = its.route[meets.map_or(its.route.len(), |place| place + 1)..].into();
        let request = Arc::new(Request {
            route: links.into(),
            bandwidth: if desired.bandwidth { its.bandwidth } else { 0 },
            detour: Some(Detour { pairs: Arc::new([(node, avoided)]), beyond }),
            ..its.as_ref().clone()
        });
        let link = request.route[0];
        if self.objection(node, link, own, &request).is_some() {
            return self.await_detour(node, key, plane);
        }
        self.open(node, own, request.clone(), 0, plane.now());
        self.send(link, Message::of(Kind::Path, own, request, 1), plane);
    }

    fn await_detour(&mut self, node: u32, key: Key, plane: &dyn Plane) {
        let at = plane.now() + self.config.retry_ns;
        self.timers.set(at, Timer::Detour(node, key));
    }

    /// Links of a detour, and the node that it goes around: given for a first route, else computed.
    fn way_around(&self, node: u32, key: Key, state: &State) -> Option<(Vec<u32>, u32)> {
        let head = &self.heads[key.session as usize];
        let protection = head.protection.as_ref()?;
        let (its, out) = (&state.request, state.out_link()?);
        let next = self.lines[out as usize].to;
        let begins = |links: &&Vec<u32>| self.lines[links[0] as usize].from == node;
        if head.first.as_ref() == its.route.as_ref() {
            if let Some(links) = protection.detours.iter().find(begins) {
                return Some((links.clone(), next));
            }
        }
        if !protection.computed {
            return None;
        }
        let ways = [protection.node && next != its.tail, false];
        ways.into_iter().find_map(|whole| {
            let avoid: BTreeSet<u32> = (0..self.lines.len() as u32)
                .filter(|&link| {
                    let line = &self.lines[link as usize];
                    let same = link == out || self.lines[out as usize].reverse == Some(link);
                    same || whole && (line.from == next || line.to == next)
                })
                .collect();
            let wanted = Wanted {
                ends: (node, its.tail),
                bandwidth: if protection.bandwidth { its.bandwidth } else { 0 },
                setup: its.setup,
                avoid: &avoid,
                own: (&its.route, its.bandwidth),
            };
            let found = self.database(node).route(&self.lines, &wanted)?;
            let behind = |link: &u32| {
                let to = self.lines[*link as usize].to;
                its.route[state.hop..].iter().any(|it| self.lines[*it as usize].to == to)
            };
            let end = found.iter().position(behind)?;
            Some((found[..=end].to_vec(), next))
        })
    }

    /// The end of a detour: it goes on as the path that it joins.
    pub(super) fn merge(&mut self, node: u32, key: Key, plane: &mut dyn Plane) {
        let Some(state) = self.states.get(&(node, key)) else { return };
        let main = Key { sender: state.request.head, ..key };
        let joined = self.states.get(&(node, main)).filter(|its| its.reserved);
        let Some((label, record)) = joined.map(|its| (its.label, its.record.clone())) else {
            return self.drop_path(node, key, (NO_ROUTE, 0), plane);
        };
        if let Some(state) = self.states.get_mut(&(node, key)) {
            (state.reserved, state.label, state.record) = (true, label, record);
        }
        self.reply(node, key, plane);
    }

    /// Whether detours of a path end at a node in it.
    pub(super) fn merges_detour(&self, node: u32, key: Key) -> bool {
        let ends = |its: &State| its.request.detour.is_some() && its.out_link().is_none();
        key.sender == self.ends(key.session).0
            && self.states.range(key.of_senders(node)).any(|it| ends(it.1))
    }

    /// The last detour of a path that nothing else feeds has gone from its end.
    pub(super) fn end_merged(&mut self, node: u32, key: Key, plane: &mut dyn Plane) {
        let main = Key { sender: self.ends(key.session).0, ..key };
        let alone =
            self.states.get(&(node, main)).is_some_and(|its| its.orphan && its.tunnel.is_none());
        if alone && !self.merges_detour(node, main) {
            self.on_path_tear(node, main, plane);
        }
    }

    /// A path's state is kept by the detour that carries it: at the node that it begins at, and at
    /// its end.
    pub(super) fn is_carried(&self, node: u32, key: Key, kind: Kind) -> bool {
        let Some(state) = self.states.get(&(node, key)) else { return false };
        match kind {
            Kind::Path => state.path_until != NEVER && self.merges_detour(node, key),
            _ => {
                state.repair.is_some()
                    && !state.goes_around()
                    && self.detour_of(node, key, state).is_some()
            }
        }
    }

    /// A path has gone from a node: so has its detour there.
    pub(super) fn end_detour(&mut self, node: u32, key: Key, plane: &mut dyn Plane) {
        let own = key_at(node, key);
        if key.sender == self.ends(key.session).0 && self.states.contains_key(&(node, own)) {
            self.on_path_tear(node, own, plane);
        }
    }

    /// A detour has ended for the node that it begins at.
    pub(super) fn on_lost_detour(&mut self, key: Key, plane: &mut dyn Plane) {
        let node = key.sender & !ALIAS;
        let main = Key { sender: self.ends(key.session).0, ..key };
        self.on_path_tear(node, key, plane);
        let Some(state) = self.states.get(&(node, main)) else { return };
        if state.repair.is_some() {
            return self.drop_repaired(node, main, plane);
        }
        self.review(node, main, plane);
        self.await_detour(node, main, plane);
    }

    /// A repaired path has lost its way around.
    pub(super) fn drop_repaired(&mut self, node: u32, key: Key, plane: &mut dyn Plane) {
        let out = self.states.get(&(node, key)).and_then(State::out_link);
        if let Some(out) = out {
            self.drop_path(node, key, (NO_ROUTE, out), plane);
        }
    }
}
