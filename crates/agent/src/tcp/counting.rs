//! NewReno that counts: without SACK, duplicate acknowledgements tell how much has left the
//! network, and the window in recovery follows what arrives.
//!
//! Source: RFC 6582 section 3.2 (one hole a round trip; no second fast retransmit before `recover`
//! is passed), RFC 6937 section 3 (`prr.rs`); Linux 6.1 (`net/ipv4/tcp_input.c`) for what they leave
//! open: each duplicate is a segment held; an acknowledgement of n segments is one hole and up to
//! n - 1 that duplicates told of; recovery ends at the threshold when something above `recover` is
//! acknowledged; the receiver's window opens with what comes in order; a timeout in recovery, or one more without progress, keeps the threshold.
//! Absent: Linux's rise of the reordering threshold, F-RTO (RFC 5682), undoing needless reductions.

use super::prr::{Progress, Prr};
use super::sender::{Phase, Sender};
use super::Ack;
use trunkline_units::Time;

/// State of the sender beside what all variants share; `inflation` is the segments held.
#[derive(Clone, Debug, Default)]
pub(super) struct Counting {
    prr: Prr,
    resent_before: u64,     // retransmissions before this recovery
    hole: bool,             // the first segment not acknowledged is lost and not sent again
    window_most: u32,       // largest window that the receiver advertises
    timed_out: Option<u32>, // first segment not acknowledged at the last timeout
}

impl Counting {
    /// State before a transfer whose receiver advertises up to `window_most` segments.
    pub(super) fn new(window_most: u32) -> Self {
        Self { window_most, ..Self::default() }
    }
}

/// The receiver's window grows by two segments for each that came in order; what waits behind a
/// hole does not open it without SACK.
fn open_window(sender: &mut Sender, in_order: u32) {
    let grown = sender.window.saturating_add(in_order.saturating_mul(2));
    sender.window = grown.min(sender.counting.window_most);
}

pub(super) fn on_new_ack(sender: &mut Sender, ack: &Ack, now: Time) {
    if sender.phase == Phase::FastRecovery && ack.ack <= sender.recover {
        return on_partial_ack(sender, ack, now);
    }
    let told = sender.inflation.max(sender.dup_acks);
    let in_order = (ack.ack - sender.una).saturating_sub(told).max(1);
    open_window(sender, in_order);
    if sender.phase == Phase::FastRecovery {
        sender.phase = Phase::Open;
        sender.inflation = 0;
        sender.cwnd = sender.ssthresh;
        sender.counting.hole = false;
    }
    sender.accept(ack, now);
    if sender.phase == Phase::Open {
        sender.covered = sender.covered.saturating_sub(told).max(1);
    } else if sender.una >= sender.recover {
        sender.phase = Phase::Open;
    }
    sender.grow(ack);
}

pub(super) fn on_dup_ack(sender: &mut Sender, now: Time) {
    if sender.phase == Phase::FastRecovery {
        // At `recover` itself duplicates may be of needless retransmits (RFC 6582 section 4.1).
        if sender.una < sender.recover {
            let most = sender.max - sender.una - 1;
            let told = u32::from(sender.inflation < most);
            sender.inflation += told;
            reduce(sender, told, false);
        }
    } else if sender.dup_acks == sender.threshold && sender.past_recovery() {
        enter_recovery(sender, now);
    }
}

fn enter_recovery(sender: &mut Sender, now: Time) {
    sender.counting.prr.start(sender.cwnd as u32);
    sender.counting.resent_before = sender.retransmissions;
    let before = sender.cwnd;
    if sender.halve(before) {
        sender.cwnd = before;
    }
    sender.on_loss(now);
    sender.phase = Phase::FastRecovery;
    sender.inflation = sender.threshold.min(sender.max - sender.una - 1);
    sender.counting.hole = true;
    reduce(sender, 1, false);
}

/// One hole was filled; what lies behind the next was told by duplicates.
fn on_partial_ack(sender: &mut Sender, ack: &Ack, now: Time) {
    let acked = ack.ack - sender.una;
    let delivered = acked.saturating_sub(sender.inflation).max(1);
    sender.slide(ack.ack);
    sender.rearm(now);
    open_window(sender, 1);
    if sender.una == sender.recover {
        sender.inflation = 0;
        sender.counting.hole = false;
        return reduce(sender, delivered, true);
    }
    let most = sender.max - sender.una - 1;
    sender.inflation = sender.inflation.saturating_sub(acked - 1).min(most);
    sender.counting.hole = true;
    reduce(sender, delivered, false);
}

/// Sets the window for this acknowledgement; the hole goes first.
fn reduce(sender: &mut Sender, delivered: u32, clean: bool) {
    if delivered == 0 {
        return;
    }
    let unsent = u32::from(sender.counting.hole);
    let outstanding = sender.max - sender.una;
    let in_flight = outstanding.saturating_sub(sender.inflation + unsent);
    let again = (sender.retransmissions - sender.counting.resent_before) as u32;
    let progress = Progress {
        ssthresh: sender.ssthresh as u32,
        in_flight,
        delivered,
        sent: sender.max - sender.recover + again,
        clean,
    };
    let room = sender.counting.prr.allows(&progress);
    sender.cwnd = f64::from((in_flight + room).max(1));
    if sender.counting.hole && room > 0 {
        sender.counting.hole = false;
        sender.resend = true;
    }
}

/// Whether a timeout is one of a loss that has reduced the threshold already.
pub(super) fn keeps_threshold(sender: &mut Sender) -> bool {
    let again = sender.phase == Phase::Timeout && sender.counting.timed_out == Some(sender.una);
    let recovering = sender.phase == Phase::FastRecovery && sender.una < sender.recover;
    sender.counting.timed_out = Some(sender.una);
    sender.counting.hole = false;
    again || recovering
}
