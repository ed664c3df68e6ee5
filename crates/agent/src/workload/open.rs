//! Open loop: transfers arrive by their own process, independent of earlier ones.

use super::{OpenConfig, SizeLaw, TransferGaps};
use trunkline_units::{RandomStream, Span, Time, NEVER};

/// A source of transfers.
#[derive(Clone, Debug)]
pub struct OpenSource {
    gaps: TransferGaps,
    law: SizeLaw,
    start: Time,
    end: Time,
    /// When the next transfer arrives.
    next_at: Time,
    /// Of a schedule: the next entry. While on: the rest of the period [ns].
    next: usize,
    on_left: Span,
    arrivals: RandomStream,
    sizes: RandomStream,
}

impl OpenSource {
    /// A source that starts at `start`, in a run until `end`, with a random stream for arrivals and one
    /// for sizes.
    #[must_use]
    pub fn new(
        config: &OpenConfig,
        (start, end): (Time, Time),
        arrivals: RandomStream,
        sizes: RandomStream,
    ) -> Self {
        let law = SizeLaw::new(&config.sizes);
        let gaps = config.gaps.clone();
        let mut source =
            Self { gaps, law, start, end, next_at: start, next: 0, on_left: 0, arrivals, sizes };
        source.advance();
        source
    }

    /// When the next transfer arrives; [`NEVER`] after a schedule's last.
    #[must_use]
    pub fn next_at(&self) -> Time {
        self.next_at
    }

    /// Size of the transfer that arrives now [B]; the next is due at [`OpenSource::next_at`].
    pub fn take(&mut self) -> u64 {
        let bytes = match &self.gaps {
            TransferGaps::Schedule { sizes_bytes, .. } => sizes_bytes[self.next - 1],
            _ => self.law.bytes(&mut self.sizes),
        };
        self.advance();
        bytes
    }

    fn advance(&mut self) {
        let random = &mut self.arrivals;
        self.next_at = match &self.gaps {
            TransferGaps::Poisson { mean_ns } => {
                self.next_at.saturating_add(rounded(random.exponential(*mean_ns)))
            }
            TransferGaps::Periodic { gap_ns } => {
                self.next += 1; // from the start on, so that no rounding adds up
                self.start.saturating_add(rounded((self.next - 1) as f64 * *gap_ns))
            }
            TransferGaps::OnOff { mean_ns, mean_on_ns, mean_off_ns } => {
                let mut gap = rounded(random.exponential(*mean_ns));
                let mut at = self.next_at;
                while gap >= self.on_left {
                    // A gap may cover more periods than can be drawn.
                    if at >= self.end {
                        self.next_at = NEVER;
                        return;
                    }
                    gap -= self.on_left;
                    at = at.saturating_add(self.on_left);
                    // The first period begins with the flow: no silence before it.
                    if self.on_left > 0 {
                        at = at.saturating_add(rounded(random.exponential(*mean_off_ns)));
                    }
                    self.on_left = rounded(random.exponential(*mean_on_ns)).max(1);
                }
                self.on_left -= gap;
                at.saturating_add(gap)
            }
            TransferGaps::Schedule { times_ns, .. } => {
                let at = times_ns.get(self.next).map_or(NEVER, |time| self.start + time);
                self.next += 1;
                at
            }
        };
    }
}

fn rounded(span: f64) -> Span {
    (span + 0.5) as Span
}
