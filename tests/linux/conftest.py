"""Fixtures for tests that run guests. A runner that is not ready is skipped, with what it lacks."""

import pytest

from trunkline.linux.guest.readiness import RunnerNotReady, choose_runner, examine_runner


def _require_runner(name: str) -> str:
    state = examine_runner(name)
    if not state.is_ready:
        pytest.skip(f"the runner {name} is not ready: {state.reason}")
    return name


@pytest.fixture(params=["uml", "qemu"])
def guest(request: pytest.FixtureRequest) -> str:
    """Each runner in virtual time."""
    return _require_runner(request.param)


@pytest.fixture(params=["uml", pytest.param("qemu", marks=pytest.mark.guests)])
def kernel(request: pytest.FixtureRequest) -> str:
    """Each runner in virtual time; the emulated machine, which starts slowly, with --linux."""
    return _require_runner(request.param)


@pytest.fixture
def uml() -> str:
    """The runner whose processor takes no time."""
    return _require_runner("uml")


@pytest.fixture
def emulated() -> str:
    """The runner with a distribution's kernel."""
    return _require_runner("qemu")


@pytest.fixture
def quick() -> str:
    """The quickest runner in virtual time that is ready."""
    states = [examine_runner(name) for name in ("uml", "qemu")]
    for state in states:
        if state.is_ready:
            return state.runner
    pytest.skip("; ".join(f"{state.runner}: {state.reason}" for state in states))


@pytest.fixture
def native() -> str:
    """The kernel that we run on, for plans that need no more than it has."""
    try:
        return choose_runner("native")
    except RunnerNotReady as unready:
        pytest.skip(str(unready))


@pytest.fixture
def frr(uml: str) -> str:
    """The daemons, in the runner that they need."""
    state = examine_runner("frr")
    if not state.is_ready:
        pytest.skip(f"FRR is not ready: {state.reason}")
    return "frr"
