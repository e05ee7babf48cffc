"""Reopening, settings, domains, locks, stores that cannot be used; stat, explain, dump, verify."""

import json
import os
import re
import shutil
import subprocess
import time

import pytest

import cli


def fill(state, *ids, words=(), **more):
    return cli.filter("--format", "lines", *cli.store(state), *words, stdin=cli.lines(*ids), **more)


def test_reopening(tmp_path):
    assert fill(tmp_path / "s", "a", "b").out == b"a\nb\n"
    assert fill(tmp_path / "s", "b", "c", "a").out == b"c\n"


def test_s059_two_domains(tmp_path):
    for name in ("one", "two"):
        assert fill(tmp_path / "s", "a", words=["--domain", name]).out == b"a\n"
        assert fill(tmp_path / "s", "a", words=["--domain", name]).out == b""
    assert [d["name"] for d in cli.stat(tmp_path / "s")["domains"]] == ["one", "two"]


def test_s031_one_domain_whatever_the_source(tmp_path):
    data = b'{"s":"A","id":1}\n{"s":"B","id":1}\n'
    assert cli.filter("--source", "/s", *cli.store(tmp_path / "s"), stdin=data).summary()["duplicate"] == 1


def test_s038_a_pause_ages_nothing(tmp_path):
    """Time with the store closed does not count: the id is known however long the pause."""
    words = ["--window", "0", "--expiry", "200ms"]
    fill(tmp_path / "s", "a", words=words)
    time.sleep(0.6)
    assert fill(tmp_path / "s", "a", "b", words=words).out == b"b\n"


def test_s036_one_owner(tmp_path):
    process = cli.start("filter", "--format", "lines", *cli.store(tmp_path / "s"))
    process.stdin.write(b"a\n")
    process.stdin.flush()
    assert process.stdout.read(2) == b"a\n"
    pid = str(process.pid)
    assert pid in fill(tmp_path / "s", "a", code=4).text
    for verb in (["stat"], ["explain", "a"], ["dump"], ["verify"]):
        result = cli.run(*verb, "--store", tmp_path / "s")
        assert result.code == 4 and pid in result.text, (verb, result.text)
    process.communicate()
    assert process.returncode == 0
    assert fill(tmp_path / "s", "a").out == b""


def test_settings_are_kept_and_changes_are_printed(tmp_path):
    state = tmp_path / "s"
    fill(state, *range(50), words=["--window", "100", "--expiry", "1s"])
    same = fill(state, "x")
    assert "window" not in same.text.replace('"', "").split("{")[0]
    assert cli.domain(state)["window"] == 100
    grown = fill(state, "y", words=["--window", "200"])
    assert "--window is 200 from now on; it was 100" in grown.text
    refused = fill(state, "z", words=["--window", "10"], code=2)
    assert refused.out == b"" and "has --window 200, not 10:" in refused.text and "--change-settings" in refused.text
    assert cli.domain(state)["window"] == 200 and cli.domain(state)["ids_held"] == 52
    allowed = fill(state, "z", words=["--window", "10", "--change-settings"])
    assert "--window is 10 from now on; it was 200" in allowed.text
    assert cli.domain(state)["ids_in_windows"] == 10


def test_settings_are_named_as_they_are_typed(tmp_path):
    """--expiry and forever, not expiry_ms and a number of nineteen digits."""
    state = tmp_path / "s"
    fill(state, *range(50), words=["--window", "1", "--expiry", "forever"])
    time.sleep(0.01)
    refused = fill(state, "x", words=["--max-age", "1ms"], code=2)
    assert "has --max-age off, not 1ms:" in refused.text and "--change-settings" in refused.text
    allowed = fill(state, "x", words=["--expiry", "1h", "--refresh", "off", "--max-age", "2m", "--change-settings"])
    for text in ("--expiry is 1h from now on; it was forever", "--refresh is off from now on; it was on",
                 "--max-age is 2m from now on; it was off"):
        assert text in allowed.text
    assert "_ms" not in refused.text + allowed.text and "change_settings" not in refused.text


def test_time_mode_is_kept(tmp_path):
    timed = ["--format", "csv", "--id", "id", "--time", "t", *cli.store(tmp_path / "s")]
    cli.filter(*timed, stdin=b"t,id\n5,a\n")
    result = fill(tmp_path / "s", "b", code=2)
    assert result.out == b"" and "stdin:1: no time is given with this record" in result.text
    assert "begun with --time" in result.text
    fill(tmp_path / "t", "a")
    source = cli.write(tmp_path, "in.csv", b't,id\n"5\n",\n5,b\n')
    result = cli.filter(*timed[:-len(cli.store("x"))], *cli.store(tmp_path / "t"), "--invalid", "drop", source, code=2)
    assert f"{source}:4: --time gives this record a time" in result.text and "begun without --time" in result.text
    assert "message 0" not in result.text


def test_s017_durability(tmp_path):
    """tmpfs cannot give full durability: refused with the reason, unless `process` is asked for, which stat shows."""
    where = "/dev/shm"
    if subprocess.run(["stat", "-f", "-c", "%T", where], capture_output=True, text=True,
                      check=False).stdout.strip() != "tmpfs":
        pytest.skip("no tmpfs at /dev/shm")
    state = os.path.join(where, f"hapax-test-{os.getpid()}")
    try:
        refused = cli.filter("--format", "lines", "--store", state, stdin=b"a\n", code=2)
        assert refused.out == b"" and re.search("(?i)tmpfs|durab", refused.text)
        assert not os.path.exists(state), "what is refused leaves nothing behind"
        os.mkdir(state)
        cli.filter("--format", "lines", "--store", state, stdin=b"a\n", code=2)
        assert os.listdir(state) == []
        less = cli.filter("--format", "lines", "--store", state, "--durability", "process", stdin=b"a\n")
        assert less.text.count("not power loss") == 1
        assert cli.stat(state)["durability"] == "process"
    finally:
        shutil.rmtree(state, ignore_errors=True)


def test_budgets(tmp_path):
    """At the budget a clear error, nothing forgotten; what came out is known."""
    ids = [f"{n:030d}" for n in range(100000)]
    for words in (["--max-memory", "2MiB"], [*cli.store(tmp_path / "s"), "--expiry", "forever", "--max-memory", "2MiB"]):
        result = cli.filter("--format", "lines", *words, stdin=cli.lines(*ids), code=3)
        assert "--max-memory" in result.text and "HAPAX_" not in result.text
        assert cli.lines(*ids).startswith(result.out) and result.out
    count = result.out.count(b"\n")
    assert cli.domain(tmp_path / "s")["ids_held"] == count
    disk = [*cli.store(tmp_path / "d"), "--expiry", "forever", "--max-disk", "1MiB"]
    result = cli.filter("--format", "lines", *disk, stdin=cli.lines(*ids), code=3)
    assert "--max-disk" in result.text and "HAPAX_" not in result.text
    cli.verify(tmp_path / "d")
    result = cli.filter("--format", "lines", *cli.store(tmp_path / "s"), "--max-memory", "300KiB", code=3)
    assert "--max-memory" in result.text and "HAPAX_" not in result.text


# ---- stores that cannot be used


def unusable(state, code, says):
    """Every verb says the same, and nothing is changed."""
    for verb in (["filter", "--format", "lines"], ["stat"], ["explain", "a"], ["dump"], ["verify"]):
        result = cli.run(*verb, "--store", state, stdin=b"a\n")
        assert result.code == code, (verb, result.code, result.text)
        assert result.out == b""
        assert re.search(says, result.text), (verb, result.text)


def test_store_that_is_a_file(tmp_path):
    state = cli.write(tmp_path, "s", b"my file\n")
    unusable(state, 2, "(?i)folder|directory")
    assert cli.read(state) == b"my file\n"


def test_store_that_is_missing(tmp_path):
    for verb in (["stat"], ["explain", "a"], ["dump"], ["verify"]):
        result = cli.run(*verb, "--store", tmp_path / "none")
        assert result.code == 2 and "none" in result.text and result.out == b""
    assert not (tmp_path / "none").exists()
    result = fill(tmp_path / "no" / "way", "a", code=2)
    assert result.out == b""


def test_folder_that_is_no_store(tmp_path):
    cli.write(tmp_path, "precious", b"1")
    for verb in (["filter", "--format", "lines"], ["stat"], ["explain", "a"], ["dump"], ["verify"]):
        result = cli.run(*verb, "--store", tmp_path)
        assert result.code == 2 and result.out == b"", (verb, result.text)
    assert os.listdir(tmp_path) == ["precious"]


def super_blocks(state):
    return [os.path.join(state, name) for name in sorted(os.listdir(state)) if name.startswith("SUPER")]


def tree(state):
    return {name: cli.read(os.path.join(state, name)) for name in sorted(os.listdir(state))
            if os.path.isfile(os.path.join(state, name)) and name != "LOCK"}


def test_read_only_store(tmp_path):
    """As another user, who may look but not write."""
    state = tmp_path / "s"
    fill(state, "a")
    if os.getuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("another user is needed: root and setpriv")
    for folder in [tmp_path, *tmp_path.parents]:
        if not os.stat(folder).st_mode & 0o005 and str(folder) != "/":
            os.chmod(folder, os.stat(folder).st_mode | 0o055)
    subprocess.run(["chmod", "-R", "a+rX,go-w", state], check=True)
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
    probe = subprocess.run([*nobody, cli.BIN, "version"], capture_output=True, check=False)
    if probe.returncode != 0:
        pytest.skip("another user cannot reach the program")
    before = tree(state)
    result = subprocess.run([*nobody, cli.BIN, "filter", "--format", "lines", *cli.store(state)], input=b"a\nb\n",
                            capture_output=True, check=False)
    assert result.returncode == 2, result.stderr
    assert result.stdout == b"" and str(state).encode() in result.stderr
    assert tree(state) == before


def test_s083b_other_format_version(tmp_path):
    """A version that is not known is refused by name, not taken for damage."""
    state = tmp_path / "s"
    fill(state, "a")
    version = cli.stat(state)["format_version"]
    maker = os.path.join(cli.ROOT, "test", "cli", "other_version.py")
    result = subprocess.run(["/usr/bin/python3", maker, str(state), str(version + 1)], capture_output=True, text=True,
                            check=False)
    assert result.returncode == 0, result.stderr
    before = tree(state)
    unusable(state, 3, "(?i)version")
    assert tree(state) == before


@pytest.mark.parametrize("remove,says", [("SUPER.*", "SUPER"), ("wal", "wal"), ("wal/W-0000000001.wal", "W-0000000001")])
def test_parts_that_are_missing(remove, says, tmp_path):
    """Whatever was taken away, all verbs say damaged and name it."""
    state = tmp_path / "s"
    for n in range(6):
        fill(state, *range(n * 9000, n * 9000 + 9000), words=["--expiry", "forever"])
    if not os.path.exists(state / "wal" / "W-0000000001.wal"):
        pytest.fail("the log is not what this test thinks")
    for path in state.glob(remove):
        shutil.rmtree(path) if path.is_dir() else os.unlink(path)
    before = tree(state)
    unusable(state, 3, says)
    assert tree(state) == before


def test_a_store_without_its_lock(tmp_path):
    """The lock file is taken for a stale one by people: the store stays what it is."""
    state = tmp_path / "s"
    fill(state, "a")
    for words in (["verify"], ["stat"], ["dump"], ["explain", "a"]):
        if os.path.exists(state / "LOCK"):
            os.unlink(state / "LOCK")
        result = cli.run(*words, "--store", state)
        assert result.code == 0, (words, result.text)
    assert fill(state, "a", "b").out == b"b\n"


def test_damage_is_named(tmp_path):
    state = tmp_path / "s"
    for n in range(5):
        fill(state, *range(n * 1000, n * 1000 + 1000))
    log = max((os.path.join(folder, name) for folder, _, names in os.walk(state) for name in names),
              key=os.path.getsize)
    data = bytearray(cli.read(log))
    used = len(bytes(data).rstrip(b"\0"))
    for offset in range(used // 4, used // 4 + 64):
        data[offset] ^= 0xFF
    cli.write(tmp_path, log, bytes(data))
    result = cli.run("verify", "--store", state)
    assert result.code == 3 and result.text.count(os.path.basename(log)) == 1, result.text
    machine = cli.run("verify", "--store", state, "--json")
    report = json.loads(machine.out)
    assert machine.code == 3 and report["ok"] is False and report["offset"] > 0
    assert fill(state, "x", code=3).out == b""


# ---- looking inside


def test_s115_stat(tmp_path):
    state = tmp_path / "s"
    cli.filter(*cli.store(state), "--source", "/s", "--window", "2",
               stdin=b'{"s":"A","id":1}\n{"s":"A","id":2}\n{"s":"B","id":3}\n{"s":"A","id":4}\n{"id":1}\n{"x":1}\n')
    found = cli.domain(state)
    assert {key: found[key] for key in ("name", "window", "expiry_ms", "ids_held", "sources", "in_flight", "new",
                                        "duplicate", "unchecked")} == {
        "name": "default", "window": 2, "expiry_ms": 120000, "ids_held": 4, "sources": 3, "in_flight": 0, "new": 4,
        "duplicate": 1, "unchecked": 1}
    assert found["ids_in_windows"] == 4 and found["ids_in_time_queue"] == 1
    whole = cli.stat(state)
    assert whole["disk_bytes"] > 0 and whole["memory_bytes"] > 0 and whole["format_version"] >= 1
    assert whole["durability"] in ("full", "process")
    words = cli.run("stat", "--store", state).out.decode()
    for text in ("domain default", "ids held", "in windows", "time queue", "in flight", "work not done"):
        assert text in words
    assert cli.run("stat", "--store", state, "--domain", "defualt").code == 2


def test_stat_of_forever(tmp_path):
    fill(tmp_path / "s", "a", words=["--expiry", "forever"])
    assert cli.domain(tmp_path / "s")["expiry_ms"] == "forever"


def test_explain(tmp_path):
    state = tmp_path / "s"
    fill(state, *range(10), words=["--window", "5", "--expiry", "1h"])
    known = cli.run("explain", "--store", state, "9")
    words = known.out.decode()
    assert known.code == 0 and words.startswith("known: id 9 in domain default")
    for text in ("first seen", "state         done", "held by       window", "further ids",
                 "rule", "DUPLICATE", time.strftime("%Y-%m-", time.gmtime())):
        assert text in words, (text, words)
    assert "time queue" in cli.run("explain", "--store", state, "0").out.decode()
    answer = json.loads(cli.run("explain", "--store", state, "--json", "9").out)
    assert answer["known"] and answer["held_by"] == ["window"] and answer["state"] == "done"
    assert answer["window_ahead"] >= 4 and answer["source"] == ""
    assert abs(answer["first_wall_ms"] / 1000 - time.time()) < 60
    unknown = cli.run("explain", "--store", state, "99")
    assert unknown.code == 1 and "not known" in unknown.out.decode()
    assert json.loads(cli.run("explain", "--store", state, "99", "--json").out)["known"] is False
    lost = cli.run("explain", "--store", state, "--domain", "nope", "9")
    assert lost.code == 2 and "default" in lost.text
    assert cli.run("explain", "--store", state).code == 2


def test_explain_of_no_id(tmp_path):
    fill(tmp_path / "s", "a")
    result = cli.run("explain", "--store", tmp_path / "s", "")
    assert result.code == 2 and "the id is empty" in result.text


def test_control_characters_are_shown_not_obeyed(tmp_path):
    """Names and ids come from outside: none of them reaches a terminal as a command."""
    state, name = tmp_path / "s", "a\x1b[31m\x07\u009b2J\u00e4"
    shown = "a\\x1b[31m\\x07\\xc2\\x9b2J\u00e4"
    result = cli.run("filter", "--format", "lines", *cli.store(state), "--domain", name, stdin=b"a\n")
    assert f"domain {shown};" in result.text
    said = [cli.run("stat", "--store", state).out, cli.run("stat", "--store", state, "--domain", "x").err,
            cli.run("explain", "--store", state, "--domain", name, name).out]
    assert f"domain {shown}\n" in said[0].decode() and shown in said[1].decode()
    assert f"id {shown} in domain {shown}\n" in said[2].decode()
    for text in [result.err, *said]:
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f\x80-\x9f]", text.decode()), text
    assert json.loads(cli.run("stat", "--store", state, "--json").out)["domains"][0]["name"] == name


def test_dump(tmp_path):
    state = tmp_path / "s"
    fill(state, "a", "b", "a", "c", words=["--window", "1", "--domain", "d"])
    dumped = cli.run("dump", "--store", state)
    rows = [json.loads(line) for line in dumped.out.splitlines()]
    assert dumped.code == 0 and all(row["domain"] == "d" and row["state"] == "done" for row in rows)
    assert {row["hash"] for row in rows} == {
        json.loads(cli.run("explain", "--store", state, "--domain", "d", "--json", id).out)["hash"] for id in "abc"}
    assert rows[-1]["held_by"] == ["window"] and rows[0]["held_by"] == ["time queue"]
    assert all({"source", "receive_ms", "wall_ms", "wall_time"} <= row.keys() for row in rows)
    assert cli.run("dump", "--store", state, "--domain", "d").out == dumped.out


def test_verify_and_looking_change_nothing(tmp_path):
    state = tmp_path / "s"
    fill(state, *range(1000))
    before = tree(state)
    for verb in (["stat"], ["explain", "1"], ["dump"], ["verify"], ["stat", "--json"], ["verify", "--json"]):
        assert cli.run(*verb, "--store", state).code == 0
    assert tree(state) == before
    report = json.loads(cli.run("verify", "--store", state, "--json").out)
    assert report["ok"] is True and report["events"] >= 1000 and report["torn_bytes"] == 0
    assert "no damage" in cli.run("verify", "--store", state).out.decode()
