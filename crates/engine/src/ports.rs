//! The ports of a network with their links, by index of the link.

use crate::account::Accounts;
use crate::clock::Clock;
use crate::conditioner::Conditioner;
use crate::link::{Link, OnwardHop};
use trunkline_packet::Cause;
use trunkline_units::Time;

/// Parts of a port that few ports have.
#[derive(Debug)]
pub(crate) struct NearEnd {
    pub conditioner: Option<Conditioner>,
    pub accounts: Option<Accounts>,
}

/// All links of a network.
#[derive(Debug)]
pub(crate) struct Ports {
    pub links: Vec<Link>,
    /// Capacity of each link [bit/s].
    pub capacity: Vec<u64>,
    /// Other functions at the near end of each link, where there are any.
    pub near_ends: Vec<Option<Box<NearEnd>>>,
    /// Node at the near end of each link.
    pub from: Vec<u32>,
    /// Why a packet that fits no port of a link is lost: it is too big, or the link is down.
    pub refusals: Vec<Cause>,
    /// Waiting times that a FIFO counted and that failures cut short, since the warm-up [ns].
    pub forgone: Vec<i128>,
}

impl Ports {
    /// Brings a link's queues up to now, at which no arrival has been served yet.
    pub fn drain_link(&mut self, index: usize, clock: &mut Clock) {
        self.catch_up(index, clock.now.saturating_sub(1), clock);
        self.links[index].drain(clock.now);
    }

    /// Makes the choices of a classful port that are due by `until` and have no events.
    pub fn catch_up(&mut self, index: usize, until: Time, clock: &mut Clock) {
        let link = &mut self.links[index];
        if !link.is_fifo() {
            if let Some(end) = link.catch_up(until, clock.untimed_before, &mut clock.events) {
                clock.schedule_transmitter(index as u32, end);
            }
        }
    }

    /// From now on each end of a transmission that a packet waits for has an event.
    #[cold]
    pub fn keep_time(&mut self, index: usize, clock: &mut Clock) {
        let link = &mut self.links[index];
        if link.onward == OnwardHop::CatchesUp {
            link.onward = OnwardHop::Arrives;
            self.catch_up(index, clock.now, clock);
            self.time_end(index, clock);
        }
    }

    /// Gives the end of a transmission an event if a packet waits for it.
    #[inline(always)]
    pub fn time_end(&mut self, index: usize, clock: &mut Clock) {
        if let Some(until) = self.links[index].take_untimed_end() {
            clock.events -= 1;
            clock.schedule_transmitter(index as u32, until);
        }
    }
}
