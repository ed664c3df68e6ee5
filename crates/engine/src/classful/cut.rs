//! A port with classes whose link fails.

use super::Classful;
use crate::link::Lost;
use trunkline_port::aqm::Policy;
use trunkline_units::Time;

impl Classful {
    /// Loses every packet of the port. The scheduler starts afresh, the AQMs keep what they know.
    pub fn cut(&mut self, now: Time) -> Vec<Lost> {
        let mut lost = Vec::new();
        if let Some(service) = self.in_service.take() {
            let entry = &mut self.classes[usize::from(service.class)];
            entry.counters.lost_packets += 1;
            entry.counters.lost_bytes += u64::from(service.bytes);
            if entry.limit.counts_in_service {
                let left = entry.backlog(0);
                entry.aqm.on_departure(now, service.bytes, service.precedence, left);
            }
            let (class, precedence) = (service.class, service.precedence);
            lost.push(Lost { packet: service.packet, queued: false, class, precedence });
        }
        for (class, entry) in (0..).zip(&mut self.classes) {
            entry.close_area(now);
            while let Some(waiting) = entry.queue.pop() {
                let wait = now - waiting.since;
                entry.bytes -= u64::from(waiting.bytes);
                entry.counters.wait += wait;
                entry.counters.started += 1;
                entry.counters.wait_max = entry.counters.wait_max.max(wait);
                entry.counters.lost_packets += 1;
                entry.counters.lost_bytes += u64::from(waiting.bytes);
                let left = entry.backlog(0);
                entry.aqm.on_departure(now, waiting.bytes, waiting.precedence, left);
                let precedence = waiting.precedence;
                lost.push(Lost { packet: waiting.packet, queued: true, class, precedence });
            }
        }
        let mut touched: Vec<u16> = lost.iter().map(|lost| lost.class).collect();
        touched.sort_unstable();
        touched.dedup();
        for class in touched {
            self.classes[usize::from(class)].aqm.on_idle(now);
        }
        self.scheduler = self.at_rest.clone();
        lost
    }
}
