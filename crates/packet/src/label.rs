//! Label stack and its encoding.
//!
//! Source: RFC 3032 section 2.1 (label 20 bits, EXP 3, S 1, TTL 8), RFC 5462 (EXP is called TC).

/// Labels a packet can carry at once.
pub const MAX_DEPTH: usize = 4;

/// Explicit null of IPv4: legal only at the bottom of the stack (RFC 3032 section 2.1).
pub const EXPLICIT_NULL: u32 = 0;
/// Implicit null: signalled, never on the wire (RFC 3032 section 2.1).
pub const IMPLICIT_NULL: u32 = 3;
/// Entropy label indicator: the label below it is an entropy label (RFC 6790 section 4.1).
pub const ENTROPY_INDICATOR: u32 = 7;
/// First label that is not reserved.
pub const FIRST_UNRESERVED_LABEL: u32 = 16;
/// Last label.
pub const MAX_LABEL: u32 = (1 << 20) - 1;

/// One 32-bit label stack entry as on the wire, without the bottom-of-stack bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct StackEntry(u32);

impl StackEntry {
    /// Builds an entry from a label (20 bits), traffic class (3 bits) and time to live.
    #[inline]
    #[must_use]
    pub fn new(label: u32, tc: u8, ttl: u8) -> Self {
        Self(label << 12 | u32::from(tc & 7) << 9 | u32::from(ttl))
    }
    /// The label.
    #[inline(always)]
    #[must_use]
    pub fn label(self) -> u32 {
        self.0 >> 12
    }
    /// The traffic class.
    #[inline(always)]
    #[must_use]
    pub fn tc(self) -> u8 {
        (self.0 >> 9 & 7) as u8
    }
    /// The time to live.
    #[inline(always)]
    #[must_use]
    pub fn ttl(self) -> u8 {
        self.0 as u8
    }
    /// The word as sent, with the bottom-of-stack bit set or clear.
    #[must_use]
    pub fn wire(self, bottom: bool) -> u32 {
        self.0 | u32::from(bottom) << 8
    }
}

/// A stack of at most [`MAX_DEPTH`] labels, the top first, so that a look-up and a swap touch one word.
/// The spare S bits of the words hold the depth, so the stack takes 16 bytes of the packet's cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabelStack {
    words: [u32; MAX_DEPTH],
}

const S: u32 = 1 << 8;

impl LabelStack {
    /// No label.
    pub const EMPTY: Self = Self { words: [0; MAX_DEPTH] };

    /// Number of labels.
    // Each word in use has its S bit set, whatever its place: the place alone gives the wire's S bit, so
    // the bit is free to mark words in use.
    #[inline(always)]
    #[must_use]
    pub fn depth(&self) -> u8 {
        let used =
            (self.words[0] & S) + (self.words[1] & S) + (self.words[2] & S) + (self.words[3] & S);
        (used >> 8) as u8
    }

    /// Bytes of all entries on the wire.
    #[inline(always)]
    #[must_use]
    pub fn bytes(&self) -> u32 {
        if self.words[1] & S != 0 {
            return 4 * u32::from(self.depth());
        }
        // Whether a stack has its only label is hard to predict: 4 times the bit, no branch.
        (self.words[0] & S) >> 6
    }

    /// Whether there is no label.
    #[inline(always)]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words[0] & S == 0
    }

    /// The top entry.
    #[inline(always)]
    #[must_use]
    pub fn top(&self) -> Option<StackEntry> {
        (!self.is_empty()).then_some(StackEntry(self.words[0] & !S))
    }

    /// The top entry; all bits are 0 where there is none.
    #[inline(always)]
    #[must_use]
    pub fn top_or_zero(&self) -> StackEntry {
        StackEntry(self.words[0] & !S)
    }

    /// Whether a stack that is not empty has one label.
    #[inline(always)]
    #[must_use]
    pub fn is_single(&self) -> bool {
        self.words[1] & S == 0
    }

    /// Makes a stack of one label one of another, or empty, without a branch.
    #[inline(always)]
    pub fn set_single(&mut self, keeps: bool, entry: StackEntry) {
        debug_assert!(self.depth() == 1, "there is one label");
        // A product: compilers make a selection a branch here.
        self.words[0] = (entry.0 | S) * u32::from(keeps);
    }

    /// Puts the first entry on an empty stack.
    #[inline(always)]
    pub fn start(&mut self, entry: StackEntry) {
        debug_assert!(self.is_empty(), "a stack starts with its first label");
        self.words[0] = entry.0 | S;
    }

    /// Puts an entry on top; false (and no change) if the stack is full.
    #[inline]
    #[must_use]
    pub fn push(&mut self, entry: StackEntry) -> bool {
        let [first, second, third, last] = self.words;
        if last != 0 {
            return false;
        }
        self.words = [entry.0 | S, first, second, third];
        true
    }

    /// Takes the top entry off.
    #[inline]
    pub fn pop(&mut self) -> Option<StackEntry> {
        let entry = self.top()?;
        let [_, second, third, last] = self.words;
        self.words = [second, third, last, 0];
        Some(entry)
    }

    /// Replaces the top entry; does nothing on an empty stack.
    #[inline]
    pub fn replace_top(&mut self, entry: StackEntry) {
        if !self.is_empty() {
            self.words[0] = entry.0 | S;
        }
    }

    /// Entries from the top down, as they follow each other on the wire.
    pub fn iter(&self) -> impl Iterator<Item = StackEntry> + '_ {
        self.words[..usize::from(self.depth())].iter().map(|word| StackEntry(word & !S))
    }
}

#[cfg(test)]
mod rfc3032 {
    use super::*;

    /// Label 16, TC 5, S 1, TTL 64: 0x00010 << 12 | 5 << 9 | 1 << 8 | 0x40.
    #[test]
    fn s2_1_an_entry_is_label_tc_s_ttl_from_the_top_bit() {
        let entry = StackEntry::new(16, 5, 64);
        assert_eq!(entry.wire(true), 0x0001_0b40);
        assert_eq!(entry.wire(false), 0x0001_0a40);
        assert_eq!((entry.label(), entry.tc(), entry.ttl()), (16, 5, 64));
        let last = StackEntry::new(MAX_LABEL, 7, 255);
        assert_eq!(last.wire(true), 0xffff_ffff);
    }

    #[test]
    fn s2_1_the_last_label_pushed_is_the_first_on_the_wire() {
        let mut stack = LabelStack::EMPTY;
        for label in 16..20 {
            assert!(stack.push(StackEntry::new(label, 0, 9)));
        }
        assert!(!stack.push(StackEntry::new(20, 0, 9)), "a fifth label does not fit");
        assert_eq!(stack.depth(), 4);
        let wire: Vec<u32> = stack.iter().map(StackEntry::label).collect();
        assert_eq!(wire, [19, 18, 17, 16]);
        stack.replace_top(StackEntry::new(99, 1, 8));
        assert_eq!(stack.pop(), Some(StackEntry::new(99, 1, 8)));
        assert_eq!(stack.top().map(StackEntry::label), Some(18));
        while stack.pop().is_some() {}
        assert!(stack.is_empty());
    }

    #[test]
    fn s2_1_the_only_label_is_replaced_or_taken_off() {
        let (old, new) = (StackEntry::new(16, 5, 64), StackEntry::new(MAX_LABEL, 7, 255));
        for keeps in [true, false] {
            let mut stack = LabelStack::EMPTY;
            stack.start(old);
            assert!(stack.is_single());
            stack.set_single(keeps, new);
            assert_eq!((stack.top(), stack.depth()), (keeps.then_some(new), u8::from(keeps)));
        }
        let mut stack = LabelStack::EMPTY;
        assert!(stack.push(old) && stack.push(new));
        assert!(!stack.is_single());
    }

    /// Every depth, pushed and popped: with labels, TCs and TTLs of all ones no field reaches into the bits
    /// that mark a word in use.
    #[test]
    fn s2_1_the_depth_is_that_of_the_labels_whatever_they_are() {
        for entry in [StackEntry::new(MAX_LABEL, 7, 255), StackEntry::new(0, 0, 0)] {
            let mut stack = LabelStack::EMPTY;
            for depth in 0..MAX_DEPTH as u8 {
                assert_eq!((stack.depth(), stack.is_empty()), (depth, depth == 0));
                assert!(stack.push(entry));
            }
            for depth in (0..MAX_DEPTH as u8).rev() {
                assert_eq!(stack.pop(), Some(entry));
                assert_eq!((stack.depth(), stack.iter().count()), (depth, usize::from(depth)));
            }
            stack.replace_top(entry);
            assert_eq!((stack.top(), stack.pop()), (None, None));
        }
    }
}
