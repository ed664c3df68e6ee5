//! Set of the slots of a wheel in use: a bit each, and a bit for each word of those that may have one.

#[derive(Clone, Debug, Default)]
pub(super) struct OccupiedSlots {
    words: Vec<u64>,
    /// A word that is empty loses its bit when a search meets it: most are filled again before.
    summary: Vec<u64>,
}

impl OccupiedSlots {
    /// Of `slots` slots, a multiple of 64, none in use.
    pub(super) fn new(slots: usize) -> Self {
        Self { words: vec![0; slots / 64], summary: vec![0; slots.div_ceil(4096)] }
    }

    /// Adds a slot; whether it was in use.
    #[inline(always)]
    pub(super) fn insert(&mut self, slot: usize) -> bool {
        let word = &mut self.words[slot / 64];
        let before = *word;
        *word |= 1 << (slot % 64);
        if before == 0 {
            self.summary[slot / 4096] |= 1 << (slot / 64 % 64);
        }
        before >> (slot % 64) & 1 != 0
    }

    #[inline(always)]
    pub(super) fn clear(&mut self, slot: usize) {
        self.words[slot / 64] &= !(1 << (slot % 64));
    }

    /// The first slot in use from `start` on, around the wheel.
    #[inline(always)]
    pub(super) fn first_from(&mut self, start: usize) -> Option<usize> {
        let word = start / 64;
        let word_from_start = self.words[word] >> (start % 64);
        if word_from_start != 0 {
            return Some(start + word_from_start.trailing_zeros() as usize);
        }
        self.first_behind(word)
    }

    /// The first slot in use in the words after this one, around the wheel.
    #[inline(never)]
    fn first_behind(&mut self, word: usize) -> Option<usize> {
        let mut block = word / 64;
        // Words after this one in its block of 64, then all blocks, and this one last.
        let mut among = (u64::MAX << (word % 64)) & !(1 << (word % 64));
        for _ in 0..=self.summary.len() {
            loop {
                let occupied_words = self.summary[block] & among;
                if occupied_words == 0 {
                    break;
                }
                let place = occupied_words.trailing_zeros() as usize;
                let slots = self.words[block * 64 + place];
                if slots != 0 {
                    return Some((block * 64 + place) * 64 + slots.trailing_zeros() as usize);
                }
                self.summary[block] &= !(1 << place);
            }
            among = u64::MAX;
            block = if block + 1 < self.summary.len() { block + 1 } else { 0 };
        }
        None
    }
}
