//! SACK: recovery that knows which segments arrived and sends the missing ones.
//!
//! Source: RFC 6675 section 5; the scoreboard of section 4 is in `scoreboard.rs`. After a timeout
//! the blocks are kept and every segment not held is sent again in order (section 5.1).

use super::{Phase, Sender};
use crate::tcp::Ack;
use trunkline_units::Time;

#[inline]
pub(super) fn on_ack(sender: &mut Sender, ack: &Ack, now: Time) {
    let advanced = ack.ack > sender.una;
    if advanced {
        sender.scoreboard.on_cumulative(sender.una, ack.ack);
    }
    let summary = ack.sack[0][1] > 0
        && sender.scoreboard.on_blocks(&ack.sack, ack.ack, sender.max, sender.threshold);
    if advanced {
        on_new_ack(sender, ack, now);
    } else if summary && sender.phase == Phase::Open {
        sender.dup_acks += 1;
        if sender.dup_acks >= sender.threshold || sender.scoreboard.is_lost(sender.una) {
            enter_recovery(sender, now);
        }
    }
}

#[inline]
fn on_new_ack(sender: &mut Sender, ack: &Ack, now: Time) {
    sender.accept(ack, now);
    let recovering = sender.phase == Phase::FastRecovery;
    if sender.una >= sender.recover {
        sender.phase = Phase::Open;
    }
    // (A) leaves recovery with the window it had; during recovery the window does not change.
    if !recovering {
        sender.grow(ack, now);
    }
}

/// Step (4). A loss below RecoveryPoint after a timeout starts no new recovery (section 5.1): the
/// phase is not `Open` until that point is acknowledged.
fn enter_recovery(sender: &mut Sender, now: Time) {
    let flight = sender.max - sender.una;
    // RFC 5681 section 3.2 step 2: segments of limited transmit do not count.
    let extra = flight.saturating_sub(sender.window.cwnd as u32);
    if sender.reduce(f64::from(flight - extra)) {
        // Half a segment of an odd flight stays in the window, as in bytes it would.
        sender.window.cwnd = sender.window.cwnd.max(sender.window.ssthresh);
    }
    sender.on_loss(now);
    sender.phase = Phase::FastRecovery;
    sender.scoreboard.on_recovery();
    sender.resend = true;
}

/// NextSeg, if the window has room for one segment (steps (3.3) and (C)). `take` books it.
#[inline]
pub(super) fn choose_segment(sender: &mut Sender, take: bool) -> Option<u32> {
    let window = sender.window.cwnd as u32;
    let fresh =
        sender.next < sender.end && sender.next < sender.una.saturating_add(sender.window.cap);
    if sender.phase == Phase::Open {
        // Without limited transmit, segments that left the network free no room before recovery.
        let flight = if sender.limited_transmit {
            sender.scoreboard.pipe()
        } else {
            sender.max - sender.una
        };
        if !fresh || flight >= window {
            return None;
        }
        return Some(take_new(sender, take));
    }
    if sender.scoreboard.pipe() >= window {
        return None;
    }
    let fast = sender.phase == Phase::FastRecovery;
    // After a timeout only segments outstanding at that time are resent without a new recovery.
    let stop = if fast { sender.max } else { sender.recover };
    if let Some(seq) = sender.scoreboard.next_lost(sender.una, stop) {
        return Some(resend(sender, seq, take));
    }
    if fresh {
        return Some(take_new(sender, take));
    }
    if !fast {
        return None;
    }
    match sender.scoreboard.next_doubtful(sender.una) {
        Some(seq) => Some(resend(sender, seq, take)),
        None => sender.scoreboard.rescue(sender.una, sender.max, take),
    }
}

#[inline]
fn take_new(sender: &mut Sender, take: bool) -> u32 {
    if take {
        sender.scoreboard.on_new(sender.una, sender.next);
    }
    sender.next
}

fn resend(sender: &mut Sender, seq: u32, take: bool) -> u32 {
    if take {
        sender.scoreboard.on_resend(seq);
    }
    seq
}
