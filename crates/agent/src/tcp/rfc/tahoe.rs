//! Tahoe: every loss, however noticed, restarts slow start from the lost segment.
//!
//! Source: Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988; ns-2's `Agent/TCP` for the
//! guard against a second retransmit in one window.

use super::{Phase, Sender};
use crate::tcp::Ack;
use trunkline_units::Time;

#[inline]
pub(super) fn on_new_ack(sender: &mut Sender, ack: &Ack, now: Time) {
    let covered = sender.accept(ack, now);
    if sender.phase == Phase::Timeout && sender.una >= sender.recover {
        sender.phase = Phase::Open;
    }
    sender.grow(ack, covered, now);
}

pub(super) fn on_dup_ack(sender: &mut Sender, now: Time) {
    if sender.dup_acks == sender.threshold && sender.past_recovery() {
        sender.reduce(sender.window.cwnd);
        sender.on_loss(now);
        sender.phase = Phase::Open;
        sender.window.cwnd = 1.0;
        sender.next = sender.una;
    }
}
