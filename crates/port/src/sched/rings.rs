//! Round-robin rings that share their members: linked lists with a cursor, O(1) to join and leave.

const NONE: u32 = u32::MAX;

/// A ring. Its members are numbers that [`RingLinks`] connect.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClassRing {
    first: u32,
    cursor: u32,
}

impl ClassRing {
    pub(super) const EMPTY: Self = Self { first: NONE, cursor: NONE };

    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self.first == NONE
    }

    /// Whose turn it is.
    #[inline]
    pub(super) fn current(self) -> Option<u32> {
        (self.cursor != NONE).then_some(self.cursor)
    }
}

/// Neighbours of each member; a member is in at most one ring.
#[derive(Clone, Debug)]
pub(super) struct RingLinks {
    next: Vec<u32>,
    previous: Vec<u32>,
}

impl RingLinks {
    /// For members `0..members`, in no ring.
    pub(super) fn new(members: usize) -> Self {
        Self { next: vec![NONE; members], previous: vec![NONE; members] }
    }

    /// Whether `member` is in a ring.
    pub(super) fn joined(&self, member: u32) -> bool {
        self.next[member as usize] != NONE
    }

    /// Puts `member`, which is in no ring, last in the round.
    pub(super) fn join(&mut self, ring: &mut ClassRing, member: u32) {
        debug_assert!(!self.joined(member));
        if ring.is_empty() {
            self.next[member as usize] = member;
            self.previous[member as usize] = member;
            *ring = ClassRing { first: member, cursor: member };
            return;
        }
        let last = self.previous[ring.first as usize];
        self.next[last as usize] = member;
        self.previous[member as usize] = last;
        self.next[member as usize] = ring.first;
        self.previous[ring.first as usize] = member;
    }

    /// Takes `member` out; if it had the turn, the next one has it.
    pub(super) fn leave(&mut self, ring: &mut ClassRing, member: u32) {
        debug_assert!(self.joined(member));
        let (next, previous) = (self.next[member as usize], self.previous[member as usize]);
        self.next[member as usize] = NONE;
        self.previous[member as usize] = NONE;
        if next == member {
            *ring = ClassRing::EMPTY;
            return;
        }
        self.next[previous as usize] = next;
        self.previous[next as usize] = previous;
        if ring.first == member {
            ring.first = next;
        }
        if ring.cursor == member {
            ring.cursor = next;
        }
    }

    /// Gives the turn to `member` of the ring.
    pub(super) fn resume(&self, ring: &mut ClassRing, member: u32) {
        debug_assert!(self.joined(member));
        ring.cursor = member;
    }

    /// Passes the turn on; true when a round is complete.
    pub(super) fn pass(&self, ring: &mut ClassRing) -> bool {
        ring.cursor = self.next[ring.cursor as usize];
        ring.cursor == ring.first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_take_turns_in_the_order_they_joined() {
        let mut links = RingLinks::new(4);
        let mut ring = ClassRing::EMPTY;
        for member in [2, 0, 3] {
            links.join(&mut ring, member);
        }
        let mut turns = vec![];
        for _ in 0..4 {
            turns.push(ring.current().unwrap());
            links.pass(&mut ring);
        }
        assert_eq!(turns, [2, 0, 3, 2]);
        // 0 has the turn and leaves: 3 has it; a round ends at 2.
        links.leave(&mut ring, 0);
        assert_eq!(ring.current(), Some(3));
        assert!(links.pass(&mut ring));
        links.leave(&mut ring, 2);
        links.leave(&mut ring, 3);
        assert!(ring.is_empty() && ring.current().is_none());
    }
}
