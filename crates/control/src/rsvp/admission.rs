//! Admission to a link by bandwidth and priority, and the choice of preempted sessions.
//!
//! Source: RFC 3209 section 4.7.1 (setup and holding priority), RFC 2205 section 1.3 and RFC 3209
//! section 2.4.2 (shared explicit: paths of one session share, so the largest of them counts, not
//! the sum), RFC 4829 section 3 (victims: the weakest holding priority first, then the fewest).
//! Differs: a session that has no route over a link shares there only the bandwidth that it holds.
//! Absent: class types (RFC 4124).

use super::message::PathKey;
use std::collections::BTreeMap;

/// Reservations of a link.
#[derive(Clone, Debug, Default)]
pub struct LinkReservations {
    capacity: u64,
    /// Holding priority and bandwidth of each path of each session [bit/s].
    bandwidth_by_session: BTreeMap<u32, BTreeMap<PathKey, (u8, u64)>>,
    /// The same, summed over sessions by their holding priority.
    reserved: [u64; 8],
}

/// The strongest priority and the largest bandwidth of a session.
fn session_share(paths: &BTreeMap<PathKey, (u8, u64)>) -> (usize, u64) {
    let priority = paths.values().map(|path| path.0).min().unwrap_or(7);
    (usize::from(priority), paths.values().map(|path| path.1).max().unwrap_or(0))
}

impl LinkReservations {
    /// No reservation of a capacity [bit/s].
    #[must_use]
    pub fn new(capacity: u64) -> Self {
        Self { capacity, ..Self::default() }
    }

    /// Bandwidth available to a request of this setup priority: bandwidth held at this or a stronger
    /// priority is not [bit/s].
    #[must_use]
    pub fn unreserved(&self, setup: u8) -> u64 {
        let out: u64 = self.reserved[..=usize::from(setup)].iter().sum();
        self.capacity.saturating_sub(out)
    }

    /// The same at each of the eight priorities.
    #[must_use]
    pub fn by_priority(&self) -> [u64; 8] {
        std::array::from_fn(|priority| self.unreserved(priority as u8))
    }

    /// Sum of the reservations [bit/s].
    #[must_use]
    pub fn total(&self) -> u64 {
        self.reserved.iter().sum()
    }

    /// Bandwidth that a session holds here [bit/s].
    #[must_use]
    pub fn session_bandwidth(&self, session: u32) -> u64 {
        self.bandwidth_by_session.get(&session).map_or(0, |paths| session_share(paths).1)
    }

    /// Bandwidth that a path would add to the reservation of its session [bit/s].
    #[must_use]
    pub fn added(&self, key: PathKey, bandwidth: u64) -> u64 {
        bandwidth.saturating_sub(self.session_bandwidth(key.session))
    }

    /// Whether a path fits, if the weaker ones are preempted.
    #[must_use]
    pub fn admits(&self, key: PathKey, setup: u8, bandwidth: u64) -> bool {
        // The bandwidth that the session holds already counts for it, whatever its priority.
        let own = self.bandwidth_by_session.get(&key.session).map_or((7, 0), session_share);
        let free = self.unreserved(setup) + if own.0 <= usize::from(setup) { own.1 } else { 0 };
        bandwidth <= free
    }

    /// Sessions to preempt for a path that is admitted, the weakest first.
    #[must_use]
    pub fn preempted_sessions(&self, key: PathKey, setup: u8, bandwidth: u64) -> Vec<u32> {
        let mut lacking = (self.total() + self.added(key, bandwidth)).saturating_sub(self.capacity);
        let mut weaker: Vec<(usize, u64, u32)> = self
            .bandwidth_by_session
            .iter()
            .filter(|(session, _)| **session != key.session)
            .map(|(session, paths)| (session_share(paths).0, session_share(paths).1, *session))
            .filter(|each| each.0 > usize::from(setup) && each.1 > 0)
            .collect();
        weaker.sort_by_key(|each| (std::cmp::Reverse(each.0), std::cmp::Reverse(each.1), each.2));
        let mut victims = Vec::new();
        for (_, bandwidth, session) in weaker {
            if lacking == 0 {
                break;
            }
            lacking = lacking.saturating_sub(bandwidth);
            victims.push(session);
        }
        victims
    }

    /// Reserves for a path, or changes its reservation.
    pub fn reserve(&mut self, key: PathKey, hold: u8, bandwidth: u64) {
        self.change(key.session, |paths| {
            paths.insert(key, (hold, bandwidth));
        });
    }

    /// Releases the reservation of a path.
    pub fn release(&mut self, key: PathKey) {
        self.change(key.session, |paths| {
            paths.remove(&key);
        });
    }

    fn change(&mut self, session: u32, with: impl FnOnce(&mut BTreeMap<PathKey, (u8, u64)>)) {
        let paths = self.bandwidth_by_session.entry(session).or_default();
        let before = session_share(paths);
        with(paths);
        let after = session_share(paths);
        if paths.is_empty() {
            self.bandwidth_by_session.remove(&session);
        }
        self.reserved[before.0] -= before.1;
        self.reserved[after.0] += after.1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(session: u32, lsp: u16) -> PathKey {
        PathKey { session, lsp, sender: 0 }
    }

    /// 100 with 60 held: the second path of the session at 70 counts 70, not 130; when the first is
    /// released 70 stay, and 0 when both are released.
    #[test]
    fn rfc3209_s2_4_2_paths_of_a_session_share_the_larger_of_them() {
        let mut pool = LinkReservations::new(100);
        pool.reserve(key(1, 1), 3, 60);
        assert!(pool.admits(key(1, 2), 7, 70));
        assert!(!pool.admits(key(2, 1), 7, 70));
        pool.reserve(key(1, 2), 3, 70);
        assert_eq!(pool.total(), 70);
        pool.release(key(1, 1));
        assert_eq!(pool.total(), 70);
        pool.release(key(1, 2));
        assert_eq!((pool.total(), pool.by_priority()), (0, [100; 8]));
    }

    /// Held: 40 at 2, 30 at 5. A request of setup 2 is out of reach of the 40 and may take the 30:
    /// 60; one of setup 5 sees 30, one of setup 1 all.
    #[test]
    fn rfc3209_s4_7_1_a_setup_priority_competes_with_weaker_holding_priorities_alone() {
        let mut pool = LinkReservations::new(100);
        pool.reserve(key(1, 1), 2, 40);
        pool.reserve(key(2, 1), 5, 30);
        assert_eq!(pool.by_priority(), [100, 100, 60, 60, 60, 30, 30, 30]);
        assert!(pool.admits(key(3, 1), 4, 60));
        assert_eq!(pool.preempted_sessions(key(3, 1), 4, 60), [2]);
        assert!(pool.preempted_sessions(key(3, 1), 4, 30).is_empty());
    }

    /// Capacity 30: gold 20 at 2 and bronze 10 at 6 are held. A request of 20 at setup 1 lacks 20: the
    /// weakest priority is preempted first, bronze, then gold.
    #[test]
    fn rfc4829_s3_the_weakest_holding_priority_gives_way_first() {
        let mut pool = LinkReservations::new(30);
        pool.reserve(key(0, 1), 2, 20);
        pool.reserve(key(1, 1), 6, 10);
        assert_eq!(pool.preempted_sessions(key(2, 1), 1, 20), [1, 0]);
    }

    /// Of one holding priority the largest goes first, as fewer paths are then disturbed: a request of 20
    /// beside 10 and 20 displaces the 20 alone, in whichever order they came. Of equal bandwidth the
    /// session of the lower number goes first.
    #[test]
    fn rfc4829_s3_of_one_priority_the_fewest_give_way() {
        for (first, second, victims) in [(10, 20, vec![1]), (20, 10, vec![0]), (15, 15, vec![0, 1])]
        {
            let mut pool = LinkReservations::new(30);
            pool.reserve(key(0, 1), 6, first);
            pool.reserve(key(1, 1), 6, second);
            assert_eq!(pool.preempted_sessions(key(2, 1), 1, 20), victims);
        }
        let mut pool = LinkReservations::new(30);
        pool.reserve(key(0, 1), 6, 15);
        pool.reserve(key(1, 1), 6, 15);
        assert_eq!(pool.preempted_sessions(key(2, 1), 1, 15), [0]);
    }

    /// Nobody gives way at the request's own priority or a stronger one: holds of 3 and 4 for a setup of 3.
    #[test]
    fn rfc3209_s4_7_1_an_equal_holding_priority_is_not_preempted() {
        let mut pool = LinkReservations::new(30);
        pool.reserve(key(0, 1), 3, 15);
        pool.reserve(key(1, 1), 4, 15);
        assert_eq!(pool.preempted_sessions(key(2, 1), 3, 15), [1]);
        assert!(!pool.admits(key(2, 1), 3, 16));
    }
}
