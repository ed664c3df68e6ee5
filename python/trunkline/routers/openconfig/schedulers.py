"""Schedulers of the models: those of a port, and those that police what arrives."""

from typing import Any

from trunkline.routers.openconfig.json_entries import Json, make_entry
from trunkline.routers.router_config import PortPolicy, QueuePolicy, Router, TargetFiles


def name_queue(policy: PortPolicy, queue: QueuePolicy) -> str:
    """Name the queue of a class."""
    return f"{policy.name}.{queue.name}"


def make_scheduler_policy(files: TargetFiles, router: Router, policy: PortPolicy) -> Json:
    """Make the schedulers of a port: strict ones, then the rates, then the weighted ones."""
    schedulers: list[Json] = []
    weighted = []
    order = sorted(policy.classes, key=lambda each: (each.priority is None, each.priority or 0))
    for queue in order:
        name = name_queue(policy, queue)
        if queue.weight is not None:
            weighted.append((name, queue.weight))
            continue
        entry = make_entry("sequence", len(schedulers) + 1)
        if queue.priority is not None:
            entry["config"]["priority"] = "STRICT"
        entry["inputs"] = {"input": [_make_input(name)]}
        if queue.rate is not None:
            ceiling = queue.ceiling or policy.rate
            entry["config"]["type"] = "openconfig-qos-types:TWO_RATE_THREE_COLOR"
            entry["two-rate-three-color"] = {
                "config": {"cir": str(queue.rate), "pir": str(ceiling), "bc": queue.burst or 0}
            }
        elif queue.ceiling is not None:
            entry["config"]["type"] = "openconfig-qos-types:ONE_RATE_TWO_COLOR"
            entry["one-rate-two-color"] = {
                "config": {
                    "cir": str(queue.ceiling),
                    "bc": queue.burst or 0,
                    "queuing-behavior": "SHAPE",
                }
            }
        schedulers.append(entry)
    if weighted:
        entry = make_entry("sequence", len(schedulers) + 1)
        entry["inputs"] = {"input": [_make_input(name, weight) for name, weight in weighted]}
        schedulers.append(entry)
    if policy.shaped_rate is not None:
        files.omit(
            router.name,
            f"port {policy.port}: shaped to {policy.shaped_rate} bit/s",
            "the model shapes queues, not the port above them; nearest: a link of that rate",
            ("ports", policy.port),
        )
    for rank, queue in enumerate(policy.classes):
        place = ("ports", policy.port, "classes", queue.name)
        files.omit(
            router.name,
            f"port {policy.port} class {queue.name}: queue limit",
            "the model has no length of a queue that is not shaped",
            (*place, "queue", "limit"),
            changes_design=False,
        )
        if queue.priority is not None and queue.rate is None and queue.priority != rank:
            files.omit(
                router.name,
                f"port {policy.port} class {queue.name}: priority {queue.priority}",
                "the model has the order of strict queues, not their numbers",
                (*place, "priority"),
                changes_design=False,
            )
    if weighted:
        files.omit(
            router.name,
            f"port {policy.port}: {policy.scheduler}",
            "the model has weights of queues, not the round that serves by them; `import` reads "
            "quanta of drr from 64 on, and weights of wfq below",
            ("ports", policy.port, "scheduler"),
            changes_design=False,
        )
    return make_entry("name", policy.name) | {"schedulers": {"scheduler": schedulers}}


def make_policer_policy(name: str, policers: tuple[Any, ...]) -> Json:
    """Make the policers of a conditioner, each a scheduler of one queue."""
    schedulers = []
    for sequence, policer in enumerate(policers, 1):
        entry = make_entry("sequence", sequence)
        entry["inputs"] = {"input": [_make_input(f"{name}.{policer.name}")]}
        if policer.violate is None:
            entry["config"]["type"] = "openconfig-qos-types:ONE_RATE_TWO_COLOR"
            entry["one-rate-two-color"] = {
                "config": {
                    "cir": str(policer.rate),
                    "bc": policer.burst,
                    "queuing-behavior": "POLICE",
                },
                **_make_actions(policer, ("conform", "exceed")),
            }
        else:
            entry["config"]["type"] = "openconfig-qos-types:TWO_RATE_THREE_COLOR"
            entry["two-rate-three-color"] = {
                "config": {
                    "cir": str(policer.rate),
                    "bc": policer.burst,
                    "pir": str(policer.peak_rate or policer.rate),
                    "be": policer.peak_burst,
                },
                **_make_actions(policer, ("conform", "exceed", "violate")),
            }
        schedulers.append(entry)
    return make_entry("name", f"{name}-in") | {"schedulers": {"scheduler": schedulers}}


def _make_input(queue: str, weight: int | None = None) -> Json:
    config: Json = {"input-type": "QUEUE", "queue": queue}
    if weight is not None:
        config["weight"] = str(weight)
    return make_entry("id", queue, **config)


def _make_actions(policer: Any, colours: tuple[str, ...]) -> Json:
    actions = {}
    for colour in colours:
        action = getattr(policer, colour)
        config: Json = {}
        if action.drop:
            config["drop"] = True
        if action.dscp is not None:
            config["set-dscp"] = action.dscp
        if config:
            actions[f"{colour}-action"] = {"config": config}
    return actions
