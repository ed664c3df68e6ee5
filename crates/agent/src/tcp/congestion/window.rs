//! The congestion window, and how it opens: in real numbers as ns-2 and the RFCs, in full segments as
//! Linux.

/// How acknowledgements open the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp) enum Growth {
    /// Once for each acknowledgement, whatever it covers (RFC 5681 section 3.1, as ns-2).
    Acknowledgements,
    /// By the segments covered (RFC 3465 without its limit L).
    Segments,
    /// By the segments delivered, in full segments (Linux 6.1: `tcp_slow_start`,
    /// `tcp_cong_avoid_ai`).
    Linux,
}

/// The window that a congestion control changes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(in crate::tcp) struct Window {
    /// Congestion window [segments]; an integer under Linux.
    pub cwnd: f64,
    /// Slow-start threshold [segments]; an integer under Linux.
    pub ssthresh: f64,
    /// Largest window [segments].
    pub cap: u32,
    /// Segments acknowledged towards the next of the window (Linux).
    pub credit: u32,
    pub growth: Growth,
}

impl Window {
    /// Opens by the acknowledged segments until slow start ends; returns the rest [segments].
    #[inline]
    pub fn start_slowly(&mut self, acked: f64) -> f64 {
        if self.cwnd >= self.ssthresh {
            return acked;
        }
        let cap = f64::from(self.cap);
        match self.growth {
            Growth::Acknowledgements => {
                self.cwnd = (self.cwnd + 1.0).min(cap);
                0.0
            }
            // RFC 3465 sections 2.1 and 2.2 in segments: the part above the threshold is returned.
            Growth::Segments | Growth::Linux => {
                let fast = acked.min(self.ssthresh - self.cwnd);
                self.cwnd = (self.cwnd + fast).min(cap);
                acked - fast
            }
        }
    }

    /// Opens by one segment for each `per` acknowledged.
    #[inline]
    pub fn open(&mut self, acked: f64, per: f64) {
        let cap = f64::from(self.cap);
        match self.growth {
            Growth::Acknowledgements => self.cwnd = (self.cwnd + 1.0 / per).min(cap),
            Growth::Segments => self.cwnd = (self.cwnd + acked / per).min(cap),
            Growth::Linux => {
                let (acked, per) = (acked as u32, (per as u32).max(1));
                if self.credit >= per {
                    self.credit = 0;
                    self.cwnd += 1.0;
                }
                self.credit += acked;
                let more = self.credit / per;
                self.credit -= more * per;
                self.cwnd = (self.cwnd + f64::from(more)).min(cap);
            }
        }
    }
}
