//! Reno: fast retransmit, then fast recovery until the first new acknowledgement.
//!
//! Source: RFC 2581 section 3.2 (kept in RFC 5681). Several losses in one window usually end in a
//! timeout: a second fast retransmit is not made for data sent before the first (ns-2's `bugFix_`,
//! RFC 6582's `recover`).

use super::{Phase, Sender};
use crate::tcp::Ack;
use trunkline_units::Time;

#[inline]
pub(super) fn on_new_ack(sender: &mut Sender, ack: &Ack, now: Time) {
    sender.inflation = 0;
    let mut covered = sender.accept(ack, now);
    if sender.phase == Phase::FastRecovery {
        covered = 1; // the duplicates have shown the others
    }
    if sender.phase == Phase::FastRecovery || sender.una >= sender.recover {
        sender.phase = Phase::Open;
    }
    sender.grow(ack, covered, now);
}

pub(super) fn on_dup_ack(sender: &mut Sender, now: Time) {
    if sender.phase == Phase::FastRecovery {
        sender.inflation += 1;
    } else if sender.dup_acks == sender.threshold && sender.past_recovery() {
        enter_fast_recovery(sender, now);
    }
}

/// RFC 5681 section 3.2 steps 2 and 3: halve, resend, inflate by the segments known to have left the
/// network.
pub(super) fn enter_fast_recovery(sender: &mut Sender, now: Time) {
    sender.reduce(sender.window.cwnd);
    sender.on_loss(now);
    sender.phase = Phase::FastRecovery;
    sender.inflation = sender.threshold;
    sender.resend = true;
}
