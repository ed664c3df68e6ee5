//! What every node does for a path: state, admission, labels, errors and tears.
//!
//! Source: RFC 2205 section 3.1 (messages), RFC 3209 sections 2.2 and 4.1 (labels from the tail
//! upstream), 2.4.2 (shared explicit), RFC 5712 section 5 (soft preemption).
//! Differs: a node that refuses a reservation says so to the head as well, by a PathErr, as
//! routers do.

use super::message::{
    Error, Key, Kind, Message, Request, IMPLICIT_NULL, NO_BANDWIDTH, NO_ROUTE, PREEMPTED,
    SOFT_PREEMPTED,
};
use super::{event, Rsvp, Timer};
use crate::{Entry, Plane};
use std::sync::Arc;
use trunkline_units::{Time, NEVER};

/// The state of a path at a node.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub request: Arc<Request>,
    /// Links of the route before this node.
    pub hop: usize,
    /// Label that the node before is told.
    pub label: Option<u32>,
    /// Label was taken here, not compiled.
    taken: bool,
    /// Forwarding entry; true: made here, not compiled.
    pub entry: Option<(u32, bool)>,
    /// The Resv has come (at the tail: the Path) and bandwidth is held.
    pub reserved: bool,
    label_out: u32,
    pub path_until: Time,
    pub resv_until: Time,
    /// It has lost its bandwidth and waits to be moved.
    pub soft: bool,
}

impl State {
    /// Link to the next node; none at the tail.
    pub fn out_link(&self) -> Option<u32> {
        self.request.route.get(self.hop).copied()
    }

    /// Link from the node before; none at the head.
    pub fn in_link(&self) -> Option<u32> {
        self.hop.checked_sub(1).map(|hop| self.request.route[hop])
    }
}

impl Rsvp {
    /// Makes the state of a path at a node.
    pub(super) fn open(
        &mut self,
        node: u32,
        key: Key,
        request: Arc<Request>,
        hop: usize,
        now: Time,
    ) {
        let head = hop == 0;
        let until = if head { NEVER } else { now + self.lifetime() };
        let state = State {
            request,
            hop,
            label: None,
            taken: false,
            entry: None,
            reserved: false,
            label_out: IMPLICIT_NULL,
            path_until: until,
            resv_until: NEVER,
            soft: false,
        };
        if !head {
            self.timers.set(until, Timer::Expire(node, key, Kind::Path));
        }
        if state.out_link().is_some() && !self.config.summary {
            let at = now + self.refresh_span(node);
            self.timers.set(at, Timer::Refresh(node, key, Kind::Path));
        }
        self.states.insert((node, key), state);
    }

    pub(super) fn on_path(&mut self, node: u32, message: Message, plane: &mut dyn Plane) {
        let (key, hop) = (message.key, message.hop);
        let Some(request) = message.request else { return };
        let until = plane.now() + self.lifetime();
        if let Some(state) = self.states.get_mut(&(node, key)) {
            state.path_until = until;
            return;
        }
        if let Some(&link) = request.route.get(hop) {
            if let Some(error) = self.objection(node, link, key, &request) {
                return self.refuse(node, key, request, hop, (error, link), plane);
            }
        }
        self.open(node, key, request.clone(), hop, plane.now());
        match request.route.get(hop) {
            Some(&link) => self.send(link, Message::of(Kind::Path, key, request, hop + 1), plane),
            None => self.answer(node, key, plane),
        }
    }

    /// Why a path cannot go on over a link.
    pub(super) fn objection(
        &self,
        node: u32,
        link: u32,
        key: Key,
        request: &Request,
    ) -> Option<Error> {
        let back = self.lines[link as usize].reverse?;
        if self.down.contains(&(node, back)) {
            return Some(NO_ROUTE);
        }
        let Request { setup, bandwidth, .. } = *request;
        (!self.pools[link as usize].admits(key, setup, bandwidth)).then_some(NO_BANDWIDTH)
    }

    /// Tells the head why a path that has no state here is refused.
    fn refuse(
        &mut self,
        node: u32,
        key: Key,
        request: Arc<Request>,
        hop: usize,
        (error, link): (Error, u32),
        plane: &mut dyn Plane,
    ) {
        let mut message = Message::of(Kind::PathErr, key, request, hop.saturating_sub(1));
        message.error = Some((error, node, link));
        if hop == 0 {
            self.on_error_at_head(key, error, link, plane);
        } else {
            self.send_up(message, plane);
        }
    }

    /// The tail answers a Path with the first Resv.
    fn answer(&mut self, node: u32, key: Key, plane: &mut dyn Plane) {
        let session = &self.heads[key.session as usize];
        let label = match session.last_label {
            Some(label) if label > IMPLICIT_NULL => None,
            Some(label) => Some(label),
            None => Some(IMPLICIT_NULL),
        };
        if let Some(state) = self.states.get_mut(&(node, key)) {
            state.reserved = true;
            state.label = label;
        }
        self.forward_by(node, key, plane);
        self.reply(node, key, plane);
    }

    /// Sends a state's Resv to the node before.
    fn reply(&mut self, node: u32, key: Key, plane: &mut dyn Plane) {
        if !self.config.summary {
            let at = plane.now() + self.refresh_span(node);
            self.timers.set(at, Timer::Refresh(node, key, Kind::Resv));
        }
        if let Some(message) = self.describe(node, key, Kind::Resv) {
            self.send_up(message, plane);
        }
    }

    /// The message that tells a neighbour of a state, as it is now.
    pub(super) fn describe(&self, node: u32, key: Key, kind: Kind) -> Option<Message> {
        let state = self.states.get(&(node, key))?;
        let request = state.request.clone();
        if kind == Kind::Path {
            state.out_link()?;
            return Some(Message::of(kind, key, request, state.hop + 1));
        }
        let mut message = Message::of(kind, key, request, state.hop.checked_sub(1)?);
        message.label = state.label.filter(|_| state.reserved)?;
        Some(message)
    }

    pub(super) fn on_resv(&mut self, node: u32, message: Message, plane: &mut dyn Plane) {
        let (key, until) = (message.key, plane.now() + self.lifetime());
        let Some(state) = self.states.get_mut(&(node, key)) else { return };
        let Some(link) = state.out_link() else { return };
        if state.reserved {
            state.resv_until = until;
            return;
        }
        let Request { setup, hold, bandwidth, .. } = *state.request;
        let pool = &self.pools[link as usize];
        if !pool.admits(key, setup, bandwidth) {
            return self.reject(node, key, link, plane);
        }
        for victim in pool.victims(key, setup, bandwidth) {
            self.preempt(node, link, victim, plane);
        }
        self.pools[link as usize].reserve(key, hold, bandwidth);
        self.advertise(link, plane.now());
        if let Some(state) = self.states.get_mut(&(node, key)) {
            (state.reserved, state.label_out, state.resv_until) = (true, message.label, until);
        }
        self.timers.set(until, Timer::Expire(node, key, Kind::Resv));
        self.forward_by(node, key, plane);
        if message.hop == 0 {
            self.on_up(key, plane);
        } else {
            self.reply(node, key, plane);
        }
    }

    /// The bandwidth has gone to another: the tail and the head hear of it.
    fn reject(&mut self, node: u32, key: Key, link: u32, plane: &mut dyn Plane) {
        let Some(state) = self.states.get(&(node, key)) else { return };
        let (request, hop) = (state.request.clone(), state.hop);
        let mut down = Message::of(Kind::ResvErr, key, request.clone(), hop + 1);
        down.error = Some((NO_BANDWIDTH, node, link));
        self.send(link, down, plane);
        self.refuse(node, key, request, hop, (NO_BANDWIDTH, link), plane);
    }

    /// Gives a state its label and its forwarding entry: the compiled ones on a first route.
    fn forward_by(&mut self, node: u32, key: Key, plane: &mut dyn Plane) {
        let Some(state) = self.states.get(&(node, key)) else { return };
        let (hop, out) = (state.hop, state.out_link());
        let session = &self.heads[key.session as usize];
        let first = key.lsp == 1 && session.first.as_ref() == state.request.route.as_ref();
        let compiled = session.hops.get(hop).copied().filter(|_| first);
        let label = match (compiled, state.label) {
            (Some(hop), _) if hop.label.is_some() => hop.label,
            (_, Some(label)) => Some(label),
            _ if hop == 0 => None,
            _ => Some(self.labels[node as usize].take()),
        };
        let push = Some(state.label_out).filter(|it| *it != IMPLICIT_NULL && out.is_some());
        let [on, off] = session.diffserv;
        let made = Entry {
            link: out,
            pop: hop > 0,
            push,
            pipe: session.pipe,
            diffserv: [on.filter(|_| hop == 0), off.filter(|_| push.is_none() && hop > 0)],
            path: session.path.unwrap_or(0),
            closed: false,
        };
        // An entry for a label that nobody uses, or without traffic to carry, is none.
        let needed = session.path.is_some() && label.is_none_or(|it| it > IMPLICIT_NULL);
        let taken = label.is_some_and(|it| it >= super::FIRST_LABEL);
        let entry = match compiled.and_then(|hop| hop.entry) {
            Some(entry) => Some((entry, false)),
            None if needed => Some((plane.install(made), true)),
            None => None,
        };
        if let (Some(label), Some((entry, _))) = (label, entry) {
            if hop > 0 {
                plane.bind_label(node, label, Some(entry));
            }
        }
        if let Some(state) = self.states.get_mut(&(node, key)) {
            (state.label, state.taken, state.entry) = (label, taken, entry);
        }
    }

    /// Takes the state of a path away at a node, with all it holds there.
    pub(super) fn close(&mut self, node: u32, key: Key, plane: &mut dyn Plane) -> Option<State> {
        let mut state = self.states.remove(&(node, key))?;
        self.release(node, key, &mut state, plane);
        Some(state)
    }

    /// Gives back what a reservation holds at a node: bandwidth, label, entry.
    fn release(&mut self, node: u32, key: Key, state: &mut State, plane: &mut dyn Plane) {
        if let Some(link) = state.out_link().filter(|_| state.reserved && !state.soft) {
            self.pools[link as usize].release(key);
            self.advertise(link, plane.now());
        }
        if let Some(label) = state.label.filter(|label| *label > IMPLICIT_NULL) {
            plane.bind_label(node, label, None);
            if state.taken {
                self.labels[node as usize].free.insert(label);
            }
        }
        if state.hop == 0 {
            self.unbind(key, plane);
        }
        if let Some((entry, true)) = state.entry {
            plane.withdraw(entry);
        }
        (state.label, state.entry, state.label_out) = (None, None, IMPLICIT_NULL);
        (state.taken, state.reserved, state.soft) = (false, false, false);
    }

    /// A reservation ends at a node, and by a ResvTear at those before it (RFC 2205 section 3.1.6);
    /// the head, which has nothing to send into any more, tears the path down.
    pub(super) fn unreserve(&mut self, node: u32, key: Key, plane: &mut dyn Plane) {
        let Some(mut state) = self.states.remove(&(node, key)).filter(|state| state.reserved)
        else {
            return;
        };
        self.release(node, key, &mut state, plane);
        let (request, hop) = (state.request.clone(), state.hop);
        self.states.insert((node, key), state);
        match hop.checked_sub(1) {
            Some(before) => {
                self.send_up(Message::of(Kind::ResvTear, key, request, before), plane);
            }
            None => self.on_lost_reservation(key, plane),
        }
    }

    /// Makes the paths of a session on a link give way.
    fn preempt(&mut self, node: u32, link: u32, session: u32, plane: &mut dyn Plane) {
        let range = (node, Key { session, lsp: 0 })..=(node, Key { session, lsp: u16::MAX });
        let on_link = |state: &State| state.reserved && state.out_link() == Some(link);
        let keys: Vec<Key> =
            self.states.range(range).filter(|(_, it)| on_link(it)).map(|(at, _)| at.1).collect();
        for key in keys {
            let Some(patience) = self.config.soft_ns else {
                plane.note(self.note(event::PREEMPTED, key, (node, Some(link)), None));
                self.drop_path(node, key, (PREEMPTED, link), plane);
                continue;
            };
            plane.note(self.note(event::SOFT_PREEMPTED, key, (node, Some(link)), None));
            self.pools[link as usize].release(key);
            if let Some(state) = self.states.get_mut(&(node, key)) {
                state.soft = true;
            }
            self.timers.set(plane.now() + patience, Timer::Overdue(node, key));
            self.report(node, key, (SOFT_PREEMPTED, link), plane);
        }
    }

    pub(super) fn overdue(&mut self, node: u32, key: Key, plane: &mut dyn Plane) {
        let Some(state) = self.states.get(&(node, key)).filter(|state| state.soft) else { return };
        let Some(link) = state.out_link() else { return };
        plane.note(self.note(event::PREEMPTED, key, (node, Some(link)), None));
        self.drop_path(node, key, (PREEMPTED, link), plane);
    }

    /// Tells the head of something that leaves the path as it is.
    pub(super) fn report(
        &mut self,
        node: u32,
        key: Key,
        about: (Error, u32),
        plane: &mut dyn Plane,
    ) {
        if let Some(state) = self.states.get(&(node, key)) {
            let (request, hop) = (state.request.clone(), state.hop);
            self.refuse(node, key, request, hop, about, plane);
        }
    }

    /// A path ends at a node: what is behind it is torn down, what is before it with the error.
    pub(super) fn drop_path(
        &mut self,
        node: u32,
        key: Key,
        (error, link): (Error, u32),
        plane: &mut dyn Plane,
    ) {
        let Some(state) = self.close(node, key, plane) else { return };
        self.tear_down(key, &state, plane);
        if state.hop == 0 {
            return self.on_error_at_head(key, error, link, plane);
        }
        let mut message = Message::of(Kind::PathErr, key, state.request, state.hop - 1);
        (message.error, message.removes) = (Some((error, node, link)), true);
        self.send_up(message, plane);
    }

    fn tear_down(&mut self, key: Key, state: &State, plane: &mut dyn Plane) {
        if let Some(link) = state.out_link() {
            let request = state.request.clone();
            self.send(link, Message::of(Kind::PathTear, key, request, state.hop + 1), plane);
        }
    }

    pub(super) fn on_path_err(&mut self, node: u32, message: &Message, plane: &mut dyn Plane) {
        let (key, Some((error, at, link))) = (message.key, message.error) else { return };
        let Some(request) = &message.request else { return };
        if message.removes && message.hop > 0 && self.close(node, key, plane).is_none() {
            return;
        }
        if message.hop == 0 {
            return self.on_error_at_head(key, error, link, plane);
        }
        let mut on = Message::of(Kind::PathErr, key, request.clone(), message.hop - 1);
        (on.error, on.removes) = (Some((error, at, link)), message.removes);
        self.send_up(on, plane);
    }

    pub(super) fn on_resv_err(&mut self, node: u32, message: &Message, plane: &mut dyn Plane) {
        let Some(state) = self.states.get(&(node, message.key)) else { return };
        if let Some(link) = state.out_link() {
            let request = state.request.clone();
            let mut on = Message::of(Kind::ResvErr, message.key, request, state.hop + 1);
            on.error = message.error;
            self.send(link, on, plane);
        }
    }

    pub(super) fn on_path_tear(&mut self, node: u32, key: Key, plane: &mut dyn Plane) {
        if let Some(state) = self.close(node, key, plane) {
            self.tear_down(key, &state, plane);
        }
    }
}
