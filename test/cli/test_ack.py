"""--ack-fd: only what the reader has dealt with becomes durable."""

import os
import select
import signal
import subprocess
import time

import cli


class Run:
    """A filter with an acknowledgement pipe."""

    def __init__(self, state, *words, stdin=subprocess.PIPE):
        read, self.ack = os.pipe()
        os.set_inheritable(read, True)
        self.process = cli.start("filter", "--json", *cli.store(state), "--expiry", "forever", "--ack-fd", read,
                                 *words, stdin=stdin, pass_fds=[read])
        os.close(read)

    def say(self, text):
        os.write(self.ack, text)

    def close(self):
        os.close(self.ack)
        self.ack = None

    def end(self):
        if self.ack is not None:
            self.close()
        if self.process.stdin is not None and self.process.stdin.closed:
            self.process.stdin = None
        out, err = self.process.communicate(timeout=cli.TIMEOUT)
        return out, err.decode()


def known(state, *ids):
    """Which of these the store does not know yet."""
    return cli.filter("--format", "lines", *cli.store(state), "--expiry", "forever", stdin=cli.lines(*ids)).out


def test_only_acknowledged_lines_are_known(tmp_path):
    run = Run(tmp_path / "s", "--format", "lines")
    run.process.stdin.write(b"a\nb\na\nc\nd\n")
    run.process.stdin.close()
    assert run.process.stdout.read(8) == b"a\nb\nc\nd\n"
    run.say(b"1\n2\n")
    time.sleep(0.2)
    assert run.process.poll() is None, "waits for the other lines"
    run.say(b"3\n")
    run.close()
    assert run.process.wait(timeout=20) == 0
    assert known(tmp_path / "s", "a", "b", "c", "d") == b"d\n"


def test_all_acknowledged_ends_by_itself(tmp_path):
    run = Run(tmp_path / "s", "--format", "lines")
    run.process.stdin.write(b"a\nb\nb\n")
    run.process.stdin.close()
    assert run.process.stdout.read(4) == b"a\nb\n"
    run.say(b"2\n")
    assert run.process.wait(timeout=20) == 0, "the pipe is still open, but all is said"
    run.end()
    assert known(tmp_path / "s", "a", "b") == b""


def test_nothing_acknowledged_nothing_known(tmp_path):
    run = Run(tmp_path / "s", "--format", "lines")
    run.process.stdin.write(b"a\nb\n")
    run.process.stdin.close()
    assert run.process.stdout.read(4) == b"a\nb\n"
    run.close()
    assert run.process.wait(timeout=20) == 0
    assert known(tmp_path / "s", "a", "b") == b"a\nb\n"


def test_wrong_acknowledgements(tmp_path):
    for number, (text, says) in enumerate([(b"9\n", "only 1 were written"), (b"x\n", "no number"),
                                           (b"1\n0\n", "cannot fall"), (b"1" * 100, "no number")]):
        run = Run(tmp_path / f"s{number}", "--format", "lines")
        run.process.stdin.write(b"a\n")
        run.process.stdin.flush()
        assert run.process.stdout.read(2) == b"a\n"
        run.say(text)
        assert run.process.wait(timeout=20) == 2
        assert says in run.end()[1]
        cli.verify(tmp_path / f"s{number}")


def test_closed_before_the_end_of_the_input(tmp_path):
    run = Run(tmp_path / "s", "--format", "lines")
    run.process.stdin.write(b"a\nb\n")
    run.process.stdin.flush()
    assert run.process.stdout.read(4) == b"a\nb\n"
    run.say(b"1\n")
    run.close()
    time.sleep(0.3)
    run.process.stdin.write(b"c\n")
    run.process.stdin.flush()
    assert run.process.wait(timeout=20) == 3
    assert run.process.stdout.read() == b"", "a line nobody will acknowledge is not written"
    assert known(tmp_path / "s", "a", "b") == b"b\n"


def test_sigterm_waits_for_acknowledgements_only_so_long(tmp_path):
    run = Run(tmp_path / "s", "--format", "lines")
    run.process.stdin.write(b"a\nb\n")
    run.process.stdin.flush()
    assert run.process.stdout.read(4) == b"a\nb\n"
    run.process.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    run.say(b"1\n")
    assert run.process.wait(timeout=30) == -signal.SIGTERM
    assert known(tmp_path / "s", "a", "b") == b"b\n"


def test_the_header_is_a_line(tmp_path):
    run = Run(tmp_path / "s", "--format", "csv")
    run.process.stdin.write(b"id\na\nb\n")
    run.process.stdin.close()
    assert run.process.stdout.read(7) == b"id\na\nb\n"
    run.say(b"2\n")
    run.close()
    assert run.process.wait(timeout=20) == 0
    assert known(tmp_path / "s", "a", "b") == b"b\n"


def test_many_lines_and_a_kill(tmp_path):
    """A reader that acknowledges in steps and dies: what it acknowledged does not come again, all else does."""
    rng = cli.seeded("test_many_lines_and_a_kill")
    total = cli.scaled(400000, 50000)
    source = cli.write(tmp_path, "in.txt", cli.lines(*range(total)))
    dealt = 0
    for turn in range(6):
        run = Run(tmp_path / "s", source, stdin=subprocess.DEVNULL)
        goal = rng.randrange(total // 8)
        seen = got = b""
        while seen.count(b"\n") < goal and (got := run.process.stdout.read1(65536)):
            seen += got
            run.say(b"%d\n" % min(goal, seen.count(b"\n")))
        first = dealt if goal else None
        if seen:
            assert seen.split(b"\n", 1)[0] == b"%d" % first, "goes on where the acknowledgements ended"
        dealt += min(goal, seen.count(b"\n"))
        if turn % 2:
            run.close()
            run.process.stdout.close()
            run.process.wait(timeout=20)
        else:
            time.sleep(0.5)
            cli.kill(run.process)
    rest = cli.filter(*cli.store(tmp_path / "s"), "--expiry", "forever", source).out
    assert rest == cli.lines(*range(dealt, total))


def test_more_lines_than_can_be_open(tmp_path):
    total = 600000
    source = cli.write(tmp_path, "in.txt", cli.lines(*range(total)))
    run = Run(tmp_path / "s", source, stdin=subprocess.DEVNULL)
    count = 0
    while got := run.process.stdout.read1(1 << 20):
        count += got.count(b"\n")
        if count % 3 == 0 or count == total:
            run.say(b"%d\n" % count)
        if count == total:
            break
    assert run.process.wait(timeout=60) == 0
    assert count == total
    run.end()
    assert cli.domain(tmp_path / "s")["ids_held"] == total


def test_duplicates_do_not_wait_for_anybody(tmp_path):
    """More duplicates than can be held back, and a reader that has nothing to acknowledge."""
    total = 300000
    source = cli.write(tmp_path, "in.txt", cli.lines(*range(total)))
    cli.filter(*cli.store(tmp_path / "s"), "--expiry", "forever", source)
    with open(source, "ab") as file:
        file.write(b"new\n")
    for out in (b"new\n", b""):
        run = Run(tmp_path / "s", source, stdin=subprocess.DEVNULL)
        assert run.process.stdout.read(4) == out
        if out:
            run.say(b"1\n")
        assert run.process.wait(timeout=60) == 0
        run.end()
    assert known(tmp_path / "s", "new", "newer") == b"newer\n"


def test_duplicates_behind_an_unacknowledged_line(tmp_path):
    """They wait for it, and that is said."""
    source = cli.write(tmp_path, "in.txt", b"".join(b"a%d\n" % (n % 1000) for n in range(300000)))
    run = Run(tmp_path / "s", source, stdin=subprocess.DEVNULL)
    assert run.process.stdout.read(100)
    ready, _, _ = select.select([run.process.stderr], [], [], cli.TIMEOUT)
    assert ready and b"waiting" in run.process.stderr.readline()
    run.say(b"1000\n")
    assert run.process.wait(timeout=60) == 0
    assert cli.domain(tmp_path / "s")["duplicate"] == 299000
