//! NewReno: fast recovery lasts until everything that was outstanding at the loss is acknowledged; each
//! partial acknowledgement shows the next lost segment.
//!
//! Source: RFC 6582 section 3.2; ns-2's `Agent/TCP/Newreno` for what that leaves open: at most two new
//! segments follow a duplicate or partial acknowledgement in recovery (`sender.rs`), and a partial one
//! reduces the inflation first, then the window.
//! With `partial_ack_resets` the inflation is cleared instead, as in ns-2 until 2003 (there still as
//! `partial_window_deflation_ 0`): almost no new segment is sent while losses are repaired.
//! Differs: recovery ends with the halved window as partial acknowledgements left it, which may be
//! below the threshold that step 3 would restore. Absent: the two optional tests of section 4
//! against needless retransmits.

pub(super) use super::reno::on_dup_ack;
use super::{Phase, Sender};
use crate::tcp::Ack;
use trunkline_units::Time;

#[inline]
pub(super) fn on_new_ack(sender: &mut Sender, ack: &Ack, now: Time) {
    let recovering = sender.phase == Phase::FastRecovery;
    if recovering {
        if ack.ack < sender.recover {
            return on_partial_ack(sender, ack, now);
        }
        sender.phase = Phase::Open;
        sender.inflation = 0;
        sender.partial_seen = false;
    }
    let mut covered = sender.accept(ack, now);
    if recovering {
        covered = 1; // the duplicates have shown the others
    }
    if sender.phase == Phase::Timeout && sender.una >= sender.recover {
        sender.phase = Phase::Open;
    }
    sender.grow(ack, covered, now);
}

/// Resends the next hole and deflates by the acknowledged segments, less the segment resent, or fully.
fn on_partial_ack(sender: &mut Sender, ack: &Ack, now: Time) {
    let acked = ack.ack - sender.una;
    if sender.partial_resets {
        sender.inflation = 0;
    } else if sender.inflation > acked {
        sender.inflation -= acked - 1;
    } else {
        sender.window.cwnd = (sender.window.cwnd - f64::from(acked - sender.inflation)).max(1.0);
        sender.inflation = 1;
    }
    sender.slide(ack.ack);
    // RFC 6582 section 4: "impatient" lets the timer run from the first partial one on.
    if !(sender.impatient && sender.partial_seen) {
        sender.rearm(now);
    }
    sender.partial_seen = true;
    sender.resend = true;
}
