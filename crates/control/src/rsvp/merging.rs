//! Detours that go the same way from a node on are one path from there.
//!
//! Source: RFC 4090 sections 7.1.1 (detours with senders of their own are merged where next hop and
//! route to the tail are the same; which Path goes on is a local decision: here that of the first),
//! 7.1.3 (a tear goes on when all that are merged are torn; an error goes back to each), 8.1 (the
//! DETOUR object has the pairs of all).
//! A detour and the path that it protects are merged at the detour's end, in `detour.rs`.

use super::message::{Detour, Error, Key, Kind, Request};
use super::{Rsvp, Timer};
use crate::Plane;
use std::collections::BTreeSet;
use std::sync::Arc;
use trunkline_units::NEVER;

/// Links from a place of a detour's route to the tail of the path.
fn rest(request: &Request, hop: usize) -> impl Iterator<Item = &u32> {
    let beyond = request.detour.iter().flat_map(|its| its.beyond.iter());
    request.route[hop..].iter().chain(beyond)
}

impl Rsvp {
    /// A detour at a node that goes the same way as this one from there on.
    pub(super) fn same_way(
        &self,
        node: u32,
        key: Key,
        request: &Request,
        hop: usize,
    ) -> Option<Key> {
        request.detour.as_ref()?;
        request.route.get(hop)?;
        let mut others = self.states.range(key.of_senders(node)).filter(|(at, its)| {
            let passes = its.hop > 0 && its.into.is_none() && its.out_link().is_some();
            at.1 != key && passes && its.request.detour.is_some()
        });
        others.find(|(_, its)| rest(&its.request, its.hop).eq(rest(request, hop))).map(|at| at.0 .1)
    }

    /// Detours that go on as this one from a node on.
    pub(super) fn merged(&self, node: u32, key: Key) -> Vec<Key> {
        let all = self.states.range(key.of_senders(node));
        all.filter(|(_, its)| its.into == Some(key)).map(|(at, _)| at.1).collect()
    }

    /// A detour has come to a node where another goes the same way.
    pub(super) fn merge_into(&mut self, node: u32, key: Key, into: Key, plane: &mut dyn Plane) {
        self.states.entry((node, key)).and_modify(|state| state.into = Some(into));
        self.say_merged(node, into, plane);
        self.answer_merged(node, key, plane);
    }

    /// The Path of a detour goes on with the pairs of all that are merged, if they have changed.
    pub(super) fn say_merged(&mut self, node: u32, key: Key, plane: &mut dyn Plane) {
        let Some(state) = self.states.get(&(node, key)) else { return };
        let Some(detour) = &state.request.detour else { return };
        let own = detour.pairs.iter().filter(|_| !state.orphan).copied();
        let mut pairs: BTreeSet<(u32, u32)> = own.collect();
        for each in self.merged(node, key) {
            let detour = self.states[&(node, each)].request.detour.as_ref();
            pairs.extend(detour.iter().flat_map(|its| its.pairs.iter()));
        }
        let said = state.onward.as_ref().unwrap_or(&state.request).detour.as_ref();
        if said.is_some_and(|its| its.pairs.iter().eq(&pairs)) {
            return;
        }
        let (pairs, beyond) = (pairs.into_iter().collect(), detour.beyond.clone());
        let request =
            Request { detour: Some(Detour { pairs, beyond }), ..state.request.as_ref().clone() };
        self.states.entry((node, key)).and_modify(|state| state.onward = Some(Arc::new(request)));
        let out = self.states[&(node, key)].out_link();
        if let (Some(message), Some(out)) = (self.describe(node, key, Kind::Path), out) {
            self.send(out, message, plane);
        }
    }

    /// The Path of a detour has come again: what it says of merged ones goes on.
    pub(super) fn hear_merged(
        &mut self,
        node: u32,
        key: Key,
        request: Arc<Request>,
        plane: &mut dyn Plane,
    ) {
        let until = plane.now() + self.lifetime();
        let Some(state) = self.states.get_mut(&(node, key)) else { return };
        // What is left of one that went another way lives on until its time is over.
        if request.detour.is_none() || request.route != state.request.route {
            return;
        }
        if state.path_until == NEVER {
            // The sender was gone while others went on as this one.
            state.path_until = until;
            self.timers.set(until, Timer::Expire(node, key, Kind::Path));
        }
        let before = std::mem::replace(&mut state.request, request);
        state.onward.get_or_insert(before);
        let first = state.into.unwrap_or(key);
        self.say_merged(node, first, plane);
    }

    /// A detour that is merged has what the one that it goes on as has reserved.
    pub(super) fn answer_merged(&mut self, node: u32, key: Key, plane: &mut dyn Plane) {
        let into = self.states.get(&(node, key)).and_then(|state| state.into);
        let first = into.and_then(|into| self.states.get(&(node, into)));
        let Some(first) = first.filter(|its| its.reserved) else { return };
        let (label, record) = (first.label_out, first.record.clone());
        let Some(state) = self.states.get_mut(&(node, key)) else { return };
        if std::mem::replace(&mut state.record, record.clone()) != record && state.reserved {
            return self.tell_again(node, key, plane);
        }
        if std::mem::replace(&mut state.reserved, true) {
            return;
        }
        state.label_out = label;
        let Request { hold, bandwidth, .. } = *state.request;
        if let Some(link) = state.out_link() {
            self.pools[link as usize].reserve(key, hold, bandwidth);
            self.advertise(link, plane);
        }
        self.forward_by(node, key, plane);
        self.reply(node, key, plane);
    }

    /// The sender of a detour is gone; whether the detour stays for those that go on as it.
    pub(super) fn stays_merged(&mut self, node: u32, key: Key, plane: &mut dyn Plane) -> bool {
        if self.merged(node, key).is_empty() {
            return false;
        }
        let Some(state) = self.states.get_mut(&(node, key)) else { return false };
        (state.orphan, state.path_until) = (true, NEVER);
        self.say_merged(node, key, plane);
        true
    }

    /// A merged detour is gone from a node: the one that it went on as says so, or goes too.
    pub(super) fn part(&mut self, node: u32, into: Key, plane: &mut dyn Plane) {
        let alone = self.states.get(&(node, into)).is_some_and(|its| its.path_until == NEVER);
        if alone && self.merged(node, into).is_empty() {
            self.on_path_tear(node, into, plane);
        } else {
            self.say_merged(node, into, plane);
        }
    }

    /// An error about a detour goes back to the senders of those that are merged, too.
    pub(super) fn share_error(
        &mut self,
        node: u32,
        key: Key,
        (about, removes): ((Error, u32), bool),
        plane: &mut dyn Plane,
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
