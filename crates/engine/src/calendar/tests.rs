use super::*;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Schedule(u32, u64),
    Cancel(u32),
    Pop,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0u32..40, prop_oneof![0u64..50, 0u64..5_000, 0u64..5_000_000])
            .prop_map(|(source, ahead)| Step::Schedule(source, ahead)),
        1 => (0u32..40).prop_map(Step::Cancel),
        4 => Just(Step::Pop),
    ];
    proptest::collection::vec(step, 1..400)
}

proptest! {
    /// The specification is a plain map searched for its least (time, source).
    #[test]
    fn serves_by_time_then_source_like_a_sorted_list(steps in steps(), gap in 1u64..2_000) {
        let mut calendar = Calendar::new(40, 4, gap);
        let mut plain = std::collections::BTreeMap::new();
        let mut now = 0;
        for step in steps {
            match step {
                Step::Schedule(source, ahead) => {
                    calendar.schedule(source, now + ahead);
                    plain.insert(source, now + ahead);
                }
                Step::Cancel(source) => {
                    calendar.cancel(source);
                    plain.remove(&source);
                }
                Step::Pop => {
                    let least = plain.iter().map(|(&s, &t)| (t, s)).min();
                    prop_assert_eq!(calendar.pop(), least);
                    if let Some((at, source)) = least {
                        plain.remove(&source);
                        now = at;
                    }
                }
            }
        }
        while let Some(least) = plain.iter().map(|(&s, &t)| (t, s)).min() {
            prop_assert_eq!(calendar.pop(), Some(least));
            plain.remove(&least.1);
        }
        prop_assert_eq!(calendar.pop(), None);
    }
}

proptest! {
    /// The specification is a set of slots, searched from one on and then from 0 on. Three summary words, and
    /// slots at the bounds of words: all places where a search goes from one word to another.
    #[test]
    fn the_first_slot_in_use_is_that_of_a_set_that_is_searched_around_the_wheel(
        blocks in 1usize..4,
        steps in proptest::collection::vec(
            (prop_oneof![0usize..12_288, (0usize..192).prop_map(|word| 64 * word + 63)], 0u8..3),
            1..60,
        ),
    ) {
        let slots = 4096 * blocks;
        let mut used = OccupiedSlots::new(slots);
        let mut plain = std::collections::BTreeSet::new();
        for (slot, kind) in steps {
            let slot = slot % slots;
            if kind > 0 {
                prop_assert_eq!(used.insert(slot), !plain.insert(slot));
            } else if let Some(taken) = used.first_from(slot) {
                used.clear(taken);
                plain.remove(&taken);
            }
            for start in [slot, (slot + 1) % slots, slots - 1, 0] {
                let first = plain.range(start..).chain(&plain).next().copied();
                prop_assert_eq!(used.first_from(start), first);
            }
        }
    }
}

/// A hundred pairs of sources, each pair at one instant, the pairs at equal distances. Asked once an event, the
/// calendar names each source once, some 12 events before its own.
#[test]
fn a_source_is_named_once_some_events_before_its_own() {
    for gap in [512, 1024, 5120, 25_600] {
        let pairs = 100;
        let mut calendar = Calendar::new(200, 128, 1000);
        for source in 0..2 * pairs {
            calendar.schedule(source, u64::from(source / 2) * gap);
        }
        let (mut nearest, mut farthest, mut named) = (pairs, 0, [0; 200]);
        for event in 0..6000 {
            let (at, source) = calendar.pop().expect("each source has an event");
            calendar.schedule(source, at + u64::from(pairs) * gap);
            if let (Some(upcoming), 3000..) = (calendar.peek_upcoming(), event) {
                let ahead = (upcoming / 2 + pairs - source / 2) % pairs;
                (nearest, farthest) = (nearest.min(ahead), farthest.max(ahead));
                named[upcoming as usize] += 1;
            }
        }
        assert!(nearest >= 4 && farthest <= 6, "{nearest} to {farthest} pairs ahead");
        assert_eq!(named, [15; 200], "{gap} ns");
    }
}

/// Brown, Calendar queues, CACM 31(10), 1988, section 2: the width of a bucket follows the mean distance of events,
/// whichever it was made for. Here a third of an event to one is in a bucket when the rate has changed for a while.
#[test]
fn brown_1988_buckets_get_the_width_that_the_rate_of_events_asks_for() {
    let sources = 64;
    let mut calendar = Calendar::new(sources, sources, 1000);
    (0..sources as u32).for_each(|source| calendar.schedule(source, u64::from(source)));
    for gap in [1000, 7, 50_000, 300, 2_000_000, 1] {
        for _ in 0..100_000 {
            let (at, source) = calendar.pop().expect("each source has an event");
            calendar.schedule(source, at + sources as u64 * gap);
        }
        let width = 1 << calendar.shift;
        assert!(width <= 2 * gap && 3 * width >= gap, "{width} ns, an event each {gap} ns");
    }
}
