//! An NHLFE: the labels it takes off and puts on, and where it sends a packet.
//!
//! Source: RFC 3031 section 3.10, RFC 3443 (TTL of uniform and pipe tunnels).

use super::diffserv::TcMarking;
use super::NO_ENTRY;
use crate::classifier::{NO_ROW, OWN_COLUMN};
use crate::network;
use trunkline_packet::{Cause, Packet, StackEntry};

/// Out-links of entries that recovery or routing has changed; every real link is below.
pub(super) const CHANGED_ENTRIES: u32 = u32::MAX - 1;
pub(super) const DISCARDED: u32 = u32::MAX - 2;
pub(super) const UNREACHABLE: u32 = u32::MAX - 3;
pub(super) const BRIDGED: u32 = u32::MAX - 4;

/// TTL of a new label in the pipe model: the tunnel's length does not show in it.
const PIPE_TTL: u8 = 255;

/// Where an NHLFE sends a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextHop {
    /// Out on this link, to be classified there by this row.
    Link(u32, u16),
    /// The label is popped: look the packet up again here. `true`: its TTL has been decreased. Then the
    /// column to classify it by, [`OWN_COLUMN`] except at the end of a pipe.
    Again(bool, u8),
    /// One copy each on the two legs of this bridge.
    Bridge(u32),
}

/// A label that an entry puts on.
#[derive(Clone, Copy, Debug)]
pub(super) struct PushedLabel {
    label: u32,
    /// Its marking: index + 1; 0 = none.
    mark: u16,
}

/// Half a cache line, so that no entry lies on two.
#[derive(Clone, Debug)]
#[repr(align(32))]
pub(super) struct NhlfeRow {
    pub(super) link: u32,
    pub(super) pop: bool,
    pub(super) pushes: u8,
    pub(super) ttl: network::Ttl,
    /// Bits of the TC that a swap keeps.
    pub(super) keep: u8,
    pub(super) entropy: bool,
    pub(super) row: u16,
    pub(super) path: u32,
    /// The first label that it puts on and its marking, and the others; those from `pushes` on are unused. In one
    /// field label and marking would take 2 B more, and the entry a whole line.
    first_label: u32,
    first_mark: u16,
    others: Option<Box<[PushedLabel; trunkline_packet::MAX_DEPTH - 1]>>,
    /// Marking of the popped label: index + 1; 0 = none.
    pub(super) unmark: u16,
    /// Whether a pop by it changes nothing but the TTL of what it reveals.
    pub(super) pops_alone: bool,
}

impl NhlfeRow {
    /// `plain`: the marking of labels that have none of their own, a number of `markings`.
    pub(super) fn new(config: &network::Nhlfe, plain: u16, markings: &[TcMarking]) -> Self {
        let index = |diffserv: Option<u32>| diffserv.map_or(plain, |index| index as u16 + 1);
        let pushed = |place: usize| PushedLabel {
            label: config.push.get(place).copied().unwrap_or(0),
            mark: index(config.push_diffserv.get(place).copied().flatten()),
        };
        let first = pushed(0);
        let several = config.push.len().max(config.push_diffserv.len()) > 1;
        let unmark = if config.push.is_empty() || config.pop_diffserv.is_some() {
            index(config.pop_diffserv)
        } else {
            0 // a swap
        };
        Self {
            link: config.link.unwrap_or(NO_ENTRY),
            pop: config.pop,
            pushes: config.push.len() as u8,
            ttl: config.ttl,
            keep: if config.zero_tc { 0 } else { 7 },
            entropy: config.entropy,
            row: config.row.unwrap_or(NO_ROW),
            path: config.path,
            first_label: first.label,
            first_mark: first.mark,
            others: several.then(|| Box::new(std::array::from_fn(|place| pushed(place + 1)))),
            unmark,
            pops_alone: unmark == 0
                || markings[usize::from(unmark) - 1].leaves_what_a_pop_reveals(),
        }
    }

    /// Whether it changes a label, or takes it off, and no more, and leads to a link.
    // A label that goes and one that changes depend on different fields. Which of both comes is hard to predict,
    // so there is no branch.
    #[inline(always)]
    pub(super) fn only_switches(&self) -> bool {
        let pops_alone = (self.pushes == 0) & self.pops_alone;
        self.pop & (self.link < BRIDGED) & (self.pushes <= 1) & ((self.unmark == 0) | pops_alone)
    }

    /// A label that it puts on, the one nearest the bottom first.
    #[inline(always)]
    pub(super) fn label(&self, place: usize) -> u32 {
        self.pushed(place).label
    }

    #[inline(always)]
    fn pushed(&self, place: usize) -> PushedLabel {
        match (place, &self.others) {
            (1.., Some(others)) => others[place - 1],
            _ => PushedLabel { label: self.first_label, mark: self.first_mark },
        }
    }

    /// Changes a label that it puts on; a new one has the marking `plain`.
    pub(super) fn set_label(&mut self, place: usize, label: u32, plain: u16) {
        if place == 0 {
            self.first_label = label;
            return;
        }
        let none = PushedLabel { label: 0, mark: plain };
        self.others.get_or_insert_with(|| Box::new([none; trunkline_packet::MAX_DEPTH - 1]))
            [place - 1]
            .label = label;
    }

    #[inline(always)]
    pub(super) fn hop(&self, counted: bool) -> Result<NextHop, Cause> {
        if self.link < BRIDGED {
            Ok(NextHop::Link(self.link, self.row))
        } else {
            self.discarded_hop(counted)
        }
    }

    fn discarded_hop(&self, counted: bool) -> Result<NextHop, Cause> {
        match self.link {
            BRIDGED => Ok(NextHop::Bridge(self.path)),
            DISCARDED => Err(Cause::Unselected),
            CHANGED_ENTRIES => Err(Cause::Switching),
            UNREACHABLE => Err(Cause::NoRoute),
            _ => Ok(NextHop::Again(counted, OWN_COLUMN)),
        }
    }

    /// Pushes its labels on a packet that has none.
    #[inline(always)]
    pub(super) fn push_first(
        &self,
        packet: &mut Packet,
        dscp: u8,
        markings: &[TcMarking],
    ) -> Result<(), Cause> {
        match self.pushes {
            0 => return Ok(()),
            1 => {}
            _ => return self.push_more(packet, 0, dscp, markings),
        }
        let tc = match self.first_mark {
            0 => dscp >> 3,
            mark => markings[usize::from(mark) - 1].tc_of_header(packet, dscp),
        };
        let ttl = if self.ttl == network::Ttl::Uniform { packet.ttl } else { PIPE_TTL };
        packet.labels.start(StackEntry::new(self.first_label, tc, ttl));
        Ok(())
    }

    #[inline(always)]
    pub(super) fn push_all(
        &self,
        packet: &mut Packet,
        dscp: u8,
        markings: &[TcMarking],
    ) -> Result<(), Cause> {
        if self.pushes == 1 {
            return self.push_one(packet, self.pushed(0), dscp, markings);
        }
        self.push_more(packet, 0, dscp, markings)
    }

    /// Pushes labels from the `from`th on. TC: by the label's marking; without one that of the
    /// label below, or the DSCP's class selector bits on the first label. TTL by the model.
    #[inline(never)]
    pub(super) fn push_more(
        &self,
        packet: &mut Packet,
        from: usize,
        dscp: u8,
        markings: &[TcMarking],
    ) -> Result<(), Cause> {
        for place in from..usize::from(self.pushes) {
            self.push_one(packet, self.pushed(place), dscp, markings)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn push_one(
        &self,
        packet: &mut Packet,
        PushedLabel { label, mark }: PushedLabel,
        dscp: u8,
        markings: &[TcMarking],
    ) -> Result<(), Cause> {
        let (mut tc, below) = match packet.labels.top() {
            Some(inner) => (inner.tc(), inner.ttl()),
            None => (dscp >> 3, packet.ttl),
        };
        if mark != 0 {
            tc = markings[usize::from(mark) - 1].tc(packet, dscp);
        }
        let ttl = if self.ttl == network::Ttl::Uniform { below } else { PIPE_TTL };
        packet.labels.push(StackEntry::new(label, tc, ttl)).then_some(()).ok_or(Cause::TooBig)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn two_entries_share_a_cache_line() {
        assert_eq!(std::mem::size_of::<super::NhlfeRow>(), 32);
    }
}
