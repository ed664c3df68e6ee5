//! Messages of RSVP-TE as octets.
//!
//! Source: RFC 2205 appendix A (common header, SESSION, RSVP_HOP, TIME_VALUES, ERROR_SPEC, STYLE,
//! FLOWSPEC, SENDER_TSPEC), RFC 2210 section 3 (token bucket), RFC 3209 section 4 (LABEL,
//! LABEL_REQUEST, ERO, RRO, SESSION_ATTRIBUTE, LSP_TUNNEL_IPv4) and 5 (HELLO), RFC 2961 sections 4
//! and 5 (MESSAGE_ID, its acknowledgement, summary refresh), RFC 4090 section 4 (FAST_REROUTE,
//! DETOUR, flags), RFC 4124 section 6.2 (CLASSTYPE).
//! Differs: the token bucket's depth and the policed sizes are those of the mean rate and IPv4;
//! routes are recorded for paths with local protection alone.
//! Absent: INTEGRITY, POLICY_DATA, Bundle.

use super::message::{DesiredProtection, Kind, PathRequest, RecordedHop, RsvpMessage, ALIAS_BIT};
use crate::{address, SignalledLink};

/// Octets that few messages exceed.
const USUAL_OCTETS: usize = 256;

/// Address in a SENDER_TEMPLATE: of the node, or another one of it.
fn sender(sender_address: u32) -> [u8; 4] {
    let mut octets = address(sender_address & !ALIAS_BIT);
    octets[1] |= if sender_address & ALIAS_BIT == 0 { 0 } else { 128 };
    octets
}

impl RsvpMessage {
    /// Its octets behind the IP header, as sent from `from` to `to` on a link.
    #[must_use]
    pub fn octets(&self, lines: &[SignalledLink], from: u32, refresh_ns: u64) -> Vec<u8> {
        let mut out = MessageWriter(Vec::with_capacity(USUAL_OCTETS));
        out.0.extend_from_slice(&[0x10, self.kind as u8, 0, 0, 255, 0, 0, 0]);
        self.ids(&mut out);
        if let Some(request) = &self.request {
            self.body(request, &mut out, lines, from, refresh_ns);
        }
        if let Some((answer, source, destination)) = self.hello {
            out.object(22, 1 + u8::from(answer), &words(&[source, destination]));
        }
        out.close()
    }

    fn ids(&self, out: &mut MessageWriter) {
        for id in &self.acks {
            out.object(24, 1, &words(&[0, *id]));
        }
        for id in &self.nacks {
            out.object(24, 2, &words(&[0, *id]));
        }
        if let Some(id) = self.id {
            out.object(23, 1, &words(&[1 << 24, id]));
        }
        if !self.list.is_empty() {
            let mut all = vec![0];
            all.extend_from_slice(&self.list);
            out.object(25, 1, &words(&all));
        }
    }

    /// The objects of a message about a path, in the order of RFC 2205 section 3.1.
    fn body(
        &self,
        request: &PathRequest,
        out: &mut MessageWriter,
        lines: &[SignalledLink],
        from: u32,
        refresh_ns: u64,
    ) {
        out.object(1, 7, &self.session(request));
        let bears_hop = !matches!(self.kind, Kind::PathErr);
        if bears_hop {
            let mut hop = address(from).to_vec();
            hop.extend_from_slice(&[0; 4]);
            out.object(3, 1, &hop);
        }
        if let Some((error, node, _)) = self.error {
            let mut spec = address(node).to_vec();
            spec.extend_from_slice(&[if self.removes { 4 } else { 0 }, error.0]);
            spec.extend_from_slice(&error.1.to_be_bytes());
            out.object(6, 1, &spec);
        }
        if matches!(self.kind, Kind::Path | Kind::Resv) {
            out.object(5, 1, &words(&[(refresh_ns / 1_000_000) as u32]));
        }
        let template = self.template(request);
        match self.kind {
            Kind::Path => self.path_objects(request, out, lines, &template),
            Kind::Resv | Kind::ResvErr => self.reservation_objects(request, out, &template),
            Kind::ResvTear => {
                out.object(8, 1, &words(&[0x12]));
                out.object(10, 7, &template);
            }
            _ => {
                out.object(11, 7, &template);
                out.object(12, 2, &bucket(1, request.bandwidth));
            }
        }
    }

    /// SESSION of a tunnel: tail, number, head.
    fn session(&self, request: &PathRequest) -> Vec<u8> {
        let mut session = address(request.tail).to_vec();
        session.extend_from_slice(&[0, 0]);
        session.extend_from_slice(&(self.key.session as u16).to_be_bytes());
        session.extend_from_slice(&address(request.head));
        session
    }

    /// SENDER_TEMPLATE, which a FILTER_SPEC repeats: address of the sender, number of the path.
    fn template(&self, request: &PathRequest) -> Vec<u8> {
        // A path that is sent around a failure has the address of who does so (section 6.4.3).
        let sent = self.tunnel.as_ref().filter(|_| self.has_alert());
        let mut template = sender(sent.map_or(self.key.sender, |it| it.sender(request))).to_vec();
        template.extend_from_slice(&[0, 0]);
        template.extend_from_slice(&self.key.lsp.to_be_bytes());
        template
    }

    /// Objects of a Path message: route, wishes and sender of the path.
    fn path_objects(
        &self,
        request: &PathRequest,
        out: &mut MessageWriter,
        lines: &[SignalledLink],
        template: &[u8],
    ) {
        let beyond = request.detour.iter().flat_map(|request| request.beyond.iter());
        let hops = request.route[self.hop.saturating_sub(1)..].iter().chain(beyond);
        let ero = |link: &u32| {
            let mut item = vec![1, 8];
            item.extend_from_slice(&address(lines[*link as usize].to));
            item.extend_from_slice(&[32, 0]);
            item
        };
        out.object(20, 1, &hops.flat_map(ero).collect::<Vec<u8>>());
        out.object(19, 1, &words(&[0x0800]));
        if let Some(desired) = request.desired.filter(|_| request.detour.is_none()) {
            out.object(205, 1, &fast_reroute(request, desired));
        }
        out.object(207, 7, &attribute(request));
        // The object of class type 0 must not be there (RFC 4124 section 6.1).
        if request.class_type > 0 {
            out.object(66, 1, &words(&[u32::from(request.class_type)]));
        }
        out.object(11, 7, template);
        out.object(12, 2, &bucket(1, request.bandwidth));
        if request.desired.is_some() {
            let passed = self.tunnel.as_ref().map_or(self.hop, |tunnel| tunnel.hop + 1);
            let passed = request.route[..passed].iter().rev();
            let node = |link: &u32| recorded(lines[*link as usize].from, 0);
            out.object(21, 1, &passed.flat_map(node).collect::<Vec<u8>>());
        }
        if let Some(detour) = &request.detour {
            let ids = detour.pairs.iter().flat_map(|request| [request.0, request.1]);
            out.object(63, 7, &ids.flat_map(address).collect::<Vec<u8>>());
        }
    }

    /// Objects of a Resv message, which a ResvErr repeats: the reservation and its sender.
    fn reservation_objects(&self, request: &PathRequest, out: &mut MessageWriter, template: &[u8]) {
        out.object(8, 1, &words(&[0x12]));
        out.object(9, 2, &bucket(5, request.bandwidth));
        out.object(10, 7, template);
        if self.kind == Kind::Resv {
            out.object(16, 1, &words(&[self.label]));
        }
        if !self.record.is_empty() {
            let node = |request: &RecordedHop| {
                let mut item = recorded(request.node, request.flags);
                item.extend_from_slice(&[3, 8, 1, 1]);
                item.extend_from_slice(&request.label.to_be_bytes());
                item
            };
            out.object(21, 1, &self.record.iter().flat_map(node).collect::<Vec<u8>>());
        }
    }
}

/// FAST_REROUTE: priorities, hop limit, which of the two methods, bandwidth; no colours.
fn fast_reroute(request: &PathRequest, desired: DesiredProtection) -> Vec<u8> {
    let bandwidth = if desired.bandwidth { request.bandwidth as f32 / 8.0 } else { 0.0 };
    let method = if desired.one_to_one { 1 } else { 2 };
    let mut body = vec![request.setup, request.hold, 255, method];
    body.extend(words(&[bandwidth.to_bits(), 0, 0, 0]));
    body
}

/// An IPv4 address in a RECORD_ROUTE.
fn recorded(node: u32, flags: u8) -> Vec<u8> {
    let mut item = vec![1, 8];
    item.extend_from_slice(&address(node));
    item.extend_from_slice(&[32, flags]);
    item
}

/// SESSION_ATTRIBUTE without affinities: priorities, flags, name padded to words. The flags: SE
/// style desired; with local protection also that, label recording, bandwidth and node protection.
fn attribute(request: &PathRequest) -> Vec<u8> {
    let name = &request.name.as_bytes()[..request.name.len().min(64)];
    let protection = |request: DesiredProtection| {
        3 | u8::from(request.bandwidth) << 3 | u8::from(request.node) << 4
    };
    let flags = 4 | request.desired.map_or(0, protection);
    let mut body = vec![request.setup, request.hold, flags, name.len() as u8];
    body.extend_from_slice(name);
    body.resize(body.len().next_multiple_of(4), 0);
    body
}

/// A token bucket of the mean rate in bytes per second, for the service with this number.
fn bucket(service: u8, bandwidth: u64) -> Vec<u8> {
    let rate = (bandwidth as f32 / 8.0).to_bits();
    let head = u32::from(service) << 24 | 6;
    words(&[7, head, 127 << 24 | 5, rate, rate, rate, 20, 1500])
}

fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_be_bytes()).collect()
}

/// A message being written.
struct MessageWriter(Vec<u8>);

impl MessageWriter {
    fn object(&mut self, class: u8, kind: u8, body: &[u8]) {
        self.0.extend_from_slice(&(body.len() as u16 + 4).to_be_bytes());
        self.0.extend_from_slice(&[class, kind]);
        self.0.extend_from_slice(body);
    }

    /// Fills in length and checksum (RFC 1071).
    fn close(mut self) -> Vec<u8> {
        let length = (self.0.len() as u16).to_be_bytes();
        self.0[6..8].copy_from_slice(&length);
        let pair = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(pair[1]);
        let mut sum: u32 = self.0.chunks_exact(2).map(pair).sum();
        while sum >> 16 != 0 {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        let sum = (!(sum as u16)).to_be_bytes();
        self.0[2..4].copy_from_slice(&sum);
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::{BypassTunnel, Detour, PathKey};
    use super::*;
    use std::sync::Arc;

    /// Class and C-Type of each object of a message.
    fn classes(octets: &[u8]) -> Vec<(u8, u8, usize)> {
        let (mut at, mut found) = (8, Vec::new());
        while at < octets.len() {
            let length = usize::from(u16::from_be_bytes([octets[at], octets[at + 1]]));
            found.push((octets[at + 2], octets[at + 3], length));
            at += length;
        }
        found
    }

    /// RFC 2961 sections 4.1 to 4.4: MESSAGE_ID is class 23, MESSAGE_ID_ACK class 24 of C-Type 1, a NACK of
    /// C-Type 2, MESSAGE_ID_LIST class 25 with flags and epoch before its identifiers.
    #[test]
    fn rfc2961_s4_objects_of_identifiers_have_their_classes() {
        let mut message = RsvpMessage::between(Kind::Srefresh);
        (message.id, message.list) = (Some(9), vec![1, 2, 3]);
        (message.acks, message.nacks) = (vec![4, 5], vec![6]);
        let octets = message.octets(&[], 0, 0);
        assert_eq!(
            classes(&octets),
            [(24, 1, 12), (24, 1, 12), (24, 2, 12), (23, 1, 12), (25, 1, 20)]
        );
        assert_eq!(octets[octets.len() - 12..], words(&[1, 2, 3])[..]);
        assert_eq!(usize::from(u16::from_be_bytes([octets[6], octets[7]])), octets.len());
    }

    /// A path of two links from 10.0.0.1 over 10.0.0.2 to 10.0.0.3, tunnel 258, LSP 772, 8 Mbit/s.
    fn request() -> PathRequest {
        PathRequest {
            route: vec![0, 1].into(),
            head: 0,
            tail: 2,
            bandwidth: 8_000_000,
            setup: 6,
            hold: 5,
            class_type: 2,
            name: "gold5".into(),
            desired: Some(DesiredProtection { one_to_one: false, node: true, bandwidth: true }),
            detour: None,
        }
    }

    fn message(kind: Kind, request: PathRequest, hop: usize) -> RsvpMessage {
        let key = PathKey { session: 258, lsp: 772, sender: 0 };
        RsvpMessage::for_path(kind, key, Arc::new(request), hop)
    }

    /// Class, C-Type and content of each object of a message that leaves `from`, with a refresh time of 30 s;
    /// its header has version 1, its kind, a TTL of 255, its length and a checksum with which all 16-bit words
    /// sum up to 0xffff (RFC 2205 appendix A.1, RFC 1071).
    #[track_caller]
    fn objects(message: &RsvpMessage, from: u32) -> Vec<(u8, u8, Vec<u8>)> {
        let line = |from, to| SignalledLink { from, to, metric: 1, rate_bit_s: 1, reverse: None };
        let lines = [line(0, 1), line(1, 2), line(2, 3)];
        let octets = message.octets(&lines, from, 30_000_000_000);
        let word = |at: usize| u16::from_be_bytes([octets[at], octets[at + 1]]);
        assert_eq!(octets[..2], [0x10, message.kind as u8]);
        assert_eq!((octets[4], octets[5], word(6)), (255, 0, octets.len() as u16));
        let sum: u64 = (0..octets.len()).step_by(2).map(|at| u64::from(word(at))).sum();
        assert_eq!(sum % 0xffff, 0, "{octets:?}");
        let (mut at, mut found) = (8, Vec::new());
        while at < octets.len() {
            let end = at + usize::from(word(at));
            found.push((octets[at + 2], octets[at + 3], octets[at + 4..end].to_vec()));
            at = end;
        }
        found
    }

    const SESSION: [u8; 12] = [10, 0, 0, 3, 0, 0, 1, 2, 10, 0, 0, 1];
    const TEMPLATE: [u8; 8] = [10, 0, 0, 1, 0, 0, 3, 4];

    fn hop(last: u8) -> (u8, u8, Vec<u8>) {
        (3, 1, vec![10, 0, 0, last, 0, 0, 0, 0])
    }

    /// RFC 2210 section 3.1 and 3.2: version 0 and 7 words, the service (1 default, 5 controlled load) and 6
    /// words, parameter 127 of 5 words: r, b and p of 1e6 B/s (IEEE 754: 0x49742400), m 20, M 1500.
    fn token_bucket(service: u8) -> Vec<u8> {
        let rate = [0x49, 0x74, 0x24, 0];
        let head = [0, 0, 0, 7, service, 0, 0, 6, 127, 0, 0, 5];
        [&head[..], &rate, &rate, &rate, &[0, 0, 0, 20, 0, 0, 5, 220]].concat()
    }

    /// RFC 3209 section 4.3.3 and 4.4.1.1: an IPv4 address in a route that is asked for, and in one recorded.
    fn on_route(last: u8, flags: u8) -> [u8; 8] {
        [1, 8, 10, 0, 0, last, 32, flags]
    }

    /// RFC 2205 section 3.1.3 in the order of RFC 3209 section 3.1: SESSION, RSVP_HOP, TIME_VALUES of 30,000 ms,
    /// EXPLICIT_ROUTE, LABEL_REQUEST of IPv4, FAST_REROUTE (RFC 4090 section 4.1: facility backup, 1e6 B/s),
    /// SESSION_ATTRIBUTE (local protection 1, label recording 2, SE 4, bandwidth 8, node 16), CLASSTYPE (RFC 4124
    /// section 6.2), SENDER_TEMPLATE, SENDER_TSPEC, RECORD_ROUTE.
    #[test]
    fn rfc3209_s3_1_a_path_message_octet_by_octet() {
        let path = message(Kind::Path, request(), 1);
        let rate = [0x49, 0x74, 0x24, 0];
        let body = [&[6, 5, 255, 2][..], &rate, &[0; 12]].concat();
        let name = [6, 5, 31, 5, b'g', b'o', b'l', b'd', b'5', 0, 0, 0];
        let expected = [
            (1, 7, SESSION.to_vec()),
            hop(1),
            (5, 1, vec![0, 0, 0x75, 0x30]),
            (20, 1, [on_route(2, 0), on_route(3, 0)].concat()),
            (19, 1, vec![0, 0, 8, 0]),
            (205, 1, body.clone()),
            (207, 7, name.to_vec()),
            (66, 1, vec![0, 0, 0, 2]),
            (11, 7, TEMPLATE.to_vec()),
            (12, 2, token_bucket(1)),
            (21, 1, on_route(1, 0).to_vec()),
        ];
        assert_eq!(objects(&path, 0), expected);

        // From the second node on: a hop less to go, one more recorded, the last first.
        let second = objects(&message(Kind::Path, request(), 2), 1);
        assert_eq!(second[3], (20, 1, on_route(3, 0).to_vec()));
        assert_eq!(second[10], (21, 1, [on_route(2, 0), on_route(1, 0)].concat()));

        // One-to-one, without its bandwidth; class type 0 has no object.
        let desired = DesiredProtection { one_to_one: true, node: false, bandwidth: false };
        let plain = PathRequest { desired: Some(desired), class_type: 0, ..request() };
        let found = objects(&message(Kind::Path, plain, 1), 0);
        assert_eq!(found[5], (205, 1, [&[6, 5, 255, 1][..], &[0; 16]].concat()));
        assert_eq!(found[6].2[2], 7);
        assert_eq!(
            found.iter().map(|it| it.0).collect::<Vec<_>>(),
            [1, 3, 5, 20, 19, 205, 207, 11, 12, 21]
        );

        // No protection: nothing is recorded. A name has 64 octets at most.
        let plain = PathRequest { desired: None, name: "n".repeat(70).into(), ..request() };
        let found = objects(&message(Kind::Path, plain, 1), 0);
        assert_eq!(
            found.iter().map(|it| it.0).collect::<Vec<_>>(),
            [1, 3, 5, 20, 19, 207, 66, 11, 12]
        );
        assert_eq!(found[5].2, [&[6, 5, 4, 64][..], &[b'n'; 64]].concat());
    }

    /// RFC 4090 sections 4.2 and 6: a detour has a DETOUR object of the pairs (PLR, node avoided) and no wish for
    /// protection, and continues along the path that it protects; a path that is sent around a failure has the
    /// address of who does so, another one where that is the head.
    #[test]
    fn rfc4090_s4_2_and_s6_detours_and_repaired_paths() {
        let pairs = vec![(0, 1), (1, 2)].into();
        let detour = Detour { pairs, beyond: vec![2].into() };
        let detoured = PathRequest { detour: Some(detour), ..request() };
        let found = objects(&message(Kind::Path, detoured, 1), 0);
        assert_eq!(
            found.iter().map(|it| it.0).collect::<Vec<_>>(),
            [1, 3, 5, 20, 19, 207, 66, 11, 12, 21, 63]
        );
        assert_eq!(found[3].2, [on_route(2, 0), on_route(3, 0), on_route(4, 0)].concat());
        let ends = vec![10, 0, 0, 1, 10, 0, 0, 2, 10, 0, 0, 2, 10, 0, 0, 3];
        assert_eq!(found[10], (63, 7, ends));

        for (plr, address) in [(0, [10, 128, 0, 1]), (1, [10, 0, 0, 2])] {
            let mut repaired = message(Kind::Path, request(), 2);
            let tunnel = BypassTunnel { plr, mp: 2, hop: 0, back: vec![].into() };
            repaired.tunnel = Some(Arc::new(tunnel));
            let found = objects(&repaired, plr);
            assert_eq!(found[8].2, [&address[..], &[0, 0, 3, 4]].concat());
            assert_eq!(found[10].2, on_route(1, 0), "what the PLR had recorded");
            // Its Resv answers with the sender of the path.
            repaired.kind = Kind::Resv;
            assert_eq!(objects(&repaired, 2)[5].2, TEMPLATE);
        }
    }

    /// RFC 2205 section 3.1.4 and appendix A.7 (shared explicit: 0x12), RFC 3209 section 4.1 and 4.4.1: a
    /// reservation for controlled load, its label, and the nodes that it passed with the flags of RFC 4090
    /// section 4.4 and their labels (C-Type 1, global).
    #[test]
    fn rfc2205_s3_1_4_a_resv_message_octet_by_octet() {
        let mut resv = message(Kind::Resv, request(), 1);
        resv.label = 0x12345;
        let expected = [
            (1, 7, SESSION.to_vec()),
            hop(2),
            (5, 1, vec![0, 0, 0x75, 0x30]),
            (8, 1, vec![0, 0, 0, 0x12]),
            (9, 2, token_bucket(5)),
            (10, 7, TEMPLATE.to_vec()),
            (16, 1, vec![0, 1, 0x23, 0x45]),
        ];
        assert_eq!(objects(&resv, 1), expected);
        let passed = |node, flags, label| RecordedHop { node, flags, label };
        resv.record = vec![passed(1, 9, 0x12345), passed(2, 0, 3)];
        let label = |octets: [u8; 4]| [&[3, 8, 1, 1][..], &octets].concat();
        let record = [
            on_route(2, 9).to_vec(),
            label([0, 1, 0x23, 0x45]),
            on_route(3, 0).to_vec(),
            label([0, 0, 0, 3]),
        ];
        assert_eq!(objects(&resv, 1)[7..], [(21, 1, record.concat())]);
    }

    /// RFC 2205 sections 3.1.5 to 3.1.8 and appendix A.5: errors have ERROR_SPEC (node, flags, code, value; RFC
    /// 3473 section 4.3: 4, the path's state is removed) and no TIME_VALUES, a PathErr no RSVP_HOP; a PathTear has
    /// the sender with its traffic, a ResvTear the style and the filter.
    #[test]
    fn rfc2205_s3_1_5_to_s3_1_8_errors_and_teardowns_octet_by_octet() {
        let session = (1, 7, SESSION.to_vec());
        let spec = |flags| (6, 1, vec![10, 0, 0, 2, flags, 24, 0, 5]);
        let sender = [(11, 7, TEMPLATE.to_vec()), (12, 2, token_bucket(1))];
        let style = (8, 1, vec![0, 0, 0, 0x12]);
        let mut error = message(Kind::PathErr, request(), 0);
        error.error = Some((super::super::message::NO_ROUTE, 1, 0));
        let expected = [&[session.clone(), spec(0)][..], &sender].concat();
        assert_eq!(objects(&error, 1), expected);
        error.removes = true;
        assert_eq!(objects(&error, 1)[1], spec(4));
        error.kind = Kind::ResvErr;
        let filter = (10, 7, TEMPLATE.to_vec());
        let flow = (9, 2, token_bucket(5));
        let expected = [session.clone(), hop(2), spec(4), style.clone(), flow, filter.clone()];
        assert_eq!(objects(&error, 1), expected);
        let expected = [&[session.clone(), hop(1)][..], &sender].concat();
        assert_eq!(objects(&message(Kind::PathTear, request(), 1), 0), expected);
        let expected = [session, hop(2), style, filter];
        assert_eq!(objects(&message(Kind::ResvTear, request(), 1), 1), expected);
    }

    /// RFC 3209 section 5.2: HELLO is class 22, a request of C-Type 1, an acknowledgement of C-Type 2, with
    /// the instances of its source and of its destination.
    #[test]
    fn rfc3209_s5_2_a_hello_octet_by_octet() {
        for (answers, kind) in [(false, 1), (true, 2)] {
            let mut hello = RsvpMessage::between(Kind::Hello);
            hello.hello = Some((answers, 0x0102_0304, 9));
            assert_eq!(objects(&hello, 0), [(22, kind, vec![1, 2, 3, 4, 0, 0, 0, 9])]);
        }
    }
}
