//! Active queue management: judges each arrival, or each packet at the head of the queue. A queue
//! stores, a scheduler chooses; an AQM only decides to pass, signal or refuse.

use serde::{Deserialize, Serialize};
use trunkline_packet::Cause;
use trunkline_units::{RandomStream, Time};

mod adaptive;
mod average;
mod blue;
mod cobalt;
mod codel;
#[cfg(test)]
mod conformance;
mod drop_curve;
mod droptail;
mod dualpi2;
mod gred;
mod linux;
#[cfg(test)]
mod ns2_diffserv;
mod pie;
mod precedence_drop_tail;
mod red;
mod red_linux;
mod rio;
mod spacing;
mod step;
#[cfg(test)]
mod test_queue;
mod wred;

pub use crate::InvalidParameter;
pub use blue::{Blue, BlueConfig};
pub use cobalt::{Cobalt, CobaltConfig};
pub use codel::{Arithmetic, Codel, CodelConfig};
pub use drop_curve::Curve;
pub use droptail::{DropTail, DropTailConfig};
pub use dualpi2::{DepartingPacket, DualPi2, DualPi2Config, DualSide};
pub use gred::{Gred, GredConfig, GredDp};
pub use linux::{LinuxRedVariant, TcRed};
pub use pie::{Pie, PieConfig};
pub use precedence_drop_tail::{Counted, PrecedenceDropTail, PrecedenceDropTailConfig};
pub use red::{Red, RedConfig, Unit};
pub use red_linux::{RedLinux, RedLinuxConfig};
pub use rio::{RioC, RioD};
pub use spacing::Spacing;
pub use step::{Step, StepConfig};
pub use wred::{MredConfig, Wred};

/// Content of the queue, as its limit counts it (with or without the packet in service: the
/// queue's `counts_in_service`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueBacklog {
    /// Packets.
    pub packets: u32,
    /// Bytes on the wire.
    pub bytes: u64,
}

/// For keys that are left out where they are false.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_false(value: &bool) -> bool {
    !value
}

/// A packet at the door of a queue.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Now.
    pub now: Time,
    /// Its bytes on this wire.
    pub bytes: u32,
    /// Its drop precedence, 0 (dropped last) upward.
    pub precedence: u8,
    /// Content of the queue before it.
    pub backlog: QueueBacklog,
}

/// A packet at the head of a queue, about to be sent.
#[derive(Clone, Copy, Debug)]
pub struct HeadPacket {
    /// Now.
    pub now: Time,
    /// When it joined the queue.
    pub since: Time,
    /// Its bytes on this wire.
    pub bytes: u32,
    /// Its drop precedence.
    pub precedence: u8,
    /// Content of the queue behind it.
    pub left: QueueBacklog,
    /// Whether a signal would mark it rather than drop it.
    pub can_mark: bool,
}

/// An AQM's judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Let it in (if the queue has room), or send it.
    Pass,
    /// Mark an ECN-capable packet, let any other pass.
    Mark,
    /// Congestion: mark an ECN-capable packet, drop any other, for this cause.
    Signal(Cause),
    /// Drop it whether ECN-capable or not.
    Refuse(Cause),
}

/// Judges arrivals and, with `AT_HEAD`, departures.
pub trait ActiveQueueManagement {
    /// Whether it judges packets at the head of the queue, or wants to know how long they waited.
    const AT_HEAD: bool = false;
    /// Judges a packet before it is queued.
    fn on_arrival(&mut self, arrival: &Arrival, random: &mut RandomStream) -> Verdict;
    /// Judges a packet at the head of the queue; one that is dropped there costs no time, and the
    /// next one is judged in its place.
    fn on_head(&mut self, _head: &HeadPacket, _random: &mut RandomStream) -> Verdict {
        Verdict::Pass
    }
    /// A packet that was let in has been stored.
    fn on_enqueue(&mut self, _bytes: u32, _precedence: u8) {}
    /// A packet left the queue at `at`; `left` is the remaining content. Calls are in time order.
    fn on_departure(&mut self, _at: Time, _bytes: u32, _precedence: u8, _left: QueueBacklog) {}
    /// The queue is empty and its last packet has been sent: the class is idle from `at` on. Called
    /// after the `on_departure` of that packet; an arrival ends it.
    fn on_idle(&mut self, _at: Time) {}
    /// A packet of the queue was dropped to make room.
    fn on_overflow(&mut self, _at: Time) {}
    /// The average the AQM steers by [packets or bytes, its own unit], if it keeps one; where it
    /// keeps several, that of all packets together, or else their sum.
    fn average(&self) -> Option<f64> {
        None
    }
    /// The average that judges packets of `precedence` [unit of `average`].
    fn average_of(&self, _precedence: u8) -> Option<f64> {
        self.average()
    }
}

macro_rules! aqms {
    ($($(#[$doc:meta])* $variant:ident($aqm:ty, $config:ty)),+ $(,)?) => {
        /// Configuration of an AQM: the `kind` key names the variant.
        #[derive(Clone, Debug, Serialize, Deserialize)]
        #[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
        pub enum AqmConfig { $($(#[$doc])* $variant($config)),+ }

        impl AqmConfig {
            /// Whether it judges packets at the head of the queue.
            #[must_use]
            pub fn judges_heads(&self) -> bool {
                match self { $(Self::$variant(_) => <$aqm>::AT_HEAD),+ }
            }
        }

        /// Any AQM, dispatched by one match.
        #[derive(Clone, Debug)]
        pub enum Aqm { $($(#[$doc])* $variant($aqm)),+ }

        impl Aqm {
            /// Whether it judges packets at the head of the queue.
            #[must_use]
            pub fn judges_heads(&self) -> bool {
                match self { $(Self::$variant(_) => <$aqm>::AT_HEAD),+ }
            }

            /// Builds the AQM for a port that drains at `rate_bit_s`.
            ///
            /// # Errors
            /// The parameter that is out of range.
            pub fn new(config: &AqmConfig, rate_bit_s: u64) -> Result<Self, InvalidParameter> {
                Ok(match config {
                    $(AqmConfig::$variant(config) => Self::$variant(<$aqm>::new(config, rate_bit_s)?)),+
                })
            }
        }

        impl ActiveQueueManagement for Aqm {
            #[inline]
            fn on_arrival(&mut self, arrival: &Arrival, random: &mut RandomStream) -> Verdict {
                match self { $(Self::$variant(aqm) => aqm.on_arrival(arrival, random)),+ }
            }
            #[inline]
            fn on_head(&mut self, head: &HeadPacket, random: &mut RandomStream) -> Verdict {
                match self { $(Self::$variant(aqm) => aqm.on_head(head, random)),+ }
            }
            #[inline]
            fn on_enqueue(&mut self, bytes: u32, precedence: u8) {
                match self { $(Self::$variant(aqm) => aqm.on_enqueue(bytes, precedence)),+ }
            }
            #[inline]
            fn on_departure(&mut self, at: Time, bytes: u32, precedence: u8, left: QueueBacklog) {
                match self { $(Self::$variant(aqm) => aqm.on_departure(at, bytes, precedence, left)),+ }
            }
            #[inline]
            fn on_idle(&mut self, at: Time) {
                match self { $(Self::$variant(aqm) => aqm.on_idle(at)),+ }
            }
            fn on_overflow(&mut self, at: Time) {
                match self { $(Self::$variant(aqm) => aqm.on_overflow(at)),+ }
            }
            fn average(&self) -> Option<f64> {
                match self { $(Self::$variant(aqm) => aqm.average()),+ }
            }
            fn average_of(&self, precedence: u8) -> Option<f64> {
                match self { $(Self::$variant(aqm) => aqm.average_of(precedence)),+ }
            }
        }
    };
}

aqms! {
    /// No judgement: the queue's limit alone drops.
    DropTail(DropTail, DropTailConfig),
    /// A limit for each precedence.
    PrecedenceDropTail(PrecedenceDropTail, PrecedenceDropTailConfig),
    /// Random Early Detection.
    Red(Red, RedConfig),
    /// RED with a curve for each precedence over one average.
    Wred(Wred, MredConfig),
    /// RED with a coupled average for each precedence.
    RioC(RioC, MredConfig),
    /// RED with a decoupled average for each precedence.
    RioD(RioD, MredConfig),
    /// RED as Linux's `sch_red`.
    RedLinux(RedLinux, RedLinuxConfig),
    /// Generic RED as Linux's `sch_gred`.
    Gred(Gred, GredConfig),
    /// CoDel.
    Codel(Codel, CodelConfig),
    /// PIE.
    Pie(Pie, PieConfig),
    /// Two queues with one AQM between them.
    Dualpi2(DualPi2, DualPi2Config),
    /// COBALT.
    Cobalt(Cobalt, CobaltConfig),
    /// BLUE.
    Blue(Blue, BlueConfig),
    /// Marks above a queue length.
    Step(Step, StepConfig),
}
