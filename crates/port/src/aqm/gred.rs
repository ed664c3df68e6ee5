//! Generic RED as Linux's `sch_gred` does it: up to 16 drop parameters (DPs) in one FIFO.
//!
//! Source: Linux 6.1 `net/sched/sch_gred.c`; the arithmetic is that of `linux.rs`. A packet's
//! precedence is its DP (`tc_index & 15`). Each DP has a limit and an average of its own bytes.
//! - Without `grio` a DP is judged by its own average.
//! - With `grio` and all priorities different it is judged by the sum of its own average and those
//!   of the DPs with lower `prio` numbers that are not idle ("RIO").
//! - With `grio` and two equal priorities all DPs share one average, of the whole queue, and limits
//!   count the whole queue ("WRED").
//!
//! A DP that is not set up falls to `default_dp`; if that is not set up either, the packet passes.
//! As Linux, averages are added in fixed point, so DPs of one `grio` set should have one Wlog.

use super::linux::{LinuxAverage, LinuxRedParameters, LinuxRedVariant, LinuxSpacer, TcRed};
use super::{ActiveQueueManagement, Arrival, InvalidParameter, QueueBacklog, Verdict};
use serde::{Deserialize, Serialize};
use trunkline_packet::Cause;
use trunkline_units::{RandomStream, Time};

/// Maximum number of DPs.
const MAX_DPS: u8 = 16;

/// One DP.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GredDp {
    /// Its number [0..16].
    pub dp: u8,
    /// Maximum number of bytes it may hold [B].
    pub limit_bytes: u64,
    /// Its priority with `grio`; lower is dropped later.
    pub prio: u8,
    /// Parameters of `tc`.
    pub parameters: TcRed,
}

/// Keys of `gred`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GredConfig {
    /// The DPs set up.
    pub dps: Vec<GredDp>,
    /// DP of packets whose own is not set up.
    pub default_dp: u8,
    /// Whether DPs with lower `prio` count in the averages of the others.
    pub grio: bool,
    /// Version of Linux.
    pub age: LinuxRedVariant,
    /// Drop above `max` ECN-capable packets too.
    pub harddrop: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GredMode {
    Own,
    Rio,
    Wred,
}

#[derive(Clone, Debug)]
struct DpState {
    limit: u64,
    prio: u8,
    parameters: LinuxRedParameters,
    average: LinuxAverage,
    spacer: LinuxSpacer,
    /// Bytes in the queue.
    backlog: u64,
}

/// A `sch_gred` queue's AQM.
#[derive(Clone, Debug)]
pub struct Gred {
    dps: Vec<DpState>,
    /// Index into `dps` by precedence.
    of_precedence: [Option<u8>; MAX_DPS as usize],
    mode: GredMode,
    harddrop: bool,
    /// The one average of [`GredMode::Wred`].
    shared: LinuxAverage,
}

impl Gred {
    /// A Linux GRED; the port's rate plays no part, `bandwidth_bit_s` does.
    ///
    /// # Errors
    /// The parameter that is out of range.
    pub fn new(config: &GredConfig, _rate_bit_s: u64) -> Result<Self, InvalidParameter> {
        let mut of_precedence = [None; MAX_DPS as usize];
        let mut dps: Vec<DpState> = Vec::new();
        InvalidParameter::require(!config.dps.is_empty(), "dps", || "must be at least one".into())?;
        InvalidParameter::require(config.default_dp < MAX_DPS, "default_dp", || {
            "must be below 16".into()
        })?;
        for dp in &config.dps {
            let number = dp.dp;
            InvalidParameter::require(number < MAX_DPS, "dp", || {
                format!("must be below 16, not {number}")
            })?;
            let slot = &mut of_precedence[usize::from(number)];
            InvalidParameter::require(slot.is_none(), "dp", || {
                format!("{number} is set up twice")
            })?;
            *slot = Some(dps.len() as u8);
            let parameters = LinuxRedParameters::new(&dp.parameters, config.age).map_err(
                |InvalidParameter { key, why }| InvalidParameter {
                    key,
                    why: format!("{why} (DP {number})"),
                },
            )?;
            dps.push(DpState {
                limit: dp.limit_bytes,
                prio: dp.prio,
                parameters,
                average: LinuxAverage::default(),
                spacer: LinuxSpacer::default(),
                backlog: 0,
            });
        }
        let default = of_precedence[usize::from(config.default_dp)];
        for slot in &mut of_precedence {
            *slot = slot.or(default);
        }
        let shared_priority = dps
            .iter()
            .enumerate()
            .any(|(i, dp)| dps[..i].iter().any(|other| other.prio == dp.prio));
        let mode = match (config.grio, shared_priority) {
            (false, _) => GredMode::Own,
            (true, false) => GredMode::Rio,
            (true, true) => GredMode::Wred,
        };
        Ok(Self {
            dps,
            of_precedence,
            mode,
            harddrop: config.harddrop,
            shared: LinuxAverage::default(),
        })
    }

    fn index(&self, precedence: u8) -> Option<usize> {
        self.of_precedence[usize::from(precedence % MAX_DPS)].map(usize::from)
    }

    /// Averages of the DPs that count before `index` in RIO mode.
    fn before(&self, index: usize) -> u64 {
        let prio = self.dps[index].prio;
        let counts = |dp: &&DpState| dp.prio < prio && dp.average.idle_since.is_none();
        self.dps.iter().filter(counts).map(|dp| dp.average.scaled).sum()
    }
}

impl ActiveQueueManagement for Gred {
    fn on_arrival(&mut self, arrival: &Arrival, random: &mut RandomStream) -> Verdict {
        let Some(index) = self.index(arrival.precedence) else { return Verdict::Pass };
        let before = if self.mode == GredMode::Rio { self.before(index) } else { 0 };
        let dp = &mut self.dps[index];
        let (average, backlog) = match self.mode {
            GredMode::Wred => (&mut self.shared, arrival.backlog.bytes),
            GredMode::Own | GredMode::Rio => (&mut dp.average, dp.backlog),
        };
        average.sample(&dp.parameters, arrival.now, backlog);
        let scaled = average.scaled + before;
        let verdict = dp.spacer.judge(&dp.parameters, scaled, self.harddrop, random);
        // A drop by chance is counted as such even where the limit would have dropped.
        if verdict == Verdict::Pass && backlog + u64::from(arrival.bytes) > dp.limit {
            return Verdict::Refuse(Cause::QueueFull);
        }
        verdict
    }

    fn on_enqueue(&mut self, bytes: u32, precedence: u8) {
        if let Some(index) = self.index(precedence) {
            self.dps[index].backlog += u64::from(bytes);
        }
    }

    fn on_departure(&mut self, at: Time, bytes: u32, precedence: u8, left: QueueBacklog) {
        let Some(index) = self.index(precedence) else { return };
        let dp = &mut self.dps[index];
        dp.backlog -= u64::from(bytes);
        match self.mode {
            GredMode::Wred if left.packets == 0 => self.shared.idle_since = Some(at),
            GredMode::Own | GredMode::Rio if dp.backlog == 0 => dp.average.idle_since = Some(at),
            _ => {}
        }
    }

    fn average(&self) -> Option<f64> {
        match self.mode {
            GredMode::Wred => Some(self.dps[0].parameters.bytes(self.shared.scaled)),
            _ => Some(self.dps.iter().map(|dp| dp.parameters.bytes(dp.average.scaled)).sum()),
        }
    }

    fn average_of(&self, precedence: u8) -> Option<f64> {
        let index = self.index(precedence)?;
        let dp = &self.dps[index];
        let scaled = match self.mode {
            GredMode::Own => dp.average.scaled,
            GredMode::Rio => dp.average.scaled + self.before(index),
            GredMode::Wred => self.shared.scaled,
        };
        Some(dp.parameters.bytes(scaled))
    }
}

#[cfg(test)]
#[path = "gred_tests.rs"]
mod tests;
