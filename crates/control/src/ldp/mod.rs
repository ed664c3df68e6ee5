//! LDP: labels for IP routes, advertised by each node to its neighbours.
//!
//! Source: RFC 5036 sections 2.4 (discovery), 2.5 (sessions), 2.6 (label distribution: downstream
//! unsolicited, liberal retention, independent or ordered control), 3.5 (messages), appendix A.
//! `session.rs` has the sessions, `tcp_stream.rs` the TCP below them, `labels.rs` the mappings and the
//! forwarding entries, `packet.rs` the octets.
//! Differs: a FEC is a node, the prefix of its address; segments of a session take a link between its
//! two nodes, not IP routes.
//! Absent: targeted sessions, label requests, loop detection, path MTU, graceful restart.

pub mod config;
mod labels;
mod packet;
mod session;
mod tcp_stream;

pub use config::LdpConfig;
pub use packet::KINDS;
pub use tcp_stream::StreamSegment;

use crate::timers::Timers;
use crate::{NetworkPlane, OutgoingMessage, SignalledLink, ALL_ROUTERS};
use session::Peer;
use std::collections::{BTreeMap, BTreeSet};
use trunkline_units::Time;

/// Port of LDP, of UDP and of TCP (RFC 5036 section 3.10.1).
const PORT: u16 = 646;
const IP_BYTES: u16 = 20;
/// First label that nodes give out: each FEC has its own, the same to all neighbours.
pub const FIRST_LABEL: u32 = 300_000;

/// A message of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// A fatal notification with its status code.
    Notification(u32),
    /// Parameters of the session.
    Initialization,
    /// The session is alive.
    KeepAlive,
    /// Addresses of the sender.
    Address,
    /// Label for a FEC.
    Mapping(u32, u32),
    /// It is no more.
    Withdraw(u32, u32),
    /// It is not used any more.
    Release(u32, u32),
}

impl Body {
    fn kind(&self) -> u8 {
        match self {
            Self::Notification(_) => 2,
            Self::Initialization => 3,
            Self::KeepAlive => 4,
            Self::Address => 5,
            Self::Mapping(..) => 6,
            Self::Withdraw(..) => 7,
            Self::Release(..) => 8,
        }
    }
}

/// A message.
#[derive(Clone, Debug)]
pub enum LdpMessage {
    /// A link hello.
    Hello,
    /// A segment of a session.
    Segment(StreamSegment),
}

/// One end of a session: node and peer.
type SessionEnd = (u32, u32);

#[derive(Clone, Debug)]
enum LdpTimer {
    /// A hello is sent on a line; void if another has been planned since.
    Hello(u32, u32),
    /// A neighbour may have been silent on a line for too long.
    Hold(u32),
    /// A segment may still be unacknowledged.
    Resend(SessionEnd),
    /// A session may need a message, or have been without one for too long.
    Alive(SessionEnd, u16),
    /// The active end tries again.
    Connect(SessionEnd),
}

/// State of a FEC at a node: next hops with their labels, and the entries installed.
#[derive(Clone, Debug, Default)]
struct FecState {
    /// Lines of its routes.
    routes: Vec<u32>,
    hops: Vec<(u32, u32)>,
    /// Entries of the incoming label and of unlabelled packets; each with the parts of its set.
    installed: [Vec<u32>; 2],
}

/// LDP of the network.
#[derive(Debug)]
pub struct Ldp {
    /// As compiled.
    pub config: LdpConfig,
    lines: Vec<SignalledLink>,
    /// By node and FEC.
    bindings: Vec<Vec<FecState>>,
    peers: BTreeMap<SessionEnd, Peer>,
    /// Lines that a node has noticed to be down.
    cut: BTreeSet<u32>,
    /// Hellos planned on each line so far.
    hellos: Vec<u32>,
    /// Until when a line's hellos hold the neighbour.
    hold_until: BTreeMap<u32, Time>,
    /// Messages to be sent when an event has been served.
    outbox: BTreeMap<SessionEnd, Vec<Body>>,
    /// Nodes whose forwarding has changed in this event.
    changed: BTreeSet<u32>,
    timers: Timers<LdpTimer>,
    messages: u32,
    /// Path that entries are counted under.
    path: u32,
}

impl Ldp {
    /// LDP of `nodes` nodes; packets with its labels are counted under `path`.
    #[must_use]
    pub fn new(config: LdpConfig, nodes: u32, lines: Vec<SignalledLink>, path: u32) -> Self {
        let mut peers: BTreeMap<SessionEnd, Peer> = BTreeMap::new();
        for (line, line_config) in
            (0..).zip(&lines).filter(|(_, line_config)| line_config.reverse.is_some())
        {
            peers.entry((line_config.to, line_config.from)).or_default().incoming.push(line);
        }
        Self {
            peers,
            bindings: vec![vec![FecState::default(); nodes as usize]; nodes as usize],
            cut: BTreeSet::new(),
            hellos: vec![0; lines.len()],
            hold_until: BTreeMap::new(),
            outbox: BTreeMap::new(),
            changed: BTreeSet::new(),
            timers: Timers::default(),
            messages: 0,
            path,
            lines,
            config,
        }
    }

    /// Begins: hellos on all links at the time of start.
    pub fn start(&mut self, plane: &mut dyn NetworkPlane) {
        for node in 0..self.bindings.len() as u32 {
            for fec in 0..self.bindings.len() as u32 {
                self.bindings[node as usize][fec as usize].routes = plane.routes(node, fec);
            }
        }
        for line in 0..self.lines.len() as u32 {
            if self.lines[line as usize].reverse.is_some() {
                self.timers.set(self.config.start_ns, LdpTimer::Hello(line, 0));
            }
        }
    }

    /// When it wants to be woken next.
    #[must_use]
    pub fn due(&self) -> Time {
        self.timers.due()
    }

    /// Serves the timers that are due.
    pub fn wake(&mut self, plane: &mut dyn NetworkPlane) {
        while let Some(timer) = self.timers.pop(plane.now()) {
            match timer {
                LdpTimer::Hello(line, number) => self.hello(line, number, plane),
                LdpTimer::Hold(line) => self.check_hold_timer(line, plane),
                LdpTimer::Resend(end) => self.resend(end, plane),
                LdpTimer::Alive(end, port) => self.stay_alive(end, port, plane),
                LdpTimer::Connect(end) => self.connect(end, plane),
            }
            self.flush(plane);
        }
    }

    /// A message has arrived over `line`.
    pub fn receive(&mut self, line: u32, message: LdpMessage, plane: &mut dyn NetworkPlane) {
        match message {
            LdpMessage::Hello => self.on_hello(line, plane),
            LdpMessage::Segment(segment) => self.on_segment(line, segment, plane),
        }
        self.flush(plane);
    }

    /// `node` notices that `line`, which leads to it, has gone down or come up.
    pub fn link_changed(&mut self, node: u32, line: u32, down: bool, plane: &mut dyn NetworkPlane) {
        let Some(back) = self.lines[line as usize].reverse else { return };
        if down {
            self.cut.insert(back);
            if self.hold_until.remove(&line).is_some() {
                self.lose_adjacency((node, self.lines[line as usize].from), None, plane);
            }
        } else if self.cut.remove(&back) {
            self.hellos[back as usize] += 1;
            self.hello(back, self.hellos[back as usize], plane);
        }
        self.flush(plane);
    }

    /// The routes of a node have changed.
    pub fn routes_changed(&mut self, node: u32, plane: &mut dyn NetworkPlane) {
        for fec in 0..self.bindings.len() as u32 {
            let routes = plane.routes(node, fec);
            let binding = &mut self.bindings[node as usize][fec as usize];
            if binding.routes != routes {
                binding.routes = routes;
                self.update(node, fec, plane);
            }
        }
        self.flush(plane);
    }

    /// Sends a hello, and plans the next one.
    fn hello(&mut self, line: u32, number: u32, plane: &mut dyn NetworkPlane) {
        if self.cut.contains(&line) || self.hellos[line as usize] != number {
            return;
        }
        let from = self.lines[line as usize].from;
        self.messages += 1;
        let octets = packet::hello(from, self.messages, self.config.hello_hold_ns);
        let (message, ends) = (crate::Message::Ldp(LdpMessage::Hello), [from, ALL_ROUTERS]);
        plane.send(
            line,
            OutgoingMessage {
                message,
                octets,
                header_bytes: IP_BYTES,
                protocol: 17,
                ends,
                kind: 0,
            },
        );
        self.timers.set(plane.now() + self.config.hello_ns, LdpTimer::Hello(line, number));
    }

    fn on_hello(&mut self, line: u32, plane: &mut dyn NetworkPlane) {
        let SignalledLink { from, to, reverse, .. } = self.lines[line as usize];
        if reverse.is_none_or(|back| self.cut.contains(&back)) {
            return;
        }
        let until = plane.now() + self.config.hello_hold_ns;
        if self.hold_until.insert(line, until).is_none() {
            self.timers.set(until + 1, LdpTimer::Hold(line));
            self.connect((to, from), plane);
        }
    }

    fn check_hold_timer(&mut self, line: u32, plane: &mut dyn NetworkPlane) {
        let Some(until) = self.hold_until.get(&line).copied() else { return };
        // A hello that arrives at the last instant counts.
        if until >= plane.now() {
            return self.timers.set(until + 1, LdpTimer::Hold(line));
        }
        self.hold_until.remove(&line);
        let SignalledLink { from, to, .. } = self.lines[line as usize];
        self.lose_adjacency((to, from), Some(line), plane);
    }

    /// Line to a peer on which it is heard.
    fn line_to(&self, end: SessionEnd) -> Option<u32> {
        let mut incoming = self.peers.get(&end)?.incoming.iter();
        let heard = incoming.find(|line| self.hold_until.contains_key(line))?;
        self.lines[*heard as usize].reverse
    }

    /// Sends the messages of an event: messages of one kind share a segment.
    fn flush(&mut self, plane: &mut dyn NetworkPlane) {
        for (end, bodies) in std::mem::take(&mut self.outbox) {
            for part in bodies.chunk_by(|one, next| one.kind() == next.kind()) {
                self.send_messages(end, part, plane);
            }
        }
        for node in std::mem::take(&mut self.changed) {
            plane.record_routing_event(crate::RoutingEvent::Relabelled, node, None);
        }
    }

    /// Checks the state at the end of a run: labels in use are those that neighbours advertised.
    ///
    /// # Errors
    /// The first label that is not.
    pub fn check(&self) -> Result<(), String> {
        for (node, bindings) in (0..).zip(&self.bindings) {
            for (fec, binding) in (0..).zip(bindings) {
                for (line, label) in &binding.hops {
                    let peer = &self.peers[&(node, self.lines[*line as usize].to)];
                    if peer.learnt.get(&fec) != Some(label) {
                        return Err(format!(
                            "ldp: node {node} sends to {fec} with a label that nobody advertised"
                        ));
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 5036 section 2.7: the label of a next hop is the one that it has advertised. Two nodes, of which
    /// one uses a label: advertised, another one, and after the peer has withdrawn it.
    #[test]
    fn rfc5036_s2_7_a_label_in_use_that_nobody_advertised_is_a_fault() {
        let config = LdpConfig {
            flow: 0,
            start_ns: 0,
            hello_ns: 1,
            hello_hold_ns: 2,
            keepalive_ns: 3,
            resend_ns: 1,
            retry_ns: 1,
            gtsm: false,
            ordered: false,
            first_fec: 0,
        };
        let line = |from, to, reverse| SignalledLink {
            from,
            to,
            metric: 1,
            rate_bit_s: 1,
            reverse: Some(reverse),
        };
        let mut ldp = Ldp::new(config, 2, vec![line(0, 1, 1), line(1, 0, 0)], 0);
        assert_eq!(ldp.check(), Ok(()));
        ldp.bindings[0][1].hops = vec![(0, 3)];
        for (learnt, is_right) in [(None, false), (Some(4), false), (Some(3), true)] {
            let labels = learnt.map(|label| (1, label)).into_iter().collect();
            ldp.peers.get_mut(&(0, 1)).expect("a neighbour").learnt = labels;
            assert_eq!(ldp.check().is_ok(), is_right, "{learnt:?}");
        }
    }
}
