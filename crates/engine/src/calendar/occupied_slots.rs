//! Set of the slots of a wheel in use: a bit each, and a bit for each word of those.

#[derive(Clone, Debug)]
pub(super) struct OccupiedSlots {
    words: Vec<u64>,
    summary: Vec<u64>,
}

impl OccupiedSlots {
    /// Of `slots` slots, a multiple of 64, none in use.
    pub(super) fn new(slots: usize) -> Self {
        Self { words: vec![0; slots / 64], summary: vec![0; slots.div_ceil(4096)] }
    }

    #[inline(always)]
    pub(super) fn set(&mut self, slot: usize) {
        self.words[slot / 64] |= 1 << (slot % 64);
        self.summary[slot / 4096] |= 1 << (slot / 64 % 64);
    }

    #[inline(always)]
    pub(super) fn clear(&mut self, slot: usize) {
        let word = slot / 64;
        self.words[word] &= !(1 << (slot % 64));
        self.summary[word / 64] &= !(u64::from(self.words[word] == 0) << (word % 64));
    }

    /// The first slot in use from `start` on, around the wheel.
    #[inline(always)]
    pub(super) fn first_from(&self, start: usize) -> Option<usize> {
        let word = start / 64;
        let word_from_start = self.words[word] >> (start % 64);
        if word_from_start != 0 {
            return Some(start + word_from_start.trailing_zeros() as usize);
        }
        let block = word / 64;
        // Words after this one in its block of 64.
        let rest = self.summary[block] & (u64::MAX << (word % 64)) & !(1 << (word % 64));
        if rest != 0 {
            return Some(self.first_slot_in(block, rest));
        }
        let blocks = self.summary.len();
        for offset in 1..=blocks {
            let block = (block + offset) % blocks;
            let occupied_words = self.summary[block];
            if occupied_words != 0 {
                return Some(self.first_slot_in(block, occupied_words));
            }
        }
        None
    }

    #[inline(always)]
    fn first_slot_in(&self, block: usize, summary: u64) -> usize {
        let word = block * 64 + summary.trailing_zeros() as usize;
        word * 64 + self.words[word].trailing_zeros() as usize
    }
}
