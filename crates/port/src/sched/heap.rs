//! A heap of classes whose keys can be changed: schedulers stay at O(log n) a packet.

const NOT_IN_HEAP: u32 = u32::MAX;

/// Classes ordered by a key, smallest first; equal keys by class index, so the order is total.
///
/// Each class is in it at most once. Nothing is allocated after `new`.
#[derive(Clone, Debug)]
pub(crate) struct ClassHeap<K> {
    order: Vec<u16>,
    place: Vec<u32>,
    keys: Vec<K>,
}

impl<K: Copy + Ord + Default> ClassHeap<K> {
    /// An empty heap for classes `0..classes`.
    pub(crate) fn new(classes: usize) -> Self {
        Self {
            order: Vec::with_capacity(classes),
            place: vec![NOT_IN_HEAP; classes],
            keys: vec![K::default(); classes],
        }
    }

    /// The class with the smallest key.
    #[inline]
    pub(crate) fn first(&self) -> Option<(K, u16)> {
        self.order.first().map(|&class| (self.keys[usize::from(class)], class))
    }

    /// Puts `class` in, or moves it if it is in already.
    #[inline]
    pub(crate) fn set(&mut self, class: u16, key: K) {
        let index = usize::from(class);
        self.keys[index] = key;
        if self.place[index] == NOT_IN_HEAP {
            self.place[index] = self.order.len() as u32;
            self.order.push(class);
        }
        let at = self.place[index] as usize;
        self.rise(at);
        self.sink(self.place[index] as usize);
    }

    /// Takes `class` out if it is in.
    #[inline]
    pub(crate) fn remove(&mut self, class: u16) {
        let at = self.place[usize::from(class)];
        if at == NOT_IN_HEAP {
            return;
        }
        let at = at as usize;
        let last = self.order.len() - 1;
        self.swap(at, last);
        self.order.pop();
        self.place[usize::from(class)] = NOT_IN_HEAP;
        if at < last {
            let moved = self.order[at];
            self.rise(at);
            self.sink(self.place[usize::from(moved)] as usize);
        }
    }

    fn less(&self, a: usize, b: usize) -> bool {
        let (a, b) = (self.order[a], self.order[b]);
        (self.keys[usize::from(a)], a) < (self.keys[usize::from(b)], b)
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.order.swap(a, b);
        self.place[usize::from(self.order[a])] = a as u32;
        self.place[usize::from(self.order[b])] = b as u32;
    }

    fn rise(&mut self, mut at: usize) {
        while at > 0 && self.less(at, (at - 1) / 2) {
            self.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    fn sink(&mut self, mut at: usize) {
        loop {
            let mut smallest = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.order.len() && self.less(child, smallest) {
                    smallest = child;
                }
            }
            if smallest == at {
                return;
            }
            self.swap(at, smallest);
            at = smallest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Against the standard library's ordered map, under any mix of operations.
        #[test]
        fn the_first_is_the_least_key_then_the_least_class(
            steps in prop::collection::vec((0u16..12, 0u64..20, any::<bool>()), 1..200),
        ) {
            let mut heap = ClassHeap::new(12);
            let mut model = BTreeMap::new();
            for (class, key, insert) in steps {
                if insert {
                    heap.set(class, key);
                    model.insert(class, key);
                } else {
                    heap.remove(class);
                    model.remove(&class);
                }
                let least = model.iter().map(|(&class, &key)| (key, class)).min();
                prop_assert_eq!(heap.first(), least);
            }
        }
    }
}
