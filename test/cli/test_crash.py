"""kill -9 at random moments, and what the next run makes of it."""

import collections
import os
import subprocess
import time

import cli


def make_input(rng, count):
    """Records with repeats, some without an id; returns bytes and what must come out, in order."""
    records, seen, kept = [], set(), []
    for n in range(count):
        chance = rng.random()
        if chance < 0.02:
            record, id = b'{"n":%d}' % n, None
        else:
            id = rng.randrange(n // 2 + 1) if chance < 0.3 else n
            record = b'{"id":%d,"n":%d,"pad":"%s"}' % (id, n, b"x" * rng.randrange(60))
        records.append(record)
        if id is None or id not in seen:
            kept.append(record)
        seen.add(id)
    return b"\n".join(records) + b"\n", kept


def run_and_kill(words, after, stdin=None, stdout=subprocess.DEVNULL):
    """Starts a filter and kills it `after` seconds later. True: it had ended by itself."""
    process = cli.start("filter", *words, stdin=stdin or subprocess.DEVNULL, stdout=stdout, stderr=subprocess.DEVNULL)
    try:
        process.wait(timeout=after)
        assert process.returncode == 0
        return True
    except subprocess.TimeoutExpired:
        cli.kill(process)
        return False


def run_time(words):
    start = time.monotonic()
    subprocess.run([cli.BIN, "filter", *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=True)
    return time.monotonic() - start


def test_output_killed_at_random_moments(tmp_path):
    rng = cli.seeded("test_output_killed_at_random_moments")
    killed = 0
    for turn in range(cli.scaled(6, 2)):
        data, kept = make_input(rng, 40000)
        source = cli.write(tmp_path, f"in{turn}.ndjson", data)
        out, dup, verdicts = (tmp_path / f"{name}{turn}" for name in ("out", "dup", "verdicts"))
        state = tmp_path / f"state{turn}"
        words = [*cli.store(state), "--expiry", "forever", "--output", out, "--duplicates", dup, "--verdicts",
                 verdicts, source]
        whole = run_time([*cli.store(tmp_path / f"dry{turn}"), "--expiry", "forever", "--output",
                          tmp_path / f"dry-out{turn}", source])
        for _ in range(40):
            if run_and_kill(words, rng.uniform(0, whole * 0.6)):
                break
            killed += 1
        cli.filter(*words)
        assert cli.read(out).splitlines() == kept, "each message exactly once"
        assert collections.Counter(cli.read(out).splitlines() + cli.read(dup).splitlines()) == \
            collections.Counter(data.splitlines()), "each record in one of the two files"
        assert cli.read(verdicts).count(b"\n") == 40000
        assert cli.filter(*words).summary()["in"] == 0
        cli.verify(state)
    print(f"{killed} kills")
    assert killed >= 3


def test_output_killed_while_the_input_grows_and_comes_by_pipe(tmp_path):
    rng = cli.seeded("test_output_killed_while_the_input_grows_and_comes_by_pipe")
    data, kept = make_input(rng, 30000)
    out, state = tmp_path / "out", tmp_path / "state"
    words = [*cli.store(state), "--expiry", "forever", "--output", out]
    size = 0
    for _ in range(cli.scaled(40, 8)):
        size = min(len(data), size + rng.randrange(len(data) // 20))
        source = cli.write(tmp_path, "in", data[:data.rfind(b"\n", 0, size) + 1])
        cat = subprocess.Popen(["cat", source], stdout=subprocess.PIPE)
        run_and_kill(words, rng.uniform(0, 0.08), stdin=cat.stdout)
        cat.stdout.close()
        cat.wait()
    cli.filter(*words, stdin=data)
    assert cli.read(out).splitlines() == kept


def test_csv_output_killed(tmp_path):
    rng = cli.seeded("test_csv_output_killed")
    rows = [b'%d,"line\nbreak",%d' % (rng.randrange(20000), n) for n in range(40000)]
    seen, kept = set(), []
    for row in rows:
        id = row.split(b",")[0]
        if id not in seen:
            kept.append(row)
        seen.add(id)
    source = cli.write(tmp_path, "in.csv", b"id,text,n\n" + b"\n".join(rows))
    words = [*cli.store(tmp_path / "s"), "--expiry", "forever", "--output", tmp_path / "out", source]
    for _ in range(cli.scaled(20, 4)):
        if run_and_kill(words, rng.uniform(0, 0.06)):
            break
    cli.filter(*words)
    expected = b"id,text,n\n" + b"\n".join(kept)
    got = cli.read(tmp_path / "out")
    assert got == expected or got == expected + b"\n"


def test_stdout_killed_loses_nothing_a_reader_took(tmp_path):
    """A kill may repeat lines; it never makes the store know a line that did not come out."""
    rng = cli.seeded("test_stdout_killed_loses_nothing_a_reader_took")
    data, _ = make_input(rng, 40000)
    ids = {line for line in data.splitlines()}
    source = cli.write(tmp_path, "in.ndjson", data)
    words = [*cli.store(tmp_path / "s"), "--expiry", "forever", source]
    got = b""
    for turn in range(cli.scaled(25, 5)):
        into = tmp_path / f"out{turn}"
        with open(into, "wb") as file:
            done = run_and_kill(words, rng.uniform(0, 0.05), stdout=file)
        got += cli.read(into)
        if not got.endswith(b"\n"):  # torn by the kill: that line is not known, so it comes again
            got = got[: got.rfind(b"\n") + 1]
        if done:
            break
    got += cli.filter(*words).out
    came = {line.split(b',"n"')[0] for line in got.splitlines() if b'"id"' in line}
    assert came == {line.split(b',"n"')[0] for line in ids if b'"id"' in line}, "an id is known whose line never came"
    cli.verify(tmp_path / "s")


def test_lines_in_a_pipe_are_taken_before_their_ids_are_kept(tmp_path):
    """Killed while its reader does not read: what the reader takes afterwards and what comes again is everything."""
    rng = cli.seeded("test_lines_in_a_pipe_are_taken_before_their_ids_are_kept")
    data = cli.lines(*range(100000))
    source = cli.write(tmp_path, "in.txt", data)
    words = [*cli.store(tmp_path / "s"), "--expiry", "forever", source]
    got = b""
    for _ in range(cli.scaled(6, 3)):
        process = cli.start("filter", *words, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        got += process.stdout.read(rng.randrange(1, 300000))
        time.sleep(rng.uniform(0, 0.05))
        cli.kill(process)
        got += process.stdout.read()
        got = got[: got.rfind(b"\n") + 1]
    got += cli.filter(*words).out
    assert set(got.splitlines()) == set(data.splitlines())


def test_first_write_comes_before_the_first_line(tmp_path):
    """A file the store does not know is safe from the first moment on: a crash right after the first lines cuts it
    back to what it was, not to nothing."""
    out = cli.write(tmp_path, "out", b"precious\n")
    words = ["--format", "lines", *cli.store(tmp_path / "s"), "--output", out]
    process = cli.start("filter", *words, stderr=subprocess.DEVNULL)
    process.stdin.write(b"a\n")
    process.stdin.flush()
    cli.wait_until(lambda: cli.read(out) == b"precious\na\n", "no line came")
    cli.kill(process)
    with open(out, "ab") as file:
        file.write(b"torn li")
    cli.filter(*words, stdin=b"a\nb\n")
    assert cli.read(out) == b"precious\na\nb\n"


def test_killed_behind_the_last_write(tmp_path):
    """The bookmark of the end may be missing: the run is then found done, and nothing is written twice."""
    out = tmp_path / "out"
    words = ["--format", "lines", *cli.store(tmp_path / "s"), "--output", out]
    process = cli.start("filter", *words, stderr=subprocess.DEVNULL)
    process.stdin.write(b"a\nb\n")
    process.stdin.flush()
    cli.wait_until(lambda: out.exists() and cli.read(out) == b"a\nb\n", "no lines came")
    time.sleep(0.2)  # the commit follows the line
    cli.kill(process)
    summary = cli.filter(*words, stdin=b"a\nb\n").summary()
    assert summary["in"] == 0 and cli.read(out) == b"a\nb\n"
    assert os.path.getsize(out) == 4
