//! Exchange between neighbours: identifiers and acknowledgements, resends, summary refresh, hello.
//!
//! Source: RFC 2961 sections 4 (MESSAGE_ID), 5 (summary refresh) and 6 (resends: after Rf, each
//! interval 1 + Delta times the last, at most Rl transmissions in all), RFC 3209 section 5 (hello: a neighbour is lost after
//! 3.5 intervals of silence).
//! Differs: each acknowledgement is a separate message, sent at once; epochs do not change.

use super::message::{Kind, PathKey, RsvpMessage};
use super::{event, Rsvp, RsvpTimer};
use crate::NetworkPlane;
use std::collections::BTreeMap;
use trunkline_units::{Span, Time};

/// Identifiers in one summary, so that it fits a packet of 1,500 bytes.
const MAX_IDS_PER_SUMMARY: usize = 360;

/// A message that waits for its acknowledgement.
#[derive(Clone, Debug)]
struct PendingMessage {
    message: RsvpMessage,
    sent: u32,
    span: Span,
}

/// State of nodes for their neighbours, by link.
#[derive(Clone, Debug, Default)]
pub(super) struct Neighbours {
    next: u32,
    pending: BTreeMap<(u32, u32), PendingMessage>,
    /// Messages sent on a link that their identifier refreshes: state and kind.
    refreshed: BTreeMap<u32, BTreeMap<u32, (PathKey, Kind)>>,
    /// Messages that arrived over a link with an identifier.
    known: BTreeMap<(u32, u32), (PathKey, Kind)>,
    /// When the last hello arrived over a link.
    heard: BTreeMap<u32, Time>,
}

impl Rsvp {
    /// Sets the timers that run from the start.
    pub(super) fn start_neighbours(&mut self) {
        for link in 0..self.lines.len() as u32 {
            let node = self.lines[link as usize].from as usize;
            if self.config.summary {
                let at = self.random[node].below(self.config.refresh_ns);
                self.timers.set(at, RsvpTimer::Summary(link));
            }
            if let Some(interval) = self.config.hello_ns {
                let at = self.random[node].below(interval);
                self.timers.set(at, RsvpTimer::Hello(link));
            }
        }
    }

    /// Gives a message an identifier and sees to its resends, where delivery is reliable.
    pub(super) fn identify(&mut self, link: u32, message: &mut RsvpMessage, now: Time) {
        let Some(span) = self.config.resend_ns else { return };
        if matches!(message.kind, Kind::Ack | Kind::Hello) {
            return;
        }
        self.neighbours.next += 1;
        let id = self.neighbours.next;
        message.id = Some(id);
        let pending = PendingMessage { message: message.clone(), sent: 1, span };
        self.neighbours.pending.insert((link, id), pending);
        self.timers.set(now + span, RsvpTimer::Resend(link, id));
        if matches!(message.kind, Kind::Path | Kind::Resv) {
            // A later message about the same state takes the place of the earlier one.
            let listed = self.neighbours.refreshed.entry(link).or_default();
            listed.retain(|_, entry| *entry != (message.key, message.kind));
            listed.insert(id, (message.key, message.kind));
        }
    }

    /// A message was not acknowledged: sends it again, or gives up.
    pub(super) fn resend(&mut self, link: u32, id: u32, plane: &mut dyn NetworkPlane) {
        let Some(pending) = self.neighbours.pending.get_mut(&(link, id)) else { return };
        let message = pending.message.clone();
        let node = self.lines[link as usize].from;
        // A change of the state since then makes the message void.
        let stale = message.kind == Kind::Path && !self.states.contains_key(&(node, message.key));
        if stale || pending.sent >= self.config.resend_limit {
            self.neighbours.pending.remove(&(link, id));
            if !stale && message.kind != Kind::Srefresh {
                let row = self.record_event(event::LOST, message.key, (node, Some(link)), None);
                plane.record_row(row);
            }
            return;
        }
        pending.sent += 1;
        pending.span = (pending.span as f64 * (1.0 + self.config.resend_increment)) as Span;
        let at = plane.now().saturating_add(pending.span);
        self.timers.set(at, RsvpTimer::Resend(link, id));
        self.transmit(link, message, plane);
    }

    /// Handles the header of a message before its content; false if the message ends here.
    pub(super) fn process_header(
        &mut self,
        link: u32,
        message: &RsvpMessage,
        plane: &mut dyn NetworkPlane,
    ) -> bool {
        let Some(back) = self.lines[link as usize].reverse else { return true };
        for id in &message.acks {
            self.neighbours.pending.remove(&(back, *id));
        }
        for id in &message.nacks {
            self.resend_full_message(back, *id, plane);
        }
        if let Some((answer, _, _)) = message.hello {
            self.on_hello(link, back, answer, plane);
        }
        let mut reply = RsvpMessage::between(Kind::Ack);
        reply.acks.extend(message.id);
        for id in &message.list {
            if !self.refreshed_by(link, *id, plane.now()) {
                reply.nacks.push(*id);
            }
        }
        let again = message.id.is_some_and(|id| self.neighbours.known.contains_key(&(link, id)));
        if let Some(id) = message.id {
            self.neighbours.known.insert((link, id), (message.key, message.kind));
        }
        if !reply.acks.is_empty() || !reply.nacks.is_empty() {
            self.transmit(back, reply, plane);
        }
        if again {
            // A copy of a message that was resent: it counts as a refresh.
            if let Some(id) = message.id {
                self.refreshed_by(link, id, plane.now());
            }
        }
        !again
    }

    /// Refreshes the state that a message with this identifier made; false if there is none.
    fn refreshed_by(&mut self, link: u32, id: u32, now: Time) -> bool {
        let node = self.lines[link as usize].to;
        let until = now + self.lifetime();
        let Some((key, kind)) = self.neighbours.known.get(&(link, id)) else { return false };
        let Some(state) = self.states.get_mut(&(node, *key)) else {
            self.neighbours.known.remove(&(link, id));
            return false;
        };
        match kind {
            Kind::Path => state.path_until = until,
            _ if state.reserved => state.resv_until = until,
            _ => return false,
        }
        true
    }

    /// A neighbour does not know an identifier: sends it the full message (RFC 2961 section 5.4).
    fn resend_full_message(&mut self, link: u32, id: u32, plane: &mut dyn NetworkPlane) {
        let listed = self.neighbours.refreshed.get(&link).and_then(|ids| ids.get(&id).copied());
        let Some((key, kind)) = listed else { return };
        let node = self.lines[link as usize].from;
        if let Some(message) = self.describe(node, key, kind) {
            self.send(link, message, plane);
        }
    }

    /// A node sends the identifiers of all states that it refreshes over a link.
    pub(super) fn summarise(&mut self, link: u32, plane: &mut dyn NetworkPlane) {
        let node = self.lines[link as usize].from;
        let states = &self.states;
        if let Some(listed) = self.neighbours.refreshed.get_mut(&link) {
            listed.retain(|_, (key, _)| states.contains_key(&(node, *key)));
            let pending = &self.neighbours.pending;
            let ids: Vec<u32> =
                listed.keys().copied().filter(|id| !pending.contains_key(&(link, *id))).collect();
            for part in ids.chunks(MAX_IDS_PER_SUMMARY) {
                let mut message = RsvpMessage::between(Kind::Srefresh);
                message.list = part.to_vec();
                self.send(link, message, plane);
            }
        }
        let at = plane.now() + self.refresh_span(node);
        self.timers.set(at, RsvpTimer::Summary(link));
    }

    /// A node sends a hello to its neighbour, and checks when the last one arrived.
    pub(super) fn hello(&mut self, link: u32, plane: &mut dyn NetworkPlane) {
        let Some(interval) = self.config.hello_ns else { return };
        self.timers.set(plane.now() + interval, RsvpTimer::Hello(link));
        let (node, back) = (self.lines[link as usize].from, self.lines[link as usize].reverse);
        let heard = back.and_then(|back| Some((back, *self.neighbours.heard.get(&back)?)));
        if let Some((back, heard)) = heard {
            if plane.now() - heard > interval.saturating_mul(7) / 2
                && !self.down.contains(&(node, back))
            {
                self.link_changed(node, back, true, plane);
            }
        }
        let mut message = RsvpMessage::between(Kind::Hello);
        message.hello = Some((false, node + 1, 0));
        self.transmit(link, message, plane);
    }

    fn on_hello(&mut self, link: u32, back: u32, answer: bool, plane: &mut dyn NetworkPlane) {
        let (node, other) = (self.lines[link as usize].to, self.lines[link as usize].from);
        self.neighbours.heard.insert(link, plane.now());
        if self.down.contains(&(node, link)) {
            self.link_changed(node, link, false, plane);
        }
        if !answer {
            let mut message = RsvpMessage::between(Kind::Hello);
            message.hello = Some((true, node + 1, other + 1));
            self.transmit(back, message, plane);
        }
    }
}
