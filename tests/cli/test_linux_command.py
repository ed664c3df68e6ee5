"""`trunkline linux`: what is said where runners are and are not ready."""

import json


def test_status_names_what_is_missing_and_what_to_do(trunkline, tmp_path):
    done = trunkline("linux", "status", "--json", env={"XDG_CACHE_HOME": str(tmp_path)})
    assert done.returncode == 4
    about = json.loads(done.stdout)
    assert about["cache"] == str(tmp_path / "trunkline" / "linux")
    uml, qemu, native = about["runners"]
    assert [uml["runner"], qemu["runner"], native["runner"]] == ["uml", "qemu", "native"]
    assert not uml["ready"]
    (kernel,) = [part for part in uml["parts"] if part["name"] == "kernel"]
    assert kernel["detail"] == "trunkline linux setup --runner uml"


def test_setup_without_a_package_manager_says_so_and_ends_with_4(trunkline, tmp_path):
    environment = {"XDG_CACHE_HOME": str(tmp_path), "PATH": str(tmp_path)}
    done = trunkline("linux", "setup", env=environment)
    assert done.returncode == 4
    assert "error[linux]: " in done.stderr
    assert "missing" in done.stderr
    assert "Traceback" not in done.stderr


def test_clean_of_nothing_frees_nothing(trunkline, tmp_path):
    done = trunkline("linux", "clean", env={"XDG_CACHE_HOME": str(tmp_path)})
    assert (done.returncode, done.stderr) == (0, "linux: 0 MB freed\n")


def test_doctor_names_the_runners(trunkline, tmp_path):
    done = trunkline("doctor", env={"XDG_CACHE_HOME": str(tmp_path)})
    assert done.returncode == 0
    assert "absent  linux/uml    kernel: trunkline linux setup --runner uml" in done.stdout
    assert [line[8:14] for line in done.stdout.splitlines()[-3:]] == ["linux/"] * 3


def test_daemons_that_cannot_be_had_are_refused_and_the_simulator_still_answers(
    trunkline, tmp_path
):
    environment = {"XDG_CACHE_HOME": str(tmp_path), "PATH": str(tmp_path)}
    done = trunkline("linux", "setup", "--control", "frr", env=environment)
    assert done.returncode == 4
    assert "error[linux]: " in done.stderr
    trunkline("examples", "copy", "cut-with-ospf", cwd=tmp_path)
    scenario = str(tmp_path / "cut-with-ospf.yaml")
    done = trunkline("verify", scenario, "--control", "frr", env={"XDG_CACHE_HOME": str(tmp_path)})
    assert done.returncode == 4
    assert "trunkline linux setup --control frr" in done.stderr
    alone = trunkline("run", scenario, "--all")
    assert alone.returncode == 0
    assert "Convergence" in alone.stdout
    assert done.stdout == f"cut-with-ospf: the simulator alone\n\n{alone.stdout}"
    words = ("verify", scenario, "--control", "frr", "--json")
    done = trunkline(*words, env={"XDG_CACHE_HOME": str(tmp_path)})
    assert done.returncode == 4
    data = json.loads(done.stdout)
    assert (data["outcome"], data["verdicts"]) == ("undecided", [])
    assert (
        data["simulator"][0]["hash"]
        == json.loads(trunkline("run", scenario, "--json").stdout)["hash"]
    )


def test_daemons_run_in_virtual_time_with_the_linux_engine_alone(trunkline):
    done = trunkline("run", "-", "--control", "frr")
    assert done.returncode == 2
    assert "--control is for --engine linux" in done.stderr
    done = trunkline("run", "-", "--engine", "linux", "--control", "frr", "--runner", "native")
    assert done.returncode == 2
    assert "--control frr runs in uml, not in native" in done.stderr
