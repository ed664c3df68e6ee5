//! Proportional rate reduction: the number of segments sent in recovery per segment delivered.
//!
//! Source: RFC 6937 section 3; the choice between its two bounds follows Linux 6.1
//! (`net/ipv4/tcp_input.c`): slow start's when the acknowledgement advances and shows no further loss,
//! else the conservative one, with at least the segments that the acknowledgement itself delivered.
//! Differs from the RFC, as Linux does: RecoverFS is the window before the loss, and the first segment
//! of a recovery is always sent.

/// State of one recovery.
#[derive(Clone, Debug, Default)]
pub(super) struct Prr {
    before: u32,    // congestion window when the loss was found (RecoverFS)
    delivered: u32, // segments delivered since (prr_delivered)
}

/// An acknowledgement in recovery, in segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// Slow-start threshold.
    pub ssthresh: u32,
    /// Segments in the network, as far as is known (pipe).
    pub in_flight: u32,
    /// Delivered by this acknowledgement (DeliveredData).
    pub delivered: u32,
    /// Sent in this recovery so far (prr_out).
    pub sent: u32,
    /// The acknowledgement advances and shows no further loss.
    pub clean: bool,
}

impl Prr {
    /// Recovery starts at a congestion window of `before` segments.
    pub(super) fn start(&mut self, before: u32) {
        *self = Self { before: before.max(1), delivered: 0 };
    }

    /// Segments that may go now (sndcnt).
    pub(super) fn allows(&mut self, now: &Progress) -> u32 {
        self.delivered += now.delivered;
        let room = if now.in_flight > now.ssthresh {
            let due = u64::from(now.ssthresh) * u64::from(self.delivered);
            (due.div_ceil(u64::from(self.before)) as u32).saturating_sub(now.sent)
        } else {
            let proportional_limit = self.delivered.saturating_sub(now.sent).max(now.delivered);
            (proportional_limit + u32::from(now.clean)).min(now.ssthresh - now.in_flight)
        };
        room.max(u32::from(now.sent == 0))
    }
}

#[cfg(test)]
mod rfc6937 {
    use super::*;

    fn step(in_flight: u32, sent: u32, clean: bool) -> Progress {
        Progress { ssthresh: 5, in_flight, delivered: 1, sent, clean }
    }

    /// From 10 to 5: CEIL(delivered * 5 / 10) is 1, 1, 2, 2, 3, 3: a segment for every second.
    #[test]
    fn s3_above_the_threshold_segments_go_in_proportion() {
        let mut prr = Prr::default();
        prr.start(10);
        let mut sent = 0;
        let mut went = vec![];
        for _ in 0..6 {
            let room = prr.allows(&step(8, sent, false));
            sent += room;
            went.push(room);
        }
        assert_eq!(went, [1, 0, 1, 0, 1, 0]);
    }

    /// Four delivered, two sent, three in flight: CRB lets 4 - 2 = 2 go, SSRB one more, and both
    /// stop at 5 - 3 = 2 and, with four in flight, at 1.
    #[test]
    fn s3_below_the_threshold_the_bound_is_conservative_or_slow_start() {
        for (in_flight, clean, room) in
            [(1, false, 2), (1, true, 3), (3, false, 2), (3, true, 2), (4, true, 1)]
        {
            let mut prr = Prr { before: 10, delivered: 3 };
            assert_eq!(prr.allows(&step(in_flight, 2, clean)), room, "{in_flight} {clean}");
        }
    }

    /// Ahead of the delivered segments (3 of 2 sent), the segments of this acknowledgement may still be
    /// sent.
    #[test]
    fn linux_a_delivered_segment_always_makes_room_below_the_threshold() {
        let mut prr = Prr { before: 10, delivered: 1 };
        assert_eq!(prr.allows(&step(2, 3, false)), 1);
    }

    /// At the threshold there is no room, but the retransmission that starts recovery is sent.
    #[test]
    fn linux_the_first_segment_of_a_recovery_is_sent() {
        let mut prr = Prr::default();
        prr.start(10);
        assert_eq!(prr.allows(&step(5, 0, false)), 1);
        assert_eq!(prr.allows(&step(5, 1, false)), 0);
    }
}
