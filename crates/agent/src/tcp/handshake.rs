//! How a connection opens and closes: SYN, SYN-ACK, FIN, and their retransmissions.
//!
//! Source: RFC 9293 sections 3.5 and 3.6; RFC 6298 (2.1), (5.5) for the timers, which start at 1 s and
//! double; RFC 7323, 2018 for the options of a SYN; Linux 6.1 (`tcp_retransmit_timer`,
//! `reqsk_timer_handler`) with `linux`: ticks, 6 retries of a SYN and 5 of its answer.
//! Differs: the sender's FIN is on its last segment and costs no byte, as Linux's does; the receiver
//! answers with its FIN as soon as all data have arrived. Absent: RST, simultaneous open, SYN cookies,
//! data in a SYN (RFC 7413), half-closed connections.

use super::linux::timer::{fires, Estimator};
use super::rto::Rto;
use super::TcpConfig;
use trunkline_units::{Span, Time, NEVER, SECOND};

/// Longest that a SYN is repeated under the RFCs (RFC 9293 section 3.8.3: at least 3 minutes).
const MAX_SYN_TIME: Span = 180 * SECOND;
/// Retries of Linux: `tcp_syn_retries`, `tcp_synack_retries`.
const SYN_RETRIES: u32 = 6;
const ANSWER_RETRIES: u32 = 5;
/// Retries of a FIN (Linux: `tcp_orphan_retries`).
const FIN_RETRIES: u32 = 8;

/// A packet without data of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarePacket {
    /// SYN, or the answer to it.
    Syn,
    /// Acknowledges the answer.
    Ack,
    /// FIN of the receiver, with its last acknowledgement.
    Fin,
    /// Acknowledges it.
    LastAck,
}

/// State that the handshake gives the sender of an open connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenedConnection {
    /// Round trip of the SYN; none if it was sent more than once (RFC 6298 section 3).
    pub rtt: Option<Span>,
    /// Times that the SYN was sent again.
    pub retries: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HandshakePhase {
    Closed,
    Opening,
    Open,
    Closing,
    Over,
}

/// Timeouts of either stack.
#[derive(Clone, Debug)]
enum RetransmissionClock {
    Rfc(Rto),
    Linux(Estimator),
}

impl RetransmissionClock {
    fn new(config: &TcpConfig) -> Self {
        let (initial, min_rto, max_rto) =
            (config.rto_initial_ns, config.rto_min_ns, config.rto_max_ns);
        if config.linux {
            Self::Linux(Estimator::new(initial, min_rto, max_rto))
        } else {
            Self::Rfc(Rto::new(initial, min_rto, max_rto, config.tick_ns))
        }
    }

    fn due(&self, now: Time) -> Time {
        match self {
            Self::Rfc(rto) => now + rto.current(),
            Self::Linux(estimator) => fires(now, estimator.rto()),
        }
    }

    fn back_off(&mut self) {
        match self {
            Self::Rfc(rto) => rto.back_off(),
            Self::Linux(estimator) => estimator.back_off(),
        }
    }

    fn sample(&mut self, sent: Time, now: Time) {
        match self {
            Self::Rfc(rto) => rto.sample_timed(sent, now),
            Self::Linux(estimator) => estimator.sample((now - sent) / 1_000, 0, 0),
        }
    }
}

/// One end: its last packet, when and how often it was sent.
#[derive(Clone, Debug)]
struct HandshakeEnd {
    phase: HandshakePhase,
    clock: RetransmissionClock,
    first_at: Time,
    timer: Time,
    retries: u32,
}

impl HandshakeEnd {
    fn new(config: &TcpConfig) -> Self {
        Self {
            phase: HandshakePhase::Closed,
            clock: RetransmissionClock::new(config),
            first_at: 0,
            timer: NEVER,
            retries: 0,
        }
    }

    fn send_next(&mut self, phase: HandshakePhase, now: Time) {
        (self.phase, self.first_at, self.retries) = (phase, now, 0);
        self.timer = self.clock.due(now);
    }

    /// RFC 6298 (5.4) to (5.6). False: it has tried long enough.
    fn try_again(&mut self, now: Time, max_retries: u32) -> bool {
        self.timer = NEVER;
        if self.retries >= max_retries {
            self.phase = HandshakePhase::Over;
            return false;
        }
        self.retries += 1;
        self.clock.back_off();
        self.timer = self.clock.due(now);
        true
    }

    /// The last packet is answered. Returns its round trip, if it was sent once.
    fn take_answer(&mut self, phase: HandshakePhase, now: Time) -> Option<Span> {
        (self.phase, self.timer) = (phase, NEVER);
        if self.retries > 0 {
            return None;
        }
        self.clock.sample(self.first_at, now);
        Some(now - self.first_at)
    }
}

/// Both ends of a connection that opens and closes. The ends share no state.
#[derive(Clone, Debug)]
pub struct Handshake {
    client: HandshakeEnd,
    server: HandshakeEnd,
    linux: bool,
    syn_bytes: u16,
}

impl Handshake {
    /// Of a connection that is closed.
    #[must_use]
    pub fn new(config: &TcpConfig) -> Self {
        Self {
            client: HandshakeEnd::new(config),
            server: HandshakeEnd::new(config),
            linux: config.linux,
            syn_bytes: config.syn_bytes(),
        }
    }

    /// IP packet of a SYN, and of its answer [B].
    #[must_use]
    pub fn syn_bytes(&self) -> u16 {
        self.syn_bytes
    }

    /// The sender connects: a SYN is sent.
    pub fn connect(&mut self, now: Time) {
        self.client.send_next(HandshakePhase::Opening, now);
    }

    /// When the sender's end has something to do.
    #[must_use]
    pub fn client_timer(&self) -> Time {
        self.client.timer
    }

    /// When the receiver's end has something to do.
    #[must_use]
    pub fn server_timer(&self) -> Time {
        self.server.timer
    }

    /// The sender's timer may have run out. Returns the packet to send again.
    pub fn on_client_timer(&mut self, now: Time) -> Option<BarePacket> {
        if now < self.client.timer {
            return None;
        }
        let patient = now < self.client.first_at + MAX_SYN_TIME;
        let max_retries = if self.linux || !patient { SYN_RETRIES } else { u32::MAX };
        self.client.try_again(now, max_retries).then_some(BarePacket::Syn)
    }

    /// The receiver's timer may have run out; `heard` is whether data arrived, which open it too.
    /// Returns the packet to send again.
    pub fn on_server_timer(&mut self, heard: bool, now: Time) -> Option<BarePacket> {
        if now < self.server.timer {
            return None;
        }
        match self.server.phase {
            HandshakePhase::Opening if heard => {
                (self.server.phase, self.server.timer) = (HandshakePhase::Open, NEVER);
                None
            }
            HandshakePhase::Opening => {
                let again = self.server.try_again(now, ANSWER_RETRIES);
                if !again {
                    self.server.phase = HandshakePhase::Closed; // another SYN opens it anew
                }
                again.then_some(BarePacket::Syn)
            }
            HandshakePhase::Closing => {
                self.server.try_again(now, FIN_RETRIES).then_some(BarePacket::Fin)
            }
            _ => {
                self.server.timer = NEVER;
                None
            }
        }
    }

    /// A SYN arrived: it is answered, unless data arrived before it.
    pub fn on_syn(&mut self, now: Time) -> bool {
        match self.server.phase {
            HandshakePhase::Closed => self.server.send_next(HandshakePhase::Opening, now),
            HandshakePhase::Opening => {
                // Linux delays its own retry when the SYN arrives again.
                self.server.retries += 1;
                self.server.timer = self.server.clock.due(now);
            }
            _ => return false,
        }
        true
    }

    /// The answer to the SYN arrived. None: it had arrived before.
    pub fn on_answer(&mut self, now: Time) -> Option<OpenedConnection> {
        if self.client.phase != HandshakePhase::Opening {
            return None;
        }
        let retries = self.client.retries;
        let rtt = self.client.take_answer(HandshakePhase::Open, now);
        Some(OpenedConnection { rtt, retries })
    }

    /// The acknowledgement of the answer arrived. None: it had arrived before; else the round trip, if
    /// it was timed.
    pub fn on_ack(&mut self, now: Time) -> Option<Option<Span>> {
        (self.server.phase == HandshakePhase::Opening)
            .then(|| self.server.take_answer(HandshakePhase::Open, now))
    }

    /// All data of a finite transfer have arrived, with its FIN. True: the receiver's FIN is sent.
    pub fn close(&mut self, now: Time) -> bool {
        if matches!(self.server.phase, HandshakePhase::Closing | HandshakePhase::Over) {
            return false;
        }
        self.server.send_next(HandshakePhase::Closing, now);
        true
    }

    /// The receiver's FIN arrived; it is acknowledged each time.
    pub fn on_fin(&mut self) {
        self.client.phase = HandshakePhase::Over;
    }

    /// The acknowledgement of the receiver's FIN arrived.
    pub fn on_last_ack(&mut self) {
        (self.server.phase, self.server.timer) = (HandshakePhase::Over, NEVER);
    }

    /// Whether the sender's end has nothing more to do by itself.
    #[must_use]
    pub fn is_client_over(&self) -> bool {
        self.client.phase == HandshakePhase::Over
    }

    /// Whether the sender gave up before its connection was open.
    #[must_use]
    pub fn has_given_up(&self) -> bool {
        self.client.phase == HandshakePhase::Over && self.client.retries > 0
    }
}

impl TcpConfig {
    /// IP packet of a SYN: an acknowledgement and its options (RFC 9293 section 3.2, RFC 7323
    /// section 2.2, RFC 2018 section 2), in words of 4 B: 4 B of segment size, 4 of window scale, 4 of
    /// SACK permitted, which time stamps have room for.
    #[must_use]
    pub fn syn_bytes(&self) -> u16 {
        let sack = if self.uses_sack() && !self.timestamps { 4 } else { 0 };
        (self.ack_bytes + 4 + 4 + sack).min(u32::from(u16::MAX)) as u16
    }
}

/// RFC 6298 (5.7): the timeout before the first sample when a SYN was lost.
pub(super) const RTO_AFTER_SYN_LOSS: Span = 3 * SECOND;

#[cfg(test)]
#[path = "handshake_tests.rs"]
mod tests;
