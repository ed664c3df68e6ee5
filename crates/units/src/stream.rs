//! Named random streams: one per (seed, element, purpose).
//!
//! Each stream is ChaCha8 keyed by the run's seed, on the stream number that the element's name
//! and the purpose hash to. Streams are independent and counter-based, so adding a flow or a
//! probe changes no other element's draws (common random numbers across designs).

use crate::math;
use chacha20::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// A random stream and the samplers the models need, by inversion where one exists.
///
/// Most elements never draw, and a generator takes 300 B: it is made by the first draw.
#[derive(Debug)]
pub struct RandomStream {
    seed: u64,
    number: u64,
    generator: Option<Box<ChaCha8Rng>>,
}

impl Clone for RandomStream {
    fn clone(&self) -> Self {
        let mut copy = Self { seed: self.seed, number: self.number, generator: None };
        if let Some(generator) = &self.generator {
            copy.begin().set_word_pos(generator.get_word_pos());
        }
        copy
    }
}

impl RandomStream {
    /// The stream of `element` (its path in the network, such as `flows[tcp1]`) for one purpose.
    #[must_use]
    pub fn new(seed: u64, element: &str, purpose: &str) -> Self {
        let number = fnv1a(&[element.as_bytes(), b"\0", purpose.as_bytes()]);
        Self { seed, number, generator: None }
    }

    /// 64 uniform bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        match &mut self.generator {
            Some(generator) => generator.next_u64(),
            None => self.begin().next_u64(),
        }
    }

    #[cold]
    fn begin(&mut self) -> &mut ChaCha8Rng {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&self.seed.to_le_bytes());
        let mut generator = ChaCha8Rng::from_seed(key);
        generator.set_stream(self.number);
        self.generator.insert(Box::new(generator))
    }

    /// Uniform on `[0, 1)` with 53 bits.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Exponential with the given mean, by inversion.
    #[inline]
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * math::ln(1.0 - self.uniform())
    }

    /// Integer uniform on `0..n` (multiply-shift; the bias is below n / 2^64).
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }
}

/// FNV-1a, 64 bit: a stable name-to-number map, not a security measure.
fn fnv1a(parts: &[&[u8]]) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in parts.iter().flat_map(|part| part.iter()) {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_continues_where_the_stream_is() {
        let mut stream = RandomStream::new(1, "flows[a]", "arrivals");
        for drawn in 0..70 {
            let mut copy = stream.clone();
            assert_eq!(copy.bits(), stream.bits(), "after {drawn} draws");
        }
    }

    #[test]
    fn a_stream_repeats_and_differs_by_seed_element_and_purpose() {
        let first = |seed, element, purpose| RandomStream::new(seed, element, purpose).bits();
        let base = first(1, "flows[a]", "arrivals");
        assert_eq!(base, first(1, "flows[a]", "arrivals"));
        for other in
            [(2, "flows[a]", "arrivals"), (1, "flows[b]", "arrivals"), (1, "flows[a]", "sizes")]
        {
            assert_ne!(base, first(other.0, other.1, other.2));
        }
    }

    /// Mean and variance of an exponential are m and m^2; 200,000 draws give standard errors
    /// of m/447 and about m^2 * 0.0063.
    #[test]
    fn exponential_has_the_mean_and_variance_of_theory() {
        let mut stream = RandomStream::new(7, "test", "exponential");
        let n = 200_000;
        let draws: Vec<f64> = (0..n).map(|_| stream.exponential(3.0)).collect();
        let mean = draws.iter().sum::<f64>() / f64::from(n);
        let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / f64::from(n);
        assert!((mean - 3.0).abs() < 4.0 * 3.0 / 447.0, "{mean}");
        assert!((variance - 9.0).abs() < 4.0 * 9.0 * 0.0063, "{variance}");
    }

    /// Below n, from 0 on, and each as often: 60,000 draws of 0..6 give 10,000 each with a standard error
    /// of 91. By another way: the draw is the integer part of n times the bits as a fraction.
    #[test]
    fn integers_are_uniform_below_their_bound() {
        let mut stream = RandomStream::new(3, "test", "below");
        let mut counts = [0u32; 6];
        for _ in 0..60_000 {
            let fraction = stream.clone().bits() as f64 / 2f64.powi(64);
            let drawn = stream.below(6);
            assert_eq!(drawn, (6.0 * fraction) as u64);
            counts[drawn as usize] += 1;
        }
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 400), "{counts:?}");
        assert_eq!(stream.below(1), 0);
    }

    /// Vectors of FNV-1a, 64 bit (draft-eastlake-fnv, appendix C): "", "a", "foobar".
    #[test]
    fn fnv1a_is_that_of_its_published_vectors() {
        assert_eq!(fnv1a(&[b""]), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(&[b"a"]), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(&[b"foo", b"bar"]), 0x8594_4171_f739_67e8);
    }
}
