use super::*;

const TWO_NODES: &str = "trunkline 1\n\
    seed 18446744073709551615\n\
    duration 1000000000\n\
    node n0\n\
    sysctl net/ipv4/tcp_rmem 4096 131072 6291456\n\
    ip addr add 10.0.0.1/30 dev l0a\n\
    node n1\n\
    tc qdisc add dev l0b root pfifo limit 50\n\
    link n0 l0a 02:00:00:00:00:01 n1 l0b 02:00:00:00:00:02\n\
    udp 7 n0 n1 10.0.0.1 10.0.0.2 9000 184 64 udp-7\n\
    tcp 8 n0 n1 10.0.0.1 10.0.0.2 9001 0 64 5 - 1000 reno 1460 - 65536 true 10000000\n\
    transfers tcp-9.schedule 9 n0 n1 10.0.0.1 10.0.0.2 9002 0 64 0 - - cubic 1460 - - false 5\n\
    tcp 10 n1 n0 10.0.0.2 10.0.0.1 9003 0 64 0 - - cubic 1460 8192 - true 5\n\
    writes 8 tcp-8.writes\n\
    exchange 10 8 tcp-10.exchange\n\
    count 400000000 n0 l0a\n\
    change 400000000 n0 tc filter del dev l0a egress\n\
    change 400000000 n0 ip link set l0a txqueuelen 7\n\
    change 400000000 n0 ip route del 10.0.0.0/8\n\
    snapshot 1000000000\n\
    settle 60000000000\n\
    daemon n1 /tmp/n1.log zebra -d -f /trunkline/n1.conf\n\
    daemon n1 - sh /trunkline/n1.setup.sh\n";

#[test]
fn every_order_is_kept_as_it_was_written() {
    let orders = GuestOrders::parse(TWO_NODES).expect("they are orders");
    assert_eq!((orders.seed, orders.duration_ns), (u64::MAX, 1_000_000_000));
    assert_eq!(orders.nodes.len(), 2);
    let rmem = ("net/ipv4/tcp_rmem".to_owned(), "4096 131072 6291456".to_owned());
    assert_eq!(orders.nodes[0].sysctls, [rmem]);
    assert_eq!(orders.nodes[1].tc, ["qdisc add dev l0b root pfifo limit 50"]);
    assert_eq!(orders.links[0].1.mac, [2, 0, 0, 0, 0, 2]);
    assert_eq!((orders.udp[0].path.source, orders.udp[0].path.destination), (0, 1));
    assert_eq!(orders.udp[0].path.tos, 184);
    let tcp = &orders.tcp[0];
    assert_eq!((tcp.stop_ns, tcp.bytes, tcp.nodelay), (None, Some(1000), true));
    assert_eq!((tcp.send_buffer, tcp.receive_buffer), (None, Some(65_536)));
    let of = &orders.transfers[0];
    assert_eq!((of.schedule.as_str(), of.tcp.path.id), ("tcp-9.schedule", 9));
    assert_eq!(orders.writes, [Writes { flow: 0, schedule: "tcp-8.writes".to_owned() }]);
    let exchange = Exchange { requests: 1, answers: 0, schedule: "tcp-10.exchange".to_owned() };
    assert_eq!(orders.exchanges, [exchange]);
    let count = QueueCount { at_ns: 400_000_000, node: 0, device: "l0a".to_owned() };
    assert_eq!(orders.counts, [count]);
    let changes: Vec<_> =
        orders.changes.iter().map(|each| (each.program, each.lines.len())).collect();
    assert_eq!(changes, [("tc", 1), ("ip", 2)]);
    assert_eq!(orders.changes[1].lines[1], "route del 10.0.0.0/8");
    assert_eq!(orders.snapshots, [1_000_000_000]);
    let daemon = &orders.daemons[0];
    assert_eq!((orders.settle_ns, daemon.node), (60_000_000_000, 1));
    assert_eq!((daemon.log.as_deref(), daemon.command.len()), (Some("/tmp/n1.log"), 4));
    assert_eq!(orders.daemons[1].log, None);
}

#[test]
fn a_line_that_is_no_order_is_named() {
    let text = TWO_NODES.replace("udp 7 n0 n1", "udp 7 n0 n9");
    let why = GuestOrders::parse(&text).expect_err("n9 is not there");
    assert!(why.starts_with("order 10: no node n9: udp 7"), "{why}");
    let text = TWO_NODES.replace("snapshot 1000000000", "snapshot soon");
    let why = GuestOrders::parse(&text).expect_err("soon is no time");
    assert!(why.starts_with("order 20: soon is out of place"), "{why}");
}

#[test]
fn an_exchange_of_a_flow_that_is_not_there_is_refused() {
    let text = TWO_NODES.replace("exchange 10 8", "exchange 10 7");
    let why = GuestOrders::parse(&text).expect_err("7 is of UDP");
    assert!(why.contains("no TCP flow 7"), "{why}");
}

#[test]
fn orders_of_another_format_are_refused() {
    assert!(GuestOrders::parse("trunkline 2\n").is_err());
    assert!(GuestOrders::parse("").is_err());
}
