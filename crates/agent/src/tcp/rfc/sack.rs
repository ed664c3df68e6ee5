//! SACK: recovery that knows which segments arrived and sends the missing ones.
//!
//! Source: RFC 6675 section 5; the scoreboard of section 4 is in `scoreboard.rs`. After a timeout
//! the blocks are kept and every segment not held is sent again in order (section 5.1).

use super::scoreboard::Scoreboard;
use super::{Phase, Sender};
use crate::tcp::Ack;
use trunkline_units::Time;

/// The scoreboard, which the variant `sack` has.
fn scoreboard(sender: &mut Sender) -> &mut Scoreboard {
    sender.scoreboard.as_mut().expect("variant sack has its scoreboard")
}

#[inline]
pub(super) fn on_ack(sender: &mut Sender, ack: &Ack, now: Time) {
    let (una, max, threshold) = (sender.una, sender.max, sender.threshold);
    let advanced = ack.ack > una;
    let board = scoreboard(sender);
    if advanced {
        board.on_cumulative(una, ack.ack);
    }
    let summary = ack.sack[0][1] > 0 && board.on_blocks(&ack.sack, ack.ack, max, threshold);
    if advanced {
        on_new_ack(sender, ack, now);
    } else if summary && sender.phase == Phase::Open {
        sender.dup_acks += 1;
        if sender.dup_acks >= threshold || scoreboard(sender).is_lost(una) {
            enter_recovery(sender, now);
        }
    }
}

#[inline]
fn on_new_ack(sender: &mut Sender, ack: &Ack, now: Time) {
    let covered = sender.accept(ack, now);
    let recovering = sender.phase == Phase::FastRecovery;
    if sender.una >= sender.recover {
        sender.phase = Phase::Open;
    }
    // (A) leaves recovery with the window it had; during recovery the window does not change.
    if !recovering {
        sender.grow(ack, covered, now);
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
    scoreboard(sender).on_recovery();
    sender.resend = true;
}

/// NextSeg, if the window has room for one segment (steps (3.3) and (C)). `take` books it.
#[inline]
pub(super) fn choose_segment(sender: &mut Sender, take: bool) -> Option<u32> {
    let window = sender.window.cwnd as u32;
    let (una, max) = (sender.una, sender.max);
    let fresh =
        sender.next < sender.end && sender.next < sender.una.saturating_add(sender.window.cap);
    if sender.phase == Phase::Open {
        // Without limited transmit, segments that left the network free no room before recovery.
        let flight = if sender.limited_transmit {
            scoreboard(sender).pipe()
        } else {
            sender.max - sender.una
        };
        if !fresh || flight >= window {
            return None;
        }
        return Some(take_new(sender, take));
    }
    if scoreboard(sender).pipe() >= window {
        return None;
    }
    let fast = sender.phase == Phase::FastRecovery;
    // After a timeout only segments outstanding at that time are resent without a new recovery.
    let stop = if fast { sender.max } else { sender.recover };
    if let Some(seq) = scoreboard(sender).next_lost(una, stop) {
        return Some(resend(sender, seq, take));
    }
    if fresh {
        return Some(take_new(sender, take));
    }
    if !fast {
        return None;
    }
    match scoreboard(sender).next_doubtful(una) {
        Some(seq) => Some(resend(sender, seq, take)),
        None => scoreboard(sender).rescue(una, max, take),
    }
}

#[inline]
fn take_new(sender: &mut Sender, take: bool) -> u32 {
    if take {
        let (una, next) = (sender.una, sender.next);
        scoreboard(sender).on_new(una, next);
    }
    sender.next
}

fn resend(sender: &mut Sender, seq: u32, take: bool) -> u32 {
    if take {
        scoreboard(sender).on_resend(seq);
    }
    seq
}
