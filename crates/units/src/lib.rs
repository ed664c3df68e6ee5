//! Time, rates, arithmetic and random streams: the vocabulary every other crate counts in.
//!
//! Simulated time is an integer number of nanoseconds since the start of the run, so that no addition
//! rounds and two runs on two machines order their events alike.

pub mod math;
pub mod prefetch;
pub mod stream;

pub use stream::RandomStream;

/// An instant [ns since the start of the run].
pub type Time = u64;

/// A length of time [ns].
pub type Span = u64;

/// "No such instant": later than every event.
pub const NEVER: Time = u64::MAX;

/// One second [ns].
pub const SECOND: Span = 1_000_000_000;

/// Turns sizes into transmission times without losing the fraction of a nanosecond.
///
/// The remainder of each division is carried to the next packet, so `n` packets of `b` bytes take
/// exactly `floor(n * b * 8e9 / rate)` ns on a link that is never idle.
#[derive(Clone, Copy, Debug)]
pub struct TransmissionClock {
    whole_ns: u64,
    part: u64,
    rate: u64,
    carry: u64,
}

impl TransmissionClock {
    /// A serializer at `rate_bit_s` [bit/s, 1..=10^13].
    ///
    /// # Panics
    /// If the rate is zero: the loader refuses such links.
    #[must_use]
    pub fn new(rate_bit_s: u64) -> Self {
        assert!(rate_bit_s > 0, "a link's rate is above zero");
        let per_byte = 8 * SECOND;
        // In lowest terms: processors divide small numbers sooner.
        let divisor = greatest_common_divisor(per_byte, rate_bit_s);
        Self {
            whole_ns: per_byte / rate_bit_s,
            part: per_byte % rate_bit_s / divisor,
            rate: rate_bit_s / divisor,
            carry: 0,
        }
    }

    /// Transmission time of the next `bytes` on the wire [ns].
    #[inline(always)]
    pub fn span(&mut self, bytes: u32) -> Span {
        let bytes = u64::from(bytes);
        if self.part == 0 {
            return bytes * self.whole_ns;
        }
        // bytes < 2^17 and part < 10^13 < 2^44, so the product stays far below 2^64.
        let fraction = bytes * self.part + self.carry;
        self.carry = fraction % self.rate;
        bytes * self.whole_ns + fraction / self.rate
    }
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Transmission time of a byte where that is a whole number of nanoseconds: all that most rates need of a
/// [`TransmissionClock`], in 8 of its 32 bytes.
#[derive(Clone, Copy, Debug)]
pub struct ByteTime {
    /// [ns]; 0 if it is no whole number.
    ns_per_byte: u64,
}

impl ByteTime {
    /// That of a clock.
    #[must_use]
    pub fn new(clock: &TransmissionClock) -> Self {
        Self { ns_per_byte: if clock.part == 0 { clock.whole_ns } else { 0 } }
    }

    /// Transmission time of the next `bytes` on the wire [ns], for which the clock is asked if it must be.
    #[inline(always)]
    pub fn transmission_time(self, bytes: u32, clock: &mut TransmissionClock) -> Span {
        match self.ns_per_byte {
            0 => clock.span(bytes),
            ns => u64::from(bytes) * ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 3000 x 1000 B at 3 Mbit/s last 8 s; truncating each packet alone would lose 2 us.
    #[test]
    fn transmission_times_carry_their_remainder() {
        let mut link = TransmissionClock::new(3_000_000);
        let total: u64 = (0..3000).map(|_| link.span(1000)).sum();
        assert_eq!(total, 8 * SECOND);
    }

    #[test]
    fn a_rate_that_divides_a_byte_needs_no_remainder() {
        let mut link = TransmissionClock::new(10_000_000);
        assert_eq!(link.span(1500), 1_200_000);
    }

    /// Exact arithmetic in 128 bits: all bits of all packets so far, over the rate, rounded down. Rates that divide a
    /// byte's bits, of lowest terms or not, and such that do neither.
    #[test]
    fn packets_take_as_long_as_all_their_bits_over_the_rate_rounded_down() {
        for rate in [
            1,
            3,
            64_000,
            2_048_000,
            155_520_000,
            10_000_000_000,
            100_000_000_000,
            9_953_280_000,
            7,
        ] {
            let mut clock = TransmissionClock::new(rate);
            let byte_time = ByteTime::new(&clock);
            let (mut bits, mut total) = (0u128, 0u128);
            for bytes in (40..1540).cycle().step_by(37).take(500) {
                bits += 8 * u128::from(bytes);
                total += u128::from(byte_time.transmission_time(bytes, &mut clock));
                assert_eq!(total, bits * u128::from(SECOND) / u128::from(rate), "{rate} bit/s");
            }
        }
    }
}
