/work/wt/speed/crates/engine/target/debug/deps/trunkline_sim-3d6565619e7d1cba.d: crates/engine/src/bin/trunkline-sim.rs

/work/wt/speed/crates/engine/target/debug/deps/libtrunkline_sim-3d6565619e7d1cba.rmeta: crates/engine/src/bin/trunkline-sim.rs

crates/engine/src/bin/trunkline-sim.rs:
