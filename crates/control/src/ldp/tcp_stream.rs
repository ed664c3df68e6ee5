//! A simple TCP connection of a session: handshake, numbered segments, cumulative acknowledgments,
//! resends.
//!
//! Source: RFC 9293 sections 3.4 and 3.5 (numbers, handshake, reset), RFC 6298 section 5 (the timer:
//! doubled at each resend, for the first segment not acknowledged), RFC 6582 (after a resend each
//! acknowledgment of a part sends the next).
//! Differs: the timer begins at a set time, not at an estimate; data are sent at once, without a
//! congestion window; both ends close with one segment each.

use super::Body;
use std::collections::{BTreeMap, VecDeque};
use trunkline_units::{Span, Time};

/// A segment.
#[derive(Clone, Debug, Default)]
pub struct StreamSegment {
    /// Port of the active side, which identifies the connection.
    pub port: u16,
    /// Sent by the active side.
    pub from_active: bool,
    /// Opens the connection.
    pub syn: bool,
    /// Ends it.
    pub fin: bool,
    /// No such connection exists.
    pub rst: bool,
    /// Number of its first octet.
    pub seq: u32,
    /// Number expected next; none = not valid.
    pub ack: Option<u32>,
    /// Payload [B].
    pub bytes: u32,
    /// Messages in the payload.
    pub bodies: Vec<Body>,
    /// The payload.
    pub payload: Vec<u8>,
}

impl StreamSegment {
    /// Octets of sequence space.
    fn space(&self) -> u32 {
        self.bytes + u32::from(self.syn) + u32::from(self.fin)
    }
}

/// One end of a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct TcpStream {
    pub port: u16,
    pub active: bool,
    /// Handshake done.
    pub open: bool,
    next: u32,
    expected: u32,
    /// Sent and not acknowledged, with the messages that wait for the handshake behind.
    unacknowledged: VecDeque<StreamSegment>,
    early: BTreeMap<u32, StreamSegment>,
    /// An acknowledgment is owed.
    pub owes: bool,
    resent: bool,
    span: Span,
    /// When the first segment is sent again.
    pub due: Option<Time>,
}

impl TcpStream {
    pub fn new(port: u16, active: bool, span: Span) -> Self {
        Self { port, active, span, ..Self::default() }
    }

    fn header(&self) -> StreamSegment {
        let ack = (self.expected > 0).then_some(self.expected);
        StreamSegment {
            port: self.port,
            from_active: self.active,
            seq: self.next,
            ack,
            ..StreamSegment::default()
        }
    }

    /// The segment that opens the connection, or answers the one that does.
    pub fn open(&mut self, now: Time) -> StreamSegment {
        let segment = StreamSegment { syn: true, ..self.header() };
        self.track(segment, now)
    }

    /// A segment of messages.
    pub fn data(&mut self, bodies: Vec<Body>, payload: Vec<u8>, now: Time) -> StreamSegment {
        let bytes = payload.len() as u32;
        let segment = StreamSegment { bodies, payload, bytes, ..self.header() };
        self.track(segment, now)
    }

    fn track(&mut self, segment: StreamSegment, now: Time) -> StreamSegment {
        self.next += segment.space();
        self.unacknowledged.push_back(segment.clone());
        self.owes = false;
        if self.due.is_none() {
            self.due = Some(now.saturating_add(self.span));
        }
        segment
    }

    /// An acknowledgment alone.
    pub fn acknowledgment(&mut self) -> StreamSegment {
        self.owes = false;
        self.header()
    }

    /// The last segment; the connection is not used after it.
    pub fn last(&self, bodies: Vec<Body>, payload: Vec<u8>) -> StreamSegment {
        let bytes = payload.len() as u32;
        StreamSegment { bodies, payload, bytes, fin: true, ..self.header() }
    }

    /// The first segment not acknowledged, again; the timer is set to twice as long.
    pub fn resend_first(&mut self, now: Time) -> Option<StreamSegment> {
        self.due = None;
        let first = self.unacknowledged.front()?.clone();
        self.span = self.span.saturating_mul(2);
        self.due = Some(now.saturating_add(self.span));
        self.resent = true;
        let ack = (self.expected > 0).then_some(self.expected);
        Some(StreamSegment { ack, ..first })
    }

    /// Takes a segment in: those that are now in order, and one to send again, if any.
    pub fn receive(
        &mut self,
        segment: StreamSegment,
        first: Span,
        now: Time,
    ) -> (Vec<StreamSegment>, Option<StreamSegment>) {
        let again = segment.ack.and_then(|ack| self.acknowledged(ack, first, now));
        let mut ready = Vec::new();
        if segment.space() > 0 {
            self.owes = true;
            self.early.insert(segment.seq, segment);
        }
        while let Some(entry) = self.early.first_entry() {
            if *entry.key() > self.expected {
                break;
            }
            let segment = entry.remove();
            if segment.seq == self.expected {
                self.expected += segment.space();
                ready.push(segment);
            }
        }
        (ready, again)
    }

    fn acknowledged(&mut self, ack: u32, first: Span, now: Time) -> Option<StreamSegment> {
        let before = self.unacknowledged.len();
        while self
            .unacknowledged
            .front()
            .is_some_and(|segment| segment.seq + segment.space() <= ack)
        {
            self.unacknowledged.pop_front();
        }
        if self.unacknowledged.len() == before {
            return None;
        }
        self.span = first;
        self.due = (!self.unacknowledged.is_empty()).then_some(now + first);
        let again = self.unacknowledged.front().filter(|_| self.resent).cloned();
        self.resent = again.is_some();
        again
    }
}

#[cfg(test)]
#[path = "tcp_stream_tests.rs"]
mod tests;
