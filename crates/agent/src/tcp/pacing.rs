//! Pacing: segments are sent with pauses between them, not as fast as the window opens.
//!
//! Source: Linux 6.1 (`tcp_update_pacing_rate`, `tcp_update_skb_after_send`): twice a window in a smoothed
//! round trip while the window is below half the threshold, 1.2 times afterwards; the first ten segments
//! are sent at once; a late segment shortens the next pause, by half of it at most. Absent: bursts of
//! devices that divide large buffers into segments (`tcp_tso_autosize`).

use trunkline_units::{Span, Time, SECOND};

const UNPACED: u64 = 10;

/// Twice a window [segments of `mss` B] in a smoothed round trip [ns] below half the threshold, else 1.2
/// times [B/s]; 0 without a sample.
pub(super) fn rate_of_window(mss: u32, cwnd: f64, out: u32, ssthresh: f64, srtt: Span) -> u64 {
    if srtt == 0 {
        return 0;
    }
    let gain = if cwnd < ssthresh / 2.0 { 2.0 } else { 1.2 };
    let window = cwnd.max(f64::from(out)) * f64::from(mss);
    (gain * window * SECOND as f64 / srtt as f64) as u64
}

#[derive(Clone, Debug)]
pub(super) struct Pacer {
    mss: u64,
    rate: u64, // [B/s]; 0: unknown
    next_at: Time,
    sent: u64,
}

impl Pacer {
    pub fn new(mss: u32) -> Self {
        Self { mss: u64::from(mss.max(1)), rate: 0, next_at: 0, sent: 0 }
    }

    /// Sets the pace of a control that gives one [B/s].
    pub fn set(&mut self, rate: u64) {
        self.rate = rate;
    }

    /// The pace of a window [segments] in a smoothed round trip [ns].
    pub fn follow(&mut self, cwnd: f64, out: u32, ssthresh: f64, srtt: Span) {
        if srtt > 0 {
            self.rate = rate_of_window(self.mss as u32, cwnd, out, ssthresh, srtt);
        }
    }

    /// The pace [B/s]; 0: unknown.
    pub fn rate(&self) -> u64 {
        self.rate
    }

    /// When the next segment may go.
    pub fn next_at(&self) -> Time {
        self.next_at
    }

    /// A segment is sent now.
    pub fn sent(&mut self, now: Time) {
        self.sent += 1;
        if self.rate == 0 || self.sent <= UNPACED {
            return;
        }
        let pause = (u128::from(self.mss) * u128::from(SECOND) / u128::from(self.rate)) as Span;
        let late = now.saturating_sub(self.next_at);
        self.next_at = now.max(self.next_at) + pause - late.min(pause / 2);
    }
}

#[cfg(test)]
mod linux {
    use super::*;

    const MS: Span = 1_000_000;

    fn times(pacer: &mut Pacer, count: u64) -> Vec<Time> {
        let mut seen = vec![];
        let mut now = 0;
        for _ in 0..count {
            now = now.max(pacer.next_at());
            pacer.sent(now);
            seen.push(now);
        }
        seen
    }

    /// 1250 B at 1.25 MB/s are 1 ms. The first ten go at once.
    #[test]
    fn tcp_update_skb_after_send_one_segment_a_pause() {
        let mut pacer = Pacer::new(1250);
        pacer.set(1_250_000);
        assert_eq!(times(&mut pacer, 14)[10..], [0, MS, 2 * MS, 3 * MS]);
    }

    /// 20 segments of 1000 B in 100 ms: 200 kB/s, twice that below half the threshold, else 1.2 times.
    #[test]
    fn tcp_update_pacing_rate_twice_a_window_a_round_trip_in_slow_start() {
        let mut pacer = Pacer::new(1000);
        pacer.follow(20.0, 20, 100.0, 100 * MS);
        assert_eq!(pacer.rate, 400_000);
        pacer.follow(20.0, 20, 40.0, 100 * MS);
        assert_eq!(pacer.rate, 240_000);
    }

    /// 5 ms late with a pause of 1 ms: half of the pause is made up for.
    #[test]
    fn tcp_update_skb_after_send_what_is_late_shortens_the_next_pause_by_half() {
        let mut pacer = Pacer::new(1250);
        pacer.set(1_250_000);
        times(&mut pacer, 11);
        pacer.sent(6 * MS);
        assert_eq!(pacer.next_at(), 6 * MS + MS / 2);
    }
}
