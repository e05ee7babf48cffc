"""How the program is run, and what its tests share."""

import json
import os
import random
import signal
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.path.abspath(os.environ.get("HAPAX_BIN", os.path.join(ROOT, "build", "release", "src", "hapax")))
DATA = os.path.join(ROOT, "test", "data")
SCALE = int(os.environ.get("HAPAX_TEST_SCALE", "100"))
TIMEOUT = 120


def _sanitized():
    with open(BIN, "rb") as file:
        data = file.read()
    return b"__asan_init" in data or b"__tsan_init" in data


SANITIZED = _sanitized()  # memory says nothing then, and time little


def scaled(number, least=1):
    """So much of a long test as was asked for."""
    return max(least, number * SCALE // 100)


def seeded(name):
    """A random source whose seed is printed; HAPAX_TEST_SEED repeats a run."""
    seed = int(os.environ.get("HAPAX_TEST_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 48)
    print(f"{name}: HAPAX_TEST_SEED={seed}")
    return random.Random(seed)


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def text(self):
        return self.err.decode("utf-8", "replace")

    def summary(self):
        """The JSON summary: the last line of stderr."""
        return json.loads(self.err.decode().strip().splitlines()[-1])


def run(*words, stdin=b"", env=None, timeout=TIMEOUT, cwd=None, **more):
    """Runs hapax with these words; bytes in, bytes out."""
    process = subprocess.run([BIN, *map(str, words)], input=stdin, capture_output=True, timeout=timeout, cwd=cwd,
                             env=dict(os.environ, **(env or {})), **more)
    return Result(process.returncode, process.stdout, process.stderr)


def start(*words, **more):
    """Starts hapax; pipes where nothing else is said."""
    for stream in ("stdin", "stdout", "stderr"):
        more.setdefault(stream, subprocess.PIPE)
    return subprocess.Popen([BIN, *map(str, words)], **more)


def filter(*words, stdin=b"", code=0, **more):
    """`hapax filter --json`, which must end with `code`."""
    result = run("filter", "--json", *words, stdin=stdin, **more)
    assert result.code == code, (result.code, result.text)
    return result


def _durability():
    """Temporary files may stand on a file system that cannot give full durability: then `process` is asked for."""
    with tempfile.TemporaryDirectory() as folder:
        probe = run("filter", "--store", os.path.join(folder, "s"), "--format", "lines")
    return [] if probe.code == 0 else ["--durability", "process"]


_durable = None


def store(path):
    """The options that open a store here."""
    global _durable
    if _durable is None:
        _durable = _durability()
    return ["--store", str(path), *_durable]


def lines(*ids):
    return "".join(f"{i}\n" for i in ids).encode()


def ndjson(*ids):
    return "".join(json.dumps({"id": i}) + "\n" for i in ids).encode()


def write(folder, name, data):
    path = os.path.join(str(folder), name)
    with open(path, "wb") as file:
        file.write(data)
    return path


def read(path):
    with open(path, "rb") as file:
        return file.read()


def verify(path):
    """The store at path reads without damage."""
    result = run("verify", "--store", path)
    assert result.code == 0, result.text
    return result


def stat(path):
    result = run("stat", "--store", path, "--json")
    assert result.code == 0, result.text
    return json.loads(result.out)


def domain(path, name="default"):
    return next(d for d in stat(path)["domains"] if d["name"] == name)


def wait_until(condition, what, timeout=20):
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.005)


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.wait()
