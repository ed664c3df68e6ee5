//! Sessions of LDP: set-up, upkeep and end.
//!
//! Source: RFC 5036 sections 2.5.2 (the node with the higher address is the active one), 2.5.3 and
//! 2.5.4 (initialization, its states, retry after 15 s, doubled up to 2 min), 2.5.5 and 2.5.6 (hold
//! timer of hellos, `KeepAlive` timer), 3.5.1.1 (notifications), 3.9 (status codes); RFC 6720 (TTL of
//! segments).

use super::tcp_stream::{StreamSegment, TcpStream};
use super::{packet, Body, Ldp, LdpMessage, LdpTimer, SessionEnd, IP_BYTES};
use crate::{NetworkPlane, OutgoingMessage, ProtocolNotice, RoutingEvent};
use std::collections::{BTreeMap, BTreeSet};
use trunkline_units::Time;

/// Status codes with the E bit: the session ends.
const HOLD_TIMER_EXPIRED: u32 = 0x8000_0009;
const NO_HELLO: u32 = 0x8000_0010;
const KEEPALIVE_EXPIRED: u32 = 0x8000_0014;
/// Maximum time between retries, in units of the first wait: 2 min after 15 s.
const MAX_RETRY_FACTOR: u64 = 8;
/// First port of an active end (RFC 6335 section 6).
const FIRST_PORT: u16 = 49_152;

/// States of a session (RFC 5036 section 2.5.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SessionState {
    #[default]
    NonExistent,
    Initialized,
    OpenSent,
    OpenRec,
    Operational,
}

/// A neighbour, as one end of the session sees it.
#[derive(Clone, Debug, Default)]
pub(super) struct Peer {
    /// Lines from it.
    pub incoming: Vec<u32>,
    pub state: SessionState,
    stream: TcpStream,
    /// Connections begun so far, which number the ports.
    begun: u16,
    heard: Time,
    spoke: Time,
    /// Refusals in a row.
    refused: u32,
    awaits_retry: bool,
    /// When the timer of resends is set for.
    planned: Option<Time>,
    /// Labels that the peer advertised, by FEC.
    pub learnt: BTreeMap<u32, u32>,
    /// FECs for which it was sent a label.
    pub advertised_fecs: BTreeSet<u32>,
}

impl Ldp {
    fn peer(&mut self, end: SessionEnd) -> &mut Peer {
        self.peers.entry(end).or_default()
    }

    /// The active end opens the connection, once it hears its peer.
    pub(super) fn connect(&mut self, end: SessionEnd, plane: &mut dyn NetworkPlane) {
        let resend = self.config.resend_ns;
        let ready = self.line_to(end).is_some();
        let peer = self.peer(end);
        peer.awaits_retry = false;
        // Addresses rise with the number of the node.
        if end.0 < end.1 || peer.state != SessionState::NonExistent || !ready {
            return;
        }
        peer.state = SessionState::Initialized;
        let port = FIRST_PORT + peer.begun;
        peer.begun = (peer.begun + 1) % (u16::MAX - FIRST_PORT);
        peer.stream = TcpStream::new(port, true, resend);
        let opening = peer.stream.open(plane.now());
        self.send_segment(end, opening, None, plane);
        self.await_resend(end);
    }

    /// The last hello adjacency with a peer may have ended; `line`: hellos stopped there.
    pub(super) fn lose_adjacency(
        &mut self,
        end: SessionEnd,
        line: Option<u32>,
        plane: &mut dyn NetworkPlane,
    ) {
        if self.line_to(end).is_none() && self.peer(end).state != SessionState::NonExistent {
            self.close(end, line.map(|line| (HOLD_TIMER_EXPIRED, line)), plane);
        }
    }

    /// A session ends: its labels are forgotten. `notice`: notification to the peer, on the line that
    /// leads back from this one.
    fn close(&mut self, end: SessionEnd, notice: Option<(u32, u32)>, plane: &mut dyn NetworkPlane) {
        if let Some((status, line)) = notice {
            let (bodies, payload) = self.payload(end, &[Body::Notification(status)]);
            let last = self.peer(end).stream.last(bodies, payload);
            let line = self.lines[line as usize].reverse;
            self.send_segment(end, last, line, plane);
        }
        self.outbox.remove(&end);
        let peer = self.peer(end);
        let was = std::mem::take(&mut peer.state);
        peer.stream = TcpStream::default();
        peer.advertised_fecs.clear();
        let fecs: Vec<u32> = std::mem::take(&mut peer.learnt).into_keys().collect();
        if was == SessionState::Operational {
            plane.record_routing_event(RoutingEvent::SessionDown, end.0, None);
            plane.notify_protocols(ProtocolNotice::Session { node: end.0, peer: end.1, up: false });
        }
        for fec in fecs {
            self.update(end.0, fec, plane);
        }
        self.await_retry(end, plane.now());
    }

    /// The active end tries again later, with longer waits after refusals.
    fn await_retry(&mut self, end: SessionEnd, now: Time) {
        let first = self.config.retry_ns;
        let peer = self.peer(end);
        if end.0 > end.1 && !peer.awaits_retry {
            peer.awaits_retry = true;
            let wait = first.saturating_mul((1 << peer.refused.min(3)).min(MAX_RETRY_FACTOR));
            peer.refused += 1;
            self.timers.set(now.saturating_add(wait), LdpTimer::Connect(end));
        }
    }

    pub(super) fn on_segment(
        &mut self,
        line: u32,
        segment: StreamSegment,
        plane: &mut dyn NetworkPlane,
    ) {
        let link = &self.lines[line as usize];
        let (end, back) = ((link.to, link.from), link.reverse);
        let (now, first) = (plane.now(), self.config.resend_ns);
        let known = self.peer(end).stream.port == segment.port;
        if segment.syn && segment.from_active && !known {
            // A new connection takes the place of one whose end was not noticed.
            if self.peer(end).state != SessionState::NonExistent {
                self.close(end, None, plane);
            }
            let peer = self.peer(end);
            peer.stream = TcpStream::new(segment.port, false, first);
            peer.state = SessionState::Initialized;
            peer.stream.receive(segment, first, now);
            let answer = peer.stream.open(now);
            self.send_segment(end, answer, back, plane);
            return self.await_resend(end);
        }
        if !known {
            // RFC 9293 section 3.5.2: a segment without a connection.
            if !segment.rst && !segment.fin {
                let from_active = !segment.from_active;
                let reset = StreamSegment {
                    port: segment.port,
                    from_active,
                    rst: true,
                    ..StreamSegment::default()
                };
                self.send_segment(end, reset, back, plane);
            }
            return;
        }
        if segment.rst {
            return self.close(end, None, plane);
        }
        let opens = segment.syn;
        if segment.bytes > 0 {
            self.peer(end).heard = now;
        }
        let (ready, again) = self.peer(end).stream.receive(segment, first, now);
        if let Some(again) = again {
            self.send_segment(end, again, back, plane);
        }
        if opens && !self.peer(end).stream.open && self.peer(end).stream.active {
            self.peer(end).stream.open = true;
            self.peer(end).state = SessionState::OpenSent;
            self.queue(end, Body::Initialization);
        }
        for segment in ready {
            for body in &segment.bodies {
                if self.peer(end).stream.port == segment.port {
                    self.on_message(end, *body, line, plane);
                }
            }
            if segment.fin && self.peer(end).stream.port == segment.port {
                let last = self.peer(end).stream.last(Vec::new(), Vec::new());
                self.send_segment(end, last, back, plane);
                self.close(end, None, plane);
            }
        }
        self.flush(plane);
        if self.peer(end).stream.owes {
            let alone = self.peer(end).stream.acknowledgment();
            self.send_segment(end, alone, back, plane);
        }
        self.await_resend(end);
    }

    fn on_message(&mut self, end: SessionEnd, body: Body, line: u32, plane: &mut dyn NetworkPlane) {
        match (self.peer(end).state, body) {
            // The segment of a notification ends the connection.
            (SessionState::NonExistent, _) | (_, Body::Notification(_)) => {}
            (SessionState::Initialized, Body::Initialization) => {
                if self.line_to(end).is_none() {
                    return self.close(end, Some((NO_HELLO, line)), plane);
                }
                self.queue(end, Body::Initialization);
                self.queue(end, Body::KeepAlive);
                self.peer(end).state = SessionState::OpenRec;
            }
            (SessionState::OpenSent, Body::Initialization) => {
                self.queue(end, Body::KeepAlive);
                self.peer(end).state = SessionState::OpenRec;
            }
            (SessionState::OpenRec, Body::KeepAlive) => self.become_operational(end, line, plane),
            (SessionState::Operational, body) => self.on_label(end, body, plane),
            _ => {}
        }
    }

    fn become_operational(&mut self, end: SessionEnd, line: u32, plane: &mut dyn NetworkPlane) {
        let peer = self.peer(end);
        (peer.state, peer.refused) = (SessionState::Operational, 0);
        let port = peer.stream.port;
        self.timers.set(plane.now() + self.config.keepalive_ns / 3, LdpTimer::Alive(end, port));
        plane.record_routing_event(
            RoutingEvent::SessionUp,
            end.0,
            self.lines[line as usize].reverse,
        );
        plane.notify_protocols(ProtocolNotice::Session { node: end.0, peer: end.1, up: true });
        self.queue(end, Body::Address);
        for fec in 0..self.bindings.len() as u32 {
            self.advertise(end, fec);
        }
    }

    /// Sends a `KeepAlive` if no message was sent for a third of its time, and ends the session if none
    /// arrived for all of it.
    pub(super) fn stay_alive(&mut self, end: SessionEnd, port: u16, plane: &mut dyn NetworkPlane) {
        let (now, time) = (plane.now(), self.config.keepalive_ns);
        let peer = self.peer(end);
        if peer.stream.port != port || peer.state != SessionState::Operational {
            return;
        }
        let (silent, due) = (peer.heard + time, peer.spoke + time / 3);
        if silent <= now {
            let line = self.line_to(end).and_then(|line| self.lines[line as usize].reverse);
            return self.close(end, line.map(|line| (KEEPALIVE_EXPIRED, line)), plane);
        }
        if due <= now {
            self.queue(end, Body::KeepAlive);
        }
        let next = if due <= now { now + time / 3 } else { due };
        self.timers.set(next.min(silent), LdpTimer::Alive(end, port));
    }

    pub(super) fn resend(&mut self, end: SessionEnd, plane: &mut dyn NetworkPlane) {
        let now = plane.now();
        let peer = self.peer(end);
        // Another time has been set since.
        if peer.planned != Some(now) {
            return;
        }
        peer.planned = None;
        let stream = &mut peer.stream;
        if stream.due.is_some_and(|due| due <= now) {
            if let Some(segment) = stream.resend_first(now) {
                self.send_segment(end, segment, None, plane);
            }
        }
        self.await_resend(end);
    }

    fn await_resend(&mut self, end: SessionEnd) {
        let peer = self.peer(end);
        let Some(due) = peer.stream.due else { return };
        if peer.planned.is_none_or(|planned| due < planned) {
            peer.planned = Some(due);
            self.timers.set(due, LdpTimer::Resend(end));
        }
    }

    pub(super) fn queue(&mut self, end: SessionEnd, body: Body) {
        self.outbox.entry(end).or_default().push(body);
    }

    /// Octets of messages in one PDU.
    fn payload(&mut self, end: SessionEnd, bodies: &[Body]) -> (Vec<Body>, Vec<u8>) {
        let mut octets = Vec::new();
        for body in bodies {
            self.messages += 1;
            let encoded =
                packet::encode(body, self.messages, end.0, end.1, self.config.keepalive_ns);
            octets.extend(encoded);
        }
        (bodies.to_vec(), packet::pdu(end.0, &octets))
    }

    /// Sends messages of one kind, as many to a segment as fit.
    pub(super) fn send_messages(
        &mut self,
        end: SessionEnd,
        bodies: &[Body],
        plane: &mut dyn NetworkPlane,
    ) {
        let one = packet::encode(&bodies[0], 0, end.0, end.1, 0).len();
        for part in bodies.chunks((packet::MAX_PDU_BYTES - packet::PDU_HEADER) / one) {
            let (bodies, payload) = self.payload(end, part);
            let segment = self.peer(end).stream.data(bodies, payload, plane.now());
            self.send_segment(end, segment, None, plane);
        }
        self.await_resend(end);
    }

    /// Puts a segment on a line to the peer: one on which it is heard, or this one. Where the route
    /// to the peer leads over another node the peer would discard it for its TTL (RFC 6720 section
    /// 2.2), so that it is not sent.
    fn send_segment(
        &mut self,
        end: SessionEnd,
        segment: StreamSegment,
        line: Option<u32>,
        plane: &mut dyn NetworkPlane,
    ) {
        let Some(line) = self.line_to(end).or(line) else { return };
        let direct = |route: &u32| self.lines[*route as usize].to == end.1;
        if self.config.gtsm && !plane.routes(end.0, end.1).iter().any(direct) {
            return;
        }
        if segment.bytes > 0 {
            self.peer(end).spoke = plane.now();
        }
        let ends = [end.0, end.1];
        let octets = packet::segment(&segment, ends, &segment.payload);
        let kind = segment.bodies.first().map_or(1, Body::kind);
        let message = crate::Message::Ldp(LdpMessage::Segment(segment));
        let header_bytes = IP_BYTES;
        plane
            .send(line, OutgoingMessage { message, octets, header_bytes, protocol: 6, ends, kind });
    }
}
