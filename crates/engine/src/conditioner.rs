//! Traffic conditioning (RFC 2475 section 2.3.3): classify, meter, then mark or drop by colour.

use crate::classifier::{Classifier, NO_ROW};
use crate::network;
use trunkline_packet::{Cause, Colour, Packet};
use trunkline_port::meter::Meter;
use trunkline_port::InvalidParameter;
use trunkline_units::{RandomStream, Time};

/// Packets and IP bytes of one profile and colour since the warm-up.
#[derive(Clone, Copy, Debug, Default)]
pub struct ColourCounters {
    /// Packets.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

#[derive(Clone, Debug)]
struct Profile {
    meter: Meter,
    actions: [network::Action; 3],
    counters: [ColourCounters; 3],
}

/// The profiles in force at one end of a link.
#[derive(Clone, Debug)]
pub struct Conditioner {
    /// Class 0 = no profile, class n = profile n - 1.
    classifier: Classifier,
    profiles: Vec<Profile>,
    random: RandomStream,
}

impl Conditioner {
    /// Fresh meters.
    ///
    /// # Errors
    /// The parameter of a meter that is out of range.
    pub fn new(
        config: &network::Conditioner,
        random: RandomStream,
    ) -> Result<Self, InvalidParameter> {
        let profiles = config
            .profiles
            .iter()
            .map(|profile| {
                Ok(Profile {
                    meter: Meter::new(&profile.meter)?,
                    actions: profile.actions,
                    counters: Default::default(),
                })
            })
            .collect::<Result<_, InvalidParameter>>()?;
        Ok(Self { classifier: Classifier::new(&config.classifier), profiles, random })
    }

    /// Meters a packet and marks it; `Some` if its profile drops it.
    ///
    /// Meters count IP bytes (RFC 2697 section 2, RFC 2698 section 2).
    pub fn condition(&mut self, now: Time, packet: &mut Packet) -> Option<Cause> {
        let class = self.classifier.assign(packet, NO_ROW).class;
        let profile = self.profiles.get_mut(usize::from(class).checked_sub(1)?)?;
        let bytes = u32::from(packet.ip_bytes);
        let colour = profile.meter.colour(now, bytes, incoming_colour(packet), &mut self.random);
        let counters = &mut profile.counters[colour as usize];
        counters.packets += 1;
        counters.bytes += u64::from(bytes);
        let action = profile.actions[colour as usize];
        if action.drop {
            return Some(Cause::Policed);
        }
        packet.set_colour(colour);
        if let Some(dscp) = action.dscp {
            packet.dscp = dscp;
        }
        None
    }

    /// Counters by profile and colour.
    pub fn counters(&self) -> impl Iterator<Item = (usize, Colour, ColourCounters)> + '_ {
        const COLOURS: [Colour; 3] = [Colour::Green, Colour::Yellow, Colour::Red];
        self.profiles.iter().enumerate().flat_map(|(index, profile)| {
            COLOURS.iter().map(move |&colour| (index, colour, profile.counters[colour as usize]))
        })
    }

    /// Starts the counters afresh at the end of the warm-up.
    pub fn restart(&mut self) {
        for profile in &mut self.profiles {
            profile.counters = Default::default();
        }
    }
}

/// The colour of an arriving packet. RFC 2697 and 2698 section 2: it is "coded in the DS field of the
/// packet in a PHB specific manner"; the three drop precedences of AF are the colours (RFC 2597 section
/// 2). Where the field has no colour, or a label hides it, it is the colour of the last meter passed.
fn incoming_colour(packet: &Packet) -> Colour {
    // AFxy is 8 x + 2 y, x of 1 to 4 and y of 1 to 3 (RFC 2597 section 6).
    let precedence = match packet.dscp {
        10..=38 if packet.dscp % 2 == 0 && packet.labels.is_empty() => packet.dscp >> 1 & 3,
        _ => 0,
    };
    match precedence {
        0 => packet.colour(),
        1 => Colour::Green,
        2 => Colour::Yellow,
        _ => Colour::Red,
    }
}

#[cfg(test)]
mod rfc2475 {
    use super::*;
    use crate::network::{Action, Profile};
    use trunkline_packet::StackEntry;
    use trunkline_port::meter::{MeterConfig, SrTcmConfig};

    /// CIR 8 kbit/s earns no token within one instant; CBS and EBS of 1000 B each pass one packet
    /// of 1000 B green, one yellow, and everything after red (RFC 2697 section 3).
    #[test]
    fn s2_3_3_each_colour_is_marked_or_dropped_as_its_action_says() {
        let meter = MeterConfig::SrTcm(SrTcmConfig {
            cir_bit_s: 8_000,
            cbs_bytes: 1000,
            ebs_bytes: 1000,
            colour_aware: false,
        });
        let mark = |dscp| Action { drop: false, dscp: Some(dscp) };
        let actions = [mark(10), mark(12), Action { drop: true, dscp: None }];
        let mut row = vec![[1, 0]; 72];
        row[46] = [0, 0]; // EF is not conditioned
        let config = network::Conditioner {
            name: "edge".into(),
            classifier: network::Classifier { rows: vec![row], flow_rows: vec![] },
            profiles: vec![Profile { name: "af1".into(), meter, actions }],
        };
        let random = RandomStream::new(1, "links[a->b]", "meters");
        let mut conditioner = Conditioner::new(&config, random).expect("valid");
        let mut pass = |dscp| {
            let mut packet = Packet::new(0, 0, 0, 1000, 0);
            packet.dscp = dscp;
            let lost = conditioner.condition(0, &mut packet);
            (packet.dscp, packet.colour(), lost)
        };
        assert_eq!(pass(0), (10, Colour::Green, None));
        assert_eq!(pass(46), (46, Colour::Green, None));
        assert_eq!(pass(0), (12, Colour::Yellow, None));
        assert_eq!([pass(0).2, pass(0).2], [Some(Cause::Policed); 2]);
        let counts = |conditioner: &Conditioner| {
            conditioner.counters().map(|(_, _, sum)| (sum.packets, sum.bytes)).collect::<Vec<_>>()
        };
        assert_eq!(counts(&conditioner), [(1, 1000), (1, 1000), (2, 2000)]);
        conditioner.restart();
        assert_eq!(counts(&conditioner), [(0, 0); 3]);
    }

    /// RFC 2697 section 2: the colour is "coded in the DS field". AF12 and AF13 (DSCPs 12 and 14)
    /// arrive as yellow and red; CS2 and EF (16 and 46) give no colour, so it is the packet's own.
    #[test]
    fn rfc2697_s2_the_drop_precedence_of_an_af_codepoint_is_the_colour_it_comes_with() {
        let mut packet = Packet::new(0, 0, 0, 1000, 0);
        packet.set_colour(Colour::Yellow);
        let mut of = |dscp| {
            packet.dscp = dscp;
            incoming_colour(&packet)
        };
        for class in 1..=4 {
            let af = [1, 2, 3].map(|precedence| of(8 * class + 2 * precedence));
            assert_eq!(af, [Colour::Green, Colour::Yellow, Colour::Red]);
        }
        for other in [0, 8, 16, 24, 32, 11, 40, 42, 46, 48] {
            assert_eq!(of(other), Colour::Yellow, "{other}");
        }
        assert!(packet.labels.push(StackEntry::new(100, 0, 64)));
        packet.dscp = 14;
        assert_eq!(incoming_colour(&packet), Colour::Yellow, "a label hides it");
    }
}
