//! The sending end of a connection: one of two stacks behind one interface.

use super::{linux, rfc, Ack, Counters, OpenedConnection, Segment, State, TcpConfig};
use trunkline_units::{RandomStream, Span, Time};

/// Sending end of a TCP connection.
// The RFC stack is the one that large runs use; in a box each acknowledgement would fetch one line more.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
pub enum Sender {
    /// After the RFCs, and ns-2 where they leave room.
    Rfc(rfc::Sender),
    /// As Linux 6.1 has it.
    Linux(Box<linux::Sender>),
}

use Sender::{Linux, Rfc};

/// Calls the stack.
macro_rules! dispatch {
    ($self:ident, $stack:ident => $answer:expr) => {
        match $self {
            Rfc($stack) => $answer,
            Linux($stack) => $answer,
        }
    };
}

impl Sender {
    /// A sender that has sent nothing and waits for [`Sender::start`].
    #[must_use]
    pub fn new(config: &TcpConfig) -> Self {
        if config.linux {
            Linux(Box::new(linux::Sender::new(config)))
        } else {
            Rfc(rfc::Sender::new(config))
        }
    }

    /// Opens the window. The first burst is not held back: the flow's own start may be random.
    pub fn start(&mut self, now: Time) {
        dispatch!(self, stack => stack.start(now));
    }

    /// The connection is open: round trip, timeout and first window are those of the handshake.
    /// [`Sender::start`] comes after it.
    pub fn establish(&mut self, opened: &OpenedConnection) {
        dispatch!(self, stack => stack.establish(opened));
    }

    /// Its SYN went again.
    pub fn connect_again(&mut self) {
        dispatch!(self, stack => stack.connect_again());
    }

    /// No new data after this; lost segments are still retransmitted.
    pub fn stop(&mut self, _now: Time) {
        dispatch!(self, stack => stack.stop());
    }

    /// Data come by [`Sender::write`], the first `bytes` now: call it before [`Sender::start`]. The
    /// connection never ends.
    pub fn accept_writes(&mut self, config: &TcpConfig, bytes: u64) {
        dispatch!(self, stack => stack.accept_writes(config, bytes));
    }

    /// The application writes so many bytes more. Poll [`Sender::next_segment`] after it.
    pub fn write(&mut self, bytes: u64, now: Time, random: &mut RandomStream) {
        match self {
            Rfc(stack) => stack.write(bytes, now, random),
            Linux(stack) => stack.write(bytes, now),
        }
    }

    /// An acknowledgement arrived. Poll [`Sender::next_segment`] after it.
    #[inline]
    pub fn on_ack(&mut self, ack: &Ack, now: Time, random: &mut RandomStream) {
        match self {
            Rfc(stack) => stack.on_ack(ack, now, random),
            Linux(stack) => stack.on_ack(ack, now, random),
        }
    }

    /// The time of [`Sender::timer`] may have come. Poll [`Sender::next_segment`] after it.
    pub fn on_timer(&mut self, now: Time, random: &mut RandomStream) {
        match self {
            Rfc(stack) => stack.on_timer(now, random),
            Linux(stack) => stack.on_timer(now),
        }
    }

    /// Whether it is plain that [`Sender::next_segment`] has none.
    #[inline(always)]
    #[must_use]
    pub fn is_idle(&self) -> bool {
        match self {
            Rfc(stack) => stack.is_idle(),
            Linux(_) => false,
        }
    }

    /// The next segment to send now, if any.
    #[inline]
    pub fn next_segment(&mut self, now: Time) -> Option<Segment> {
        match self {
            Rfc(stack) => stack.next_segment(now),
            Linux(stack) => stack.next_segment(now),
        }
    }

    /// Whether it limits what waits in its own host, and must hear when each segment leaves.
    #[inline(always)]
    #[must_use]
    pub fn limits_host_queue(&self) -> bool {
        matches!(self, Linux(_))
    }

    /// The segment taken last leaves its host then: its first link begins to send it.
    pub fn leave_host_at(&mut self, at: Time) {
        if let Linux(stack) = self {
            stack.leave_host_at(at);
        }
    }

    /// A segment left its host, or was dropped there. True: poll [`Sender::next_segment`].
    pub fn leave_host(&mut self) -> bool {
        match self {
            Rfc(_) => false,
            Linux(stack) => stack.leave_host(),
        }
    }

    /// The earliest instant at which [`Sender::on_timer`] has something to do, or
    /// [`trunkline_units::NEVER`].
    #[inline]
    #[must_use]
    pub fn timer(&self) -> Time {
        dispatch!(self, stack => stack.timer())
    }

    /// Congestion window, fast recovery's inflation left out [segments].
    #[must_use]
    pub fn cwnd(&self) -> f64 {
        dispatch!(self, stack => stack.window())
    }

    /// Slow-start threshold [segments].
    #[must_use]
    pub fn ssthresh(&self) -> f64 {
        dispatch!(self, stack => stack.ssthresh())
    }

    /// Smoothed round-trip time [ns]; none before the first sample.
    #[must_use]
    pub fn srtt(&self) -> Option<f64> {
        dispatch!(self, stack => stack.srtt())
    }

    /// Latest sample of the round-trip time [ns]; none before the first.
    #[must_use]
    pub fn rtt(&self) -> Option<f64> {
        dispatch!(self, stack => stack.rtt())
    }

    /// Retransmission timeout, back-off included [ns].
    #[must_use]
    pub fn rto(&self) -> Span {
        dispatch!(self, stack => stack.rto())
    }

    /// Pace of its segments [B/s of payload]; none where it does not pace, or has none yet.
    #[must_use]
    pub fn pacing_rate(&self) -> Option<u64> {
        dispatch!(self, stack => stack.pacing_rate())
    }

    /// Segments in the network, as it counts them: by the scoreboard where there is one.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        dispatch!(self, stack => stack.in_flight())
    }

    /// State of the sender.
    #[must_use]
    pub fn state(&self) -> State {
        dispatch!(self, stack => stack.state())
    }

    /// Counters of the sender.
    #[must_use]
    pub fn counters(&self) -> Counters {
        dispatch!(self, stack => stack.counters())
    }

    /// When all of a finite transfer was acknowledged.
    #[must_use]
    pub fn finished_at(&self) -> Option<Time> {
        dispatch!(self, stack => stack.finished_at())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Receiver;
    use super::Sender;
    use std::mem::size_of;

    /// Four and two cache lines: what a run of many flows has of each.
    #[test]
    fn both_ends_of_a_connection_take_384_bytes() {
        assert_eq!((size_of::<Sender>(), size_of::<Receiver>()), (256, 128));
    }
}
