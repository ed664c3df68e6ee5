/work/wt/speed/crates/engine/target/debug/deps/trunkline_control-341ef0748516ca49.d: crates/control/src/lib.rs crates/control/src/ospf/mod.rs crates/control/src/ospf/config.rs crates/control/src/ospf/packet.rs crates/control/src/ospf/spf.rs crates/control/src/ospf/throttle.rs crates/control/src/rsvp/mod.rs crates/control/src/rsvp/admission.rs crates/control/src/rsvp/config.rs crates/control/src/rsvp/database.rs crates/control/src/rsvp/head.rs crates/control/src/rsvp/message.rs crates/control/src/rsvp/neighbour.rs crates/control/src/rsvp/soft_state.rs crates/control/src/rsvp/state.rs crates/control/src/rsvp/upkeep.rs crates/control/src/timers.rs

/work/wt/speed/crates/engine/target/debug/deps/libtrunkline_control-341ef0748516ca49.rmeta: crates/control/src/lib.rs crates/control/src/ospf/mod.rs crates/control/src/ospf/config.rs crates/control/src/ospf/packet.rs crates/control/src/ospf/spf.rs crates/control/src/ospf/throttle.rs crates/control/src/rsvp/mod.rs crates/control/src/rsvp/admission.rs crates/control/src/rsvp/config.rs crates/control/src/rsvp/database.rs crates/control/src/rsvp/head.rs crates/control/src/rsvp/message.rs crates/control/src/rsvp/neighbour.rs crates/control/src/rsvp/soft_state.rs crates/control/src/rsvp/state.rs crates/control/src/rsvp/upkeep.rs crates/control/src/timers.rs

crates/control/src/lib.rs:
crates/control/src/ospf/mod.rs:
crates/control/src/ospf/config.rs:
crates/control/src/ospf/packet.rs:
crates/control/src/ospf/spf.rs:
crates/control/src/ospf/throttle.rs:
crates/control/src/rsvp/mod.rs:
crates/control/src/rsvp/admission.rs:
crates/control/src/rsvp/config.rs:
crates/control/src/rsvp/database.rs:
crates/control/src/rsvp/head.rs:
crates/control/src/rsvp/message.rs:
crates/control/src/rsvp/neighbour.rs:
crates/control/src/rsvp/soft_state.rs:
crates/control/src/rsvp/state.rs:
crates/control/src/rsvp/upkeep.rs:
crates/control/src/timers.rs:
