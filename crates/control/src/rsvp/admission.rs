//! Admission to a link by bandwidth, class type and priority, and the choice of preempted sessions.
//!
//! Source: RFC 3209 section 4.7.1 (setup and holding priority), RFC 2205 section 1.3 and RFC 3209
//! section 2.4.2 (shared explicit: paths of one session share, so the largest of them counts, not
//! the sum), RFC 4829 section 3 (victims: the weakest holding priority first, then the fewest),
//! RFC 4124 section 4.2 (TE-classes), RFC 4125 section 4 and RFC 4127 section 4 (unreserved
//! bandwidth of a TE-class: the least of what the bounds on its class type leave).
//! Differs: a session that has no route over a link shares there only the bandwidth that it holds.

use super::config::{ClassTypeBound, ClassTypes, TeClass};
use super::message::PathKey;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bandwidth that a path reserves, or asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// Class type [0..8].
    pub class_type: u8,
    /// Priority [0..8]: of setup where it is asked for, of holding where it is held.
    pub priority: u8,
    /// Bandwidth [bit/s].
    pub bandwidth: u64,
}

/// Reservations of a link.
#[derive(Clone, Debug, Default)]
pub struct LinkReservations {
    /// Sums of class types that no reservations may pass; all of them together are the first.
    bounds: Vec<ClassTypeBound>,
    te_classes: Arc<[TeClass]>,
    /// Of each path of each session.
    paths_by_session: BTreeMap<u32, BTreeMap<PathKey, Reservation>>,
    /// Bandwidth by class type and holding priority, summed over sessions [bit/s].
    reserved: [[u64; 8]; 8],
}

/// Holding of a session: the strongest priority and the largest bandwidth of its paths.
fn session_share(paths: &BTreeMap<PathKey, Reservation>) -> Reservation {
    Reservation {
        class_type: paths.values().next().map_or(0, |path| path.class_type),
        priority: paths.values().map(|path| path.priority).min().unwrap_or(7),
        bandwidth: paths.values().map(|path| path.bandwidth).max().unwrap_or(0),
    }
}

impl LinkReservations {
    /// No reservation of a capacity [bit/s], without class types.
    #[must_use]
    pub fn new(capacity: u64) -> Self {
        Self::with_class_types(capacity, &ClassTypes::default(), &[])
    }

    /// No reservation of a capacity [bit/s] that these bounds limit besides.
    #[must_use]
    pub fn with_class_types(
        capacity: u64,
        class_types: &ClassTypes,
        bounds: &[ClassTypeBound],
    ) -> Self {
        let total = ClassTypeBound { class_types: (0..8).collect(), bit_s: capacity };
        Self {
            // Preemption within a class type comes before that among all.
            bounds: bounds.iter().cloned().chain([total]).collect(),
            te_classes: class_types.te_classes.as_slice().into(),
            ..Self::default()
        }
    }

    /// Bandwidth available to a class type at this priority: bandwidth held at this or a stronger
    /// priority is not [bit/s].
    #[must_use]
    pub fn unreserved(&self, class_type: u8, priority: u8) -> u64 {
        let held = |class_type: &u8| -> u64 {
            self.reserved[usize::from(*class_type)][..=usize::from(priority)].iter().sum()
        };
        let bounds = self.bounds.iter().filter(|bound| bound.class_types.contains(&class_type));
        let left = bounds.map(|bound| {
            bound.bit_s.saturating_sub(bound.class_types.iter().map(held).sum::<u64>())
        });
        left.min().unwrap_or(0)
    }

    /// The same of each TE-class; 0 of one that is not configured.
    #[must_use]
    pub fn by_te_class(&self) -> [u64; 8] {
        std::array::from_fn(|index| {
            self.te_classes
                .get(index)
                .map_or(0, |each| self.unreserved(each.class_type, each.priority))
        })
    }

    /// Sum of the reservations [bit/s].
    #[must_use]
    pub fn total(&self) -> u64 {
        self.reserved.iter().flatten().sum()
    }

    /// Bandwidth that a session holds here [bit/s].
    #[must_use]
    pub fn session_bandwidth(&self, session: u32) -> u64 {
        self.paths_by_session.get(&session).map_or(0, |paths| session_share(paths).bandwidth)
    }

    /// Whether a path fits, if the weaker ones are preempted.
    #[must_use]
    pub fn admits(&self, key: PathKey, asked: Reservation) -> bool {
        // The bandwidth that the session holds already counts for it, whatever its priority.
        let own = self.paths_by_session.get(&key.session).map(session_share);
        let counted = own.filter(|own| own.priority <= asked.priority);
        let free = self.unreserved(asked.class_type, asked.priority);
        asked.bandwidth <= free + counted.map_or(0, |own| own.bandwidth)
    }

    /// Sessions to preempt for a path that is admitted, the weakest first.
    #[must_use]
    pub fn preempted_sessions(&self, key: PathKey, asked: Reservation) -> Vec<u32> {
        let added = asked.bandwidth.saturating_sub(self.session_bandwidth(key.session));
        let mut weaker: Vec<(Reservation, u32)> = self
            .paths_by_session
            .iter()
            .filter(|(session, _)| **session != key.session)
            .map(|(session, paths)| (session_share(paths), *session))
            .filter(|each| each.0.priority > asked.priority && each.0.bandwidth > 0)
            .collect();
        weaker.sort_by_key(|(share, session)| {
            (std::cmp::Reverse((share.priority, share.bandwidth)), *session)
        });
        let mut victims: Vec<u32> = Vec::new();
        for bound in &self.bounds {
            let counts = |class_type: &u8| bound.class_types.contains(class_type);
            if !counts(&asked.class_type) {
                continue;
            }
            let held =
                |class_type: &u8| self.reserved[usize::from(*class_type)].iter().sum::<u64>();
            let mut lacking = (bound.class_types.iter().map(held).sum::<u64>() + added)
                .saturating_sub(bound.bit_s);
            // Those that give way within another bound free bandwidth here too.
            let in_bound = weaker.iter().filter(|(share, _)| counts(&share.class_type));
            let (chosen, others): (Vec<_>, Vec<_>) =
                in_bound.partition(|(_, session)| victims.contains(session));
            for (share, _) in chosen {
                lacking = lacking.saturating_sub(share.bandwidth);
            }
            for (share, session) in others {
                if lacking == 0 {
                    break;
                }
                lacking = lacking.saturating_sub(share.bandwidth);
                victims.push(session);
            }
        }
        victims
    }

    /// Reserves for a path, or changes its reservation.
    pub fn reserve(&mut self, key: PathKey, held: Reservation) {
        self.change(key.session, |paths| {
            paths.insert(key, held);
        });
    }

    /// Releases the reservation of a path.
    pub fn release(&mut self, key: PathKey) {
        self.change(key.session, |paths| {
            paths.remove(&key);
        });
    }

    fn change(&mut self, session: u32, with: impl FnOnce(&mut BTreeMap<PathKey, Reservation>)) {
        let paths = self.paths_by_session.entry(session).or_default();
        let before = session_share(paths);
        with(paths);
        let after = session_share(paths);
        if paths.is_empty() {
            self.paths_by_session.remove(&session);
        }
        let place =
            |share: Reservation| (usize::from(share.class_type), usize::from(share.priority));
        let (old, new) = (place(before), place(after));
        self.reserved[old.0][old.1] -= before.bandwidth;
        self.reserved[new.0][new.1] += after.bandwidth;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(session: u32, lsp: u16) -> PathKey {
        PathKey { session, lsp, sender: 0 }
    }

    fn ct0(priority: u8, bandwidth: u64) -> Reservation {
        Reservation { class_type: 0, priority, bandwidth }
    }

    /// 100 with 60 held: the second path of the session at 70 counts 70, not 130; when the first is
    /// released 70 stay, and 0 when both are released.
    #[test]
    fn rfc3209_s2_4_2_paths_of_a_session_share_the_larger_of_them() {
        let mut pool = LinkReservations::new(100);
        pool.reserve(key(1, 1), ct0(3, 60));
        assert!(pool.admits(key(1, 2), ct0(7, 70)));
        assert!(!pool.admits(key(2, 1), ct0(7, 70)));
        pool.reserve(key(1, 2), ct0(3, 70));
        assert_eq!(pool.total(), 70);
        pool.release(key(1, 1));
        assert_eq!(pool.total(), 70);
        pool.release(key(1, 2));
        assert_eq!((pool.total(), pool.by_te_class()), (0, [100; 8]));
    }

    /// Held: 40 at 2, 30 at 5. A request of setup 2 is out of reach of the 40 and may take the 30:
    /// 60; one of setup 5 sees 30, one of setup 1 all.
    #[test]
    fn rfc3209_s4_7_1_a_setup_priority_competes_with_weaker_holding_priorities_alone() {
        let mut pool = LinkReservations::new(100);
        pool.reserve(key(1, 1), ct0(2, 40));
        pool.reserve(key(2, 1), ct0(5, 30));
        assert_eq!(pool.by_te_class(), [100, 100, 60, 60, 60, 30, 30, 30]);
        assert!(pool.admits(key(3, 1), ct0(4, 60)));
        assert_eq!(pool.preempted_sessions(key(3, 1), ct0(4, 60)), [2]);
        assert!(pool.preempted_sessions(key(3, 1), ct0(4, 30)).is_empty());
    }

    /// Capacity 30: gold 20 at 2 and bronze 10 at 6 are held. A request of 20 at setup 1 lacks 20: the
    /// weakest priority is preempted first, bronze, then gold.
    #[test]
    fn rfc4829_s3_the_weakest_holding_priority_gives_way_first() {
        let mut pool = LinkReservations::new(30);
        pool.reserve(key(0, 1), ct0(2, 20));
        pool.reserve(key(1, 1), ct0(6, 10));
        assert_eq!(pool.preempted_sessions(key(2, 1), ct0(1, 20)), [1, 0]);
    }

    /// Of one holding priority the largest goes first, as fewer paths are then disturbed: a request of 20
    /// next to 10 and 20 displaces the 20 alone, in whichever order they came. Of equal bandwidth the
    /// session of the lower number goes first.
    #[test]
    fn rfc4829_s3_of_one_priority_the_fewest_give_way() {
        for (first, second, victims) in [(10, 20, vec![1]), (20, 10, vec![0]), (15, 15, vec![0, 1])]
        {
            let mut pool = LinkReservations::new(30);
            pool.reserve(key(0, 1), ct0(6, first));
            pool.reserve(key(1, 1), ct0(6, second));
            assert_eq!(pool.preempted_sessions(key(2, 1), ct0(1, 20)), victims);
        }
        let mut pool = LinkReservations::new(30);
        pool.reserve(key(0, 1), ct0(6, 15));
        pool.reserve(key(1, 1), ct0(6, 15));
        assert_eq!(pool.preempted_sessions(key(2, 1), ct0(1, 15)), [0]);
    }

    /// Nobody gives way at the request's own priority or a stronger one: holds of 3 and 4 for a setup of 3.
    #[test]
    fn rfc3209_s4_7_1_an_equal_holding_priority_is_not_preempted() {
        let mut pool = LinkReservations::new(30);
        pool.reserve(key(0, 1), ct0(3, 15));
        pool.reserve(key(1, 1), ct0(4, 15));
        assert_eq!(pool.preempted_sessions(key(2, 1), ct0(3, 15)), [1]);
        assert!(!pool.admits(key(2, 1), ct0(3, 16)));
    }

    /// By the definitions, session by session, on 2000 random links: a session holds the strongest priority and
    /// the largest bandwidth of its paths (RFC 3209 section 2.4.2); a request fits with all others that are as
    /// strong (section 4.7.1); those that give way are weaker, the weakest and then the largest first, and no
    /// more than it takes (RFC 4829 section 3).
    #[test]
    fn rfc3209_s4_7_1_and_rfc4829_s3_by_definition_on_random_links() {
        let mut random = trunkline_units::RandomStream::new(1, "admission", "links");
        let mut displaced = [0; 4];
        for number in 0..2000 {
            let mut pool = LinkReservations::new(100);
            let mut held: BTreeMap<u32, (u8, u64)> = BTreeMap::new();
            for _ in 0..random.below(9) {
                let path = key(random.below(5) as u32, random.below(1 << 16) as u16);
                let (priority, bandwidth) = (random.below(8) as u8, random.below(40));
                if pool.admits(path, ct0(0, bandwidth)) && pool.total() + bandwidth <= 100 {
                    pool.reserve(path, ct0(priority, bandwidth));
                    let share = held.entry(path.session).or_insert((priority, bandwidth));
                    *share = (share.0.min(priority), share.1.max(bandwidth));
                }
            }
            assert_eq!(pool.total(), held.values().map(|share| share.1).sum::<u64>());
            let (path, setup) = (key(random.below(6) as u32, 9), random.below(8) as u8);
            let asked = ct0(setup, random.below(101));
            let own = held.remove(&path.session).map_or(0, |share| share.1);
            assert_eq!(pool.session_bandwidth(path.session), own);
            let strong = held.values().filter(|share| share.0 <= setup).map(|share| share.1);
            let is_admitted = strong.sum::<u64>() + asked.bandwidth <= 100;
            assert_eq!(pool.admits(path, asked), is_admitted, "link {number}");
            if !is_admitted {
                continue;
            }
            let mut weaker: Vec<(u8, u64, u32)> = held
                .iter()
                .filter(|(_, share)| share.0 > setup && share.1 > 0)
                .map(|(session, share)| (7 - share.0, 100 - share.1, *session))
                .collect();
            weaker.sort_unstable();
            let mut total = held.values().map(|share| share.1).sum::<u64>();
            let mut expected = Vec::new();
            for (_, rest, session) in weaker {
                if total + asked.bandwidth.max(own) > 100 {
                    total -= 100 - rest;
                    expected.push(session);
                }
            }
            assert_eq!(pool.preempted_sessions(path, asked), expected, "link {number}");
            displaced[expected.len().min(3)] += 1;
        }
        assert!(displaced.iter().all(|count| *count > 20), "{displaced:?}");
    }

    /// A link of 1000 with these bounds of class types.
    fn typed_link(te_classes: &[(u8, u8)], bounds: &[(&[u8], u64)]) -> LinkReservations {
        let te_class = |(class_type, priority): &(u8, u8)| TeClass {
            class_type: *class_type,
            priority: *priority,
        };
        let te_classes = te_classes.iter().map(te_class).collect();
        let types = ClassTypes { te_classes, bounds: Vec::new() };
        let bound = |(class_types, bit_s): &(&[u8], u64)| ClassTypeBound {
            class_types: class_types.to_vec(),
            bit_s: *bit_s,
        };
        let bounds: Vec<ClassTypeBound> = bounds.iter().map(bound).collect();
        LinkReservations::with_class_types(1000, &types, &bounds)
    }

    const MAXIMUM_ALLOCATION: [(&[u8], u64); 3] = [(&[0], 500), (&[1], 400), (&[2], 300)];
    const RUSSIAN_DOLLS: [(&[u8], u64); 3] = [(&[0, 1, 2], 1000), (&[1, 2], 600), (&[2], 300)];

    fn typed(class_type: u8, priority: u8, bandwidth: u64) -> Reservation {
        Reservation { class_type, priority, bandwidth }
    }

    /// Bounds of a link as class types and bandwidth, and what is unreserved of three class types at
    /// eight priorities.
    type ModelCase<'a> = (&'a [(&'a [u8], u64)], [[u64; 8]; 3]);

    /// RFC 4125 section 4.2: least of B_c - Reserved(c, up to p) and M - all up to p; RFC 4127 section
    /// 4.3: least of B_k - Reserved(k and above, up to p) over the dolls k up to c. Added by hand from
    /// 150 of CT2 at 0, 200 of CT1 at 1, 100 of CT1 at 5, 250 of CT0 at 3 and 200 of CT0 at 7.
    #[test]
    fn rfc4125_s4_2_and_rfc4127_s4_3_unreserved_bandwidth_of_every_te_class() {
        let models: [ModelCase<'_>; 2] = [
            (
                &MAXIMUM_ALLOCATION,
                [
                    [500, 500, 500, 250, 250, 250, 250, 50],
                    [400, 200, 200, 200, 200, 100, 100, 100],
                    [150, 150, 150, 150, 150, 150, 150, 100],
                ],
            ),
            (
                &RUSSIAN_DOLLS,
                [
                    [850, 650, 650, 400, 400, 300, 300, 100],
                    [450, 250, 250, 250, 250, 150, 150, 100],
                    [150, 150, 150, 150, 150, 150, 150, 100],
                ],
            ),
        ];
        for (bounds, expected) in models {
            for (class_type, row) in (0..3).zip(expected) {
                let classes: Vec<(u8, u8)> = (0..8).map(|each| (class_type, each)).collect();
                let mut link = typed_link(&classes, bounds);
                for (session, held) in
                    (0..).zip([(2, 0, 150), (1, 1, 200), (1, 5, 100), (0, 3, 250), (0, 7, 200)])
                {
                    link.reserve(key(session, 1), typed(held.0, held.1, held.2));
                }
                assert_eq!(link.by_te_class(), row, "CT{class_type}");
            }
        }
    }

    /// RFC 4124 section 4.2: bandwidth is advertised by TE-class, and one that is not configured has none.
    #[test]
    fn rfc4124_s4_2_the_te_classes_alone_have_bandwidth() {
        let link = typed_link(&[(0, 0), (2, 3)], &RUSSIAN_DOLLS);
        assert_eq!(link.by_te_class(), [1000, 300, 0, 0, 0, 0, 0, 0]);
    }

    /// Within a bound its own class types give way: CT1 lacks 100 within its 400, which the weaker path
    /// of CT1 frees, and not the still weaker one of CT0. With all 1000 held it lacks 100 more of any type:
    /// the largest of the weakest goes too.
    #[test]
    fn rfc4125_s4_victims_are_of_the_class_types_whose_bound_is_passed() {
        let mut link = typed_link(&[(0, 7), (1, 7)], &MAXIMUM_ALLOCATION);
        link.reserve(key(0, 1), typed(0, 7, 300));
        link.reserve(key(1, 1), typed(1, 6, 100));
        link.reserve(key(2, 1), typed(1, 0, 200));
        assert!(
            link.admits(key(3, 1), typed(1, 5, 200)) && !link.admits(key(3, 1), typed(1, 5, 201))
        );
        assert_eq!(link.preempted_sessions(key(3, 1), typed(1, 5, 200)), [1]);
        link.reserve(key(4, 1), typed(2, 0, 300));
        link.reserve(key(5, 1), typed(0, 7, 100));
        assert_eq!(link.preempted_sessions(key(3, 1), typed(1, 5, 200)), [1, 0]);
    }

    /// RFC 4127 section 4: what an outer doll lends, an inner one takes back. CT0 holds 900 of 1000, CT2
    /// nothing of its 300: 250 of CT2 at a stronger priority displace the largest path of CT0, the fewest.
    #[test]
    fn rfc4127_s4_an_inner_doll_takes_back_what_the_outer_uses() {
        let mut link = typed_link(&[(0, 7), (2, 0)], &RUSSIAN_DOLLS);
        link.reserve(key(0, 1), typed(0, 7, 700));
        link.reserve(key(1, 1), typed(0, 7, 200));
        assert!(
            link.admits(key(2, 1), typed(2, 0, 300)) && !link.admits(key(2, 1), typed(2, 0, 301))
        );
        assert!(!link.admits(key(2, 1), typed(2, 7, 101)));
        assert_eq!(link.preempted_sessions(key(2, 1), typed(2, 0, 250)), [0]);
    }
}
