/work/wt/speed/crates/engine/target/debug/deps/trunkline_units-41c9bdbcc3f952d7.d: crates/units/src/lib.rs crates/units/src/fetch.rs crates/units/src/math.rs crates/units/src/stream.rs

/work/wt/speed/crates/engine/target/debug/deps/libtrunkline_units-41c9bdbcc3f952d7.rmeta: crates/units/src/lib.rs crates/units/src/fetch.rs crates/units/src/math.rs crates/units/src/stream.rs

crates/units/src/lib.rs:
crates/units/src/fetch.rs:
crates/units/src/math.rs:
crates/units/src/stream.rs:
