"""Flows of the network: replicas written out, agents with all their parameters."""

from typing import Any

from trunkline.network import transfers
from trunkline.scenario.call import CODECS, Call
from trunkline.scenario.flow import Echo, ReceiveBuffer, Tcp, Udp
from trunkline.scenario.game import GAMES
from trunkline.scenario.media import Media
from trunkline.scenario.resolved import ResolvedScenario

SEGMENTS_PER_DELAYED_ACK = 2  # Segments that are acknowledged at once (RFC 5681 section 4.2).


def compile_flows(
    scenario: ResolvedScenario,
    nodes: dict[str, int],
    fecs: dict[str, tuple[int, int]],
) -> list[dict[str, Any]]:
    """Compile the flows in the order of their indices.

    ``fecs`` has the forwarding equivalence class of data and of acknowledgements, by name of flow.
    """
    agents: dict[Any, dict[str, Any]] = {}
    result = []
    index = {name: number for number, (name, _) in enumerate(scenario.flow_names)}
    for name, base in scenario.flow_names:
        flow = scenario.flows[base]
        # Replicas have one agent; so have demands of a class that offer as much.
        offered = scenario.demands.get(base)
        agent_key = base if offered is None else (offered.class_, getattr(flow, "rate", None))
        agent = agents.get(agent_key)
        if agent is None:
            agent = agents[agent_key] = (
                _compile_tcp(flow) if isinstance(flow, Tcp) else _compile_udp(scenario, flow)
            )
        forward, reverse = fecs.get(name) or fecs.get(base) or (0, 0)
        # In the order in which they are written down, which spares sorting many.
        compiled = {
            "agent": agent,
            "dscp": flow.dscp,
            "dst": nodes[flow.to],
            "fec": forward,
            "fec_reverse": reverse,
            "name": name,
            "src": nodes[flow.from_],
            "start_jitter_ns": flow.start_jitter,
            "start_ns": flow.start,
            "stop_ns": flow.stop,
            "ttl": flow.ttl,
        }
        compiled_transfers = (
            transfers.compile_transfers(scenario, name, flow, index)
            if isinstance(flow, Tcp)
            else None
        )
        if compiled_transfers is not None:
            compiled["transfers"] = compiled_transfers
        if isinstance(flow, Udp) and flow.call is not None:
            compiled["call"] = _compile_call(flow.call)
        if base in scenario.echoes:
            compiled |= _compile_echo(scenario.echoes[base], agent)
        result.append(compiled)
    return result


def _compile_tcp(flow: Tcp) -> dict[str, Any]:
    delayed = None
    if flow.delayed_ack is not None:
        delayed = {"timeout_ns": flow.delayed_ack, "every": SEGMENTS_PER_DELAYED_ACK}
        if flow.quick_acks:
            delayed["quick"] = flow.quick_acks
    ssthresh = flow.initial_ssthresh
    switches = {
        "count_segments": flow.count_segments,
        "linux": flow.stack == "linux",
        "pacing": flow.is_paced,
        "connect": flow.connect,
    }
    optional_keys: dict[str, Any] = {key: True for key, is_on in switches.items() if is_on}
    if flow.receive_buffer is not None:
        optional_keys["receive_buffer"] = _compile_receive_buffer(flow, flow.receive_buffer)
    if flow.send_buffer is not None:
        optional_keys["send_buffer_bytes"] = flow.send_buffer.max
    if flow.after_idle != "restart":
        optional_keys["after_idle"] = flow.after_idle
    if flow.congestion != "reno":
        optional_keys["congestion"] = _compile_congestion_control(flow)
    if flow.partial_ack == "reset":
        optional_keys["partial_ack_resets"] = True
    return optional_keys | {
        "protocol": "tcp",
        "variant": flow.variant,
        "new_reno_impatient": flow.impatient,
        "mss_bytes": flow.mss,
        "header_bytes": flow.header,
        "ack_bytes": flow.ack,
        "size_bytes": flow.size,
        "window_packets": flow.window,
        "initial_window": float(min(flow.initial_window, flow.window)),
        "initial_ssthresh": None if ssthresh is None else float(ssthresh),
        "rto_initial_ns": flow.rto.initial,
        "rto_min_ns": flow.rto.min,
        "rto_max_ns": flow.rto.max,
        "tick_ns": flow.rto.tick,
        "timestamps": flow.timestamps,
        "delayed_ack": delayed,
        "limited_transmit": flow.limited_transmit,
        "dup_acks": flow.dup_acks,
        "send_overhead_ns": flow.send_overhead,
        "ecn": flow.ecn,
    }


def _compile_receive_buffer(flow: Tcp, memory: ReceiveBuffer) -> dict[str, int]:
    # Half of it is window: a buffer that grows would take the window above `window` with it.
    most = min(memory.max, 2 * flow.window * flow.mss)
    return {"initial_bytes": memory.initial, "max_bytes": max(memory.initial, most)}


def _compile_congestion_control(flow: Tcp) -> dict[str, Any]:
    if flow.congestion != "cubic":
        return {"kind": flow.congestion}
    default_slow_start = "hystart" if flow.stack == "linux" else "standard"
    return {"kind": "cubic", "slow_start": flow.slow_start or default_slow_start}


def _compile_udp(scenario: ResolvedScenario, flow: Udp) -> dict[str, Any]:
    tick = {"tick_ns": flow.tick} if flow.tick else {}
    if flow.phase:
        tick["phase_ns"] = flow.phase
    return {
        "arrivals": _compile_arrivals(scenario, flow),
        "header_bytes": flow.header,
        "protocol": "udp",
        # A schedule says when each datagram leaves: it has no rate of its own.
        "rate_bit_s": 1 if flow.rate is None else flow.rate,
        "size": _compile_datagram_size(flow),
    } | tick


def _compile_echo(echo: Echo, agent: Any) -> dict[str, Any]:
    fixed_gap = {"gap_ns": echo.interval}
    gaps = {"exponential": {"mean_ns": echo.interval}} if echo.spacing == "poisson" else None
    return {
        "agent": agent | {"arrivals": {"gaps": gaps or {"fixed": fixed_gap}}},
        "echo": {
            "over": echo.protocol,
            "reply_bytes": echo.size if echo.reply is None else echo.reply,
            "timeout_ns": echo.timeout,
        },
    }


def _compile_call(call: Call) -> dict[str, Any]:
    codec = CODECS[call.codec]
    return {
        "codec": call.codec,
        "playout_ns": call.playout,
        "codec_ns": call.packet + codec.look_ahead_ns,
        "ie": codec.ie if call.ie is None else call.ie,
        "bpl": codec.bpl if call.bpl is None else call.bpl,
        "burst_ratio": call.burst_ratio,
        "delay_formula": call.delay_formula,
    }


def _compile_media(media: Media) -> dict[str, Any]:
    return {
        "min_bit_s": media.least_rate,
        "ladder_bit_s": list(media.ladder),
        "priority": media.priority,
        "frame_ns": media.frame,
        "playout_ns": media.playout,
        "ecn": media.ecn,
    }


def _compile_arrivals(scenario: ResolvedScenario, flow: Udp) -> Any:
    if flow.media is not None:
        return {"media": _compile_media(flow.media)}
    if flow.game is not None:
        gap, scale = (each * 1e6 for each in GAMES[flow.game.model].gap_ms)
        if scale:
            return {"gaps": {"gumbel": {"location_ns": gap, "scale_ns": scale}}}
        return {"gaps": {"fixed": {"gap_ns": round(gap)}}}
    if flow.arrivals == "cbr":
        return {"cbr": {"jitter": flow.jitter}}
    if flow.arrivals == "tfrc":
        return {"tfrc": {"max_bit_s": flow.rate}}
    if flow.arrivals == "on-off":
        return {"on-off": {"mean_on_ns": flow.mean_on, "mean_off_ns": flow.mean_off}}
    if flow.arrivals == "schedule":
        if flow.datagrams:
            times = [each.time for each in flow.datagrams]
            return {"schedule": {"times_ns": times, "sizes": [it.size for it in flow.datagrams]}}
        schedule = scenario.schedules[str(flow.schedule)]
        return {
            "schedule": {
                "times_ns": list(schedule.times_ns),
                "sizes": list(schedule.sizes_bytes),
            }
        }
    return flow.arrivals


def _compile_datagram_size(flow: Udp) -> dict[str, Any]:
    if flow.game is not None:
        location, scale = GAMES[flow.game.model].bytes
        return {
            "gumbel": {
                "location_bytes": location,
                "scale_bytes": scale,
                "header_bytes": flow.header,
            }
        }
    size = flow.size
    if size.exponential is not None:
        return {"exponential": {"mean_bytes": float(size.exponential)}}
    if size.choice is not None:
        weights = size.choice.weights or (1,) * len(size.choice.sizes)
        return {
            "choice": {
                "bytes": list(size.choice.sizes),
                "weights": [float(each) for each in weights],
            }
        }
    return {"fixed": {"bytes": size.fixed}}
