//! A port with classes whose link fails.

use super::ClassfulPort;
use crate::link::LostPacket;
use trunkline_units::Time;

impl ClassfulPort {
    /// Loses every packet of the port. The scheduler starts afresh, the AQMs retain their state.
    pub fn cut(&mut self, now: Time) -> Vec<LostPacket> {
        let mut lost = Vec::new();
        if let Some(service) = self.in_service.take() {
            let entry = &mut self.classes[usize::from(service.class)];
            entry.counters.lose(service.size.bytes());
            entry.on_served(now, service.size.bytes(), service.size.precedence());
            let (class, precedence) = (service.class, service.size.precedence());
            lost.push(LostPacket { packet: service.packet, queued: false, class, precedence });
        }
        for (class, entry) in (0..).zip(&mut self.classes) {
            while let Some(waiting) = entry.take_lost(now) {
                let precedence = waiting.precedence();
                lost.push(LostPacket { packet: waiting.packet, queued: true, class, precedence });
            }
        }
        let mut touched: Vec<u16> = lost.iter().map(|lost| lost.class).collect();
        touched.sort_unstable();
        touched.dedup();
        for class in touched {
            self.classes[usize::from(class)].on_idle(now);
        }
        self.scheduler = self.at_rest.clone();
        self.waiting = 0;
        self.timed = false;
        lost
    }
}
