"""Formats, identity, and everything that can be wrong with an input."""

import json
import subprocess
import threading

import pytest

import cli


def bad(data, *options, says, code=1, out=b""):
    result = cli.filter(*options, stdin=data, code=code)
    assert result.out == out
    for text in [says] if isinstance(says, str) else says:
        assert text in result.text, result.text
    return result


# ---- what an id is


def test_numbers_and_texts_are_the_same_id():
    data = b'{"id":1}\n{"id":"1"}\n{"id":1.0}\n{"id":true}\n{"id":"true"}\n{"id":"\\u0031"}\n'
    assert cli.filter(stdin=data).out == b'{"id":1}\n{"id":1.0}\n{"id":true}\n'


def test_s055_missing_empty_and_blank_ids():
    data = b'{"a":1}\n{"id":null}\n{"id":""}\n{"id":""}\n{"id":" "}\n{"id":" "}\n{"id":"\\u0000"}\n{"id":"\\u0000"}\n'
    result = cli.filter(stdin=data)
    assert result.summary()["unchecked"] == 4
    assert result.summary()["new"] == 2 and result.summary()["duplicate"] == 2
    assert result.out == data[: data.index(b'{"id":" "}')] + b'{"id":" "}\n{"id":"\\u0000"}\n'
    dropped = cli.filter("--missing", "drop", stdin=data)
    assert dropped.out == b'{"id":" "}\n{"id":"\\u0000"}\n'
    assert dropped.summary()["unchecked"] == 4


def test_missing_fail_names_the_line(tmp_path):
    source = cli.write(tmp_path, "in.ndjson", b'{"id":1}\n{"x":2}\n{"id":3}\n')
    result = cli.filter("--missing", "fail", source, code=1)
    assert result.out == b'{"id":1}\n'
    assert f"{source}:2: no id" in result.text


@pytest.mark.parametrize("value", ["{}", "[]", '{"a":1}', "[1]"])
def test_object_and_array_ids_are_invalid(value):
    bad(b'{"id":%s}\n' % value.encode(), says="stdin:1:7")


def test_s056_odd_bytes_go_through_unchanged():
    odd = [b"\xff\xfe", b"a\rb", b"nul\0nul", "ünï\U0001f600".encode(), b"\xc3", b"tab\t", b" "]
    data = b"".join(line + b"\n" for line in odd + odd)
    assert cli.filter("--format", "lines", stdin=data).out == b"".join(line + b"\n" for line in odd)
    csv = b"id,x\n" + b"".join(b"%d,\"%s\"\n" % (i, line) for i, line in enumerate(odd)) * 2
    assert cli.filter("--format", "csv", stdin=csv).out == csv[: 5 + (len(csv) - 5) // 2]


def test_s056_verdicts_show_odd_ids_as_hex(tmp_path):
    verdicts = tmp_path / "v"
    cli.filter("--format", "lines", "--verdicts", verdicts, stdin=b"\xff\x00\n\"\\\x01\n\xff\x00\n")
    rows = [json.loads(line) for line in cli.read(verdicts).decode().splitlines()]
    assert rows[0] == {"n": 1, "verdict": "new", "id_hex": "ff00", "age_ms": 0}
    assert rows[1]["id"] == '"\\\x01'
    assert rows[2]["verdict"] == "duplicate"


@pytest.mark.parametrize("length,code", [(4096, 0), (4097, 1)])
def test_long_ids(length, code):
    line = b"x" * length + b"\n"
    result = cli.filter("--format", "lines", stdin=line, code=code)
    assert result.out == (line if code == 0 else b"")
    record = json.dumps({"id": "y" * length}).encode() + b"\n"
    result = cli.filter(stdin=record, code=code)
    assert result.out == (record if code == 0 else b"")
    if code:
        assert "4,096" in result.text or "4096" in result.text


def test_composite_ids():
    data = b"a,b,c\n1,23,x\n12,3,x\n1,23,y\n,,n\n,,n\n1,,m\n1,,m\n"
    result = cli.filter("--format", "csv", "--id", "a", "--id", "b", stdin=data)
    assert result.out == b"a,b,c\n1,23,x\n12,3,x\n,,n\n,,n\n1,,m\n"
    assert result.summary()["unchecked"] == 2
    parts = b'{"m":"a","n":1}\n{"m":"a"}\n{"m":"a","n":null}\n{"n":1}\n{}\n'
    result = cli.filter("--id", "/m", "--id", "/n", stdin=parts)
    assert result.summary()["new"] == 3 and result.summary()["duplicate"] == 1 and result.summary()["unchecked"] == 1


def test_pointers_with_escapes_and_depth():
    data = b'{"a/b":{"m~n":[{"id":7}]}}\n{"a/b":{"m~n":[{"id":"7"}]}}\n'
    assert cli.filter("--id", "/a~1b/m~0n/0/id", stdin=data).summary()["duplicate"] == 1


def test_twice_on_the_path_and_lone_surrogate_are_invalid():
    bad(b'{"id":1,"id":2}\n', says="stdin:1:")
    bad(b'{"id":"\\ud800"}\n', says="stdin:1:")
    assert cli.filter(stdin=b'{"x":1,"x":2,"id":1}\n').summary()["new"] == 1


def test_fields_and_patterns():
    data = b"k=1 a\nk=1 b\nk=2 a\n"
    assert cli.filter("--format", "lines", "--id", "1", "--delimiter", " ", stdin=data).out == b"k=1 a\nk=2 a\n"
    assert cli.filter("--format", "lines", "--id-pattern", r"k=(\d)", stdin=data).out == b"k=1 a\nk=2 a\n"
    assert cli.filter("--format", "lines", "--id-pattern", r"[ab]$", stdin=data).out == b"k=1 a\nk=1 b\n"


def test_source_and_window():
    data = b'{"s":"A","id":1}\n{"s":"A","id":2}\n' + b"".join(b'{"s":"B","id":"b%d"}\n' % i for i in range(9))
    words = ["--window", "2", "--expiry", "0ms"]
    kept = cli.filter("--source", "/s", *words, stdin=data + b'{"s":"A","id":1}\n')
    assert kept.summary()["duplicate"] == 1 and kept.summary()["sources"] == 2
    assert cli.filter(*words, stdin=data + b'{"s":"A","id":1}\n').summary()["duplicate"] == 0


def test_times():
    data = b"t,id\n0,a\n100,b\n111,c\n112,a\n"  # W = 1: a leaves at 100, c pushes b out at 111: 111 - 0 is not yet compared
    result = cli.filter("--format", "csv", "--id", "id", "--time", "t", "--window", "1", "--expiry", "10ms", stdin=data)
    assert result.summary()["new"] == 4
    rfc = b"t,id\n2024-01-01T00:00:00Z,a\n2024-01-01 00:00:01,b\n2024-01-01T01:00:00+01:00,a\n"
    assert cli.filter("--format", "csv", "--id", "id", "--time", "t", stdin=rfc).summary()["duplicate"] == 1
    seconds = b"t,id\n1.5,a\n1.25,a\n"  # going backwards is raised to the last time
    assert cli.filter("--format", "csv", "--id", "id", "--time", "t", "--time-unit", "s",
                      stdin=seconds).summary()["duplicate"] == 1


@pytest.mark.parametrize("time", [b"", b"yesterday", b"2024-13-01T00:00:00Z", b"1e400", b"9007199254740993000"])
def test_unreadable_times_are_invalid(time):
    bad(b"t,id\n" + time + b",a\n", "--format", "csv", "--id", "id", "--time", "t", says="stdin:2", out=b"t,id\n")


# ---- what is wrong with an input


def test_empty_inputs(tmp_path):
    for options in ([], ["--format", "csv"], ["--format", "lines"], ["-z", "--format", "lines"]):
        assert cli.filter(*options).out == b""
    empty = cli.write(tmp_path, "e.csv", b"")
    full = cli.write(tmp_path, "f.csv", b"id\n1\n1\n")
    assert cli.filter(empty, full, empty).out == b"id\n1\n"
    assert cli.filter(empty).summary()["in"] == 0


def test_no_last_newline_and_several_files(tmp_path):
    one = cli.write(tmp_path, "1.txt", b"a\nb")
    two = cli.write(tmp_path, "2.txt", b"a\nc")
    assert cli.filter(one).out == b"a\nb"
    assert cli.filter(one, two).out == b"a\nb\nc"
    assert cli.filter(two, one, two).out == b"a\nc\nb\n"
    assert cli.filter("--format", "lines", one, "-", stdin=b"x").out == b"a\nb\nx"
    assert cli.filter("-z", "--format", "lines", stdin=b"a\0b").out == b"a\0b"


def test_crlf():
    data = b"a\r\nb\r\na\n\rc\r\n"
    assert cli.filter("--format", "lines", stdin=data).out == b"a\r\nb\r\n\rc\r\n"
    assert cli.filter(stdin=b'{"id":1}\r\n{"id":1}\n').out == b'{"id":1}\r\n'


@pytest.mark.parametrize("text,column", [(b'{"id":1', 8), (b'{"id":1}x', 9), (b'{"id":01}', 8), (b"{'id':1}", 2),
                                         (b'{"id":"\xff"}', 8), (b'{"id":"a\x00"}', 9), (b'{"id":tru}', 7),
                                         (b'{"id":1,}', 9), (b"nonsense", 1), (b'{"id":"\\x"}', 9)])
def test_records_that_do_not_parse(text, column, tmp_path):
    source = cli.write(tmp_path, "in.ndjson", b'{"id":"before"}\n' + text + b'\n{"id":"after"}\n')
    result = cli.filter(source, code=1)
    assert result.out == b'{"id":"before"}\n'
    place = next(line for line in result.text.splitlines() if source in line).split(source)[1]
    assert place.startswith(":2:"), place
    assert abs(int(place.split(":")[2]) - column) <= 3, place
    passed = cli.filter("--invalid", "pass", source)
    assert passed.out == cli.read(source)
    assert passed.summary()["invalid"] == 1 and f"{source}:2:" in passed.text
    dropped = cli.filter("--invalid", "drop", source)
    assert dropped.out == b'{"id":"before"}\n{"id":"after"}\n'


def test_many_invalid_records_are_not_all_named():
    result = cli.filter("--invalid", "drop", stdin=b"x\n" * 1000)
    assert result.summary()["invalid"] == 1000 and result.out == b""
    assert result.text.count("stdin:") == 10 and "further invalid records" in result.text


@pytest.mark.parametrize("head,tail,fine", [(b"[", b"]", True), (b'{"a":', b"1" + b"}", True), (b"[", b"", False)])
def test_deep_nesting(head, tail, fine):
    depth = 100000
    deep = head * depth + (tail[:-1] + tail[-1:] * depth if tail else b"")
    record = b'{"id":"deep","x":' + deep + b"}\n"
    result = cli.filter(stdin=record + record, code=0 if fine else 1)
    assert result.out == (record if fine else b"")


def feed(process, chunks):
    """Writes chunks from a thread, so that nothing waits for anything."""

    def body():
        try:
            for chunk in chunks:
                process.stdin.write(chunk)
                process.stdin.flush()
            process.stdin.close()
        except BrokenPipeError:
            pass

    thread = threading.Thread(target=body)
    thread.start()
    return thread


GIB_CHUNK = b"x" * (1 << 20)


def gib_line(count):
    yield b"first\n"
    for _ in range(count):
        yield GIB_CHUNK
    yield b"\nlast\n"


def peak_kib(pid):
    """Peak memory of a process; 0 when it has just ended."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(next((line for line in file if line.startswith("VmHWM")), "- 0").split()[1])


def test_a_line_of_a_gib_is_refused_early():
    process = cli.start("filter", "--format", "lines")
    thread = feed(process, gib_line(cli.scaled(1024)))
    out, err = process.stdout.read(), process.stderr.read().decode()
    process.wait()
    thread.join()
    assert process.returncode == 1
    assert out == b"first\n"
    assert "stdin:2: longer than --max-record, 16.0 MiB" in err


@pytest.mark.parametrize("rule", ["pass", "drop"])
def test_a_line_of_a_gib_goes_through(rule):
    count = cli.scaled(1024, 64)
    process = cli.start("filter", "--format", "lines", "--invalid", rule, stderr=subprocess.DEVNULL)
    peaks = []

    def watched():
        for chunk in gib_line(count):
            yield chunk
            peaks.append(peak_kib(process.pid))

    thread = feed(process, watched())
    total, head, tail = 0, b"", b""
    while chunk := process.stdout.read(1 << 20):
        head = head or chunk[:6]
        tail = (tail + chunk)[-6:]
        total += len(chunk)
    thread.join()
    assert process.wait() == 0
    assert total == (len(b"first\nlast\n") + ((count << 20) + 1 if rule == "pass" else 0))
    assert head == b"first\n" and tail.endswith(b"\nlast\n")
    if not cli.SANITIZED:
        assert 0 < max(peaks) < 64 << 10, f"{max(peaks)} KiB for a line that passes through"


def test_max_record_boundary():
    for end in (b"\n", b"\r\n"):
        data = b"x" * 100 + end
        assert cli.filter("--format", "lines", "--max-record", "100", stdin=data * 2).out == data
        bad(data, "--format", "lines", "--max-record", "99", says="stdin:1: longer than --max-record")
    big = b"y" * (3 << 20)
    assert cli.filter("--format", "lines", "--id-pattern", "^y", stdin=big + b"\n" + big).out == big + b"\n"


def test_csv_quotes(tmp_path):
    data = b'id,t\n1,"a,b"\n2,"line\nbreak ""quoted"""\n"1",x\n'
    assert cli.filter("--format", "csv", stdin=data).out == data[: data.index(b'"1",x')]
    source = cli.write(tmp_path, "in.csv", b'id,t\n1,x\n2,"never closed\n3,y\n')
    result = cli.filter(source, code=1)
    assert result.out == b"id,t\n1,x\n" and f"{source}:3:3" in result.text
    assert cli.filter("--invalid", "pass", source).out == cli.read(source)
    assert cli.filter("--invalid", "drop", source).out == b"id,t\n1,x\n"


def test_csv_headers(tmp_path):
    one = cli.write(tmp_path, "1.csv", b"id,x\n1,a\n")
    same = cli.write(tmp_path, "2.csv", b'"id",x\r\n1,b\r\n2,b\r\n')
    other = cli.write(tmp_path, "3.csv", b"id,y\n3,c\n")
    assert cli.filter(one, same).out == b"id,x\n1,a\n2,b\r\n"
    result = cli.filter(one, other, code=2)
    assert result.out == b"id,x\n1,a\n" and f"{other}:1" in result.text
    assert cli.filter("--header", "no", one).out == b"id,x\n1,a\n"
    wrong = cli.filter("--id", "idd", one, code=2)
    assert "idd" in wrong.text and "id" in wrong.text and wrong.out == b""
    tsv = cli.write(tmp_path, "t.tsv", b"a\tid\n1\t7\n2\t7\n")
    assert cli.filter("--id", "id", tsv).out == b"a\tid\n1\t7\n"


def test_files_that_cannot_be_read(tmp_path):
    good = cli.write(tmp_path, "a.txt", b"a\n")
    for words, says in ([["--", good, tmp_path / "none.txt"], "none.txt: No such file"],
                        [["--format", "lines", tmp_path], "Is a directory"]):
        result = cli.filter(*words, code=2)
        assert result.out == b"" and says in result.text
    result = cli.filter(good, cli.write(tmp_path, "b.csv", b"id\n"), code=2)
    assert "--format" in result.text


def test_input_is_output(tmp_path):
    source = cli.write(tmp_path, "a.txt", b"a\na\n")
    with open(source, "ab") as file:
        result = subprocess.run([cli.BIN, "filter", source], stdout=file, stderr=subprocess.PIPE, check=False)
    assert result.returncode == 2 and b"is input and output" in result.stderr
    result = cli.filter(*cli.store(tmp_path / "s"), "--output", source, source, code=2)
    assert "is input and output" in result.text
    assert cli.read(source) == b"a\na\n"


def test_s053_s054_the_id_is_the_application_s():
    """Nothing else in a message is ever taken for its id."""
    data = b'{"packet":1,"id":"x"}\n{"packet":1,"id":"y"}\n{"packet":2,"id":"x"}\n'
    assert cli.filter(stdin=data).out == b'{"packet":1,"id":"x"}\n{"packet":1,"id":"y"}\n'


def test_s100_duplicates_at_every_place():
    ids = [f"i{n}" for n in range(20000)]
    for spots in ([0], [10000], [19999], [0, 1, 2, 9999, 19998, 19999]):
        batch = list(ids)
        for spot in spots:
            batch[spot] = "known"
        result = cli.filter("--format", "lines", stdin=b"known\n" + cli.lines(*batch))
        assert result.out == b"known\n" + cli.lines(*[i for i in batch if i != "known"])


def test_s096_all_misses():
    ids = [f"{n:09d}" for n in range(cli.scaled(300000, 30000))]
    result = cli.filter("--format", "lines", stdin=cli.lines(*ids))
    assert result.summary()["new"] == len(ids) and result.out == cli.lines(*ids)


def random_records(rng, form):
    """Records of all lengths, from nothing to several blocks, with repeats, and what must come out."""
    records, kept, seen = [], [], set()
    for n in range(cli.scaled(3000, 500)):
        id = rng.randrange(1000)
        size = rng.choice([0, 0, rng.randrange(100), rng.randrange(3000), 0])
        if rng.random() < 0.004:
            size = rng.randrange(200000, 1200000)
        pad = "x" * size
        if form == "ndjson":
            record = json.dumps({"pad": pad, "id": id, "n": n})
        elif form == "csv":
            record = f'{id},"{pad[: size // 2]}\n{pad[size // 2 :]}",{n}'
        else:
            record = f"{id} {pad}{n}"
        record = record.encode() + rng.choice([b"\n", b"\r\n"])
        records.append(record)
        if id not in seen:
            kept.append(record)
        seen.add(id)
    return records, kept


@pytest.mark.parametrize("form,words", [("ndjson", []), ("csv", ["--header", "no", "--id", "1"]),
                                        ("lines", ["--delimiter", " ", "--id", "1"])])
def test_records_of_all_lengths_in_chunks_of_all_sizes(form, words):
    rng = cli.seeded(f"test_records_of_all_lengths_in_chunks_of_all_sizes[{form}]")
    records, kept = random_records(rng, form)
    data = b"".join(records)

    def chunks():
        at = 0
        while at < len(data):
            size = rng.choice([1, 7, 100, 4096, 65536, 300000, 1 << 20])
            yield data[at : at + size]
            at += size

    for source in (chunks(), [data]):
        process = cli.start("filter", "--format", form, *words, stderr=subprocess.DEVNULL)
        thread = feed(process, source)
        got = process.stdout.read()
        thread.join()
        assert process.wait() == 0
        assert got == b"".join(kept)


TIME_MAX = 1 << 51


@pytest.mark.parametrize("time", [TIME_MAX + 1, -TIME_MAX - 1, (1 << 53) + 1])
def test_a_time_beyond_all_times_is_a_record_that_is_invalid(time, tmp_path):
    """Named by its place, and what stands before it goes out."""
    good = b"".join(b'{"id":%d,"t":1}\n' % n for n in range(5))
    edge = b'{"id":"a","t":%d}\n' % -TIME_MAX
    source = cli.write(tmp_path, "in.ndjson", good + b'{"id":9,"t":%d}\n' % time + edge)
    result = cli.filter("--time", "/t", source, code=1)
    assert result.out == good and f"{source}:6: the time is out of range" in result.text
    result = cli.filter("--time", "/t", "--invalid", "drop", source)
    assert result.out == good + edge and result.summary()["invalid"] == 1
    assert f"{source}:6: the time is out of range" in result.text
    assert cli.filter("--time", "/t", stdin=b'{"id":1,"t":%d}\n' % TIME_MAX).summary()["new"] == 1


def test_half_a_line_end_is_no_part_of_an_id(tmp_path):
    """A CR is the last byte: the same as when the LF behind it is there, or is put there for the next file."""
    assert cli.filter("--format", "lines", stdin=b"abc\nabc\r").out == b"abc\n"
    assert cli.filter("--format", "lines", stdin=b"abc\r").out == b"abc\r"
    one = cli.write(tmp_path, "1.txt", b"abc\r")
    two = cli.write(tmp_path, "2.txt", b"abc\n\r")
    assert cli.filter(one, two).out == b"abc\r\n\r"
    assert cli.filter("--format", "csv", stdin=b"id\n7\n7\r").out == b"id\n7\n"
    assert cli.filter("--format", "lines", "-z", stdin=b"abc\0abc\r").out == b"abc\0abc\r"
