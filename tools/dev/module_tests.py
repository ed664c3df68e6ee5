"""Tests of Python on the mutants of the Rust crates: in the module of the engine with all of them.

The evidence of a crate is not in its own tests alone: a packet that is encoded wrongly is seen by
tshark, a column of the results by its pinned hash.
"""

import bisect
import hashlib
import itertools
import json
import os
import queue
import re
import shutil
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

import setup_steps as steps
from mutant_journal import FOLDER
from pytest_server import PytestServer
from python_mutants import MIN_TIMEOUT_S, TIMEOUT_FACTOR, copy_packages, list_test_files
from rust_mutant_build import SWITCH
from shell import Stopwatch, print_message

TEST_PLACES = [
    *("tests/unit/engine", "tests/pcap", "tests/unit/decomposition", "tests/unit/results"),
    *("tests/unit/network/test_contract.py", "tests/unit/test_handshake.py"),
    *("tests/unit/test_pinned_results.py", "tests/unit/test_pinned_scenarios.py"),
    "tests/evidence/test_kernel_senders.py",
]
"""Files and folders of the tests that run the engine most."""
MAX_FILE_S = 60.0
"""Time in which the tests of a file note what they reach."""
MAX_TRIAL_S = 40.0
"""Time of all tests that a mutant is tried on, the quick ones first."""
BATCH_S = 3.0
_COPY = os.path.join(FOLDER, "python", "module")
_NOTES_FOLDER = os.path.join(FOLDER, "noted")


class ModuleTests:
    """The tests, ready to run with a mutant on; used in a ``with`` statement.

    module: Path of the module with all mutants.
    jobs: How many run at once.
    """

    def __init__(self, module: str, jobs: int) -> None:
        copy_packages(_COPY)
        shutil.copyfile(
            module, os.path.join(_COPY, "trunkline", os.path.basename(steps.ENGINE_MODULE))
        )
        self._servers: queue.Queue[PytestServer] = queue.Queue()
        for _ in range(jobs):
            self._servers.put(
                PytestServer(steps.VENV_PYTHON, _COPY, os.path.join(FOLDER, "byte-code"))
            )
        with open(module, "rb") as stream:
            self._module_hash = hashlib.file_digest(stream, "sha256").digest()
        self._reached: dict[int, list[tuple[float, str]]] = defaultdict(list)
        self._note_reached()

    def __enter__(self) -> "ModuleTests":
        return self

    def __exit__(self, *_: object) -> None:
        while not self._servers.empty():
            self._servers.get().__exit__()

    def _note_reached(self) -> None:
        clock = Stopwatch()
        os.makedirs(_NOTES_FOLDER, exist_ok=True)
        count = 0
        with ThreadPoolExecutor(self._servers.qsize()) as pool:
            for noted in pool.map(self._note_file, list_test_files(TEST_PLACES)):
                count += len(noted)
                for test, used_s, numbers in noted:
                    for number in numbers:
                        self._reached[number].append((used_s, test))
        for tests in self._reached.values():
            tests.sort()
        print_message(f"{count} tests of Python noted what they reach ({clock})")

    def _note_file(self, file: str) -> list[tuple[str, float, list[int]]]:
        """The tests of a file that pass, with the mutants that they reach."""
        with open(os.path.join(steps.ROOT, file), "rb") as stream:
            key = hashlib.sha256(stream.read() + self._module_hash).hexdigest()[:24]
        path = os.path.join(_NOTES_FOLDER, f"{key}.jsonl")
        if not os.path.exists(path):
            partial = path + ".partial"
            with open(partial, "wb"):
                pass
            server = self._servers.get()
            variables = {"TRUNKLINE_NOTED": partial}
            server.run(["-p", "noted_mutants", file], MAX_FILE_S, variables, writes_byte_code=True)
            self._servers.put(server)
            os.rename(partial, path)
        with open(path, encoding="utf-8") as lines:
            return [tuple(json.loads(line)) for line in lines]

    def count_reaching(self, number: int) -> int:
        """How many tests reach a mutant."""
        return len(self._reached.get(number, ()))

    def find_failed(self, number: int) -> list[str]:
        """Tests that fail with a mutant on; none if all pass."""
        tests = self._reached.get(number, [])
        total = list(itertools.accumulate(used_s for used_s, _ in tests))
        first, last = bisect.bisect(total, BATCH_S) or 1, bisect.bisect(total, MAX_TRIAL_S)
        for batch in (tests[:first], tests[first:last]):
            if not batch:
                continue
            limit_s = MIN_TIMEOUT_S + TIMEOUT_FACTOR * sum(used_s for used_s, _ in batch)
            server = self._servers.get()
            try:
                status, output = server.run(
                    ["-x", *(test for _, test in batch)], limit_s, {SWITCH: str(number)}
                )
            finally:
                self._servers.put(server)
            if status != 0:
                failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", output, re.M)
                return failed or [f"pytest ends with {status}"]
        return []
