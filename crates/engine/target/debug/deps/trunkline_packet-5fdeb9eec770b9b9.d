/work/wt/speed/crates/engine/target/debug/deps/trunkline_packet-5fdeb9eec770b9b9.d: crates/packet/src/lib.rs crates/packet/src/arena.rs crates/packet/src/cause.rs crates/packet/src/label.rs

/work/wt/speed/crates/engine/target/debug/deps/libtrunkline_packet-5fdeb9eec770b9b9.rmeta: crates/packet/src/lib.rs crates/packet/src/arena.rs crates/packet/src/cause.rs crates/packet/src/label.rs

crates/packet/src/lib.rs:
crates/packet/src/arena.rs:
crates/packet/src/cause.rs:
crates/packet/src/label.rs:
