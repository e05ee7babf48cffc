"""tools/run-tests must count honestly whatever a test program does. The canaries show it on real programs, this file
shows the odd cases on scripts."""

import importlib.machinery
import importlib.util

import pytest
from house import run, tool


def load():
    loader = importlib.machinery.SourceFileLoader("run_tests", tool("run-tests"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_tests", loader))
    loader.exec_module(module)
    return module


RUNNER = load()
HEAD = "[==========] Running {} test(s).\\n"
RUN, OK, BAD, SKIP = "[ RUN      ] t\\n", "[       OK ] t\\n", "[  FAILED  ] t\\n", "[  SKIPPED ] t\\n"


@pytest.mark.parametrize("script, passed, failed, skipped", [
    (f"printf '{HEAD.format(2)}{RUN}{OK}{RUN}{OK}'", 2, 0, 0),
    (f"printf '{HEAD.format(2)}{RUN}{OK}{RUN}{BAD}'; exit 1", 1, 1, 0),
    (f"printf '{HEAD.format(3)}{RUN}{OK}{RUN}{SKIP}{RUN}{OK}'", 2, 0, 1),
    (f"printf '{HEAD.format(3)}{RUN}{OK}{RUN}'; kill -SEGV $$", 1, 2, 0),
    (f"printf '{HEAD.format(1)}{RUN}{OK}'; exit 1", 1, 1, 0),
    (f"printf '{HEAD.format(1)}{RUN}{OK}{HEAD.format(2)}{RUN}{OK}'", 2, 1, 0),
    ("echo '12 passed, 0 failed'", 12, 0, 0),
    ("echo '12 passed, 3 failed'; exit 1", 12, 3, 0),
    ("echo '12 passed, 3 failed'", 12, 3, 0),
    ("echo '12 passed, 0 failed'; exit 1", 12, 1, 0),
    ("echo '12 passed, 0 failed'; echo and more", 0, 1, 0),
    ("echo '0 passed, 0 failed'", 0, 1, 0),
    ("true", 0, 1, 0),
    ("exit 9", 0, 1, 0),
    ("echo '5 passed, 0 failed'; sleep 60", 5, 1, 0),
])
def test_counts_of_a_program(script, passed, failed, skipped):
    count = RUNNER.count_program("name", ["sh", "-c", script], 1)
    assert (count.passed, len(count.failures), count.skipped) == (passed, failed, skipped)


@pytest.mark.parametrize("text, passed, failed, skipped", [
    ("def test_a(): pass\ndef test_b(): pass\n", 2, 0, 0),
    ("def test_a(): pass\ndef test_b(): assert False\n", 1, 1, 0),
    ("import pytest\ndef test_a(): pass\n@pytest.mark.skip\ndef test_b(): pass\n", 1, 0, 1),
    ("import pytest\n@pytest.fixture\ndef f(): raise OSError\ndef test_a(f): pass\n", 0, 1, 0),
    ("import os, signal\ndef test_a(): os.kill(os.getpid(), signal.SIGKILL)\n", 0, 1, 0),
    ("import time\ndef test_a(): time.sleep(60)\n", 0, 1, 0),
    ("def nothing(): pass\n", 0, 1, 0),
    ("not python\n", 0, 1, 0),
])
def test_counts_of_pytest(tmp_path, text, passed, failed, skipped):
    path = tmp_path / "test_it.py"
    path.write_text(text, encoding="utf-8")
    count = RUNNER.count_pytest("name", [str(path)], 5)
    assert (count.passed, len(count.failures), count.skipped) == (passed, failed, skipped)


def test_an_unknown_part_is_refused():
    result = run(tool("run-tests"), "no-such-part")
    assert result.returncode != 0 and "no part named no-such-part" in result.stderr


def test_a_part_that_raises_is_a_failure():
    total = RUNNER.Count()
    RUNNER.timed("part", lambda: 1 / 0, total)
    assert len(total.failures) == 1
