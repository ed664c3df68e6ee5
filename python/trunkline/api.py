"""The calls that most programs need: load a scenario, run it, judge its service levels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from trunkline.decomposition.defaults import DEFAULT_CHECK_S, DEFAULT_LINK_PACKETS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trunkline.decomposition.engine import DecomposedRun
    from trunkline.results import Results
    from trunkline.scenario import Scenario
    from trunkline.stats import Level


def run(
    scenario: Scenario, *, seed: int | None = None, engine: Literal["sim", "fluid"] = "sim"
) -> Results:
    """Run a scenario once.

    Parameters
    ----------
    scenario : Scenario
        What to run.
    seed : int, optional
        Seed of all random streams [0 .. 2^64 - 1]; the scenario's own (default 1) when left out.
    engine : {"sim", "fluid"}, default "sim"
        Packets, or rates and mean waits by formulas: null where these have no answer.

    Returns
    -------
    Results
        The tables of this run.

    Raises
    ------
    ScenarioError
        The scenario contradicts itself, or the engine cannot run it; every fault is listed.
    """
    first = scenario.run.seed if seed is None else seed
    if engine == "fluid":
        from trunkline import fluid
        from trunkline.fluid.unsupported import FluidUnsupportedError
        from trunkline.network import compile

        network_json = compile(scenario, seed=first).to_json()
        try:
            return fluid.simulate(network_json, scenario=scenario.text, seed=first)
        except FluidUnsupportedError as error:
            raise error.locate_in_scenario(scenario) from None
    return run_many(scenario, seeds=[first])[0]


def run_many(
    scenario: Scenario, *, seeds: Sequence[int], threads: int | None = None
) -> list[Results]:
    """Run a scenario once for each seed, over the machine's cores.

    Parameters
    ----------
    scenario : Scenario
        What to run.
    seeds : sequence of int
        One run each [0 .. 2^64 - 1].
    threads : int, optional
        Runs at a time [1 or more]; as many as there are cores when left out.

    Returns
    -------
    list of Results
        In the order of the seeds, whatever the number of threads.

    Raises
    ------
    ScenarioError
        The scenario contradicts itself; every fault is listed.
    """
    from trunkline.engine import simulate
    from trunkline.network import compile

    return simulate(compile(scenario), seeds=seeds, threads=threads, scenario=scenario.text)


def judge(scenario: Scenario, runs: Results | Sequence[Results]) -> list[Level]:
    """Hold runs to the service level agreements of their scenario.

    Parameters
    ----------
    scenario : Scenario
        The scenario with the bounds in ``slas``.
    runs : Results or sequence of Results
        One run or several of it.

    Returns
    -------
    list of Level
        One a bound, in the order of the scenario: ``met`` if every run keeps it, ``kept`` runs that
        do, ``worst`` value and its ``margin`` in the bound's unit (s, bit/s, or a share of 1).

    Raises
    ------
    ValueError
        No runs, or runs of another scenario.
    """
    from trunkline.results import Results as One
    from trunkline.stats import judge_bounds as held_to

    return held_to(scenario.list_sla_bounds(), [runs] if isinstance(runs, One) else runs)


def decompose(
    scenario: Scenario,
    *,
    seed: int | None = None,
    packets: int = DEFAULT_LINK_PACKETS,
    check_s: float = DEFAULT_CHECK_S,
    threads: int | None = None,
) -> DecomposedRun:
    """Simulate each link of a scenario alone, and put delays and losses of paths together.

    Parameters
    ----------
    scenario : Scenario
        What to run; its flows are UDP that sends in all of the measured time.
    seed : int, optional
        Of every link [0 .. 2^64 - 1]; the scenario's when left out.
    packets : int
        Packets that should reach each link [1 or more].
    check_s : float
        About how much time of one core the full run for the error takes [s].
    threads : int, optional
        Links that run at a time [1 or more]; as many as there are cores when left out.

    Returns
    -------
    DecomposedRun
        ``results`` with the tables of the engines, and ``check`` with their error.

    Raises
    ------
    ScenarioError
        Parts of the scenario tie its links together: TCP, answers, failures in mid-run.
    """
    from trunkline.decomposition.engine import simulate as simulate_links
    from trunkline.fluid.unsupported import FluidUnsupportedError
    from trunkline.network import compile

    try:
        return simulate_links(
            compile(scenario, seed=seed).to_json(),
            scenario=scenario.text,
            seed=scenario.run.seed if seed is None else seed,
            packets=packets,
            check_s=check_s,
            threads=threads,
        )
    except FluidUnsupportedError as error:
        raise error.locate_in_scenario(scenario, "decompose") from None
