//! UDP: sources that send datagrams by a process of arrivals and a law of sizes.
//!
//! `config.rs` holds the parameters and defines what they mean; `arrivals.rs` draws the gaps,
//! `sizes.rs` the sizes. Two sources heed congestion: `tfrc.rs`, and the frames of `media/`. Sizes and rates count IP bytes, headers included.

mod arrivals;
mod config;
mod media;
mod sizes;
#[cfg(test)]
mod tests;
mod tfrc;

pub use config::{Arrivals, Gaps, Size, UdpConfig};
pub use media::{
    report_bytes, ArrivedMediaPacket, EncodedFrame, Encoder, FeedbackLog, MediaConfig, MediaPacket,
    MediaPlayer, Nada, REPORT_INTERVAL,
};
pub use tfrc::{throughput, Feedback, TfrcReceiver, TfrcSender};

use arrivals::ArrivalProcess;
use sizes::Sizes;
use trunkline_units::math::ln;
use trunkline_units::{RandomStream, Span, Time, NEVER};

/// Sending end of a UDP flow.
#[derive(Clone, Debug)]
pub struct Source {
    /// When the next datagram is due, whatever the tick.
    next_at: Time,
    tick: Span,
    phase: Span,
    process: ArrivalProcess,
    sizes: Sizes,
}

impl Source {
    /// A source whose first datagram is due at `start`, in a run until `end`; a schedule's times count
    /// from `start`.
    #[must_use]
    pub fn new(config: &UdpConfig, start: Time, end: Time) -> Self {
        let process = ArrivalProcess::new(config, start, end);
        let next_at = process.first(start);
        Self {
            next_at,
            tick: config.tick_ns,
            phase: config.phase_ns,
            process,
            sizes: Sizes::new(&config.size),
        }
    }

    /// When the next datagram leaves; [`NEVER`] after a schedule's last.
    #[inline]
    #[must_use]
    pub fn next_at(&self) -> Time {
        if self.tick == 0 || self.next_at == NEVER {
            return self.next_at;
        }
        let ticks = self.next_at.saturating_sub(self.phase).div_ceil(self.tick);
        ticks.saturating_mul(self.tick).saturating_add(self.phase)
    }

    /// Emits the datagram that leaves now and schedules the next. Returns its size in bytes, IP header
    /// included. The gap counts from when the datagram was due, so a late caller causes no drift.
    #[inline]
    pub fn take(&mut self, _now: Time, random: &mut RandomStream) -> u16 {
        let bytes = match self.process.scheduled_size() {
            Some(bytes) => bytes,
            None => self.sizes.draw(random),
        };
        if self.next_at != NEVER {
            self.next_at = self.process.next_after(self.next_at, bytes, random);
        }
        bytes
    }
}

/// A value of the Gumbel law of the largest: location - scale ln(-ln u).
fn gumbel(location: f64, scale: f64, random: &mut RandomStream) -> f64 {
    // A uniform number may be 0, whose logarithm is none.
    let uniform = random.uniform().max(f64::MIN_POSITIVE);
    location - scale * ln(-ln(uniform))
}
