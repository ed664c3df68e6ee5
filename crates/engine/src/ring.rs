//! A first-in-first-out ring that grows by doubling: packets on a wire, packets in a queue.

use trunkline_units::prefetch;

/// A queue of `T` whose entries are numbered from the start of the run.
///
/// The numbers allow two cursors in one ring: `head` (the oldest entry) and any later one.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    slots: Box<[T]>,
    head: u32,
    tail: u32,
}

impl<T: Copy + Default> Ring<T> {
    /// An empty ring with room for `capacity` entries before it grows.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self { slots: vec![T::default(); capacity.next_power_of_two()].into(), head: 0, tail: 0 }
    }

    /// Number of the oldest entry.
    #[inline(always)]
    #[must_use]
    pub fn head(&self) -> u32 {
        self.head
    }

    /// Number of the next entry to be pushed.
    #[inline(always)]
    #[must_use]
    pub fn tail(&self) -> u32 {
        self.tail
    }

    /// Entries stored.
    #[inline(always)]
    #[must_use]
    pub fn len(&self) -> u32 {
        self.tail.wrapping_sub(self.head)
    }

    /// Whether it stores nothing.
    #[inline(always)]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    /// The entry numbered `index`, which must be stored.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, index: u32) -> &T {
        let mask = self.slots.len() - 1;
        &self.slots[index as usize & mask]
    }

    /// The oldest entry.
    #[inline(always)]
    #[must_use]
    pub fn front(&self) -> Option<&T> {
        (!self.is_empty()).then(|| self.get(self.head))
    }

    /// Prefetches the place of an entry.
    #[inline(always)]
    pub fn fetch(&self, index: u32) {
        prefetch::element(&self.slots, index & (self.slots.len() as u32).wrapping_sub(1));
    }

    /// Adds an entry.
    #[inline(always)]
    pub fn push(&mut self, entry: T) {
        if self.len() as usize == self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        self.slots[self.tail as usize & mask] = entry;
        self.tail = self.tail.wrapping_add(1);
    }

    /// Takes the oldest entry.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<T> {
        let entry = *self.front()?;
        self.head = self.head.wrapping_add(1);
        Some(entry)
    }

    /// Forgets the entries before `index`.
    #[inline(always)]
    pub fn forget_to(&mut self, index: u32) {
        self.head = index;
    }

    /// Drops the oldest entry, which must be there, and returns whether none is left. An empty ring starts
    /// again at its first slot, so that a short queue stays in one cache line: its entries have no lasting
    /// numbers.
    #[inline(always)]
    pub fn drop_front(&mut self) -> bool {
        let next = self.head.wrapping_add(1);
        let is_empty = next == self.tail;
        // Selections: whether others wait is hard to predict.
        self.head = if is_empty { 0 } else { next };
        self.tail = if is_empty { 0 } else { self.tail };
        is_empty
    }

    /// Takes the newest entry.
    pub fn pop_back(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        self.tail = self.tail.wrapping_sub(1);
        Some(*self.get(self.tail))
    }

    /// Entries, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> + '_ {
        (0..self.len()).map(|offset| self.get(self.head.wrapping_add(offset)))
    }

    #[cold]
    fn grow(&mut self) {
        let mut larger = vec![T::default(); (self.slots.len() * 2).max(4)];
        let mask = larger.len() - 1;
        for offset in 0..self.len() {
            let index = self.head.wrapping_add(offset);
            larger[index as usize & mask] = *self.get(index);
        }
        self.slots = larger.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn keeps_order_across_growth(pushes in proptest::collection::vec(0u8..4, 1..300)) {
            let mut ring = Ring::new(1);
            let mut plain = VecDeque::new();
            for (value, step) in pushes.into_iter().enumerate() {
                match step {
                    0 if value % 3 == 0 && !ring.is_empty() => {
                        plain.pop_front();
                        prop_assert_eq!(ring.drop_front(), plain.is_empty());
                    }
                    0 => prop_assert_eq!(ring.pop(), plain.pop_front()),
                    1 => prop_assert_eq!(ring.pop_back(), plain.pop_back()),
                    _ => { ring.push(value); plain.push_back(value); }
                }
                prop_assert_eq!(ring.len() as usize, plain.len());
                prop_assert!(ring.iter().eq(plain.iter()));
            }
        }
    }
}
