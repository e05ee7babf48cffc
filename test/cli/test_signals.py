"""Readers that go away, signals, full disks, slow pipes, the progress bar."""

import os
import pty
import re
import resource
import select
import signal
import subprocess
import time

import pytest

import cli


def read_exactly(fd, count):
    """So many bytes and not one more, so that nothing is left in a buffer of ours."""
    got = b""
    while len(got) < count and (more := os.read(fd, count - len(got))):
        got += more
    return got


def test_sigpipe(tmp_path):
    """Ends as SIGPIPE does. Lost is at most what stood in the pipes; all else was taken or comes again."""
    source = cli.write(tmp_path, "in.txt", cli.lines(*range(cli.scaled(200000, 50000))))
    words = [*cli.store(tmp_path / "s"), "--expiry", "forever", source]
    got, turns = b"", 3
    for _ in range(turns):
        process = cli.start("filter", *words, stderr=subprocess.DEVNULL, bufsize=0)
        got += read_exactly(process.stdout.fileno(), 50001)
        got = got[: got.rfind(b"\n") + 1]
        process.stdout.close()
        process.wait(timeout=cli.TIMEOUT)
        assert process.returncode == -signal.SIGPIPE
        cli.verify(tmp_path / "s")
    rest = cli.filter(*words).out
    lost = set(cli.read(source).splitlines()) - set((got + rest).splitlines())
    assert sum(len(line) + 1 for line in lost) <= turns * (65536 + 16)


def test_sigpipe_in_a_shell(tmp_path):
    source = cli.write(tmp_path, "in.txt", cli.lines(*range(300000)))
    result = subprocess.run(["bash", "-c", f"{cli.BIN} filter {source} 2>/dev/null | head -1; echo ${{PIPESTATUS[0]}}"],
                            capture_output=True, text=True, check=True)
    assert result.stdout == "0\n141\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_run_in_order(number, tmp_path):
    process = cli.start("filter", "--format", "lines", *cli.store(tmp_path / "s"))
    process.stdin.write(b"a\nb\nunfinished")
    process.stdin.flush()
    assert process.stdout.read(4) == b"a\nb\n"
    process.send_signal(number)
    assert process.wait(timeout=20) == -number
    assert process.stdout.read() == b""
    assert "stopping" in process.stderr.read().decode()
    cli.verify(tmp_path / "s")
    assert cli.filter("--format", "lines", *cli.store(tmp_path / "s"), stdin=b"a\nb\nc\n").out == b"c\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_an_ignored_signal_stays_ignored(number, tmp_path):
    """As under nohup, or in the background of a script."""
    process = cli.start("filter", "--format", "lines", preexec_fn=lambda: signal.signal(number, signal.SIG_IGN))
    process.stdin.write(b"a\n")
    process.stdin.flush()
    assert process.stdout.read(2) == b"a\n"
    process.send_signal(number)
    process.send_signal(number)
    time.sleep(0.3)
    out, err = process.communicate(b"b\n", timeout=20)
    assert process.returncode == 0 and out == b"b\n" and b"stopping" not in err


@pytest.mark.parametrize("output", [[], ["--output"]])
def test_a_fifo_that_nobody_writes(output, tmp_path):
    """The first signal ends the wait, also where the input is looked at first."""
    os.mkfifo(tmp_path / "fifo")
    words = [*cli.store(tmp_path / "s"), *output, *([tmp_path / "out"] if output else [])]
    process = cli.start("filter", "--format", "lines", *words, tmp_path / "fifo")
    cli.wait_until(lambda: (tmp_path / "s").exists(), "it did not start")
    time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    try:
        assert process.wait(timeout=20) == -signal.SIGTERM
    finally:
        process.kill()
        process.communicate()


def test_a_fifo_that_is_written_later(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    process = cli.start("filter", "--format", "lines", tmp_path / "fifo")
    time.sleep(0.3)
    with open(tmp_path / "fifo", "wb") as fifo:
        fifo.write(b"a\nb\n")
        fifo.flush()
        assert process.stdout.read(4) == b"a\nb\n"
        time.sleep(0.2)
        fifo.write(b"a\nc")
    assert process.communicate(timeout=20)[0] == b"c" and process.returncode == 0


@pytest.mark.parametrize("option", ["--output", "--duplicates", "--verdicts"])
def test_a_fifo_that_nobody_reads(option, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    result = cli.run("filter", "--format", "lines", option, tmp_path / "fifo", stdin=b"a\n", timeout=20)
    assert result.code == 2 and result.out == b""
    assert "fifo: nobody reads from it" in result.text


def test_a_side_fifo_with_a_slow_reader(tmp_path):
    """It is opened without waiting, but what is written to it does wait: every byte comes."""
    os.mkfifo(tmp_path / "fifo")
    data = cli.lines(*range(50000))
    reader = subprocess.Popen(["sh", "-c", f"exec <{tmp_path}/fifo; sleep 1; cat >{tmp_path}/got"])
    time.sleep(0.2)
    process = subprocess.Popen(["sh", "-c", f"exec 9<>{tmp_path}/fifo; exec {cli.BIN} filter --format lines "
                                f"--duplicates {tmp_path}/fifo 9<&-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    out, err = process.communicate(data + data, timeout=cli.TIMEOUT)
    assert process.returncode == 0, err
    assert reader.wait(timeout=20) == 0
    assert out == data and cli.read(tmp_path / "got") == data


def test_sigterm_while_output_is_written(tmp_path):
    source = cli.write(tmp_path, "in.txt", cli.lines(*range(2000000)))
    words = [*cli.store(tmp_path / "s"), "--expiry", "forever", "--output", tmp_path / "out", source]
    process = cli.start("filter", *words)
    cli.wait_until(lambda: (tmp_path / "out").exists() and os.path.getsize(tmp_path / "out") > 0, "no line came")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode in (-signal.SIGTERM, 0)
    size = os.path.getsize(tmp_path / "out")
    result = cli.run("filter", *words)
    assert result.code == 0 and "is cut" not in result.text, "an orderly end leaves nothing to cut"
    assert cli.read(tmp_path / "out") == cli.read(source) and size > 0


def test_a_second_signal_ends_at_once(tmp_path):
    source = cli.write(tmp_path, "in.txt", cli.lines(*range(1000000)))
    process = cli.start("filter", *cli.store(tmp_path / "s"), source)
    process.stdout.read(1)  # and no more: the writer is stuck
    time.sleep(0.2)
    process.send_signal(signal.SIGTERM)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=0.5)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=20) == -signal.SIGTERM
    process.stdout.close()
    cli.verify(tmp_path / "s")


def test_a_full_device_as_stdout(tmp_path):
    for options in ([], cli.store(tmp_path / "s")):
        with open("/dev/full", "wb") as full:
            result = subprocess.run([cli.BIN, "filter", "--format", "lines", *options], input=b"a\nb\n", stdout=full,
                                    stderr=subprocess.PIPE, check=False)
        assert result.returncode == 3
        assert b"stdout: No space left on device" in result.stderr
    cli.verify(tmp_path / "s")
    assert cli.filter("--format", "lines", *cli.store(tmp_path / "s"), stdin=b"a\nb\n").out == b"a\nb\n"
    for words in (["verify"], ["stat"], ["dump"], ["explain", "a"], ["explain", "not known"], ["verify", "--json"]):
        with open("/dev/full", "wb") as full:
            result = subprocess.run([cli.BIN, *words, "--store", tmp_path / "s"], stdout=full, stderr=subprocess.PIPE,
                                    check=False)
        assert result.returncode == 3 and result.stderr.count(b"stdout: No space left on device") == 1, words


def test_s001_a_file_that_may_not_grow(tmp_path):
    """RLIMIT_FSIZE stands for a full disk under FILE only: what came out whole is known, the rest comes again."""
    source = cli.write(tmp_path, "in.txt", cli.lines(*range(1000000)))
    out = tmp_path / "out"
    words = [*cli.store(tmp_path / "s"), "--expiry", "forever", "--output", out, source]
    limit = 5 << 20
    process = cli.start("filter", *words, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    _, err = process.communicate(timeout=cli.TIMEOUT)
    assert process.returncode == 3, err
    assert b"File too large" in err
    cli.verify(tmp_path / "s")
    cli.filter(*words)
    assert cli.read(out) == cli.read(source)


@pytest.mark.parametrize("closed,code,says", [("<&-", 2, "stdin: Bad file descriptor"),
                                              (">&-", 3, "stdout: Bad file descriptor"), ("2>&-", 0, "")])
def test_closed_standard_files(closed, code, says, tmp_path):
    """A file of the store must never stand where stdout was."""
    words = " ".join(["filter", "--format", "lines", *cli.store(tmp_path / "s")])
    into = f"echo a | {cli.BIN} {words} {closed}" if closed != "<&-" else f"{cli.BIN} {words} {closed}"
    result = subprocess.run(["bash", "-c", into], capture_output=True, text=True, check=False)
    assert result.returncode == code and says in result.stderr
    cli.verify(tmp_path / "s")
    assert cli.filter("--format", "lines", *cli.store(tmp_path / "s"),
                      stdin=b"a\nb\n").out == (b"b\n" if code == 0 else b"a\nb\n")


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 8 MiB, where the machine lets us mount one."""
    where = tmp_path / "disk"
    where.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", where], capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"no right to mount: {done.stderr.decode().strip()}")
    yield where
    subprocess.run(["umount", where], check=False)


@pytest.mark.parametrize("what", ["output", "store", "both"])
def test_a_full_disk(small_disk, tmp_path, what):
    source = cli.write(tmp_path, "in.txt", cli.lines(*(f"{n:030d}" for n in range(1000000))))
    state = (small_disk if what != "output" else tmp_path) / "state"
    out = (small_disk if what != "store" else tmp_path) / "out"
    words = ["--store", state, "--durability", "process", "--expiry", "forever", "--output", out, source]
    result = cli.run("filter", *words)
    assert result.code == 3, result.text
    assert re.search("(?i)no space|full", result.text), result.text
    cli.verify(state)
    # room comes back: the rest follows, nothing is lost and nothing comes twice
    subprocess.run(["mount", "-o", "remount,size=600m", small_disk], check=True)
    result = cli.run("filter", *words)
    assert result.code == 0, result.text
    assert cli.read(out) == cli.read(source)


def test_each_line_is_shown_at_once(tmp_path):
    for options in ([], cli.store(tmp_path / "s")):
        process = cli.start("filter", "--format", "lines", *options)
        for n in range(20):
            process.stdin.write(b"line %d\nline %d\n" % (n, n))
            process.stdin.flush()
            ready, _, _ = select.select([process.stdout], [], [], 10)
            assert ready, "a line is held back"
            assert process.stdout.read1() == b"line %d\n" % n
        process.communicate()
        assert process.returncode == 0


def test_a_trickle_is_remembered_line_by_line(tmp_path):
    process = cli.start("filter", "--format", "lines", *cli.store(tmp_path / "s"), stderr=subprocess.DEVNULL)
    process.stdin.write(b"a\n")
    process.stdin.flush()
    assert process.stdout.read(2) == b"a\n"
    time.sleep(1)
    cli.kill(process)
    assert cli.filter("--format", "lines", *cli.store(tmp_path / "s"), stdin=b"a\nb\n").out == b"b\n"


def on_terminal(words, feed):
    """Runs with stderr on a terminal of its own; returns what it showed."""
    primary, secondary = pty.openpty()
    process = cli.start(*words, stderr=secondary, stdout=subprocess.DEVNULL)
    os.close(secondary)
    shown = b""
    for chunk, pause in feed:
        process.stdin.write(chunk)
        process.stdin.flush()
        time.sleep(pause)
    process.stdin.close()
    while True:
        try:
            more = os.read(primary, 65536)
        except OSError:
            break
        if not more:
            break
        shown += more
    os.close(primary)
    assert process.wait(timeout=20) == 0
    return shown


def test_progress_on_a_terminal():
    shown = on_terminal(["filter", "--format", "lines"], [(cli.lines(*range(1000)), 1.6)])
    assert b"1,000 records" in shown and b"/s" in shown and b"\r\x1b[K" in shown
    assert b"1,000 records in, 1,000 out" in shown.split(b"\x1b[K")[-1]
    quick = on_terminal(["filter", "--format", "lines"], [(b"a\n", 0)])
    assert b"records  " not in quick, "no bar for a short run"


def test_progress_with_a_known_size(tmp_path):
    """Of regular files the part that is done is shown; the run is slowed down by its reader."""
    source = cli.write(tmp_path, "in.txt", cli.lines(*range(1500000)))
    primary, secondary = pty.openpty()
    process = cli.start("filter", source, stderr=secondary, stdin=subprocess.DEVNULL)
    os.close(secondary)
    time.sleep(1.7)
    process.stdout.read()
    process.wait(timeout=60)
    shown = os.read(primary, 65536)
    os.close(primary)
    assert re.search(rb"\[=*>? *\] +\d+ %", shown) and b" of " in shown and b"left" in shown


def test_no_progress_where_there_is_no_terminal():
    process = cli.start("filter", "--format", "lines")
    process.stdin.write(b"a\n")
    process.stdin.flush()
    time.sleep(1.5)
    out, err = process.communicate()
    assert out == b"a\n" and b"\r" not in err and b"\x1b" not in err
