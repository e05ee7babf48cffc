"""Which files a run may write to: no two of them one file, none of them an input or the store's; what a full disk and
other processes do to them."""

import os
import resource
import subprocess

import pytest

import cli

SIDES = ("--duplicates", "--verdicts")
KEEPS = (False, True)  # without a store and with one


def names(folder):
    return sorted(os.listdir(folder))


def shell(folder, command, **env):
    """Runs a line of shell in a folder; $H is the program, $S the options for a store named s."""
    store = " ".join(cli.store("s"))
    return subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, timeout=cli.TIMEOUT, check=False,
                          env=dict(os.environ, H=cli.BIN, S=store, **env))


@pytest.fixture
def place(tmp_path):
    cli.write(tmp_path, "in", b"a\nb\na\nc\n")
    return tmp_path


# ---- two outputs, one file


@pytest.mark.parametrize("stored", KEEPS)
@pytest.mark.parametrize("option", SIDES)
@pytest.mark.parametrize("path", ["/dev/stdout", "vo", "./vo", "link", "hard"])
def test_a_side_file_that_is_stdout(place, stored, option, path):
    cli.write(place, "vo", b"")
    os.symlink("vo", place / "link")
    os.link(place / "vo", place / "hard")
    before = names(place)
    done = shell(place, f"$H filter --format lines {'$S' if stored else ''} {option} {path} in >>vo")
    assert done.returncode == 2, done.stderr
    assert f"stdout and {option} {path} are the same file".encode() in done.stderr
    assert cli.read(place / "vo") == b"" and names(place) == before


@pytest.mark.parametrize("stored", KEEPS)
@pytest.mark.parametrize("words", ["--output log", "--duplicates ./log", "--verdicts /dev/stderr"])
def test_a_file_that_is_stderr(place, stored, words):
    cli.write(place, "log", b"what was there\n")
    done = shell(place, f"$H filter --format lines {'$S' if stored else ''} {words} in 2>>log")
    log = cli.read(place / "log")
    assert done.returncode == 2 and done.stdout == b""
    assert log.startswith(b"what was there\n") and f"stderr and {words} are the same file".encode() in log
    assert names(place) == ["in", "log"]


def test_stdout_and_stderr_in_one_file(place):
    assert shell(place, "$H filter --format lines in >both 2>&1").returncode == 2
    assert b"stderr and stdout are the same file" in cli.read(place / "both")
    assert shell(place, "$H filter --format lines --output o in >log 2>&1").returncode == 0
    assert cli.read(place / "o") == b"a\nb\nc\n", "nothing is written to stdout then"
    done = shell(place, "{ $H filter --format lines in 2>&1; } | cat")
    assert done.stdout.startswith(b"a\nb\nc\n"), "a pipe may take both"


@pytest.mark.parametrize("stored", KEEPS)
@pytest.mark.parametrize("there,one,two", [
    (True, "o", "hard"), *((there, one, two) for there in (False, True) for one, two in [
        ("o", "./o"), ("o", "link"), ("link", "o"), ("link", "far"), ("o", "o"), ("o", "dir/../o")])])
def test_two_options_one_file(place, stored, there, one, two):
    """Also one that is not there yet, and one at the end of links."""
    os.mkdir(place / "dir")
    os.symlink("o", place / "link")
    os.symlink("../link", place / "dir" / "far")
    os.symlink("dir/far", place / "far")
    if there:
        cli.write(place, "o", b"old\n")
        os.link(place / "o", place / "hard")
    before = names(place)
    options = cli.store("s") if stored else []
    for first, second in (("--output", "--duplicates"), ("--output", "--verdicts"), SIDES):
        result = cli.run("filter", "--format", "lines", *options, first, one, second, two, "in", cwd=place)
        assert result.code == 2, result.text
        assert f"{first} {one} and {second} {two} are the same file" in result.text
        assert names(place) == before and (not there or cli.read(place / "o") == b"old\n")


def test_dev_null_takes_everything(place):
    cli.filter("--format", "lines", "--duplicates", "/dev/null", "--verdicts", "/dev/null", place / "in")


def test_an_output_at_the_end_of_a_link_to_nothing(place):
    """The store knows the file by its own name, not by the link's."""
    os.symlink("o", place / "link")
    words = ["--format", "lines", *cli.store(place / "s")]
    cli.filter(*words, "--output", place / "link", place / "in")
    assert cli.filter(*words, "--output", place / "o", place / "in").summary()["in"] == 0
    assert cli.read(place / "o") == b"a\nb\nc\n"
    os.symlink("turn", place / "turn")
    assert "symbolic links" in cli.filter(*words, "--output", place / "turn", place / "in", code=2).text


# ---- inputs, and the store


@pytest.mark.parametrize("stored", KEEPS)
@pytest.mark.parametrize("option", SIDES)
@pytest.mark.parametrize("path", ["in", "link", "hard"])
def test_a_side_file_that_is_an_input(place, stored, option, path):
    os.symlink("in", place / "link")
    os.link(place / "in", place / "hard")
    before = names(place)
    options = cli.store("s") if stored else []
    result = cli.run("filter", "--format", "lines", *options, "--output", "o", option, path, "in", cwd=place)
    assert result.code == 2 and f"{path} is input and output" in result.text
    assert cli.read(place / "in") == b"a\nb\na\nc\n" and names(place) == before


@pytest.mark.parametrize("words", [["--output", "in"], ["--output", "."], ["--output", "/dev/null"],
                                   ["--output", "o", "--verdicts", "no/v"], ["--output", "o", "--duplicates", "."],
                                   ["--duplicates", "d", "--verdicts", "no/v"]])
def test_a_refusal_leaves_nothing_behind(place, words):
    result = cli.run("filter", "--format", "lines", *cli.store("s"), *words, "in", cwd=place)
    assert result.code == 2, result.text
    assert names(place) == ["in"]


def test_a_file_in_use_leaves_nothing_behind(place):
    process = cli.start("filter", "--format", "lines", *cli.store(place / "one"), "--output", place / "o")
    cli.wait_until((place / "o").exists, "no output")
    result = cli.run("filter", "--format", "lines", *cli.store("s"), "--output", "new", "--verdicts", "o", "in",
                     cwd=place)
    assert result.code == 4 and "o is in use" in result.text
    process.communicate()
    assert names(place) == ["in", "o", "one"]


@pytest.mark.parametrize("path", ["s/SUPER.0", "s/LOCK", "s/new", "link/SUPER.0", "s/wal/new"])
def test_files_in_the_folder_of_the_store(place, path):
    words = ["filter", "--format", "lines", *cli.store("s")]
    assert cli.run(*words, "in", cwd=place).code == 0
    os.symlink("s", place / "link")
    before = {name: cli.read(place / "s" / name) for name in names(place / "s") if name != "wal"}
    for option in ("--output", *SIDES):
        result = cli.run(*words, option, path, "in", cwd=place)
        assert result.code == 2 and f"{path} is in the folder of --store s" in result.text
    assert before == {name: cli.read(place / "s" / name) for name in names(place / "s") if name != "wal"}
    result = cli.run("filter", *cli.store("t"), "--output", "t", "in", cwd=place)
    assert result.code == 2 and not (place / "t").exists()


# ---- a stdout that fails


def begin_again(place, words, limit, stored):
    """A run whose stdout, a file, may not grow beyond `limit`, and then one that appends to it."""
    words = ["filter", "--json", *words, *(cli.store(place / "s") if stored else [])]
    with open(place / "o", "ab") as out:
        full = subprocess.run([cli.BIN, *map(str, words)], stdout=out, stderr=subprocess.PIPE, check=False,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        assert full.returncode == 3 and b"File too large" in full.stderr, full.stderr
        left = cli.read(place / "o")
        again = subprocess.run([cli.BIN, *map(str, words)], stdout=out, stderr=subprocess.PIPE, check=True)
    return left, cli.Result(full.returncode, b"", full.stderr), again


@pytest.mark.parametrize("stored,length,limit", [(False, 6, 1000003), (False, 6, 7), (False, 6, 3), (False, 6, 700),
                                                 (True, 300, 4000003), (True, 300, 4000300)])
def test_a_line_that_did_not_fit_is_taken_back(place, stored, length, limit):
    """What stays on a full disk is whole lines; they are what is counted; the next run goes on behind them."""
    source = cli.write(place, "in.txt", cli.lines(*(f"{n:0{length}d}" for n in range(6000000 // (length + 1)))))
    words = ["--format", "lines", "--expiry", "forever", source]
    left, full, _ = begin_again(place, words, limit, stored)
    assert left == cli.read(source)[: limit // (length + 1) * (length + 1)]
    assert full.summary()["out"] == limit // (length + 1)
    out = cli.read(place / "o")
    assert {len(line) for line in out.splitlines()} == {length}
    assert set(out.splitlines()) == set(cli.read(source).splitlines())


def test_long_messages_on_a_full_disk(place):
    rows = b"".join(b'{"id":%d,"x":"%s"}\n' % (n, b"x" * 200000) for n in range(20))
    source = cli.write(place, "in.ndjson", rows)
    left, full, _ = begin_again(place, [source], 1 << 20, True)
    assert left == b"".join(rows.splitlines(True)[:5]) and full.summary()["out"] == 5
    assert set(cli.read(place / "o").splitlines()) == set(rows.splitlines())


def test_a_record_in_pieces_is_taken_back_whole(place):
    """Longer than a block: its pieces are out one by one before it fails."""
    source = cli.write(place, "in.txt", b"a\n" + b"x" * 3000000 + b"\nb\n")
    left, full, _ = begin_again(place, ["--max-record", "1000", "--invalid", "pass", source], 2000000, False)
    assert left == b"a\n" and full.summary()["out"] == 1


def test_a_file_somebody_else_writes_to_is_not_cut(place):
    """A file that goes on behind our place in it is not ours to cut."""
    source = cli.write(place, "in.txt", cli.lines(*range(100001, 300000)))
    old = b"y" * 6 + b"\n"
    cli.write(place, "o", old * 300000)
    limit = 1000003
    with open(place / "o", "r+b") as out:
        done = subprocess.run([cli.BIN, "filter", source], stdout=out, stderr=subprocess.PIPE, check=False,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    assert done.returncode == 3
    assert cli.read(place / "o") == cli.read(source)[:limit] + (old * 300000)[limit:]


@pytest.mark.parametrize("how", [">>o", "1<>o"])
def test_a_fragment_gets_its_end(place, how):
    """A run that was killed can leave a part of a line: the next one begins its own."""
    cli.write(place, "o", b"x\nfragm")
    done = shell(place, f"(dd bs=1 count=7 of=/dev/null <&1 2>&-; $H filter --format lines $S in) {how}"
                 if how == "1<>o" else f"$H filter --format lines $S in {how}")
    assert done.returncode == 0, done.stderr
    assert cli.read(place / "o") == b"x\nfragm\na\nb\nc\n"
    shell(place, "$H filter --format lines $S in >>o; echo d | $H filter --format lines $S >>o")
    assert cli.read(place / "o") == b"x\nfragm\na\nb\nc\nd\n", "and none where nothing is missing"


def test_what_never_went_out_is_not_counted(place):
    source = cli.write(place, "in.txt", cli.lines(*range(50000)))
    with open("/dev/full", "wb") as full:
        done = subprocess.run([cli.BIN, "filter", "--json", source], stdout=full, stderr=subprocess.PIPE, check=False)
    summary = cli.Result(3, b"", done.stderr).summary()
    assert done.returncode == 3 and summary["out"] == 0 and summary["in"] > 0
    source = cli.write(place, "in.txt", cli.lines(*(f"{n:0300d}" for n in range(20000))))
    limit = 4000003
    result = cli.filter("--expiry", "forever", *cli.store(place / "s"), "--output", place / "o", source,
                        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)), code=3)
    assert result.summary()["out"] == cli.read(place / "o").count(b"\n")


# ---- a FILE that others get hold of


def test_a_file_in_use_is_not_replaced(place):
    process = cli.start("filter", "--format", "lines", *cli.store(place / "s"), "--output", place / "o")
    process.stdin.write(b"x\n")
    process.stdin.flush()
    cli.wait_until(lambda: (place / "o").exists() and cli.read(place / "o") == b"x\n", "no line came")
    for option in ("--output", *SIDES):
        result = cli.filter("--format", "lines", option, place / "o", stdin=b"z\n", code=4)
        assert "o is in use by another process" in result.text
    assert process.communicate(b"y\n")[0] == b"" and process.returncode == 0
    assert cli.read(place / "o") == b"x\ny\n" and names(place) == ["in", "o", "s"]


def test_a_file_that_is_about_to_be_replaced_is_in_use(place):
    cli.write(place, "o", b"old\n")
    process = cli.start("filter", "--format", "lines", "--output", place / "o")
    cli.wait_until(lambda: len(names(place)) == 3, "no file beside it")
    assert "in use" in cli.filter(*cli.store(place / "s"), "--output", place / "o", place / "in", code=4).text
    process.communicate(b"z\n")
    assert process.returncode == 0 and cli.read(place / "o") == b"z\n" and names(place) == ["in", "o"]


@pytest.mark.parametrize("how", ["removed", "moved", "replaced"])
def test_a_file_that_is_gone(place, how):
    """Logs that are rotated: what comes then is not remembered as if it stood in FILE."""
    words = ["--format", "lines", *cli.store(place / "s")]
    process = cli.start("filter", *words, "--output", place / "o")
    process.stdin.write(b"x\n")
    process.stdin.flush()
    cli.wait_until(lambda: (place / "o").exists() and cli.read(place / "o") == b"x\n", "no line came")
    if how == "removed":
        os.unlink(place / "o")
    else:
        os.rename(place / "o", place / "o.1")
    if how == "replaced":
        cli.write(place, "o", b"")
    _, err = process.communicate(b"y\n")
    assert process.returncode == 3 and b"removed or replaced" in err, err
    cli.verify(place / "s")
    assert cli.filter(*words, stdin=b"y\n").out == b"y\n", "its line is in no file, so it comes again"
