//! Which slots of a wheel are in use: a bit each, and a bit for each word of those.

#[derive(Clone, Debug)]
pub(super) struct Marks {
    words: Vec<u64>,
    summary: Vec<u64>,
}

impl Marks {
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
        let here = self.words[word] >> (start % 64);
        if here != 0 {
            return Some(start + here.trailing_zeros() as usize);
        }
        let block = word / 64;
        // Words after this one in its block of 64.
        let rest = self.summary[block] & (u64::MAX << (word % 64)) & !(1 << (word % 64));
        if rest != 0 {
            return Some(self.slot_of(block, rest));
        }
        let blocks = self.summary.len();
        for offset in 1..=blocks {
            let block = (block + offset) % blocks;
            let found = self.summary[block];
            if found != 0 {
                return Some(self.slot_of(block, found));
            }
        }
        None
    }

    #[inline(always)]
    fn slot_of(&self, block: usize, summary: u64) -> usize {
        let word = block * 64 + summary.trailing_zeros() as usize;
        word * 64 + self.words[word].trailing_zeros() as usize
    }
}
