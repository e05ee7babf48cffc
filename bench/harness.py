"""harness.py - runs one contestant and tells what it cost and whether its answer is right.

The one idea: a contestant is a pipeline of ordinary commands. Each of them is started under bench/measure, so that
its own processor time and peak memory are known; wall time runs from before the first start to after the last end.
A timed run writes to /dev/null. The answer is checked in a run of its own that is not timed, because a reader that
hashes would compete for the processors; hapax is checked in the timed runs as well, by the counts it reports.
"""

import hashlib
import json
import os
import signal
import subprocess
import tempfile
import time

TIME_LIMIT_S = 900
TICKS = os.sysconf("SC_CLK_TCK")


class WrongAnswer(Exception):
    """A contestant failed, or wrote something else than the generator knows to be right."""


class Cost:
    """One run: wall and processor time in seconds, peak memory in MiB, processor time of others meanwhile."""

    def __init__(self, wall, cpu, peak_mib, others, stderr):
        self.wall = wall
        self.cpu = cpu
        self.peak_mib = peak_mib
        self.others = others
        self.stderr = stderr


def busy_seconds():
    """Processor time used by everybody on this machine since it started."""
    with open("/proc/stat", encoding="ascii") as stat:
        fields = [int(word) for word in stat.readline().split()[1:]]
    return (fields[0] + fields[1] + fields[2] + fields[5] + fields[6]) / TICKS


class Answer:
    """Reads an output to its end: number of bytes and lines, and a hash of all of it."""

    def __init__(self):
        self.bytes = 0
        self.lines = 0
        self.hash = hashlib.sha256()

    def read(self, stream):
        while True:
            block = stream.read(1 << 20)
            if not block:
                return self
            self.bytes += len(block)
            self.lines += block.count(b"\n")
            self.hash.update(block)

    def facts(self, ordered=True):
        return (self.lines, self.bytes, self.hash.hexdigest() if ordered else "-")


class Harness:
    def __init__(self, measure, folder):
        self.measure = measure
        self.folder = folder

    def run(self, pipeline, stdin=os.devnull, read_output=False):
        """Runs a pipeline (a list of argument lists). Returns its Cost, and its Answer when the output is read."""
        reports = [os.path.join(self.folder, f"report.{index}") for index in range(len(pipeline))]
        environment = dict(os.environ, LC_ALL="C")
        processes = []
        answer = None
        with tempfile.TemporaryFile(dir=self.folder) as errors, open(os.devnull, "wb") as null:
            busy = busy_seconds()
            start = time.perf_counter()
            source = open(stdin, "rb", buffering=0)  # closed below, like the pipes
            for index, command in enumerate(pipeline):
                last = index == len(pipeline) - 1
                process = subprocess.Popen(
                    [self.measure, reports[index]] + command, env=environment, stdin=source, stderr=errors,
                    stdout=null if last and not read_output else subprocess.PIPE, start_new_session=True)
                source.close()
                source = process.stdout
                processes.append(process)
            try:
                if read_output:
                    answer = Answer().read(source)
                for process in processes:
                    process.wait(TIME_LIMIT_S)
            except BaseException as error:
                self.stop(processes)
                if isinstance(error, subprocess.TimeoutExpired):
                    raise WrongAnswer(f"{describe(pipeline)}: no end within {TIME_LIMIT_S} s") from error
                raise
            wall = time.perf_counter() - start
            busy = busy_seconds() - busy
            errors.seek(0)
            stderr = errors.read().decode("utf-8", "replace")
        return self.cost(pipeline, reports, wall, busy, stderr), answer

    @staticmethod
    def stop(processes):
        for process in processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    @staticmethod
    def cost(pipeline, reports, wall, busy, stderr):
        cpu = 0.0
        peak_mib = 0.0
        for command, path in zip(pipeline, reports):
            try:
                with open(path, encoding="ascii") as report:
                    facts = json.load(report)
                os.unlink(path)
            except (OSError, ValueError) as error:
                raise WrongAnswer(f"{describe(pipeline)}: nothing measured: {stderr[-600:]}") from error
            if facts["status"] != 0:
                raise WrongAnswer(f"{describe([command])}: exit code {facts['status']}: {stderr[-600:]}")
            cpu += (facts["user_us"] + facts["sys_us"]) / 1e6
            peak_mib += facts["peak_kib"] / 1024
        return Cost(wall, cpu, peak_mib, max(0.0, busy - cpu), stderr)


def describe(pipeline):
    return " | ".join(" ".join([os.path.basename(command[0])] + command[1:]) for command in pipeline)


def warm(path):
    """Reads a file once, so that every contestant finds it in memory."""
    with open(path, "rb", buffering=0) as stream:
        while stream.read(8 << 20):
            pass


def read_answer(path):
    with open(path, "rb", buffering=0) as stream:
        return Answer().read(stream)


def durable_write_rate(folder, total=256 << 20, block=1 << 20):
    """MB/s of one process that writes over existing space and waits for the disk after each MiB: the limit of a log."""
    path = os.path.join(folder, "disk-probe")
    payload = os.urandom(block)
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        for offset in range(0, total, block):
            os.pwrite(fd, payload, offset)
        os.fsync(fd)
        start = time.perf_counter()
        for offset in range(0, total, block):
            os.pwrite(fd, payload, offset)
            os.fdatasync(fd)
        return total / (time.perf_counter() - start) / 1e6
    finally:
        os.close(fd)
        os.unlink(path)
