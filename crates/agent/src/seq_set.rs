//! A set of sequence numbers inside a sliding window: one bit each, 64 per word.

/// Bits of the sequence numbers `[base, base + capacity)`, in a ring of words.
///
/// The owner clears bits before the window slides past them, so a word is reused clean. Reads
/// outside the window that was reserved give false.
#[derive(Clone, Debug, Default)]
pub(crate) struct SeqSet {
    words: Vec<u64>, // empty or a power of two
}

impl SeqSet {
    /// Makes room for `[base, end)`; every set bit lies at or above `base`.
    #[inline]
    pub(crate) fn reserve(&mut self, base: u32, end: u32) {
        let needed = (end / 64 - base / 64) as usize + 1;
        if needed > self.words.len() {
            self.grow(base, needed);
        }
    }

    #[cold]
    fn grow(&mut self, base: u32, needed: usize) {
        let mut words = vec![0; needed.next_power_of_two().max(4)];
        let first = (base / 64) as usize;
        let (old, new) = (self.words.len().wrapping_sub(1), words.len() - 1);
        for word in first..first + self.words.len() {
            words[word & new] = self.words[word & old];
        }
        self.words = words;
    }

    #[inline]
    fn word(&self, index: u32) -> u64 {
        // An empty ring has no word: the mask of `len - 1` misses and `get` answers none.
        self.words.get(index as usize & self.words.len().wrapping_sub(1)).copied().unwrap_or(0)
    }

    #[inline]
    fn word_mut(&mut self, index: u32) -> &mut u64 {
        let mask = self.words.len() - 1;
        &mut self.words[index as usize & mask]
    }

    /// Whether `seq` is in the set.
    #[inline]
    pub(crate) fn contains(&self, seq: u32) -> bool {
        self.word(seq / 64) >> (seq % 64) & 1 != 0
    }

    /// Adds `seq`, for which room was reserved.
    #[inline]
    pub(crate) fn insert(&mut self, seq: u32) {
        *self.word_mut(seq / 64) |= 1 << (seq % 64);
    }

    /// Takes `seq` out.
    #[inline]
    pub(crate) fn remove(&mut self, seq: u32) {
        if !self.words.is_empty() {
            *self.word_mut(seq / 64) &= !(1 << (seq % 64));
        }
    }

    /// First member of `[from, to)`, else `to`.
    pub(crate) fn next_member(&self, from: u32, to: u32) -> u32 {
        self.scan(from, to, |word| word)
    }

    /// First number of `[from, to)` that is not a member, else `to`.
    pub(crate) fn next_absent(&self, from: u32, to: u32) -> u32 {
        self.scan(from, to, |word| !word)
    }

    #[inline]
    fn scan(&self, from: u32, to: u32, want: impl Fn(u64) -> u64) -> u32 {
        let mut seq = from;
        while seq < to {
            let rest = want(self.word(seq / 64)) >> (seq % 64);
            if rest != 0 {
                return to.min(seq + rest.trailing_zeros());
            }
            seq = (seq / 64 + 1) * 64;
        }
        to
    }

    /// Start of the run of members that ends with the member `seq`, not below `floor`.
    pub(crate) fn run_start(&self, seq: u32, floor: u32) -> u32 {
        let mut end = seq + 1; // all of [end - 1, seq] are members
        while end > floor {
            let top = (end - 1) % 64;
            let gaps = !self.word((end - 1) / 64) << (63 - top);
            if gaps != 0 {
                return floor.max(end - gaps.leading_zeros());
            }
            end -= top + 1;
        }
        floor
    }

    /// The `n`-th highest member of `[floor, top)`, 1 being the highest; none if there are fewer.
    pub(crate) fn nth_from_top(&self, floor: u32, top: u32, n: u32) -> Option<u32> {
        let mut end = top;
        let mut remaining = n;
        while end > floor {
            let last = (end - 1) % 64;
            let mut word = self.word((end - 1) / 64) << (63 - last);
            if word.count_ones() >= remaining {
                for _ in 1..remaining {
                    word &= !(1 << (63 - word.leading_zeros()));
                }
                let seq = end - 1 - word.leading_zeros();
                return (seq >= floor).then_some(seq);
            }
            remaining -= word.count_ones();
            end -= last + 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Against a set of the standard library, in a window that slides over many words.
        #[test]
        fn a_ring_is_a_set_of_numbers(base in 0u32..1000, offsets in prop::collection::vec(0u32..700, 1..80)) {
            let mut ring = SeqSet::default();
            let mut set = BTreeSet::new();
            for offset in &offsets {
                ring.reserve(base, base + offset + 1);
                ring.insert(base + offset);
                set.insert(base + offset);
            }
            let end = base + 700;
            ring.reserve(base, end);
            for seq in base..end {
                prop_assert_eq!(ring.contains(seq), set.contains(&seq));
                let next = set.range(seq..).next().copied().unwrap_or(end);
                prop_assert_eq!(ring.next_member(seq, end), next);
                let absent = (seq..end).find(|s| !set.contains(s)).unwrap_or(end);
                prop_assert_eq!(ring.next_absent(seq, end), absent);
                if set.contains(&seq) {
                    let start = (base..=seq).rev().take_while(|s| set.contains(s)).last();
                    prop_assert_eq!(Some(ring.run_start(seq, base)), start);
                }
            }
            for n in 1..6 {
                let nth = set.iter().rev().nth(n - 1).copied();
                prop_assert_eq!(ring.nth_from_top(base, end, n as u32), nth);
            }
            for seq in set {
                ring.remove(seq);
                prop_assert!(!ring.contains(seq));
            }
        }
    }
}
