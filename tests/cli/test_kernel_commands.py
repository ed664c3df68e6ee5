"""Commands of the Linux engine that need no guest: export, and what they refuse."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from trunkline.cli.reproduce_command import command as reproduce_command
from trunkline.cli.verify_command import command as verify_command
from trunkline.linux.guest import readiness
from trunkline.linux.judge import proof, verification
from trunkline.linux.judge.comparisons import make_fixed_row
from trunkline.linux.judge.proof import JudgedAlteration, VerdictProof
from trunkline.linux.judge.single_alterations import SingleAlteration
from trunkline.linux.judge.verification import EngineVerdict
from trunkline.report.findings import list_kernel_facts
from trunkline.study import StudySubject

LACKING = (
    "wfq-shares.yaml:30:16: error[linux]: port shares: the Linux kernel has no wfq; nearest: drr"
)


@pytest.fixture
def copied(trunkline):
    def copy(name: str) -> str:
        assert trunkline("examples", "copy", name).returncode == 0
        return f"{name}.yaml"

    return copy


def test_export_writes_a_script_a_router(trunkline, copied, tmp_path):
    file = copied("diffserv-over-mpls")
    done = trunkline("export", file, "--to", "linux", "--out", "routers")
    assert done.returncode == 0, done.stderr
    names = sorted(path.name for path in (tmp_path / "routers").iterdir())
    assert names == [f"n{index}-{node}.sh" for index, node in enumerate("SABCD")]
    again = trunkline("export", file, "--to", "linux", "--out", "routers")
    assert again.returncode == 2
    assert "--overwrite" in again.stderr


def test_export_as_json_holds_the_scripts(trunkline, copied):
    done = trunkline("export", copied("hello"), "--to", "linux", "--json")
    data = json.loads(done.stdout)
    assert data["to"] == "linux"
    assert "pfifo limit 50" in data["scripts"]["n1-R1.sh"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["export", "--to", "linux"], LACKING),
        (["verify"], LACKING),
        (["run", "--engine", "linux"], LACKING),
        (["run", "--runner", "uml"], "--runner is for --engine linux"),
        (["run", "--engine", "linux", "--batches"], "--batches is for the simulator"),
    ],
)
def test_what_cannot_be_ends_with_2_and_says_why(trunkline, copied, words, expected):
    done = trunkline(words[0], copied("wfq-shares"), *words[1:])
    assert done.returncode == 2
    assert expected in done.stderr
    assert "Traceback" not in done.stderr


def test_verify_refuses_what_the_kernel_lacks_before_anything_runs(trunkline, copied):
    done = trunkline("verify", copied("hello"), copied("wfq-shares"))
    assert done.returncode == 2
    assert done.stdout == ""
    assert "no wfq; nearest: drr" in done.stderr


def test_f16_without_a_runner_the_remedies_are_said_at_once_and_the_simulator_works(
    trunkline, copied, tmp_path
):
    bare = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    hello = copied("hello")
    for words in (["verify"], ["verify", hello], ["run", hello, "--engine", "linux"]):
        done = trunkline(*words, env=bare)
        assert done.returncode == 4
        assert done.stdout == ""
        assert "uml is not ready: kernel: trunkline linux setup --runner uml" in done.stderr
        assert "trunkline linux setup --runner qemu" in done.stderr
    assert trunkline("run", hello, env=bare).returncode == 0


@pytest.mark.parametrize(
    ("kernel", "status", "expected"), [(101, 0, "all 1 comparisons agree"), (200, 3, "DIFFERS")]
)
def test_verify_without_a_file_compares_two_examples_and_ends_with_3_if_they_differ(
    monkeypatch, kernel, status, expected
):
    asked = []

    def compared(network, seeds, **_how):
        asked.append((json.loads(network)["name"], seeds))
        row = make_fixed_row("tcp", "goodput", "bit/s", 100, kernel, kernel - 100, 1)
        return EngineVerdict((row,), ("a note",), tuple(seeds), False, "Linux")

    monkeypatch.setattr(verification, "verify_kernel", compared)
    monkeypatch.setattr(readiness, "choose_runner", lambda *_: "uml")
    done = CliRunner().invoke(verify_command, ["--runs", "2", "--seed", "7"], standalone_mode=False)
    assert done.return_value == status
    assert asked == [("diffserv-over-mpls", [7, 8]), ("hello", [7, 8])]
    assert done.stdout.count(expected) == 2
    set_ = "flows.tcp.preset=linux"
    assert f"verify: the examples diffserv-over-mpls and hello with {set_}\n" in done.stderr
    done = CliRunner().invoke(verify_command, ["--json"], standalone_mode=False)
    data = json.loads(done.stdout)
    assert [each["scenario"] for each in data["verdicts"]] == ["diffserv-over-mpls", "hello"]
    assert data["agrees"] is (status == 0)


@pytest.mark.parametrize(("words", "status"), [((), 0), (("--judge",), 3)])
def test_reproduce_runs_in_the_kernel_what_it_can_and_names_the_rest(monkeypatch, words, status):
    asked = []

    def compared(runs, **_how):
        asked.append([seed for _, seed in runs])
        row = make_fixed_row("DE", "mean delay", "s", 1, 2, 1, 0.5)
        return EngineVerdict((row,), (), tuple(asked[-1]), False, "Linux")

    monkeypatch.setattr(verification, "verify_runs", compared)
    monkeypatch.setattr(readiness, "choose_runner", lambda *_: "uml")
    words = ["avallone2003", "--engine", "linux", "--runs", "2", *words]
    wide = {"COLUMNS": "160"}
    done = CliRunner(env=wide).invoke(reproduce_command, words, standalone_mode=False)
    assert done.return_value == status
    # Best effort, DiffServ, MPLS and DiffServ over MPLS with HTB; what has CBQ is left out.
    assert asked == [[1, 2]] * 4
    assert "has no cbq; nearest: htb" in done.stderr
    assert done.stdout.count("DIFFERS") == 4
    # Table 2 of the document: DE waits 0.444 s with DiffServ.
    title = "diffserv, routers of today: HTB: simulator against kernel"
    table = done.stdout.partition(title)[2].partition("differ;")[0]
    assert "published" in table
    assert table.split("DE ")[1].split()[3:5] == ["0.444", "1"]


@pytest.mark.slow
def test_reproduce_in_the_kernel_goes_on_where_it_was_cut(monkeypatch, tmp_path):
    asked = []

    def compared(runs, **_how):
        asked.append(len(runs))
        if len(asked) == 3:
            raise KeyboardInterrupt
        row = make_fixed_row("DE", "mean delay", "s", 1, 2, 1, 0.5)
        return EngineVerdict((row,), ("a note",), (1, 2), False, "Linux", ("jitter",))

    monkeypatch.setattr(verification, "verify_runs", compared)
    monkeypatch.setattr(readiness, "choose_runner", lambda *_: "uml")
    folder = str(tmp_path / "kept")
    words = ["avallone2003", "--engine", "linux", "--runs", "2", "--out", folder]

    def run(*more):
        return CliRunner().invoke(reproduce_command, [*words, *more], standalone_mode=False)

    cut = run()
    assert cut.return_value == 130
    assert f"2 of 4 tables kept; resume with --resume --out {folder}" in cut.output
    # Without a word of how, an earlier folder is refused.
    assert "--resume or --overwrite" in str(run().exception)
    assert len(asked) == 3
    done = json.loads(run("--resume", "--json").stdout)
    assert len(asked) == 5
    assert [len(each["rows"]) for each in done["verdicts"]] == [1] * 4
    first, last = done["verdicts"][0], done["verdicts"][-1]
    assert {**first, "table": ""} | {"rows": []} == {**last, "table": ""} | {"rows": []}
    kept = tmp_path / "kept" / "kernel.json"
    text = kept.read_text("utf-8")
    for damaged in (text.replace('"DE"', '"EF"', 1), text[:100]):
        kept.write_text(damaged, "utf-8")
        assert "damaged" in str(run("--resume").exception)
    kept.write_text(text, "utf-8")
    # Other seeds are other runs.
    words[words.index("2")] = "3"
    assert run("--resume").return_value == 0
    assert len(asked) == 9


@pytest.mark.slow
def test_reproduce_in_the_kernel_stores_what_its_verdicts_would_have_caught(monkeypatch, tmp_path):
    asked, limits = [], []

    def compared(runs, **_how):
        asked.append(len(runs))
        row = make_fixed_row("DE", "mean delay", "s", 1, 1, 0, 0.5)
        return EngineVerdict((row,), (), (1, 2), False, "Linux")

    def prove(_verdict, *, limit, on_progress):
        limits.append(limit)
        alteration = SingleAlteration("link A->B", "delay_ns", "1 ms", "2 ms", (), 0)
        outcomes = ("caught", "caught", "caught", "below power", "no effect")
        return VerdictProof(tuple(JudgedAlteration(alteration, each, "") for each in outcomes), 9)

    monkeypatch.setattr(verification, "verify_runs", compared)
    monkeypatch.setattr(proof, "prove_verdict", prove)
    monkeypatch.setattr(readiness, "choose_runner", lambda *_: "uml")
    folder = str(tmp_path / "kept")
    words = ["avallone2003", "--engine", "linux", "--runs", "2", "--out", folder]

    def run(*more):
        return CliRunner().invoke(reproduce_command, [*words, *more], standalone_mode=False)

    assert run().return_value == 0
    assert limits == []
    # A verdict that was stored without a proof needs its runs again, one with a proof does not.
    assert "caught 75 % of those that show; 5 of 9 alterations" in run("--resume", "--prove").output
    assert (len(asked), limits) == (8, [20] * 4)
    done = json.loads(run("--resume", "--prove", "--json").stdout)
    assert len(asked) == 8
    assert [each["proof"]["score"] for each in done["verdicts"]] == [0.75] * 4
    kept = json.loads((tmp_path / "kept" / "kernel.json").read_bytes())
    (fact,) = list_kernel_facts(kept)
    assert fact.sign == "held"
    assert fact.text.startswith("4 of 4 comparisons of 4 tables agree with Linux; 0 differ")
    assert (
        fact.detail == "of 16 single mistakes that show, in 4 tables, they would have caught 75 %"
    )
    for entry in kept["tables"].values():
        del entry["verdict"]["proof"]
    assert list_kernel_facts(kept)[0].detail.startswith("not proved: ")
    refused = run("--prove", "--engine", "sim")
    assert "--prove needs --engine linux" in str(refused.exception)


def test_a_study_of_which_the_kernel_can_run_nothing_is_refused(trunkline):
    done = trunkline("reproduce", "seddigh1999", "--engine", "linux", "--runs", "2")
    assert done.returncode == 2
    assert "No table of seddigh1999 can run on Linux" in done.stderr
    assert "the Linux kernel has no tsw2cm; nearest: token-bucket" in done.stderr


def test_a_study_takes_the_values_that_it_has_for_the_kernel():
    # Linux has no Tahoe: bhani1999 says which sender stands in its place, and nothing else changes.
    plain, kernel = (
        StudySubject("bhani1999", runs=1),
        StudySubject("bhani1999", runs=1, kernel=True),
    )
    for one, other in zip(plain.plan.points, kernel.plan.points, strict=True):
        agents = [
            [flow["agent"].get("variant") for flow in json.loads(each.network_json)["flows"]]
            for each in (one, other)
        ]
        assert agents == [[None, "tahoe", "tahoe"], [None, "new-reno", "new-reno"]]
        assert one.network_json.replace("tahoe", "new-reno") == other.network_json
