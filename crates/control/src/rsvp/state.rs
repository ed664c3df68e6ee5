//! The state of a path at a node: set-up, admission, labels, errors and tears.
//!
//! Source: RFC 2205 section 3.1 (messages), RFC 3209 sections 2.2 and 4.1 (labels from the tail
//! upstream), 2.4.2 (shared explicit).

use super::local_repair::LocalRepair;
use super::message::{
    BypassTunnel, Error, Kind, PathKey, PathRequest, RecordedHop, RsvpMessage, IMPLICIT_NULL,
    NO_BANDWIDTH, NO_ROUTE, NO_TE_CLASS, NO_TE_CLASS_OF_HOLD, NO_TE_CLASS_OF_SETUP,
};
use super::{Rsvp, RsvpTimer};
use crate::{ForwardingEntry, NetworkPlane};
use std::sync::Arc;
use trunkline_units::{Time, NEVER};

/// The state of a path at a node.
#[derive(Clone, Debug)]
pub(super) struct PathState {
    pub request: Arc<PathRequest>,
    /// Links of the route before this node.
    pub hop: usize,
    /// Label that the node before is sent.
    pub label: Option<u32>,
    /// Label was taken here, not compiled.
    has_taken_label: bool,
    /// Forwarding entry; true: made here, not compiled.
    pub entry: Option<(u32, bool)>,
    /// The Resv has arrived (at the tail: the Path) and bandwidth is held.
    pub reserved: bool,
    pub label_out: u32,
    pub path_until: Time,
    pub resv_until: Time,
    /// It has lost its bandwidth and waits to be moved.
    pub soft: bool,
    /// Nodes behind this one, as the Resv has recorded them.
    pub record: Vec<RecordedHop>,
    /// Flags of the local protection here, for the node before.
    pub flags: u8,
    /// The head knows that it is protected at every node.
    pub covered: bool,
    /// The backup around a failure behind this node, in use.
    pub repair: Option<LocalRepair>,
    /// The backup around a failure before this node, over which messages arrive.
    pub tunnel: Option<Arc<BypassTunnel>>,
    /// The neighbour before is gone: messages over the backup keep the path alive.
    pub orphan: bool,
    /// Detour that it continues as from here (RFC 4090 section 7.1.1).
    pub into: Option<PathKey>,
    /// Content of its Path from here on, if other detours continue as it.
    pub onward: Option<Arc<PathRequest>>,
}

impl PathState {
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
        key: PathKey,
        request: Arc<PathRequest>,
        hop: usize,
        now: Time,
    ) {
        let head = hop == 0;
        let until = if head { NEVER } else { now + self.lifetime() };
        let state = PathState {
            request,
            hop,
            label: None,
            has_taken_label: false,
            entry: None,
            reserved: false,
            label_out: IMPLICIT_NULL,
            path_until: until,
            resv_until: NEVER,
            soft: false,
            record: Vec::new(),
            flags: 0,
            covered: false,
            repair: None,
            tunnel: None,
            orphan: false,
            into: None,
            onward: None,
        };
        if !head {
            self.timers.set(until, RsvpTimer::Expire(node, key, Kind::Path));
        }
        if state.out_link().is_some() && !self.config.summary {
            let at = now + self.refresh_span(node);
            self.timers.set(at, RsvpTimer::Refresh(node, key, Kind::Path));
        }
        self.states.insert((node, key), state);
    }

    pub(super) fn on_path(
        &mut self,
        node: u32,
        message: RsvpMessage,
        plane: &mut dyn NetworkPlane,
    ) {
        let (key, hop) = (message.key, message.hop);
        let Some(request) = message.request else { return };
        let until = plane.now() + self.lifetime();
        if let Some(state) = self.states.get_mut(&(node, key)) {
            if state.path_until != NEVER {
                state.path_until = until;
            }
            return match message.tunnel {
                Some(tunnel) => self.join_at_merge_point(node, key, tunnel, plane),
                None => {
                    self.restore_sender(node, key, plane);
                    self.update_merged(node, key, request, plane);
                }
            };
        }
        if message.tunnel.is_some() {
            // No path is left to join.
            return;
        }
        let into = self.find_mergeable_detour(node, key, &request, hop);
        if let Some(&link) = request.route.get(hop).filter(|_| into.is_none()) {
            if let Some(error) = self.admission_error(node, link, key, &request) {
                return self.refuse(node, key, request, hop, (error, link), plane);
            }
        }
        self.open(node, key, request.clone(), hop, plane.now());
        if let Some(into) = into {
            return self.merge_into(node, key, into, plane);
        }
        match request.route.get(hop) {
            Some(&link) => {
                self.send(link, RsvpMessage::for_path(Kind::Path, key, request, hop + 1), plane)
            }
            None => self.answer(node, key, plane),
        }
    }

    /// Why a link does not admit a path.
    pub(super) fn admission_error(
        &self,
        node: u32,
        link: u32,
        key: PathKey,
        request: &PathRequest,
    ) -> Option<Error> {
        let back = self.lines[link as usize].reverse?;
        if self.down.contains(&(node, back)) {
            return Some(NO_ROUTE);
        }
        let PathRequest { class_type, setup, hold, .. } = *request;
        let lacks = [setup, hold].map(|priority| self.te_class(class_type, priority).is_none());
        match lacks {
            [true, true] => Some(NO_TE_CLASS),
            [true, false] => Some(NO_TE_CLASS_OF_SETUP),
            [false, true] => Some(NO_TE_CLASS_OF_HOLD),
            [false, false] => {
                let pool = &self.pools[link as usize];
                (!pool.admits(key, request.requested_reservation())).then_some(NO_BANDWIDTH)
            }
        }
    }

    /// The tail answers a Path with the first Resv.
    fn answer(&mut self, node: u32, key: PathKey, plane: &mut dyn NetworkPlane) {
        let Some(state) = self.states.get(&(node, key)) else { return };
        if state.request.detour.is_some() {
            return self.merge(node, key, plane);
        }
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
        self.install_forwarding(node, key, plane);
        self.reply(node, key, plane);
    }

    /// Sends a state's Resv to the node before.
    pub(super) fn reply(&mut self, node: u32, key: PathKey, plane: &mut dyn NetworkPlane) {
        if !self.config.summary {
            let at = plane.now() + self.refresh_span(node);
            self.timers.set(at, RsvpTimer::Refresh(node, key, Kind::Resv));
        }
        self.resend_resv(node, key, plane);
    }

    /// Sends the current Resv of a state.
    pub(super) fn resend_resv(&mut self, node: u32, key: PathKey, plane: &mut dyn NetworkPlane) {
        if let Some(message) = self.describe(node, key, Kind::Resv) {
            self.send_up(message, plane);
        }
    }

    /// The message with the current state for a neighbour.
    pub(super) fn describe(&self, node: u32, key: PathKey, kind: Kind) -> Option<RsvpMessage> {
        let state = self.states.get(&(node, key))?;
        let request = state.request.clone();
        if kind == Kind::Path {
            state.out_link().filter(|_| state.into.is_none())?;
            let request = state.onward.clone().unwrap_or(request);
            return Some(RsvpMessage::for_path(kind, key, request, state.hop + 1));
        }
        let mut message = RsvpMessage::for_path(kind, key, request, state.hop.checked_sub(1)?);
        message.label = state.label.filter(|_| state.reserved)?;
        if state.request.desired.is_some() {
            let (flags, label) = (state.flags, message.label);
            message.record.push(RecordedHop { node, flags, label });
            message.record.extend_from_slice(&state.record);
        }
        message.tunnel = state.tunnel.clone();
        Some(message)
    }

    pub(super) fn on_resv(
        &mut self,
        node: u32,
        message: RsvpMessage,
        plane: &mut dyn NetworkPlane,
    ) {
        let (key, until) = (message.key, plane.now() + self.lifetime());
        let Some(state) = self.states.get_mut(&(node, key)) else { return };
        let Some(link) = state.out_link() else { return };
        if state.reserved {
            state.resv_until = until;
            return self.on_resv_again(node, &message, plane);
        }
        let (asked, held) =
            (state.request.requested_reservation(), state.request.held_reservation());
        let pool = &self.pools[link as usize];
        if !pool.admits(key, asked) {
            return self.reject(node, key, link, plane);
        }
        for victim in pool.preempted_sessions(key, asked) {
            self.preempt(node, link, victim, plane);
        }
        self.pools[link as usize].reserve(key, held);
        self.advertise(link, plane);
        if let Some(state) = self.states.get_mut(&(node, key)) {
            (state.reserved, state.label_out, state.resv_until) = (true, message.label, until);
            state.record = message.record;
        }
        self.timers.set(until, RsvpTimer::Expire(node, key, Kind::Resv));
        self.install_forwarding(node, key, plane);
        if message.hop > 0 {
            let flags = self.flags(node, key);
            self.states.entry((node, key)).and_modify(|state| state.flags = flags);
            self.reply(node, key, plane);
        } else if key.sender == self.ends(key.session).0 {
            self.on_up(key, plane);
            self.update_protection_flags(node, key, plane);
        } else {
            self.update_protection_flags(
                node,
                PathKey { sender: self.ends(key.session).0, ..key },
                plane,
            );
        }
        self.begin_detour(node, key, plane);
        for each in self.merged(node, key) {
            self.answer_merged(node, each, plane);
        }
    }

    /// Gives a state its label and its forwarding entry: the compiled ones on a first route.
    pub(super) fn install_forwarding(
        &mut self,
        node: u32,
        key: PathKey,
        plane: &mut dyn NetworkPlane,
    ) {
        let Some(state) = self.states.get(&(node, key)) else { return };
        let (hop, out) = (state.hop, state.out_link());
        let session = &self.heads[key.session as usize];
        let detour = state.request.detour.is_some();
        let first = key.lsp == 1 && session.first.as_ref() == state.request.route.as_ref();
        let compiled = session.hops.get(hop).copied().filter(|_| first && !detour);
        let label = match (compiled, state.label) {
            (Some(hop), _) if hop.label.is_some() => hop.label,
            (_, Some(label)) => Some(label),
            _ if hop == 0 => None,
            _ => Some(self.labels[node as usize].take()),
        };
        let push = Some(state.label_out).filter(|it| *it != IMPLICIT_NULL && out.is_some());
        let [on, off] = session.diffserv;
        let new_entry = ForwardingEntry {
            link: out,
            pop: hop > 0,
            push,
            pipe: session.pipe,
            diffserv: [on.filter(|_| hop == 0), off.filter(|_| push.is_none() && hop > 0)],
            path: session.path.unwrap_or(0),
            ..ForwardingEntry::default()
        };
        // A label without packets needs no entry; the entry of the first node of a detour is installed
        // when it is used.
        let needed = session.path.is_some()
            && label.is_none_or(|it| it > IMPLICIT_NULL)
            && !(detour && hop == 0);
        let has_taken_label = label.is_some_and(|it| it >= super::FIRST_LABEL);
        let entry = match compiled.and_then(|hop| hop.entry) {
            Some(entry) => Some((entry, false)),
            None if needed => Some((plane.install(new_entry), true)),
            None => None,
        };
        if let (Some(label), Some((entry, _))) = (label, entry) {
            if hop > 0 {
                plane.bind_label(node, label, Some(entry));
            }
        }
        if let Some(state) = self.states.get_mut(&(node, key)) {
            (state.label, state.has_taken_label, state.entry) = (label, has_taken_label, entry);
        }
    }

    /// Takes the state of a path away at a node, with all it holds there.
    pub(super) fn close(
        &mut self,
        node: u32,
        key: PathKey,
        plane: &mut dyn NetworkPlane,
    ) -> Option<PathState> {
        let mut state = self.states.remove(&(node, key))?;
        self.release(node, key, &mut state, plane);
        self.end_detour(node, key, plane);
        Some(state)
    }

    /// Releases the resources of a reservation at a node: bandwidth, label, entry.
    pub(super) fn release(
        &mut self,
        node: u32,
        key: PathKey,
        state: &mut PathState,
        plane: &mut dyn NetworkPlane,
    ) {
        if let Some(link) = state.out_link().filter(|_| state.reserved && !state.soft) {
            self.pools[link as usize].release(key);
            self.advertise(link, plane);
        }
        // The label that a detour ends with is that of the path it joins.
        let joins = state.request.detour.is_some() && state.out_link().is_none();
        if let Some(label) = state.label.filter(|label| *label > IMPLICIT_NULL && !joins) {
            plane.bind_label(node, label, None);
            if state.has_taken_label {
                self.labels[node as usize].free.insert(label);
            }
        }
        if state.hop == 0 && state.request.detour.is_none() {
            self.unbind(key, plane);
        }
        if let Some(repair) = state.repair.take() {
            plane.withdraw(repair.entry);
        }
        if let Some((entry, true)) = state.entry {
            plane.withdraw(entry);
        }
        (state.label, state.entry, state.label_out) = (None, None, IMPLICIT_NULL);
        (state.has_taken_label, state.reserved, state.soft) = (false, false, false);
        state.record.clear();
        if state.hop == 0 {
            self.on_lost_carrier(node, key, plane);
        }
    }
}
