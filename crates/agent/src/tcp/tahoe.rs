//! Tahoe: every loss, however noticed, restarts slow start from the lost segment.
//!
//! Source: Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988; ns-2's `Agent/TCP` for the
//! guard against a second retransmit in one window.

use super::sender::{Phase, Sender};
use super::Ack;
use trunkline_units::Time;

#[inline]
pub(super) fn on_new_ack(sender: &mut Sender, ack: &Ack, now: Time) {
    sender.accept(ack, now);
    if sender.phase == Phase::Timeout && sender.una >= sender.recover {
        sender.phase = Phase::Open;
    }
    sender.grow(ack);
}

pub(super) fn on_dup_ack(sender: &mut Sender, now: Time) {
    if sender.dup_acks == sender.threshold && sender.past_recovery() {
        sender.halve(sender.cwnd);
        sender.on_loss(now);
        sender.phase = Phase::Open;
        sender.cwnd = 1.0;
        sender.next = sender.una;
    }
}
