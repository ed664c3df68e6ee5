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
