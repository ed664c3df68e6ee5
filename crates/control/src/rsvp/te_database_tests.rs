//! Constrained routes against the best of all routes, written out, on small random networks.

use super::*;
use trunkline_units::RandomStream;

/// A search with all its inputs.
struct Case {
    lines: Vec<SignalledLink>,
    database: TeDatabase,
    cost: Vec<u64>,
    delay: Vec<u64>,
    avoid: BTreeSet<u32>,
    own: Vec<u32>,
    via: Vec<u32>,
    max_hops: Option<u32>,
    max_delay: Option<u64>,
}

const HEAD: u32 = 0;
const TAIL: u32 = 1;
const NODES: u64 = 6;
const BANDWIDTH: u64 = 5;
const OWN_BANDWIDTH: u64 = 3;
const TE_CLASS: usize = 4;

impl Case {
    fn draw(random: &mut RandomStream) -> Self {
        let mut lines = Vec::new();
        for _ in 0..24 {
            let (from, to) = (random.below(NODES) as u32, random.below(NODES) as u32);
            if from != to {
                let reverse = Some(0).filter(|_| random.below(12) > 0);
                lines.push(SignalledLink { from, to, metric: 1, rate_bit_s: 9, reverse });
            }
        }
        let mut draw = |n: u64| -> Vec<u64> { lines.iter().map(|_| random.below(n)).collect() };
        let (cost, delay, free, state) = (draw(5), draw(5), draw(4), draw(12));
        // From two less than asked for to one more, and another value of the other TE-classes.
        let offer = |free: &u64| {
            let mut all = [9 * (free % 2); 8];
            all[TE_CLASS] = BANDWIDTH - 2 + free;
            Arc::new(all)
        };
        let links = 0..lines.len() as u32;
        let database = TeDatabase {
            up: state.iter().map(|each| *each != 0).collect(),
            unreserved: free.iter().map(offer).collect(),
        };
        let avoid = links.clone().filter(|link| state[*link as usize] == 1).collect();
        let own = links.filter(|link| state[*link as usize] < 4).collect();
        let mut via: Vec<u32> = (2..NODES as u32).filter(|_| random.below(5) == 0).collect();
        if random.below(2) == 0 {
            via.reverse();
        }
        let max_hops = Some(2 + random.below(3) as u32).filter(|_| random.below(3) == 0);
        let max_delay = Some(random.below(8)).filter(|_| random.below(3) == 0);
        Self { lines, database, cost, delay, avoid, own, via, max_hops, max_delay }
    }

    fn search(&self) -> Option<Arc<[u32]>> {
        let max_delay = self.max_delay.map(|most| (most, &self.delay[..]));
        let requirements = RouteRequirements {
            ends: (HEAD, TAIL),
            bandwidth: BANDWIDTH,
            te_class: TE_CLASS,
            avoid: &self.avoid,
            own: (&self.own, OWN_BANDWIDTH),
            cost: &self.cost,
            bounds: RouteBounds { via: &self.via, max_hops: self.max_hops, max_delay },
        };
        self.database.route(&self.lines, &requirements)
    }

    /// Whether a link may be used: RFC 2702 section 5.2 prunes those that do not meet the requirements.
    fn is_usable(&self, link: u32) -> bool {
        let at = link as usize;
        let held = if self.own.contains(&link) { OWN_BANDWIDTH } else { 0 };
        self.lines[at].reverse.is_some()
            && self.database.up[at]
            && self.database.unreserved[at][TE_CLASS] + held >= BANDWIDTH
            && !self.avoid.contains(&link)
    }

    /// Whether a route from head to tail meets the limits of the whole.
    fn is_allowed(&self, route: &[u32], nodes: &[u32]) -> bool {
        let places: Vec<Option<usize>> =
            self.via.iter().map(|stop| nodes.iter().position(|node| node == stop)).collect();
        let delay: u64 = route.iter().map(|link| self.delay[*link as usize]).sum();
        places.iter().all(Option::is_some)
            && places.is_sorted()
            && self.max_hops.is_none_or(|most| route.len() <= most as usize)
            && self.max_delay.is_none_or(|most| delay <= most)
    }

    fn measure(&self, route: &[u32]) -> (u64, usize) {
        (route.iter().map(|link| self.cost[*link as usize]).sum(), route.len())
    }

    /// Minimum cost, and then minimum number of links, of all routes that pass no node twice.
    fn find_best(&self, route: &mut Vec<u32>, nodes: &mut Vec<u32>) -> Option<(u64, usize)> {
        let at = *nodes.last()?;
        if at == TAIL {
            return self.is_allowed(route, nodes).then(|| self.measure(route));
        }
        let mut best = None;
        for link in 0..self.lines.len() as u32 {
            let SignalledLink { from, to, .. } = self.lines[link as usize];
            if from == at && !nodes.contains(&to) && self.is_usable(link) {
                route.push(link);
                nodes.push(to);
                let found = self.find_best(route, nodes);
                best = [best, found].into_iter().flatten().min();
                route.pop();
                nodes.pop();
            }
        }
        best
    }
}

/// 3000 networks: a route is found where there is one, it is allowed, and none is cheaper or, at its
/// cost, shorter.
#[test]
fn rfc2702_s5_2_the_route_is_the_best_of_all_that_meet_the_requirements() {
    let mut random = RandomStream::new(1, "te-database", "networks");
    let mut found = [0; 2];
    for number in 0..3000 {
        let case = Case::draw(&mut random);
        let best = case.find_best(&mut Vec::new(), &mut vec![HEAD]);
        let route = case.search();
        found[usize::from(route.is_some())] += 1;
        assert_eq!(route.as_deref().map(|links| case.measure(links)), best, "network {number}");
        let Some(links) = route else { continue };
        let first = case.lines[links[0] as usize].from;
        let after = links.iter().map(|link| case.lines[*link as usize].to);
        let nodes: Vec<u32> = [first].into_iter().chain(after).collect();
        let follows =
            |pair: &[u32]| case.lines[pair[0] as usize].to == case.lines[pair[1] as usize].from;
        assert!(links.windows(2).all(follows), "network {number}");
        assert_eq!((nodes.first(), nodes.last()), (Some(&HEAD), Some(&TAIL)), "network {number}");
        assert!(links.iter().all(|link| case.is_usable(*link)), "network {number}");
        assert!(case.is_allowed(&links, &nodes), "network {number}");
        assert_eq!(nodes.iter().collect::<BTreeSet<_>>().len(), nodes.len(), "network {number}");
        let up = links.iter().all(|link| case.database.up[*link as usize]);
        let cost = up.then(|| case.measure(&links).0);
        assert_eq!(case.database.cost(&case.cost, &links), cost, "network {number}");
    }
    assert!(found[0] > 500 && found[1] > 500, "{found:?}");
}

/// A route over a link that is down has no cost: it is no route to stay on (RFC 3209 section 2.5).
#[test]
fn rfc3209_s2_5_a_route_that_is_down_has_no_cost() {
    let pools = vec![LinkReservations::new(9); 3];
    let mut database = TeDatabase::new(&pools);
    assert_eq!(database.cost(&[2, 3, 4], &[0, 2]), Some(6));
    database.learn(1, LinkNews::Up(false));
    assert_eq!(database.cost(&[2, 3, 4], &[0, 2]), Some(6));
    assert_eq!(database.cost(&[2, 3, 4], &[0, 1]), None);
    database.learn(1, LinkNews::Up(true));
    assert_eq!(database.cost(&[2, 3, u64::MAX], &[0, 1, 2]), Some(u64::MAX));
}

/// From node 0 to `leaves` nodes, and by the cheapest of them to the last node. A search keeps the route
/// of no link and those to the leaves when it comes to the first leaf; the next is the end.
fn has_route_past(leaves: u32) -> bool {
    let line = |from, to| SignalledLink { from, to, metric: 1, rate_bit_s: 9, reverse: Some(0) };
    let mut lines: Vec<SignalledLink> = (1..=leaves).map(|leaf| line(0, leaf)).collect();
    lines.push(line(1, leaves + 1));
    let mut cost = vec![10; lines.len()];
    (cost[0], cost[leaves as usize]) = (1, 1);
    let all_free = Arc::new([9; 8]);
    let unreserved = vec![all_free; lines.len()];
    let database = TeDatabase { up: vec![true; lines.len()], unreserved };
    let requirements = RouteRequirements {
        ends: (0, leaves + 1),
        bandwidth: 1,
        te_class: 0,
        avoid: &BTreeSet::new(),
        own: (&[], 0),
        cost: &cost,
        bounds: RouteBounds::default(),
    };
    database.route(&lines, &requirements).is_some()
}

#[test]
fn a_search_gives_up_with_more_than_100_000_partial_routes() {
    assert!(has_route_past(99_999));
    assert!(!has_route_past(100_000));
}
