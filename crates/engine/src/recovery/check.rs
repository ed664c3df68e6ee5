//! Whether failures and protections of a network can be run.

use crate::network::recovery::{Detection, Failure, Outages, Protection};
use crate::network::Network;

/// The first thing that cannot be.
pub(crate) fn check(network: &Network) -> Result<(), String> {
    network.recovery.failures.iter().try_for_each(|failure| check_failure(failure, network))?;
    for protection in &network.recovery.protections {
        check_protection(protection, network)
            .map_err(|why| format!("protection {}: {why}", protection.name))?;
    }
    network.recovery.rerouting.map_or(Ok(()), |rerouting| check_detection(rerouting.detection))
}

fn check_failure(failure: &Failure, network: &Network) -> Result<(), String> {
    let fail = |why: &str| Err(format!("failure {}: {why}", failure.name));
    if failure.links.iter().any(|link| *link as usize >= network.links.len()) {
        return fail("names a link that does not exist");
    }
    match &failure.outages {
        Outages::Fixed { at } => {
            let mut free = Some(0);
            for outage in at {
                if failure.drain.is_some_and(|drain| drain.at_ns > outage.failed_ns) {
                    return fail("the drain must not come after the outage");
                }
                if free.is_none_or(|free| outage.failed_ns < free) {
                    return fail("outages must follow each other in time");
                }
                if outage.repaired_ns.is_some_and(|repaired| repaired <= outage.failed_ns) {
                    return fail("the repair must come after the failure");
                }
                free = outage.repaired_ns;
            }
        }
        Outages::Random { mtbf_ns, mttr_ns } => {
            if *mtbf_ns == 0 || *mttr_ns == 0 {
                return fail("mean times up and down must be above 0");
            }
        }
    }
    Ok(())
}

fn check_protection(protection: &Protection, network: &Network) -> Result<(), String> {
    let inside = |what: &str, index: u32, count: usize| {
        if (index as usize) < count {
            Ok(())
        } else {
            Err(format!("{what} {index} does not exist, there are {count}"))
        }
    };
    inside("path", protection.path, network.paths.len())?;
    inside("node", protection.node, network.nodes.len())?;
    for &link in &protection.watches {
        inside("link", link, network.links.len())?;
    }
    for switch in protection.switches.iter().chain(&protection.bridge) {
        inside("nhlfe", switch.entry, network.nhlfe.len())?;
        inside("nhlfe", switch.alternative, network.nhlfe.len())?;
    }
    if let Some(bridge) = protection.bridge {
        for entry in [bridge.entry, bridge.alternative] {
            if network.nhlfe[entry as usize].link.is_none() {
                return Err("a bridge sends on links".into());
            }
        }
    }
    check_detection(protection.detection)
}

fn check_detection(detection: Detection) -> Result<(), String> {
    match detection {
        Detection::Bfd { interval_ns: 0, .. } | Detection::Hello { interval_ns: 0, .. } => {
            Err("the interval must be above 0".into())
        }
        Detection::Bfd { multiplier: 0, .. } => Err("the multiplier must be above 0".into()),
        Detection::Hello { interval_ns, timeout_ns } if timeout_ns < interval_ns => {
            Err("the timeout must not be below the interval".into())
        }
        _ => Ok(()),
    }
}
