//! Merging of detours: detours with the same remaining route are one path from there.
//!
//! Source: RFC 4090 sections 7.1.1 (detours of different senders are merged where next hop and route to
//! the tail are the same; the choice of the Path to forward is local: here that of the first), 7.1.3 (a
//! tear is forwarded when all merged detours are torn; an error is sent back to each), 8.1 (the DETOUR
//! object has the pairs of all).
//! `detour.rs` merges a detour with the path that it protects, at the detour's end.

use super::message::{Detour, Error, Kind, PathKey, PathRequest};
use super::{Rsvp, RsvpTimer};
use crate::NetworkPlane;
use std::collections::BTreeSet;
use std::sync::Arc;
use trunkline_units::NEVER;

/// Links from a place of a detour's route to the tail of the path.
fn rest_of_route(request: &PathRequest, hop: usize) -> impl Iterator<Item = &u32> {
    let beyond = request.detour.iter().flat_map(|detour| detour.beyond.iter());
    request.route[hop..].iter().chain(beyond)
}

impl Rsvp {
    /// A detour at a node with the same route as this one from there on.
    pub(super) fn find_mergeable_detour(
        &self,
        node: u32,
        key: PathKey,
        request: &PathRequest,
        hop: usize,
    ) -> Option<PathKey> {
        request.detour.as_ref()?;
        request.route.get(hop)?;
        let mut others = self.states.range(key.of_senders(node)).filter(|(at, state)| {
            let passes = state.hop > 0 && state.into.is_none() && state.out_link().is_some();
            at.1 != key && passes && state.request.detour.is_some()
        });
        others
            .find(|(_, state)| {
                rest_of_route(&state.request, state.hop).eq(rest_of_route(request, hop))
            })
            .map(|at| at.0 .1)
    }

    /// Detours that continue as this one from a node on.
    pub(super) fn merged(&self, node: u32, key: PathKey) -> Vec<PathKey> {
        let all = self.states.range(key.of_senders(node));
        all.filter(|(_, state)| state.into == Some(key)).map(|(at, _)| at.1).collect()
    }

    /// A detour has reached a node where another has the same remaining route.
    pub(super) fn merge_into(
        &mut self,
        node: u32,
        key: PathKey,
        into: PathKey,
        plane: &mut dyn NetworkPlane,
    ) {
        self.states.entry((node, key)).and_modify(|state| state.into = Some(into));
        self.announce_merged(node, into, plane);
        self.answer_merged(node, key, plane);
    }

    /// Forwards the Path of a detour with the pairs of all merged detours, if they have changed.
    pub(super) fn announce_merged(
        &mut self,
        node: u32,
        key: PathKey,
        plane: &mut dyn NetworkPlane,
    ) {
        let Some(state) = self.states.get(&(node, key)) else { return };
        let Some(detour) = &state.request.detour else { return };
        let own = detour.pairs.iter().filter(|_| !state.orphan).copied();
        let mut pairs: BTreeSet<(u32, u32)> = own.collect();
        for each in self.merged(node, key) {
            let detour = self.states[&(node, each)].request.detour.as_ref();
            pairs.extend(detour.iter().flat_map(|detour| detour.pairs.iter()));
        }
        let announced = state.onward.as_ref().unwrap_or(&state.request).detour.as_ref();
        if announced.is_some_and(|detour| detour.pairs.iter().eq(&pairs)) {
            return;
        }
        let (pairs, beyond) = (pairs.into_iter().collect(), detour.beyond.clone());
        let request = PathRequest {
            detour: Some(Detour { pairs, beyond }),
            ..state.request.as_ref().clone()
        };
        self.states.entry((node, key)).and_modify(|state| state.onward = Some(Arc::new(request)));
        let out = self.states[&(node, key)].out_link();
        if let (Some(message), Some(out)) = (self.describe(node, key, Kind::Path), out) {
            self.send(out, message, plane);
        }
    }

    /// The Path of a detour has arrived again: forwards the pairs of its merged detours.
    pub(super) fn update_merged(
        &mut self,
        node: u32,
        key: PathKey,
        request: Arc<PathRequest>,
        plane: &mut dyn NetworkPlane,
    ) {
        let until = plane.now() + self.lifetime();
        let Some(state) = self.states.get_mut(&(node, key)) else { return };
        // The rest of a detour that takes another route now stays until its time is over.
        if request.detour.is_none() || request.route != state.request.route {
            return;
        }
        if state.path_until == NEVER {
            // The sender was gone while other detours continued as this one.
            state.path_until = until;
            self.timers.set(until, RsvpTimer::Expire(node, key, Kind::Path));
        }
        let before = std::mem::replace(&mut state.request, request);
        state.onward.get_or_insert(before);
        let first = state.into.unwrap_or(key);
        self.announce_merged(node, first, plane);
    }

    /// A merged detour has the reservation of the one that it continues as.
    pub(super) fn answer_merged(&mut self, node: u32, key: PathKey, plane: &mut dyn NetworkPlane) {
        let into = self.states.get(&(node, key)).and_then(|state| state.into);
        let first = into.and_then(|into| self.states.get(&(node, into)));
        let Some(first) = first.filter(|first_state| first_state.reserved) else { return };
        let (label, record) = (first.label_out, first.record.clone());
        let Some(state) = self.states.get_mut(&(node, key)) else { return };
        if std::mem::replace(&mut state.record, record.clone()) != record && state.reserved {
            return self.resend_resv(node, key, plane);
        }
        if std::mem::replace(&mut state.reserved, true) {
            return;
        }
        state.label_out = label;
        let held = state.request.held_reservation();
        if let Some(link) = state.out_link() {
            self.pools[link as usize].reserve(key, held);
            self.advertise(link, plane);
        }
        self.install_forwarding(node, key, plane);
        self.reply(node, key, plane);
    }

    /// The sender of a detour is gone; returns whether the detour stays for those that continue as it.
    pub(super) fn stays_merged(
        &mut self,
        node: u32,
        key: PathKey,
        plane: &mut dyn NetworkPlane,
    ) -> bool {
        if self.merged(node, key).is_empty() {
            return false;
        }
        let Some(state) = self.states.get_mut(&(node, key)) else { return false };
        (state.orphan, state.path_until) = (true, NEVER);
        self.announce_merged(node, key, plane);
        true
    }

    /// A merged detour has left a node: the one that it continued as announces that, or ends too.
    pub(super) fn leave_merged(&mut self, node: u32, into: PathKey, plane: &mut dyn NetworkPlane) {
        let alone = self.states.get(&(node, into)).is_some_and(|state| state.path_until == NEVER);
        if alone && self.merged(node, into).is_empty() {
            self.on_path_tear(node, into, plane);
        } else {
            self.announce_merged(node, into, plane);
        }
    }

    /// An error about a detour is also sent to the senders of the detours merged into it.
    pub(super) fn share_error(
        &mut self,
        node: u32,
        key: PathKey,
        (about, removes): ((Error, u32), bool),
        plane: &mut dyn NetworkPlane,
    ) {
        for each in self.merged(node, key) {
            if removes {
                self.drop_path(node, each, about, plane);
            } else {
                self.report(node, each, about, plane);
            }
        }
    }
}
