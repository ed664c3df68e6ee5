//! Log-linear histograms of delays: relative error below 1/64, memory only where values fall.
//!
//! Each octave (power of two) that was met has 64 buckets of equal width. Those of the octave of the first
//! value, in which most others fall, are a cache line of the histogram itself, in which each counts to 255; carries
//! and the other octaves have blocks of one pool, 256 B each. Histograms of equal layout merge by addition.

use std::ops::Range;

const SUB_BITS: u32 = 6;
const SUB_BUCKETS: usize = 1 << SUB_BITS;
/// Octaves of a 64-bit value; the first holds the values below 64 exactly.
const OCTAVES: usize = 64 - SUB_BITS as usize + 1;
const NO_BLOCK: u32 = u32::MAX;

/// Buckets of all histograms.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    blocks: Vec<[u32; SUB_BUCKETS]>,
}

impl Pool {
    /// Adds the blocks of another; returns the number of those before them.
    pub fn append(&mut self, other: Self) -> usize {
        let before = self.blocks.len();
        self.blocks.extend(other.blocks);
        before
    }
}

/// Octaves that a histogram has at hand, from one below that of its first value: delays of a flow
/// span few.
const NEAR_OCTAVES: usize = 5;
/// No octave: there was no value.
const NO_OCTAVE: u32 = u32::MAX;

/// One histogram; its counts live in itself and in a [`Pool`].
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Histogram {
    /// The octave of the first value.
    home: u32,
    /// Blocks of the octaves at hand.
    near: [u32; NEAR_OCTAVES],
    /// The blocks of all others, where one was met.
    far: Option<Box<[u32; OCTAVES]>>,
    /// Counts of the octave of the first value, modulo 256.
    home_counts: [u8; SUB_BUCKETS],
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            home: NO_OCTAVE,
            near: [NO_BLOCK; NEAR_OCTAVES],
            far: None,
            home_counts: [0; SUB_BUCKETS],
        }
    }
}

impl Histogram {
    /// Counts a value.
    #[inline]
    pub fn add(&mut self, pool: &mut Pool, value: u64) {
        let (octave, sub) = bucket_of(value);
        if octave as u32 != self.home {
            return self.add_elsewhere(pool, octave, sub);
        }
        let count = &mut self.home_counts[sub];
        *count = count.wrapping_add(1);
        if *count == 0 {
            self.carry(pool, octave, sub);
        }
    }

    /// Counts a value of another octave than the first.
    #[inline(never)]
    fn add_elsewhere(&mut self, pool: &mut Pool, octave: usize, sub: usize) {
        if self.home == NO_OCTAVE {
            self.home = octave as u32;
            self.home_counts[sub] = 1;
            return;
        }
        let block = match self.near.get(octave.wrapping_sub(self.low())) {
            Some(&block) if block != NO_BLOCK => block,
            _ => self.open(pool, octave),
        };
        pool.blocks[block as usize][sub] += 1;
    }

    /// A bucket of the first octave has come to 256.
    #[cold]
    fn carry(&mut self, pool: &mut Pool, octave: usize, sub: usize) {
        let block = self.open(pool, octave);
        pool.blocks[block as usize][sub] += 1 << u8::BITS;
    }

    /// The first of the octaves at hand.
    fn low(&self) -> usize {
        self.home.saturating_sub(1) as usize
    }

    /// The block of an octave that was not met yet, or that is not at hand.
    #[cold]
    fn open(&mut self, pool: &mut Pool, octave: usize) -> u32 {
        let place = octave.wrapping_sub(self.low());
        let block = match self.near.get_mut(place) {
            Some(block) => block,
            None => &mut self.far.get_or_insert_with(|| Box::new([NO_BLOCK; OCTAVES]))[octave],
        };
        if *block == NO_BLOCK {
            *block = pool.blocks.len() as u32;
            pool.blocks.push([0; SUB_BUCKETS]);
        }
        *block
    }

    /// Octaves that were met and their blocks, ascending; that of the first value may have none.
    fn blocks(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        let low = self.low();
        let far = |octaves: Range<usize>| {
            let far = self.far.iter();
            far.flat_map(move |far| octaves.clone().map(|octave| (octave, far[octave])))
        };
        let near = self.near.iter().enumerate().map(move |(place, &block)| (low + place, block));
        let below = far(0..low);
        let above = far(low + NEAR_OCTAVES..OCTAVES);
        let is_met = |met: &(usize, u32)| met.1 != NO_BLOCK || self.is_home(met.0);
        below.chain(near).chain(above).filter(is_met)
    }

    /// Whether an octave is that of the first value.
    #[inline(always)]
    fn is_home(&self, octave: usize) -> bool {
        self.home != NO_OCTAVE && octave == self.home as usize
    }

    /// The counts of an octave that was met, and its block.
    fn counts(&self, pool: &Pool, (octave, block): (usize, u32)) -> [u32; SUB_BUCKETS] {
        let mut counts = pool.blocks.get(block as usize).copied().unwrap_or([0; SUB_BUCKETS]);
        if self.is_home(octave) {
            for (count, more) in counts.iter_mut().zip(self.home_counts) {
                *count += u32::from(more);
            }
        }
        counts
    }

    /// Its pool was appended to one of `blocks` blocks.
    pub fn moved(&mut self, blocks: usize) {
        let far = self.far.iter_mut().flat_map(|far| far.iter_mut());
        for block in self.near.iter_mut().chain(far).filter(|block| **block != NO_BLOCK) {
            *block += blocks as u32;
        }
    }

    /// Adds the counts of another histogram in the same pool.
    pub fn merge(&mut self, more: &Self, pool: &mut Pool) {
        for (octave, block) in more.blocks() {
            let counts = more.counts(pool, (octave, block));
            if self.home == NO_OCTAVE {
                self.home = octave as u32;
            }
            let own = self.open(pool, octave) as usize;
            for (count, more) in pool.blocks[own].iter_mut().zip(counts) {
                *count += more;
            }
        }
    }

    /// Forgets every value, keeping the memory.
    pub fn clear(&mut self, pool: &mut Pool) {
        self.home_counts = [0; SUB_BUCKETS];
        for (_, block) in self.blocks().filter(|met| met.1 != NO_BLOCK) {
            pool.blocks[block as usize] = [0; SUB_BUCKETS];
        }
    }

    /// The quantiles of ascending shares, each in (0, 1]: the upper end of the bucket in which the value
    /// of rank `ceil(share * n)` lies. `None` without counts.
    #[must_use]
    pub fn quantiles<const N: usize>(&self, pool: &Pool, shares: [f64; N]) -> Option<[u64; N]> {
        let sum = |counts: &[u32; SUB_BUCKETS]| counts.iter().map(|&n| u64::from(n)).sum::<u64>();
        let count: u64 = self.blocks().map(|met| sum(&self.counts(pool, met))).sum();
        if count == 0 {
            return None;
        }
        let ranks = shares.map(|share| ((share * count as f64).ceil() as u64).clamp(1, count));
        let (mut found, mut number, mut seen) = ([0; N], 0, 0);
        for (octave, block) in self.blocks() {
            let counts = self.counts(pool, (octave, block));
            let in_octave = sum(&counts);
            if number == N || seen + in_octave < ranks[number] {
                seen += in_octave;
                continue;
            }
            for (sub, n) in counts.into_iter().enumerate() {
                seen += u64::from(n);
                while number < N && seen >= ranks[number] {
                    found[number] = upper_end(octave, sub);
                    number += 1;
                }
            }
        }
        Some(found)
    }

    /// Buckets as (upper end, count), ascending.
    pub fn buckets<'a>(&'a self, pool: &'a Pool) -> impl Iterator<Item = (u64, u32)> + 'a {
        self.blocks().flat_map(move |(octave, block)| {
            let counts = self.counts(pool, (octave, block)).into_iter().enumerate();
            counts.map(move |(sub, n)| (upper_end(octave, sub), n))
        })
    }
}

#[inline(always)]
fn bucket_of(value: u64) -> (usize, usize) {
    if value < SUB_BUCKETS as u64 {
        return (0, value as usize);
    }
    let top = 63 - value.leading_zeros();
    let sub = (value >> (top - SUB_BITS)) as usize & (SUB_BUCKETS - 1);
    ((top - SUB_BITS + 1) as usize, sub)
}

fn upper_end(octave: usize, sub: usize) -> u64 {
    if octave == 0 {
        return sub as u64;
    }
    let shift = octave as u32 - 1;
    ((((SUB_BUCKETS + sub) as u64) + 1) << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every edge, by another way: a bucket of octave k > 0 is 2^(k - 1) wide, and those below 128 hold one
    /// value each. Its upper end lies in it, the next value is the first of the next bucket, and none is
    /// left out. The last bucket is that of delays of 580 years and more.
    #[test]
    fn every_value_lies_in_one_bucket_and_the_edges_are_its_own() {
        let mut next = 0u64;
        let all = (0..OCTAVES).flat_map(|octave| (0..SUB_BUCKETS).map(move |sub| (octave, sub)));
        for (octave, sub) in all.take(OCTAVES * SUB_BUCKETS - 1) {
            let width = if octave == 0 { 1 } else { 1u64 << (octave - 1) };
            let upper = next + width - 1;
            assert_eq!(bucket_of(next), (octave, sub), "first of {octave}, {sub}");
            assert_eq!(bucket_of(upper), (octave, sub), "last of {octave}, {sub}");
            assert_eq!(upper_end(octave, sub), upper);
            next = upper + 1;
        }
        assert_eq!(bucket_of(u64::MAX), (OCTAVES - 1, SUB_BUCKETS - 1));
    }

    /// The quantile of rank ceil(share n): of 1, 2, 3, 4 the half is the second and a little more the
    /// third; ties count as often as they are met.
    #[test]
    fn a_quantile_is_of_the_rank_rounded_up() {
        let (mut pool, mut histogram) = (Pool::default(), Histogram::default());
        assert_eq!(histogram.quantiles(&pool, [0.5]), None);
        for value in [3, 1, 4, 2] {
            histogram.add(&mut pool, value);
        }
        let shares = [0.01, 0.25, 0.26, 0.5, 0.51, 0.75, 0.76, 1.0];
        assert_eq!(histogram.quantiles(&pool, shares), Some([1, 1, 2, 2, 3, 3, 4, 4]));
        let of = |share| histogram.quantiles(&pool, [share]);
        assert_eq!(shares.map(of), [1, 1, 2, 2, 3, 3, 4, 4].map(|value| Some([value])));
    }

    /// Against sums: values of the first octave and of two others, each so often that its count in the line of
    /// the first octave carries; then as much again by merging with a histogram of a pool that was appended.
    #[test]
    fn a_bucket_counts_beyond_what_its_place_in_the_line_holds() {
        for first in [3, 70, 150] {
            let fill = |pool: &mut Pool| {
                let mut histogram = Histogram::default();
                histogram.add(pool, first);
                for (value, times) in [(3, 255), (40, 256), (70, 257), (150, 70_000)] {
                    let before = u32::from(value == first);
                    (before..times).for_each(|_| histogram.add(pool, value));
                }
                histogram
            };
            let filled = |histogram: &Histogram, pool: &Pool| -> Vec<(u64, u32)> {
                histogram.buckets(pool).filter(|bucket| bucket.1 > 0).collect()
            };
            let mut pool = Pool::default();
            let mut histogram = fill(&mut pool);
            assert_eq!(filled(&histogram, &pool), [(3, 255), (40, 256), (70, 257), (151, 70_000)]);
            let mut other_pool = Pool::default();
            let mut other = fill(&mut other_pool);
            other.moved(pool.append(other_pool));
            let twice = [(3, 510), (40, 512), (70, 514), (151, 140_000)];
            let mut sum = Histogram::default();
            sum.merge(&histogram, &mut pool);
            for own in [&mut sum, &mut histogram] {
                own.merge(&other, &mut pool);
                assert_eq!(filled(own, &pool), twice);
            }
            assert_eq!(histogram.quantiles(&pool, [0.5]), Some([151]));
            other.clear(&mut pool);
            assert_eq!(filled(&other, &pool), []);
            other.add(&mut pool, 3);
            assert_eq!(filled(&other, &pool), [(3, 1)]);
        }
    }

    /// Against a sorted list, with a first value of each octave: two values of every octave below 2^63, then as many
    /// of a histogram that began in another octave. Of a value of more than 7 bits the first 7 count.
    #[test]
    fn values_of_all_octaves_are_found_in_order_whichever_was_first() {
        let end_of = |value: u64| match value.checked_ilog2() {
            Some(top @ 7..) => value | ((1u64 << (top - 6)) - 1),
            _ => value,
        };
        let values = || {
            let one_an_octave = (0..OCTAVES - 1).map(|octave| 37 << octave);
            one_an_octave.flat_map(|value| [value, value | value >> 4])
        };
        let fill = |first: u64, pool: &mut Pool| {
            let mut histogram = Histogram::default();
            std::iter::once(first).chain(values()).for_each(|value| histogram.add(pool, value));
            histogram
        };
        let filled = |histogram: &Histogram, pool: &Pool| -> Vec<(u64, u32)> {
            histogram.buckets(pool).filter(|bucket| bucket.1 > 0).collect()
        };
        let count = |values: &[u64]| {
            let mut counts = std::collections::BTreeMap::new();
            values.iter().for_each(|value| *counts.entry(end_of(*value)).or_insert(0u32) += 1);
            counts.into_iter().collect::<Vec<_>>()
        };
        for (first, other_first) in values().zip(values().skip(70).chain(values())) {
            let mut pool = Pool::default();
            let mut histogram = fill(first, &mut pool);
            let mut expected: Vec<u64> = values().chain([first]).collect();
            assert_eq!(filled(&histogram, &pool), count(&expected), "{first}");
            let mut other_pool = Pool::default();
            let mut other = fill(other_first, &mut other_pool);
            other.moved(pool.append(other_pool));
            histogram.merge(&other, &mut pool);
            expected.extend(values().chain([other_first]));
            expected.sort_unstable();
            assert_eq!(filled(&histogram, &pool), count(&expected), "{first}, {other_first}");
            let ranks = [1, 2, 40, 41, 117, 232, 233, 234];
            let shares = ranks.map(|rank| (rank as f64 - 0.5) / 234.0);
            let found = ranks.map(|rank| end_of(expected[rank - 1]));
            assert_eq!(histogram.quantiles(&pool, shares), Some(found), "{first}, {other_first}");
            histogram.clear(&mut pool);
            assert_eq!(filled(&histogram, &pool), []);
            assert_eq!(filled(&other, &pool).len(), count(&expected).len());
        }
    }

    proptest! {
        #[test]
        fn a_value_lies_in_its_bucket_within_one_part_in_64(value in 0u64..1 << 50) {
            let (octave, sub) = bucket_of(value);
            let upper = upper_end(octave, sub);
            prop_assert!(upper >= value);
            prop_assert!((upper - value) as f64 <= value as f64 / 64.0);
        }

        #[test]
        fn quantiles_match_a_sorted_list_within_a_bucket(
            mut values in proptest::collection::vec(0u64..1 << 40, 1..400),
            share in 0.01f64..1.0,
        ) {
            let mut pool = Pool::default();
            let mut histogram = Histogram::default();
            for &value in &values { histogram.add(&mut pool, value); }
            values.sort_unstable();
            let exact = values[(share * values.len() as f64).ceil() as usize - 1];
            let found = histogram.quantiles(&pool, [share, 1.0]).expect("values were added");
            for (found, exact) in found.into_iter().zip([exact, values[values.len() - 1]]) {
                let most = exact as f64 * (1.0 + 1.0 / 64.0) + 1.0;
                prop_assert!(found >= exact && found as f64 <= most);
            }
        }
    }
}
