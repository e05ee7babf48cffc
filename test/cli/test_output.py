"""--output, resumption, side files, --observe, headers."""

import json
import os
import stat
import subprocess

import pytest

import cli


class Place:
    """A folder with a store and an output file, and a way to run a filter into it."""

    def __init__(self, folder):
        self.folder = folder
        self.state = folder / "state"
        self.out = folder / "out"
        self.forever = ["--expiry", "forever"]

    def filter(self, *words, **more):
        return cli.filter("--format", "lines", *cli.store(self.state), "--output", self.out, *words, **more)

    def text(self):
        return cli.read(self.out)


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


# ---- without a store: replaced


def test_plain_output_replaces(tmp_path):
    out = cli.write(tmp_path, "out", b"old\n")
    os.chmod(out, 0o640)
    cli.filter("--format", "lines", "--output", out, stdin=b"a\na\nb")
    assert cli.read(out) == b"a\nb"
    assert stat.S_IMODE(os.stat(out).st_mode) == 0o640
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("words,stdin,code", [(["--id", "zz"], b"id\n1\n", 2),
                                              (["--time", "id"], b"id\n", 2)])
def test_plain_output_survives_a_failed_run(words, stdin, code, tmp_path):
    out = cli.write(tmp_path, "out", b"old\n")
    source = cli.write(tmp_path, "in.csv", stdin)
    words = words if code == 2 and words[0] == "--id" else [*words, "--id", "nope"]
    cli.filter("--output", out, *words, source, code=code)
    assert cli.read(out) == b"old\n"
    assert sorted(os.listdir(tmp_path)) == ["in.csv", "out"]


def test_plain_output_of_a_run_that_ends_at_a_bad_record(tmp_path):
    out = cli.write(tmp_path, "out", b"old\n")
    cli.filter("--output", out, stdin=b'{"id":1}\nbad\n', code=1)
    assert cli.read(out) == b'{"id":1}\n'


def test_plain_output_may_be_its_own_input(tmp_path):
    both = cli.write(tmp_path, "f.txt", b"a\na\n")
    cli.filter("--output", both, both)
    assert cli.read(both) == b"a\n"


def test_output_through_a_link(tmp_path):
    target = cli.write(tmp_path, "target", b"")
    os.symlink(target, tmp_path / "link")
    cli.filter("--format", "lines", "--output", tmp_path / "link", stdin=b"a\n")
    assert os.path.islink(tmp_path / "link") and cli.read(target) == b"a\n"


def test_output_that_is_no_file(tmp_path):
    assert cli.filter("--format", "lines", "--output", "/dev/null", stdin=b"a\n").out == b""
    result = cli.filter("--format", "lines", *cli.store(tmp_path / "s"), "--output", "/dev/null", stdin=b"a\n", code=2)
    assert "regular file" in result.text
    assert "Is a directory" in cli.filter("--output", tmp_path, code=2).text
    assert "No such file" in cli.filter("--output", tmp_path / "no" / "file", code=2).text


# ---- with a store


def test_resumption_of_the_same_input(place):
    source = cli.write(place.folder, "in.txt", b"a\nb\na\n")
    first = place.filter(source)
    assert first.summary()["in"] == 3 and place.text() == b"a\nb\n"
    again = cli.run("filter", *cli.store(place.state), "--output", place.out, source)
    assert again.code == 0 and "3 records" in again.text and "skipped" in again.text
    assert place.filter(source).summary()["in"] == 0
    assert place.text() == b"a\nb\n"


def test_grown_input_goes_on(place):
    source = cli.write(place.folder, "in.txt", b"a\nb\n")
    place.filter(source)
    with open(source, "ab") as file:
        file.write(b"b\nc\n")
    result = place.filter("--duplicates", place.folder / "dup", source)
    assert result.summary()["in"] == 2 and result.summary()["resumed_records"] == 2
    assert place.text() == b"a\nb\nc\n"
    assert cli.read(place.folder / "dup") == b"b\n"


@pytest.mark.parametrize("grown,out", [(b"a\nb", b"a\nb"), (b"a\nb\n", b"a\nb"), (b"a\nb\r\nc\n", b"a\nb\nc\n"),
                                       (b"a\nbb\n", b"a\nb\nbb\n"), (b"a\nb\nb\nc", b"a\nb\nc")])
def test_growing_behind_a_record_without_an_end(place, grown, out):
    """The last record had no line end; what follows may end it, or make another record of it."""
    source = cli.write(place.folder, "in.txt", b"a\nb")
    place.filter(source)
    assert place.text() == b"a\nb"
    cli.write(place.folder, "in.txt", grown)
    place.filter(source)
    assert place.text() == out


@pytest.mark.parametrize("words,head,record,other", [
    ([], b"", b"abc", b"d"), (["--format", "csv"], b"id,x\n", b"7,b", b"8,b"),
    (["--format", "csv"], b"id,x\n", b",b", b",b"), (["--format", "ndjson"], b"", b'{"no":"id"}', b'{"no":"id"}'),
    (["--format", "ndjson"], b"", b'{"id":1}', b'{"id":2}')])
def test_growing_between_cr_and_lf(place, words, head, record, other):
    """The input ended in CR, half a line end: what follows is the other half, not another record."""
    source = cli.write(place.folder, "in", head + record + b"\r")
    place.filter(*words, source)
    out = head + record + b"\r"
    assert place.text() == out
    for grown in (b"\r", b"\r\n"):
        cli.write(place.folder, "in", head + record + grown)
        assert place.filter(*words, source).summary()["in"] == 0
        assert place.text() == out
    cli.write(place.folder, "in", head + record + b"\r\n" + other + b"\r\n")
    assert place.filter(*words, source).summary()["in"] == 1
    assert place.text() == out + b"\n" + other + b"\r\n"


def test_growing_byte_by_byte(place):
    """Whichever part of its line end a record had when it was judged, it is one record."""
    for grown in (b"a\nabc", b"a\nabc\r", b"a\nabc\r", b"a\nabc\r\n", b"a\nabc\r\n\r", b"a\nabc\r\n\r\nb"):
        place.filter("--id-pattern", "[a-c]+", cli.write(place.folder, "in.txt", grown))
    assert place.text() == b"a\nabc\n\r\nb"


def test_records_without_id_are_not_repeated_by_a_resumption(place):
    source = cli.write(place.folder, "in.txt", b"\nx\n\n\ny")
    words = ["--id-pattern", "[a-z]"]
    place.filter(*words, source)
    place.filter(*words, source)
    assert place.text() == b"\nx\n\n\ny"
    with open(source, "ab") as file:
        file.write(b"\n\n")
    place.filter(*words, source)
    assert place.text() == b"\nx\n\n\ny\n\n"


@pytest.mark.parametrize("how", ["file", "pipe", "several"])
def test_other_input_is_judged_from_its_start(place, how):
    first = b"".join(b"%d\n" % n for n in range(5000))
    cases = {"changed late": first[:-5] + b"zzzz\n", "changed early": b"z" + first[1:] + b"q\n",
             "shorter": first[: first.rindex(b"\n", 0, 1000) + 1]}
    expected = set(first.splitlines())

    def go(data):
        if how == "pipe":
            return place.filter(stdin=data)
        cut = len(data) // 2 if how == "several" else 0
        cut = data.rindex(b"\n", 0, cut) + 1 if cut else 0
        files = [cli.write(place.folder, "1.txt", data[:cut]), cli.write(place.folder, "2.txt", data[cut:])]
        return place.filter(*files)

    assert go(first).summary()["in"] == 5000
    for name, data in cases.items():
        summary = go(data).summary()
        assert summary["in"] == data.count(b"\n"), name
        expected |= set(data.splitlines())
        assert sorted(place.text().splitlines()) == sorted(expected), name
        assert go(data).summary()["in"] == 0, name


def test_a_pipe_is_recognised(place):
    data = b"".join(b"%d\n" % n for n in range(100000))
    place.filter(stdin=data)
    assert place.filter(stdin=data + b"new\n").summary()["in"] == 1
    assert place.text() == data + b"new\n"


def test_another_selection_is_another_input(place):
    source = cli.write(place.folder, "in.txt", b"a 1\nb 1\n")
    place.filter("--delimiter", " ", "--id", "1", source)
    assert place.filter("--delimiter", " ", "--id", "2", source).summary()["in"] == 2
    assert place.filter("--delimiter", " ", "--id", "2", "--domain", "other", source).summary()["in"] == 2


def test_again(place):
    source = cli.write(place.folder, "in.txt", b"a\nb\n")
    place.filter(source)
    result = place.filter("--again", source)
    assert result.summary()["in"] == 2 and result.summary()["duplicate"] == 2
    assert place.text() == b"a\nb\n"


def test_unknown_file_is_appended_to(place):
    cli.write(place.folder, "out", b"mine, without an end")
    place.filter(stdin=b"a\n")
    assert place.text() == b"mine, without an end\na\n"


def test_shorter_or_longer_than_recorded_is_refused(place):
    source = cli.write(place.folder, "in.txt", b"a\nb\n")
    place.filter(source)
    for data, says in ((b"a\n", "cut or replaced"), (b"a\nb\nx\n", "something else wrote")):
        cli.write(place.folder, "out", data)
        result = place.filter(source, code=3)
        assert says in result.text
        assert place.text() == data
    os.unlink(place.out)
    assert "cut or replaced" in place.filter(source, code=3).text
    assert not place.out.exists()


def test_output_in_use(place):
    process = cli.start("filter", "--format", "lines", *cli.store(place.state), "--output", place.out)
    process.stdin.write(b"a\n")
    process.stdin.flush()
    cli.wait_until(lambda: place.out.exists() and place.text() == b"a\n", "no line came")
    result = cli.filter("--format", "lines", *cli.store(place.folder / "other"), "--output", place.out, code=4)
    assert "in use" in result.text
    process.communicate()
    assert process.returncode == 0


def test_two_outputs_of_one_store(place):
    """What is known is known, whichever file the first copy went to."""
    source = cli.write(place.folder, "in.txt", b"a\nb\n")
    place.filter(source)
    other = place.folder / "other"
    cli.filter("--format", "lines", *cli.store(place.state), "--output", other, source)
    assert cli.read(other) == b"" and place.text() == b"a\nb\n"


def test_csv_header_only_into_an_empty_file(place):
    one = cli.write(place.folder, "1.csv", b"id,x\n1,a\n")
    two = cli.write(place.folder, "2.csv", b"id,x\n1,b\n2,b\n")
    words = [*cli.store(place.state), "--output", place.out]
    cli.filter(*words, one)
    cli.filter(*words, two)
    assert place.text() == b"id,x\n1,a\n2,b\n"
    with open(two, "ab") as file:
        file.write(b"3,c\n")
    assert cli.filter(*words, two).summary()["in"] == 1
    assert cli.filter(*words, two, two).summary()["in"] == 3
    assert place.text() == b"id,x\n1,a\n2,b\n3,c\n"


def test_a_fixed_record_is_taken_up(place):
    """The run ends at a bad record; once it is mended the same command goes on there."""
    words = [*cli.store(place.state), "--output", place.out]
    source = cli.write(place.folder, "in.ndjson", b'{"id":1}\n{"id":2\n{"id":3}\n')
    result = cli.filter(*words, source, code=1)
    assert f"{source}:2:" in result.text
    cli.write(place.folder, "in.ndjson", b'{"id":1}\n{"id":2}\n{"id":x}\n')
    result = cli.filter(*words, source, code=1)
    assert f"{source}:3:" in result.text and place.text() == b'{"id":1}\n{"id":2}\n'


# ---- side files and observing


def test_s108_duplicates_and_verdicts(tmp_path):
    batch = [f"id{n % 900}" for n in range(1000)]
    dup, verdicts = tmp_path / "dup", tmp_path / "v"
    result = cli.filter("--format", "lines", "--duplicates", dup, "--verdicts", verdicts, stdin=cli.lines(*batch))
    assert result.summary() | {"seconds": 0} == {"in": 1000, "out": 900, "new": 900, "duplicate": 100, "unchecked": 0,
                                                 "stale": 0, "invalid": 0, "seconds": 0, "ids_held": 900, "sources": 1}
    assert cli.read(dup) == cli.lines(*batch[900:])
    rows = [json.loads(line) for line in cli.read(verdicts).splitlines()]
    assert [row["n"] for row in rows] == list(range(1, 1001))
    assert [row["verdict"] for row in rows] == ["new"] * 900 + ["duplicate"] * 100
    assert rows[950]["id"] == "id50" and rows[950]["age_ms"] >= 0


def test_verdicts_of_every_kind(tmp_path):
    verdicts = tmp_path / "v"
    cli.filter("--invalid", "drop", "--missing", "drop", "--duplicates", tmp_path / "d", "--verdicts", verdicts,
               "--time", "/t", stdin=b'{"id":1,"t":5}\n{"t":6}\nbad\n{"id":1,"t":9}\n')
    rows = [json.loads(line) for line in cli.read(verdicts).splitlines()]
    assert rows == [{"n": 1, "verdict": "new", "id": "1", "age_ms": 0}, {"n": 2, "verdict": "unchecked"},
                    {"n": 3, "verdict": "invalid"}, {"n": 4, "verdict": "duplicate", "id": "1", "age_ms": 4}]
    assert cli.read(tmp_path / "d") == b'{"t":6}\nbad\n{"id":1,"t":9}\n'


def test_s109c_observe(tmp_path):
    data = b"a\na\n\nb\n\n"
    words = ["--format", "lines", *cli.store(tmp_path / "s"), "--observe", "--missing", "drop", "--duplicates",
             tmp_path / "d"]
    for duplicates in (1, 3):
        result = cli.filter(*words, stdin=data)
        assert result.out == data and result.summary()["duplicate"] == duplicates
    assert cli.read(tmp_path / "d") == b""
    assert "nothing dropped" in cli.run("filter", *words, stdin=data).text


def test_side_files_with_a_store_are_appended_to(tmp_path):
    words = ["--format", "lines", *cli.store(tmp_path / "s"), "--duplicates", tmp_path / "d"]
    for expected in (b"", b"a\n", b"a\na\n"):
        cli.filter(*words, stdin=b"a\n")
        assert cli.read(tmp_path / "d") == expected


def test_the_summary_in_words():
    result = cli.run("filter", "--format", "lines", stdin=cli.lines(*range(1234), *range(1234)))
    assert result.code == 0
    assert "2,468 records in, 1,234 out" in result.text
    assert "new 1,234, duplicate 1,234" in result.text
    assert "expiry forever" in result.text and "--max-memory" in result.text


def test_stdout_to_a_file_appends_as_the_shell_says(tmp_path):
    out = cli.write(tmp_path, "out", b"before\n")
    with open(out, "ab") as file:
        subprocess.run([cli.BIN, "filter", "--format", "lines", *cli.store(tmp_path / "s")], input=b"a\na\n",
                       stdout=file, stderr=subprocess.DEVNULL, check=True)
    assert cli.read(out) == b"before\na\n"
