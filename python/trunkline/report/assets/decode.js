// The tables of a run from the engine's numbers, as trunkline.results.decode makes them in Python.
// A column is an array with null where there is no value. Tests compare every column of every shipped
// example with Python's, and the results hash.

// The answer of the engine's module as {table: {column: numbers}}.
function readAnswer(answer) {
  const length = new DataView(answer.buffer, answer.byteOffset).getUint32(0, true);
  const heads = JSON.parse(new TextDecoder().decode(answer.subarray(4, 4 + length)));
  const bytes = answer.slice(8 * Math.ceil((4 + length) / 8));
  const tables = {};
  let at = 0;
  for (const [table, rows, columns] of heads) {
    tables[table] = { rows };
    for (const [name, kind] of columns) {
      const values = kind === "i64" ? Array.from(new BigInt64Array(bytes.buffer, at, rows), Number) : Array.from(new Float64Array(bytes.buffer, at, rows));
      tables[table][name] = values;
      at += 8 * rows;
    }
  }
  return tables;
}

const ratio = (part, total) => (total > 0 ? part / total : null);
const sumOf = (values) => values.reduce((sum, value) => sum + value, 0);

function countBy(keys) {
  const groups = new Map();
  keys.forEach((key, index) => { if (groups.has(key)) groups.get(key).push(index); else groups.set(key, [index]); });
  return groups;
}

// Jain's index: the square of the sum over n times the sum of the squares.
function computeJain(values) {
  const squares = values.length * sumOf(values.map((value) => value * value));
  return squares > 0 ? sumOf(values) ** 2 / squares : null;
}

// The tables by name, each {column: values}; `book` holds the schemas and the words of the engine.
function decodeTables(raw, network, book) {
  const { words } = book;
  const measured = (network.run.duration_ns - network.run.warmup_ns) / 1e9;
  const names = (items) => (index) => (index >= 0 && index < items.length ? items[index] : null);
  const called = (key) => names(network[key].map((item) => item.name));
  const className = (link, index) => {
    if (!(link >= 0 && link < network.links.length)) return null;
    const { classes } = network.ports[network.links[link].port];
    return index >= 0 && index < classes.length ? classes[index].name : null;
  };
  const codePoint = (dscp) => words.dscp[dscp];
  const rate = (bytes) => bytes.map((count) => (count * 8) / measured);
  const namers = {
    flow: (rows) => rows.flow.map(called("flows")),
    link: (rows) => rows.link.map(called("links")),
    node: (rows) => rows.node.map(called("nodes")),
    path: (rows) => rows.path.map(called("paths")),
    class: (rows) => rows.link.map((link, row) => className(link, rows.class[row])),
    direction: (rows) => rows.reverse.map(names(["forward", "reverse"])),
    dscp: (rows) => rows.dscp.map(codePoint),
    cause: (rows) => rows.cause.map(names(words.causes)),
    colour: (rows) => rows.colour.map(names(words.colours)),
    ecn: (rows) => rows.ecn.map(names(words.ecn)),
  };
  const decoders = makeDecoders(raw, network, words, { measured, names, className, codePoint, rate });
  const rows = { ...raw, lsps: raw.signalling };
  const tables = {};
  for (const [name, fields] of Object.entries(book.schemas)) {
    if (name === "aggregates" || name === "fairness") continue;
    const own = rows[name];
    tables[name] = own && decoders[name] !== undefined
      ? completeColumns(fields, own, decoders[name](own), namers)
      : Object.fromEntries(fields.map((field) => [field.name, []]));
  }
  tables.aggregates = maskEmptyBases(book.schemas.aggregates, gatherByDscp(tables.flows, tables.delays, rate, book.summed, words.quantiles));
  tables.fairness = maskEmptyBases(book.schemas.fairness, measureFairness(tables.flows, raw.series, network));
  return Object.fromEntries(Object.keys(book.schemas).map((name) => [name, tables[name]]));
}

function completeColumns(fields, rows, computed, namers) {
  const columns = { ...computed };
  for (const { name } of fields) {
    if (name in columns) continue;
    if (name in namers) columns[name] = namers[name](rows);
    else if (name in rows) columns[name] = rows[name];
    else if (name === "delay_range_s") columns[name] = columns.delay_max_ns.map((most, row) => (most - columns.delay_min_ns[row]) / 1e9);
    else columns[name] = columns[`${name.replace(/_s$/, "")}_ns`].map((value) => (value === null ? null : value / 1e9));
  }
  return maskEmptyBases(fields, columns);
}

// What averages nothing is null: a column's base counts what it averages.
function maskEmptyBases(fields, columns) {
  const masked = { ...columns };
  for (const { name, base } of fields) {
    if (base.length) masked[name] = columns[name].map((value, row) => (base.some((count) => columns[count][row] > 0) ? value : null));
  }
  return Object.fromEntries(fields.map((field) => [field.name, masked[field.name]]));
}

function makeDecoders(raw, network, words, { measured, names, className, codePoint, rate }) {
  const plain = () => ({});
  const flowNames = network.flows.map((flow) => flow.name);
  const rsvp = network.signalling ? network.signalling.rsvp : null;
  return {
    delays: plain,
    drops: plain,
    marks: plain,
    completion_times: (rows) => ({ sizes: nameSizes(rows) }),
    flows: (rows) => {
      const flows = rows.flow.map((index) => network.flows[index]);
      return {
        source: flows.map((flow) => network.nodes[flow.src].name),
        destination: flows.map((flow) => network.nodes[flow.dst].name),
        protocol: flows.map((flow) => (flow.echo ? flow.echo.over : flow.agent.protocol)),
        dscp: flows.map((flow) => codePoint(flow.dscp)),
        finished_ns: rows.finished_ns.map((at) => (at >= 0 ? at : null)),
        ...makeRates(rows, rate),
      };
    },
    ports: (rows) => ({
      throughput_bit_s: rate(rows.bytes_sent),
      utilisation: rows.bytes_sent.map((bytes, row) => (bytes * 8) / measured / network.links[rows.link[row]].rate_bit_s),
      loss_ratio: rows.packets_dropped.map((dropped, row) => ratio(dropped, rows.packets_offered[row])),
    }),
    paths: (rows) => {
      const accounted = rows.path.map((index) => Boolean(network.paths[index].account));
      const columns = { throughput_bit_s: rate(rows.bytes) };
      for (const name of ["packets_delivered", "packets_dropped", "reordered", "delays_compared"]) {
        columns[name] = rows[name].map((value, row) => (accounted[row] ? value : null));
      }
      columns.loss_ratio = rows.packets_dropped.map((dropped, row) => ratio(dropped, Math.max(0, rows.packets_delivered[row]) + Math.max(0, dropped)));
      return columns;
    },
    series: (rows) => {
      const probes = network.probes.map((probe) => ({
        target: network[words.link_measures.includes(probe.measure) ? "links" : "flows"][probe.target].name,
        class: probe.class === undefined || probe.class === null ? null : className(probe.target, probe.class),
        precedence: probe.precedence === undefined || probe.precedence === null ? -1 : probe.precedence,
        measure: probe.measure,
      }));
      const column = (key) => rows.probe.map((number) => probes[number][key]);
      return {
        target: column("target"), class: column("class"), precedence: column("precedence"), measure: column("measure"),
        value: rows.value.map((value) => (Number.isNaN(value) ? null : value)),
      };
    },
    colours: (rows) => {
      const conditioners = network.conditioners || [];
      const of = rows.link.map((link, row) => conditioners[network.links[link][rows.ingress[row] ? "ingress" : "conditioner"]]);
      const each = words.colours.length;
      const total = (row) => sumOf(rows.packets.slice(row - (row % each), row - (row % each) + each));
      return {
        end: rows.ingress.map(names(["near", "far"])),
        conditioner: of.map((conditioner) => conditioner.name),
        profile: of.map((conditioner, row) => conditioner.profiles[rows.profile[row]].name),
        throughput_bit_s: rate(rows.bytes),
        share: rows.packets.map((packets, row) => ratio(packets, total(row))),
      };
    },
    accounts: (rows) => ({ loss_ratio: rows.packets_dropped.map((dropped, row) => ratio(dropped, rows.packets_offered[row])) }),
    calls: (rows) => rateCalls(rows, raw.flows, network),
    echoes: (rows) => measureEchoes(rows, raw.flows, network),
    videos: (rows) => {
      const ends = rows.flow.map((flow) => Math.min(network.run.duration_ns, network.flows[flow].stop_ns ?? network.run.duration_ns));
      const watched = ends.map((end, row) => (rows.start_up_ns[row] >= 0 ? end - rows.began_ns[row] - rows.start_up_ns[row] : 0));
      return {
        began_ns: rows.began_ns.map((at) => (at >= 0 ? at : null)),
        start_up_ns: rows.start_up_ns.map((span) => (span >= 0 ? span : null)),
        stall_ratio: rows.stalled_ns.map((stalled, row) => ratio(stalled, watched[row])),
        bit_rate_bit_s: rows.rates_bit_s.map((rates, row) => (rows.chunks[row] ? rates / rows.chunks[row] : 0)),
      };
    },
    transfers: (rows) => {
      const times = rows.finish_ns.map((finish, row) => (finish >= 0 ? finish - rows.start_ns[row] : null));
      return {
        finish_ns: rows.finish_ns.map((at) => (at >= 0 ? at : null)),
        fct_s: times.map((time) => (time === null ? null : time / 1e9)),
        slowdown: times.map((time, row) => (time !== null && rows.floor_ns[row] > 0 ? time / rows.floor_ns[row] : null)),
      };
    },
    completions: (rows) => {
      const columns = { sizes: nameSizes(rows), unfinished: rows.started.map((started, row) => started - rows.finished[row]) };
      for (const name of Object.keys(rows)) {
        if (name.endsWith("_milli")) columns[name.replace(/_milli$/, "")] = rows[name].map((value) => value / 1000);
      }
      return columns;
    },
    timeline: (rows) => ({
      event: rows.event.map(names(words.timeline_events)),
      protection: rows.protection.map(names(((network.recovery || {}).protections || []).map((item) => item.name))),
    }),
    signalling: (rows) => {
      const events = rows.event.map((event) => words.signalling_events[event]);
      return {
        event: events,
        path: nameSignalledPaths(rows, rsvp),
        value: rows.value.map((value, row) => (["up", "moved"].includes(events[row]) && value >= 0 ? value : null)),
        error: rows.value.map((value, row) => (["refused", "down"].includes(events[row]) && value > 0 ? `${Math.floor(value / 65536)}/${value % 65536}` : null)),
      };
    },
    lsps: (rows) => gatherSignalledPaths(rows, network, rsvp, words),
    control: (rows) => {
      const kinds = new Map();
      for (const protocol of ["ldp", "ospf", "rsvp"]) {
        const config = network.signalling ? network.signalling[protocol] : null;
        if (config) kinds.set(config.flow, words[`${protocol}_kinds`]);
      }
      return {
        protocol: rows.flow.map((flow) => flowNames[flow]),
        message: rows.flow.map((flow, row) => kinds.get(flow)[rows.kind[row]]),
        throughput_bit_s: rate(rows.bytes),
      };
    },
    packets: (rows) => decodeTrace(rows, network, words, { names, className, codePoint }),
    messages: (rows) => decodeMessages(rows, network),
    summary: () => ({ measured_s: [measured] }),
  };
}

// The packets of a traced run: what their headers hold, by the rules of the protocols.
function decodeTrace(rows, network, words, { names, className, codePoint }) {
  const agents = network.flows.map((flow) => flow.agent);
  const isTcp = rows.flow.map((flow) => agents[flow].protocol === "tcp");
  const mss = rows.flow.map((flow, row) => (isTcp[row] ? agents[flow].mss_bytes : 0));
  const known = (values) => values.map((value) => (value >= 0 ? value : null));
  const join = (columns, text) => rows.flow.map((_, row) => columns.map((name) => rows[name][row]).filter((value) => value >= 0).map(text).join(" ") || null);
  const called = (key, column) => rows[column].map(names(network[key].map((item) => item.name)));
  const stacks = ["stack_1", "stack_2", "stack_3", "stack_4"];
  return {
    event: rows.event.map(names(words.packet_events)),
    flow: called("flows", "flow"),
    direction: rows.reverse.map(names(["forward", "reverse"])),
    link: called("links", "link"),
    node: called("nodes", "node"),
    class: rows.link.map((link, row) => className(link, rows.class[row])),
    cause: rows.cause.map(names(words.causes)),
    dscp: rows.dscp.map(codePoint),
    ecn: rows.ecn.map(names(words.ecn)),
    colour: rows.colour.map(names(words.colours)),
    // A SYN comes before the first byte (RFC 9293 section 3.4).
    seq_bytes: rows.seq.map((seq, row) => (!mss[row] ? null : seq < 0 ? -1 : rows.reverse[row] ? 0 : mss[row] * seq)),
    ack_bytes: rows.ack.map((ack, row) => (mss[row] ? Math.min(mss[row] * ack, agents[rows.flow[row]].size_bytes || Infinity) : null)),
    // All but the first acknowledge (RFC 9293 section 3.1).
    tcp_flags: rows.seq.map((seq, row) => {
      const flags = { SYN: seq < 0, ACK: rows.reverse[row] === 1 || seq >= 0, ECE: rows.ece[row] === 1, CWR: rows.cwr[row] === 1 };
      return isTcp[row] ? Object.keys(flags).filter((flag) => flags[flag]).join(" ") : null;
    }),
    sack: join(["sack_1", "sack_2", "sack_3"], (block) => `${Math.floor(block / 2 ** 32)}-${block % 2 ** 32}`),
    echo_ns: rows.echo_ns.map((at, row) => (rows.reverse[row] === 1 ? at : null)),
    precedence: known(rows.precedence),
    wait_ns: known(rows.wait_ns),
    labels: rows.flow.map((_, row) => stacks.filter((name) => rows[name][row] >= 0).length),
    label: rows.stack_1.map((entry) => (entry >= 0 ? Math.floor(entry / 4096) : null)),
    stack: join(stacks, (entry) => `${Math.floor(entry / 4096)}/${Math.floor(entry / 512) % 8}/${entry % 256}`),
  };
}

// Messages of routers: seven words, then their octets, four to a word.
function decodeMessages(rows, network) {
  const found = [];
  for (let at = 0; at < rows.word.length;) {
    const fixed = rows.word.slice(at, at + 7);
    const octets = [];
    for (let index = 0; index < fixed[6]; index += 4) {
      const width = Math.min(4, fixed[6] - index);
      octets.push(rows.word[at + 7 + index / 4].toString(16).padStart(2 * width, "0"));
    }
    found.push([...fixed.slice(0, 6), octets.join("")]);
    at += 7 + Math.ceil(fixed[6] / 4);
  }
  const column = (index) => found.map((each) => each[index]);
  const named = (key, index) => column(index).map((item) => (item >= 0 && item < network[key].length ? network[key][item].name : null));
  return { flow: named("flows", 0), seq: column(1), source: named("nodes", 2), destination: named("nodes", 3), ip_protocol: column(4), header_bytes: column(5), octets: column(6) };
}

function makeRates(counts, rate) {
  return {
    offered_bit_s: rate(counts.bytes_sent),
    throughput_bit_s: rate(counts.bytes_delivered),
    goodput_bit_s: rate(counts.goodput_bytes),
    // Of a packet and its copy one more is dropped or delivered than was sent.
    loss_ratio: counts.packets_sent.map((sent, row) => {
      const lost = Math.max(0, counts.packets_dropped[row] - counts.packets_copied[row]);
      return ratio(lost, Math.max(sent, lost + counts.packets_delivered[row]));
    }),
  };
}

function gatherByDscp(flows, delays, rate, summed, quantiles) {
  const groups = countBy(flows.dscp);
  const members = [...groups.values()];
  const sums = Object.fromEntries(summed.map((name) => [name, members.map((group) => sumOf(group.map((index) => flows[name][index])))]));
  const having = (base) => members.map((group) => group.filter((index) => flows[base][index] > 0));
  const averaged = (name, base) => having(base).map((group) => {
    const total = Math.max(1, sumOf(group.map((index) => flows.packets_timed[index])));
    return sumOf(group.map((index) => flows[name][index] * flows.packets_timed[index])) / total / 1e9;
  });
  const arrived = having("packets_timed");
  const least = arrived.map((group) => (group.length ? Math.min(...group.map((index) => flows.delay_min_ns[index])) : -1));
  const most = arrived.map((group) => (group.length ? Math.max(...group.map((index) => flows.delay_max_ns[index])) : -1));
  const dscpOf = new Map(flows.flow.map((flow, index) => [flow, flows.dscp[index]]));
  const endOf = new Map(flows.flow.map((flow, index) => [flow, flows.delay_max_ns[index] ?? -1]));
  const gathered = new Map([...groups.keys()].map((name) => [name, new Map()]));
  delays.flow.forEach((flow, row) => {
    const buckets = gathered.get(dscpOf.get(flow));
    // The last bucket ends where the delays do.
    const end = Math.min(delays.upper_ns[row], endOf.get(flow));
    buckets.set(end, (buckets.get(end) || 0) + delays.packets[row]);
  });
  const found = [...gathered.values()].map((buckets) => findQuantiles([...buckets].sort((a, b) => a[0] - b[0]), Object.values(quantiles)));
  return {
    dscp: [...groups.keys()],
    flows: members.map((group) => group.length),
    ...sums,
    delay_min_ns: least,
    delay_max_ns: most,
    ...makeRates(sums, rate),
    delay_mean_s: averaged("delay_mean_ns", "packets_timed"),
    delay_min_s: least.map((value) => value / 1e9),
    delay_max_s: most.map((value) => value / 1e9),
    ...Object.fromEntries(Object.keys(quantiles).map((which, index) => [`delay_${which}_s`, found.map((values) => values[index] / 1e9)])),
    delay_range_s: most.map((value, row) => (value - least[row]) / 1e9),
    jitter_s: averaged("jitter_ns", "delays_compared"),
    jain_index: members.map((group) => computeJain(group.map((index) => flows.goodput_bytes[index]))),
  };
}

// Upper ends of the buckets with the values of rank ceil(share n).
function findQuantiles(buckets, shares) {
  if (!buckets.length) return shares.map(() => 0);
  const total = sumOf(buckets.map((bucket) => bucket[1]));
  return shares.map((share) => {
    const rank = Math.max(1, Math.ceil(share * total));
    let seen = 0;
    return buckets.find((bucket) => { seen += bucket[1]; return seen >= rank; })[0];
  });
}

function measureFairness(flows, series, network) {
  // TCP asks for what it gets: only a source that does not listen has a demand.
  const shares = flows.protocol.map((protocol, index) => (protocol !== "tcp" && flows.bytes_sent[index]
    ? Math.min(1, flows.bytes_delivered[index] / flows.bytes_sent[index]) : null));
  const starved = timeStarvation(series, flows, network);
  const groups = [...countBy(flows.dscp)].map(([name, group]) => ["dscp", name, group]);
  const paths = network.flows.map((flow) => findFirstPath(flow, network));
  for (const [name, group] of countBy(paths)) if (name !== null) groups.push(["path", name, group]);
  const rows = groups.map(([kind, name, group]) => {
    const demanding = group.filter((index) => shares[index] !== null);
    const known = demanding.map((index) => shares[index]);
    const sent = sumOf(demanding.map((index) => flows.bytes_sent[index]));
    const served = sumOf(demanding.map((index) => flows.bytes_delivered[index]));
    const times = group.map((index) => starved.get(index)).filter((time) => time !== undefined);
    const probed = times.length === group.length;
    return {
      of: kind, name, flows: group.length,
      jain_index: computeJain(group.map((index) => flows.goodput_bytes[index])),
      demand_share: !known.length ? null : sent ? Math.min(1, served / sent) : 0,
      least_demand_share: known.length ? Math.min(...known) : null,
      jain_of_demand: computeJain(known),
      starved_max_s: !probed ? null : Math.max(0, ...times),
      starved_mean_s: !probed ? null : times.length ? sumOf(times) / times.length : 0,
    };
  });
  const keys = ["of", "name", "flows", "jain_index", "demand_share", "least_demand_share", "jain_of_demand", "starved_max_s", "starved_mean_s"];
  return Object.fromEntries(keys.map((key) => [key, rows.map((row) => row[key])]));
}

// The path that the packets of a flow enter first; a forwarding equivalence class of 0 rides none.
function findFirstPath(flow, network) {
  if (!flow.fec) return null;
  const entry = network.ftn.find((each) => each.fec === flow.fec && (!(each.dscps && each.dscps.length) || each.dscps.includes(flow.dscp)));
  return entry ? network.paths[network.nhlfe[entry.nhlfe].path].name : null;
}

// Time in which nothing arrived of each flow that a probe watches [s].
function timeStarvation(series, flows, network) {
  const found = new Map();
  if (!series || !series.rows) return found;
  const chosen = new Map();
  for (const number of new Set(series.probe)) {
    const probe = network.probes[number];
    if (["goodput", "throughput"].includes(probe.measure) && !chosen.has(probe.target)) { chosen.set(probe.target, number); found.set(probe.target, 0); }
  }
  series.probe.forEach((number, row) => {
    const { target, step_ns: step } = network.probes[number];
    if (series.value[row] !== 0 || chosen.get(target) !== number) return;
    const ends = [network.flows[target].stop_ns, flows.finished_ns[target], network.run.duration_ns].filter((end) => end !== null && end !== undefined);
    const time = series.time_ns[row];
    if (Math.max(flows.start_ns[target], network.run.warmup_ns) <= time - step && time <= Math.min(...ends)) found.set(target, found.get(target) + step / 1e9);
  });
  return found;
}

// The E-model (ITU-T G.107), as trunkline.results.e_model.
function rateCalls(rows, flows, network) {
  const calls = rows.flow.map((flow) => network.flows[flow].call);
  const expected = rows.flow.map((flow) => flows.packets_delivered[flow] + flows.packets_dropped[flow]);
  const missing = rows.flow.map((flow, row) => flows.packets_dropped[flow] + rows.packets_late[row]);
  const spans = calls.map((call) => call.codec_ns + call.playout_ns);
  const delays = calls.map((call, row) => impairByDelay(spans[row] / 1e6, call.delay_formula));
  const known = calls.map((call, row) => call.ie !== null && call.bpl !== null && expected[row] > 0);
  const equipment = calls.map((call, row) => {
    const percent = expected[row] ? (100 * missing[row]) / expected[row] : 0;
    const ie = call.ie || 0;
    return percent === 0 ? ie : ie + ((95 - ie) * percent) / (percent / call.burst_ratio + (call.bpl || 0.1));
  });
  const ratings = delays.map((delay, row) => 93.2 - delay - equipment[row]);
  const mask = (values) => values.map((value, row) => (known[row] ? value : null));
  return {
    codec: calls.map((call) => call.codec),
    late_ratio: rows.packets_late.map((late, row) => ratio(late, expected[row])),
    loss_ratio: missing.map((lost, row) => ratio(lost, expected[row])),
    mouth_to_ear_s: spans.map((span) => span / 1e9),
    delay_impairment: delays,
    equipment_impairment: mask(equipment),
    r_factor: mask(ratings),
    mos: mask(ratings.map((r) => (r <= 0 ? 1 : r >= 100 ? 4.5 : 1 + 0.035 * r + r * (r - 60) * (100 - r) * 7e-6))),
  };
}

function impairByDelay(delayMs, formula) {
  if (formula === "simplified") return 0.024 * delayMs + 0.11 * Math.max(0, delayMs - 177.3);
  if (delayMs <= 100) return 0;
  const x = Math.log2(delayMs / 100);
  return 25 * ((1 + x ** 6) ** (1 / 6) - 3 * (1 + (x / 3) ** 6) ** (1 / 6) + 2);
}

function measureEchoes(rows, flows, network) {
  const of = (name) => rows.flow.map((flow) => flows[name][flow]);
  const protocols = rows.flow.map((flow) => network.flows[flow].echo.over);
  const both = (values) => values.map((value, row) => (protocols[row] === "udp" ? value : null));
  const lostThere = of("packets_dropped");
  const lost = lostThere.map((there, row) => there + rows.replies_dropped[row] + rows.replies_late[row]);
  const share = (parts, others) => both(parts.map((part, row) => ratio(part, part + others[row])));
  const columns = {
    protocol: protocols,
    requests: of("packets_sent"),
    lost,
    lost_there: both(lostThere),
    lost_back: both(rows.replies_dropped),
    reordered_there: both(of("reordered")),
    reordered_back: both(rows.reordered_back),
    requests_timed: both(of("packets_timed")),
    replies_timed: both(rows.replies),
    there_compared: both(of("delays_compared")),
    back_compared: both(rows.back_compared),
    loss_ratio: lost.map((count, row) => ratio(count, count + rows.replies[row])),
    loss_there_ratio: share(lostThere, of("packets_delivered")),
    loss_back_ratio: share(rows.replies_dropped, rows.replies.map((replies, row) => replies + rows.replies_late[row])),
  };
  for (const which of ["mean", "min", "max", "p50", "p95", "p99"]) columns[`there_${which}_ns`] = of(`delay_${which}_ns`);
  columns.there_jitter_ns = of("jitter_ns");
  return columns;
}

// "all", "to 10 kB", "above 10 MB" or "pages".
function nameSizes(rows) {
  let largest = "";
  return rows.kind.map((kind, row) => {
    if (kind !== 1) return kind === 2 ? "pages" : "all";
    const upper = rows.upper_bytes[row];
    if (upper < 0) return largest ? `above ${largest}` : "any size";
    const [factor, prefix] = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]].find(([each]) => upper % each === 0);
    largest = `${upper / factor} ${prefix}B`;
    return `to ${largest}`;
  });
}

function nameSignalledPaths(rows, rsvp) {
  if (!rsvp) return [];
  return rows.session.map((session, row) => (rows.process[row] < 0 ? rsvp.sessions[session].name : rsvp.requests[rows.process[row]].name));
}

function gatherSignalledPaths(rows, network, rsvp, words) {
  const counted = ["asked", "up", "moved", "blocked", "refused", "preempted", "down"];
  const processes = rsvp ? (rsvp.requests || []).map((each) => each.name) : [];
  const names = [...(rsvp ? rsvp.sessions.map((each) => each.name) : []), ...processes];
  const records = new Map(names.map((name) => [name, { counts: Object.fromEntries(counted.map((each) => [each, 0])), setups: [], out: 0, since: null, up: false }]));
  // A request that came before the warm-up ended counts nowhere.
  const early = new Set();
  nameSignalledPaths(rows, rsvp).forEach((name, row) => {
    const record = records.get(name);
    const at = rows.time_ns[row];
    let event = words.signalling_events[rows.event[row]];
    if (processes.includes(name)) {
      if (event === "asked" && at < network.run.warmup_ns) early.add(rows.session[row]);
      if (early.has(rows.session[row])) return;
    }
    if (event === "soft-preempted") event = "preempted";
    if (event in record.counts) record.counts[event] += 1;
    if (["up", "moved"].includes(event) && rows.value[row] >= 0) record.setups.push(rows.value[row]);
    if (event === "down" || (event === "asked" && !record.up)) record.since = record.since === null ? at : record.since;
    else if (["up", "moved", "torn"].includes(event) && record.since !== null) { record.out += at - record.since; record.since = null; }
    if (["up", "down", "torn"].includes(event)) record.up = event === "up";
  });
  const all = [...records.values()];
  for (const record of all) if (record.since !== null) record.out += network.run.duration_ns - record.since;
  return {
    path: names,
    ...Object.fromEntries(counted.map((each) => [each, all.map((record) => record.counts[each])])),
    setups: all.map((record) => record.setups.length),
    setup_mean_ns: all.map((record) => (record.setups.length ? sumOf(record.setups) / record.setups.length : 0)),
    setup_max_ns: all.map((record) => Math.max(0, ...record.setups)),
    out_ns: all.map((record, index) => (processes.includes(names[index]) ? null : record.out)),
    blocking_ratio: all.map((record) => ratio(record.counts.blocked, record.counts.asked)),
  };
}

// The results hash of trunkline.results.Results.hash: names and integers of all tables, SHA-256.
async function hashTables(tables, book) {
  const encoder = new TextEncoder();
  const parts = [];
  for (const [name, fields] of Object.entries(book.schemas)) {
    const table = tables[name];
    const rows = table[fields[0].name].length;
    if (book.hashed_if_filled.includes(name) && !rows) continue;
    for (const field of fields) {
      if (!field.in_hash) continue;
      const values = table[field.name];
      parts.push(encoder.encode(`${name}.${field.name}:${values.length}\n`));
      if (field.kind === "str") parts.push(encoder.encode(values.map((value) => `${value === null ? "" : value}\0`).join("")));
      else parts.push(new Uint8Array(BigInt64Array.from(values, (value) => BigInt(value === null ? -1 : value)).buffer));
    }
  }
  const joined = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) { joined.set(part, at); at += part.length; }
  const digest = await crypto.subtle.digest("SHA-256", joined);
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
