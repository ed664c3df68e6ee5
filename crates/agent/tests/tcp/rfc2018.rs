//! RFC 2018: which blocks an acknowledgement carries, in which order. The cases of section 5 with
//! its eight segments of 500 B numbered 0 to 7 here.

use crate::pipe::config;
use proptest::prelude::*;
use trunkline_agent::tcp::{Receiver, Variant};

fn answers(arrivals: &[u32]) -> Vec<(u32, Vec<[u32; 2]>)> {
    let mut receiver = Receiver::new(&config(Variant::Sack));
    let answer = |seq: &u32| {
        receiver.on_segment(*seq, false, 0, false, false, 0);
        let blocks = receiver.sack_blocks();
        (receiver.ack(0).ack, blocks.into_iter().filter(|block| block[1] > 0).collect())
    };
    arrivals.iter().map(answer).collect()
}

#[test]
fn s5_case_1_a_segment_at_the_end_lost_leaves_no_block() {
    assert_eq!(answers(&[0, 1, 2, 3]).last(), Some(&(4, vec![])));
}

#[test]
fn s5_case_2_the_first_lost_grows_one_block() {
    let blocks: Vec<_> = (2..=8).map(|end| (0, vec![[1, end]])).collect();
    assert_eq!(answers(&[1, 2, 3, 4, 5, 6, 7]), blocks);
}

#[test]
fn s5_case_3_the_block_of_the_last_arrival_comes_first() {
    let expected = [
        (1, vec![]),
        (1, vec![[2, 3]]),
        (1, vec![[4, 5], [2, 3]]),
        (1, vec![[6, 7], [4, 5], [2, 3]]),
        // "Suppose at this point, the 4th packet is received out of order": blocks merge.
        (1, vec![[2, 5], [6, 7]]),
        // "Suppose at this point, the 2nd segment is received": the acknowledgement jumps.
        (5, vec![[6, 7]]),
    ];
    assert_eq!(answers(&[0, 2, 4, 6, 3, 1]), expected);
}

#[test]
fn s4_at_most_three_blocks_those_reported_last() {
    let last = answers(&[1, 3, 5, 7, 9]).pop();
    assert_eq!(last, Some((0, vec![[9, 10], [7, 8], [5, 6]])));
}

#[test]
fn s4_a_copy_of_a_held_segment_brings_its_block_to_the_front() {
    assert_eq!(answers(&[1, 3, 5, 1]).pop(), Some((0, vec![[1, 2], [5, 6], [3, 4]])));
}

#[test]
fn without_sack_no_block_is_reported() {
    let mut receiver = Receiver::new(&config(Variant::NewReno));
    receiver.on_segment(5, false, 0, false, false, 0);
    assert_eq!(receiver.sack_blocks(), [[0, 0]; 3]);
}

proptest! {
    /// Whatever the order and the copies: the cumulative acknowledgement is the first segment
    /// missing, every block is a whole run of held segments, the newest first.
    #[test]
    fn acknowledgements_tell_the_truth_about_any_arrivals(
        arrivals in prop::collection::vec(0u32..150, 1..300),
    ) {
        let mut held = [false; 151];
        for (k, (ack, blocks)) in answers(&arrivals).into_iter().enumerate() {
            held[arrivals[k] as usize] = true;
            let missing = held.iter().position(|held| !held).unwrap();
            prop_assert_eq!(ack as usize, missing);
            for [start, end] in &blocks {
                let (start, end) = (*start as usize, *end as usize);
                prop_assert!(start > missing && held[start..end].iter().all(|held| *held));
                prop_assert!(!held[start - 1] && !held[end], "not the whole run");
            }
            if arrivals[k] > ack {
                prop_assert!((blocks[0][0]..blocks[0][1]).contains(&arrivals[k]));
            }
        }
    }
}
