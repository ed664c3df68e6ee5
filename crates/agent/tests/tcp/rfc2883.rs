//! Segments that come twice, and what is made of it, with Linux's stack.

use crate::hand::Hand;
use crate::linux::linux;
use crate::pipe::{config, MS};
use trunkline_agent::tcp::{Receiver, TcpConfig, Variant};

fn receive(config: &TcpConfig, segments: &[u32]) -> (Vec<[u32; 2]>, u16) {
    let mut receiver = Receiver::new(config);
    for seq in segments {
        receiver.on_segment(*seq, false, 0, false, false, MS);
        receiver.ack(MS);
    }
    let blocks = receiver.sack_blocks();
    let bytes = receiver.option_bytes();
    (blocks.into_iter().filter(|block| block[1] > 0).collect(), bytes)
}

/// Section 4.1: the block is of what came twice, below the acknowledgement. RFC 2018 section 3: two NOPs,
/// kind, length and 8 B make 12 B. The next segment's acknowledgement does not repeat it.
#[test]
fn rfc2883_s4_1_a_segment_that_comes_twice_is_told_once() {
    let linux = linux(Variant::Sack);
    assert_eq!(receive(&linux, &[0, 1, 1]), (vec![[1, 2]], 12));
    assert_eq!(receive(&linux, &[0, 1, 1, 2]), (vec![], 0));
    assert_eq!(receive(&config(Variant::Sack), &[0, 1, 1]), (vec![], 0));
}

/// RFC 2018 section 3: 40 B of options hold four blocks, 36 B with two NOPs, and three besides a time stamp's 12 B.
/// Of five Linux keeps four (`TCP_NUM_SACKS`), also when two of those are acknowledged.
#[test]
fn rfc2018_s3_four_blocks_are_told_or_three_beside_a_time_stamp() {
    let linux = linux(Variant::Sack);
    let holes = [0, 2, 4, 6, 8];
    assert_eq!(receive(&linux, &holes).1, 36);
    assert_eq!(receive(&TcpConfig { timestamps: true, ..linux.clone() }, &holes).1, 28);
    assert_eq!(receive(&linux, &[0, 2, 4, 6, 8, 10]).1, 36);
    // 2 was forgotten for 10; 1 and 3 acknowledge 4: 6, 8 and 10 are left.
    assert_eq!(receive(&linux, &[0, 2, 4, 6, 8, 10, 1, 3]).1, 28);
}

/// Section 4.2: above the acknowledgement the block that holds it follows. Of 2 twice and 4: 4 is reported
/// first, then the block of 2 before, then nothing twice.
#[test]
fn rfc2883_s4_2_the_block_that_holds_it_follows() {
    let linux = linux(Variant::Sack);
    assert_eq!(receive(&linux, &[0, 2, 3, 2]), (vec![[2, 3], [2, 4]], 20));
    assert_eq!(receive(&linux, &[0, 2, 2, 4]), (vec![[4, 5], [2, 3]], 20));
}

/// Three blocks: 0 is sent again and the window halved. All is acknowledged, and 0 had come twice: nothing
/// was lost (RFC 3708 section 3), window and threshold are what they were. A duplicate without it is no proof.
#[test]
fn rfc3708_s3_a_duplicate_of_all_that_was_sent_again_takes_the_reduction_back() {
    for (twice, threshold) in [(vec![[0, 1]], 10.0), (vec![], 5.0)] {
        let (mut hand, _) = Hand::start(&linux(Variant::Sack));
        hand.now = 100 * MS;
        assert_eq!(hand.sack(0, &[[1, 4]]), [0, 10]);
        hand.now = 200 * MS;
        hand.ack(10);
        assert_eq!(hand.sender.ssthresh(), 5.0);
        hand.sack(10, &twice);
        assert_eq!(hand.sender.ssthresh(), threshold);
        assert!(hand.sender.cwnd() >= threshold);
    }
}
