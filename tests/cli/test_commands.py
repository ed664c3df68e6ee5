"""The commands on the examples: what they print, what they write, how they end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from trunkline.cli.examples_command import list_example_files
from trunkline.cli.inspect_command import SECTION_NAMES
from trunkline.cli.reproduce_command import STUDY_NAMES
from trunkline.network.compile import NETWORK_FORMAT
from trunkline.study.language import catalogue

BROKEN = """\
trunkline: 1
nodes: [A, B]
links: {A-B: {rate: 10}}
flows: {x: {agent: udp, from: A, to: B, rate: 1}}
run: {duration: 1 s}
"""
LONG = """\
trunkline: 1
nodes: [A, B]
links: {A-B: {rate: 10 Gbit/s}}
flows: {x: {agent: udp, from: A, to: B, rate: 9 Gbit/s, size: 100 B}}
run: {duration: 4000 s}
"""


@pytest.fixture
def hello(trunkline, tmp_path) -> str:
    assert trunkline("examples", "copy", "hello").returncode == 0
    return "hello.yaml"


@pytest.mark.parametrize("name", sorted(list_example_files()))
def test_every_example_has_a_title_and_runs(trunkline, name):
    listed = json.loads(trunkline("examples", "list", "--json").stdout)
    assert next(e for e in listed["examples"] if e["name"] == name)["title"]
    assert trunkline("examples", "copy", name).returncode == 0
    done = trunkline("run", f"{name}.yaml", "--json", "--strict")
    assert done.returncode == 0, done.stderr
    flows = json.loads(done.stdout)["flows"]
    assert any(flow["packets_delivered"] > 0 for flow in flows)


def test_unknown_example_ends_with_2_and_names_the_nearest(trunkline):
    done = trunkline("examples", "show", "helo")
    assert done.returncode == 2
    assert "Did you mean 'hello'?" in done.stderr


def test_copy_leaves_an_existing_file_as_it_is(trunkline, tmp_path):
    (tmp_path / "hello.yaml").write_text("mine", "utf-8")
    done = trunkline("examples", "copy", "hello")
    assert done.returncode == 2
    assert (tmp_path / "hello.yaml").read_text("utf-8") == "mine"


def test_an_example_that_was_not_copied_yet_is_offered(trunkline):
    done = trunkline("run", "trunks.yaml")
    assert done.returncode == 2
    assert "There is no trunks.yaml: trunkline examples copy trunks makes it." in done.stderr


def test_the_three_lines_come_before_service_levels_and_flows(trunkline):
    assert trunkline("examples", "copy", "priority-voice").returncode == 0
    shown = trunkline("run", "priority-voice.yaml").stdout
    heads = ["Lost: ", "\nWaits: ", "\nFull: ", "\nService levels", "\nFlows "]
    places = [shown.index(head) for head in heads]
    assert places[0] == 0
    assert places == sorted(places)


def test_validate_counts_what_is_there(trunkline, hello):
    done = trunkline("validate", hello)
    assert done.returncode == 0
    assert done.stdout.startswith("hello: valid; ")


def test_all_faults_of_a_scenario_are_shown_with_their_places(trunkline, tmp_path):
    (tmp_path / "broken.yaml").write_text(BROKEN, "utf-8")
    done = trunkline("run", "broken.yaml", "--out", "out")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "broken.yaml:3:" in done.stderr
    assert "broken.yaml:4:" in done.stderr
    assert not (tmp_path / "out").exists()


def test_validate_gives_faults_as_data(trunkline, tmp_path):
    (tmp_path / "broken.yaml").write_text(BROKEN, "utf-8")
    done = trunkline("validate", "broken.yaml", "--json")
    assert done.returncode == 2
    about = json.loads(done.stdout)
    assert about["valid"] is False
    assert {(d["line"], d["severity"]) for d in about["diagnostics"]} == {
        (3, "error"),
        (4, "error"),
    }


def test_scenario_comes_from_standard_input_too(trunkline):
    text = LONG.replace("4000 s", "1 ms")
    assert json.loads(trunkline("run", "-", "--json", input=text).stdout)["flows"][0]["flow"] == "x"


def test_run_json_has_the_tables_and_base_units(trunkline, hello):
    about = json.loads(trunkline("run", hello, "--json").stdout)
    agreed = ["schema", "hash", "flows", "aggregates", "ports", "paths", "drops"]
    assert [key for key in about if key in agreed] == agreed
    assert about["schema"] == 1
    flow = about["flows"][0]
    for key in ("goodput_bit_s", "throughput_bit_s", "delay_mean_s", "packets_sent"):
        assert key in flow


def test_same_seed_same_hash_other_seed_other_hash(trunkline, tmp_path):
    text = LONG.replace("4000 s", "10 ms").replace("size", "arrivals: poisson, size")
    (tmp_path / "a.yaml").write_text(text, "utf-8")
    hashes = [
        json.loads(trunkline("run", "a.yaml", "--json", "--seed", seed).stdout)["hash"]
        for seed in ("7", "7", "8")
    ]
    assert hashes[0] == hashes[1] != hashes[2]


def test_runs_differ_by_seed_and_do_not_depend_on_threads(trunkline, tmp_path):
    text = LONG.replace("4000 s", "10 ms").replace("size", "arrivals: poisson, size")
    (tmp_path / "a.yaml").write_text(text, "utf-8")
    one = trunkline("run", "a.yaml", "--json", "--runs", "3", "--threads", "1").stdout
    two = trunkline("run", "a.yaml", "--json", "--runs", "3", "--threads", "2").stdout
    assert one == two
    runs = json.loads(one)["runs"]
    assert [run["seed"] for run in runs] == [1, 2, 3]
    assert len({run["hash"] for run in runs}) == 3
    single = json.loads(trunkline("run", "a.yaml", "--json", "--seed", "3").stdout)
    assert single["hash"] == runs[2]["hash"]


def test_seeds_beyond_the_last_end_with_2(trunkline, hello):
    done = trunkline("run", hello, "--seed", str(2**64 - 1), "--runs", "2")
    assert done.returncode == 2
    assert "2^64" in done.stderr


def test_set_changes_a_value_and_is_checked_like_the_file(trunkline, hello):
    first = trunkline("run", hello, "--json").stdout
    assert trunkline("run", hello, "--json", "--set", "run.duration=4 s").stdout != first
    done = trunkline("run", hello, "--set", "run.duration=4")
    assert done.returncode == 2
    assert "unit" in done.stderr


def test_out_is_written_once_and_again_only_when_asked(trunkline, hello, tmp_path):
    """Faults F06, F07; a second run writes the same bytes."""
    assert trunkline("run", hello, "--out", "results").returncode == 0
    first = {f.name: f.read_bytes() for f in (tmp_path / "results").iterdir()}
    assert "run.json" in first
    assert trunkline("run", hello, "--out", "results").returncode == 2
    assert trunkline("run", hello, "--out", "results", "--overwrite").returncode == 0
    assert {f.name: f.read_bytes() for f in (tmp_path / "results").iterdir()} == first


def test_out_below_a_file_is_refused_before_the_run(trunkline, hello):
    done = trunkline("run", hello, "--out", "hello.yaml/results")
    assert done.returncode == 2
    assert "not a folder" in done.stderr


def test_full_disk_ends_with_4_and_leaves_nothing(trunkline, hello, tmp_path):
    """Fault F05; a limit on the size of files fails writes as a full disk does."""
    code = (
        "import resource, signal, runpy, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))\n"
        "sys.argv = ['trunkline', 'run', 'hello.yaml', '--out', 'results']\n"
        "runpy.run_module('trunkline', run_name='__main__')\n"
    )
    words = [sys.executable, "-B", "-c", code]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 4, done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(f.name for f in tmp_path.iterdir()) == ["hello.yaml"]


def worked_s(number: int) -> float:
    """CPU time that a process has had in its own code [s]."""
    fields = Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=["int", "term"])
def test_interrupt_ends_a_run_within_a_second(how, tmp_path):
    """Fault F01: 130, and nothing is written."""
    (tmp_path / "long.yaml").write_text(LONG, "utf-8")
    words = [sys.executable, "-m", "trunkline", "run", "long.yaml", "--out", "results"]
    child = subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    while worked_s(child.pid) < 1.5:  # well inside the engine: the run would take an hour
        assert child.poll() is None
        time.sleep(0.05)
    child.send_signal(how)
    _, message = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "Traceback" not in message
    assert sorted(f.name for f in tmp_path.iterdir()) == ["long.yaml"]


def test_compile_prints_canonical_json(trunkline, hello):
    text = trunkline("compile", hello).stdout.rstrip("\n")
    about = json.loads(text)
    assert text == json.dumps(about, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert about["format"] == NETWORK_FORMAT
    assert json.loads(trunkline("compile", hello, "--pretty").stdout) == about
    assert json.loads(trunkline("compile", hello, "--seed", "9").stdout)["run"]["seed"] == 9


def test_inspect_shows_the_label_operations_of_rfc3031(trunkline):
    """Section 3.10: push at the head, swap inside, pop before the last node (3.16)."""
    scenario = """\
trunkline: 1
nodes: [A, B, C, D]
links: {A-B: {rate: 1 Mbit/s}, B-C: {rate: 1 Mbit/s}, C-D: {rate: 1 Mbit/s}}
paths: {p: {route: [A, B, C, D], labels: [100, 200]}}
trunks: {t: {path: p, flows: [f]}}
flows: {f: {agent: udp, from: A, to: D, rate: 1 kbit/s}}
run: {duration: 1 s}
"""
    printed = trunkline("inspect", "-", "--section", "labels", input=scenario).stdout
    rows = [line.split("  ") for line in printed.splitlines()[2:]]
    operations = {
        (cells[0].strip(), "push 100" in line, "swap 200" in line, "pop" in line)
        for cells, line in zip(rows, printed.splitlines()[2:], strict=True)
    }
    assert operations == {
        ("A", True, False, False),
        ("B", False, True, False),
        ("C", False, False, True),
    }


@pytest.mark.parametrize("section", SECTION_NAMES)
def test_inspect_shows_one_section_when_asked(trunkline, section):
    assert trunkline("examples", "copy", "label-stack").returncode == 0
    done = trunkline("inspect", "label-stack.yaml", "--section", section)
    assert done.returncode == 0
    assert done.stdout.count("\n# ") == 0


def test_inspect_json_holds_network_and_named_routes(trunkline, hello):
    about = json.loads(trunkline("inspect", hello, "--json").stdout)
    assert about["network"]["format"] == NETWORK_FORMAT
    assert {"node", "destination", "link"} == set(about["routes"][0])


def test_schema_accepts_the_examples_keys(trunkline):
    about = json.loads(trunkline("schema").stdout)
    assert {"trunkline", "nodes", "links", "flows", "run"} <= set(about["properties"])


def test_version_is_the_engines(trunkline):
    from trunkline import __version__

    assert trunkline("version").stdout == f"trunkline {__version__}\n"
    assert json.loads(trunkline("version", "--json").stdout)["version"] == __version__


def test_doctor_finds_everything_needed_here(trunkline):
    done = trunkline("doctor", "--json")
    assert done.returncode == 0
    needed = [part for part in json.loads(done.stdout)["parts"] if part["needed"]]
    assert all(part["found"] for part in needed)


def test_unknown_study_ends_with_2(trunkline):
    done = trunkline("reproduce", "bhani1998")
    assert done.returncode == 2
    assert "bhani1999" in done.stderr
    assert "Traceback" not in done.stderr


QUEUE = """
trunkline: 1
parameters: {load: 0.5, limit: 5 packets}
nodes: [A, B]
links: {A-B: {rate: 1 Mbit/s, port: limited}}
ports: {limited: {queue: {limit: $limit}}}
flows:
  f: {agent: udp, from: A, to: B, arrivals: poisson, rate: "${load * 1 Mbit/s}", size: 500 B}
run: {duration: 500 s}
"""
TWO_TABLES = """
study: 1
name: limits
title: Losses against load
source: {document: none, date: today, about: a queue with a limit}
runs: 2
grid: {load: [0.5, 0.9]}
cases:
  short: {title: a short queue, scenario: queue.yaml}
  long: {title: a long queue, scenario: queue.yaml, set: {limit: 50 packets}}
columns: {lost: {where: {flow: f}, measure: packets_dropped, unit: packets}}
claims: [{name: fewer, says: A long queue loses less, table: long, that: 'lost < lost("short")'}]
sentences: [{where: here, says: A long queue loses less, claims: [fewer]}]
"""


@pytest.fixture
def two_tables(tmp_path):
    """File of a study of two tables with a claim, eight runs of a twentieth of a second or so."""
    (tmp_path / "queue.yaml").write_text(QUEUE)
    (tmp_path / "limits.yaml").write_text(TWO_TABLES)
    return "limits.yaml"


def test_a_study_shows_each_table_as_soon_as_it_is_known(tmp_path, two_tables):
    command = [sys.executable, "-m", "trunkline", "reproduce", two_tables]
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    message = subprocess.run(command, cwd=tmp_path, check=True, **both).stdout
    order = ["Table short:", "Table long:", "8 of 8 done", "Claims"]
    places = [message.index(words) for words in order]
    assert places == sorted(places)
    assert message.count("Table short:") == 1


def test_a_study_that_is_kept_goes_on_when_nobody_reads_its_tables(tmp_path, two_tables):
    command = [sys.executable, "-m", "trunkline", "reproduce", two_tables]
    command += ["--no-report", "--out", "kept"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=tmp_path, **pipes) as process:
        process.stdout.close()
        message = process.stderr.read()
    assert process.returncode == 0, message
    assert "Traceback" not in message
    assert json.loads((tmp_path / "kept/manifest.json").read_text())["files"]
    assert json.loads((tmp_path / "kept/study.json").read_text())["claims"]


BREAKS = """\
trunkline: 1
nodes: [A, B]
links: {A-B: {rate: 1 Mbit/s}}
flows: {x: {agent: udp, from: A, to: B, rate: 2 Mbit/s}}
slas: {s: {flow: x, at_most: {loss: 1 %}}}
run: {duration: 1 s}
"""


@pytest.mark.parametrize(
    "errors", [subprocess.PIPE, pytest.param(subprocess.STDOUT, marks=pytest.mark.slow)]
)
def test_whether_a_verdict_is_read_changes_neither_status_nor_files(tmp_path, errors):
    (tmp_path / "breaks.yaml").write_text(BREAKS)
    command = [sys.executable, "-m", "trunkline", "run", "breaks.yaml", "--judge", "--out", "kept"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=errors, text=True
    ) as process:
        process.stdout.close()
        message = "" if process.stderr is None else process.stderr.read()
    assert process.returncode == 3, message
    assert "Traceback" not in message
    assert (tmp_path / "kept/report.html").stat().st_size > 100_000


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="/dev/full is needed")
def test_output_to_a_full_disk_is_an_error_that_is_said_once(tmp_path):
    (tmp_path / "breaks.yaml").write_text(BREAKS)
    command = [sys.executable, "-m", "trunkline", "run", "breaks.yaml"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 4
    assert "error[file]: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_study_that_nobody_reads_or_keeps_ends_early(tmp_path):
    command = [sys.executable, "-m", "trunkline", "reproduce", "bhani1999", "--progress", "json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=tmp_path, **pipes) as process:
        process.stdout.close()
        message = process.stderr.read()
    assert process.returncode == 0, message
    assert json.loads(message.splitlines()[-1])["done"] < 200


def test_a_picture_for_a_paper_needs_a_folder(trunkline):
    done = trunkline("reproduce", "bhani1999", "--pdf")
    assert done.returncode == 2
    assert "--pdf needs --out" in done.stderr


def test_help_names_every_study():
    assert list(STUDY_NAMES) == catalogue.list_study_names()


def test_output_does_not_depend_on_locale_hash_seed_or_time_zone(trunkline, hello):
    """Fault F15."""
    plain = trunkline("run", hello, "--json").stdout
    odd = {"PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "Pacific/Chatham", "PYTHONUTF8": "0"}
    assert trunkline("run", hello, "--json", env=odd).stdout == plain
    assert trunkline("run", hello, env=odd).returncode == 0


@pytest.mark.skipif(os.name != "posix", reason="a FIFO is needed")
def test_fifo_as_scenario_is_refused_at_once(trunkline, tmp_path):
    """Fault B27."""
    os.mkfifo(tmp_path / "pipe.yaml")
    done = trunkline("validate", "pipe.yaml")
    assert done.returncode == 2
    assert "not a regular file" in done.stderr


@pytest.mark.parametrize(
    ("variables", "coloured"),
    [({"NO_COLOR": None}, False), ({"FORCE_COLOR": "1", "NO_COLOR": None}, True),
     ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
)  # fmt: skip
def test_colour_is_for_terminals_or_on_request(trunkline, hello, variables, coloured):
    assert ("\x1b[" in trunkline("run", hello, env=variables).stdout) is coloured


def test_copied_example_finds_its_schema_where_the_hint_puts_it(trunkline, hello, tmp_path):
    message = trunkline("examples", "copy", "md1").stderr
    assert "trunkline schema > scenario.schema.json" in message
    first = (tmp_path / hello).read_text("utf-8").splitlines()[0]
    assert first == "# yaml-language-server: $schema=scenario.schema.json"
    (tmp_path / "scenario.schema.json").write_text("{}", "utf-8")
    assert "schema" not in trunkline("examples", "copy", "trunks").stderr
