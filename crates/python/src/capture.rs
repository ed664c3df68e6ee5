//! Packet traces as captures: columns in, a pcapng file out.

use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use trunkline_pcapng::capture::{
    CapturedFlow, CapturedLink, Content, PacketEvent, PacketTrace, Point, Row, TcpConnection,
};

/// Name, from, to, rate.
type LinkParts = (String, u32, u32, u64);
/// Segment size, size of an acknowledgement, window, time stamps.
type TcpParts = (u32, u32, u64, bool);
/// Name, source, destination, header bytes, of TCP, of ICMP.
type FlowParts = (String, u32, u32, u32, Option<TcpParts>, bool);

/// Flow, number, source, destination, protocol, router alert, octets.
type MessageParts = (u32, u32, u32, u32, u8, bool, Vec<u8>);

/// Writes the events in `columns` as a capture into the new file `path`; how many packets it has.
///
/// Each column is little-endian 64-bit integers, -1 where it does not apply. `points` are pairs of
/// a link and whether it is its far end.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn write_capture(
    py: Python<'_>,
    path: PathBuf,
    application: &str,
    comment: &str,
    links: Vec<LinkParts>,
    flows: Vec<FlowParts>,
    classes: Vec<String>,
    causes: Vec<String>,
    columns: &Bound<'_, PyDict>,
    messages: Vec<MessageParts>,
    points: Vec<(u32, bool)>,
    snaplen: u32,
) -> PyResult<u64> {
    let rows = rows(columns)?;
    let trace = PacketTrace {
        links: links.into_iter().map(link).collect(),
        flows: flows.into_iter().map(flow).collect(),
        classes,
        causes,
        messages: messages.into_iter().map(message).collect(),
        rows,
    };
    let points: Vec<Point> = points.into_iter().map(|(link, far)| Point { link, far }).collect();
    check(&trace, &points)?;
    py.detach(|| {
        let out = BufWriter::with_capacity(1 << 20, File::create_new(path)?);
        Ok(trace.write(out, application, comment, &points, snaplen)?)
    })
}

fn message(parts: MessageParts) -> ((u32, u32), Content) {
    let (flow, number, source, destination, protocol, alert, octets) = parts;
    ((flow, number), Content { ends: [source, destination], protocol, alert, octets })
}

fn link((name, from, to, rate_bit_s): LinkParts) -> CapturedLink {
    CapturedLink { name, from, to, rate_bit_s }
}

fn flow((name, src, dst, header_bytes, tcp, icmp): FlowParts) -> CapturedFlow {
    let tcp = tcp.map(|(mss_bytes, ack_bytes, window_bytes, stamps)| TcpConnection {
        mss_bytes,
        ack_bytes,
        window_bytes,
        stamps,
    });
    CapturedFlow { name, ends: [src, dst], header_bytes, tcp, icmp }
}

/// Refuses indices out of range.
fn check(trace: &PacketTrace, points: &[Point]) -> PyResult<()> {
    let links = trace.links.len() as u32;
    let beyond = |index: Option<u32>, count: usize| index.is_some_and(|it| it as usize >= count);
    let wrong = points.iter().any(|point| point.link >= links)
        || trace.rows.iter().any(|row| {
            row.flow as usize >= trace.flows.len()
                || row.packet > trace.rows.len() as u64
                || beyond(row.link, trace.links.len())
                || beyond(row.class, trace.classes.len())
                || beyond(row.cause, trace.causes.len())
        });
    if wrong {
        return Err(PyValueError::new_err("the trace names something that does not exist"));
    }
    Ok(())
}

fn column(columns: &Bound<'_, PyDict>, name: &str) -> PyResult<Vec<i64>> {
    let column_bytes =
        columns.get_item(name)?.ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
    let bytes = column_bytes.cast::<PyBytes>()?.as_bytes();
    let words = bytes.chunks_exact(8);
    if !words.remainder().is_empty() {
        return Err(PyValueError::new_err(format!("column {name} is not of 64-bit integers")));
    }
    let number = |word: &[u8]| i64::from_le_bytes(word.try_into().expect("eight bytes"));
    Ok(words.map(number).collect())
}

fn rows(columns: &Bound<'_, PyDict>) -> PyResult<Vec<Row>> {
    let get = |name: &str| column(columns, name);
    let (at, event, packet, flow) = (get("time_ns")?, get("event")?, get("packet")?, get("flow")?);
    let (reverse, link, class, cause) =
        (get("reverse")?, get("link")?, get("class")?, get("cause")?);
    let (wait, ip_bytes, octet, ttl) =
        (get("wait_ns")?, get("ip_bytes")?, get("traffic_class")?, get("ttl")?);
    let (seq, ack, flags, echo) =
        (get("seq")?, get("ack_bytes")?, get("tcp_flags")?, get("echo_ns")?);
    let stack = [get("stack_1")?, get("stack_2")?, get("stack_3")?, get("stack_4")?];
    let edges = [
        [get("sack_1_start")?, get("sack_1_end")?],
        [get("sack_2_start")?, get("sack_2_end")?],
        [get("sack_3_start")?, get("sack_3_end")?],
    ];
    let all = [
        &event, &packet, &flow, &reverse, &link, &class, &cause, &wait, &ip_bytes, &octet, &ttl,
        &seq, &ack, &flags, &echo,
    ];
    let mut lengths = all.into_iter().chain(&stack).chain(edges.iter().flatten());
    if lengths.any(|it| it.len() != at.len()) {
        return Err(PyValueError::new_err("columns of different lengths"));
    }
    let index = |value: i64| u32::try_from(value).ok();
    let row = |i: usize| Row {
        at_ns: at[i] as u64,
        event: event_of(event[i]),
        packet: packet[i] as u64,
        flow: flow[i] as u32,
        reverse: reverse[i] == 1,
        link: index(link[i]),
        class: index(class[i]),
        cause: index(cause[i]),
        wait_ns: u64::try_from(wait[i]).ok(),
        ip_bytes: ip_bytes[i] as u32,
        traffic_class: octet[i] as u8,
        ttl: ttl[i] as u8,
        stack: std::array::from_fn(|entry| index(stack[entry][i])),
        seq: seq[i] as u32,
        ack_bytes: ack[i].max(0) as u64,
        ece: flags[i] & 1 != 0,
        cwr: flags[i] & 2 != 0,
        syn: flags[i] & 4 != 0,
        echo_ns: echo[i].max(0) as u64,
        sack: std::array::from_fn(|block| [edges[block][0][i] as u32, edges[block][1][i] as u32]),
    };
    Ok((0..at.len()).map(row).collect())
}

/// Events by number: sent, queued, arrived, delivered, dropped, copied.
fn event_of(number: i64) -> PacketEvent {
    match number {
        0 | 5 => PacketEvent::Made,
        1 => PacketEvent::Queued,
        2 => PacketEvent::Arrived,
        4 => PacketEvent::Dropped,
        _ => PacketEvent::Other,
    }
}
