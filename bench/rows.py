"""rows.py - what is measured: the inputs, the contestants of each row, and the targets. To add a row, add it here.

Words: a row is one job on one input; a contestant is one way to do it; a target is a limit on a ratio or a number.
`{data}`, `{store}` and `{output}` in a command stand for the row's input and for places in the bench's own folder.
"""

import os
import shutil
import statistics
from dataclasses import dataclass

FAST, SLOW, ONCE = 5, 3, 1  # timed runs of each contestant
UNIQUE_AWK = "!seen[$0]++"


@dataclass
class Input:
    """A generated file. `options` go to bench/gen."""

    name: str
    title: str
    options: list
    count: int


@dataclass
class Contestant:
    name: str
    pipeline: list
    runs: int = FAST
    expect: str = "first copies"  # first copies | sorted | ids | records | duplicates: what a right answer is
    store: str = ""  # fresh: no store before the run; kept: the store of the contestant before it
    output: bool = False  # the answer is in the file {output}, not on stdout
    ours: bool = False  # hapax: tells its counts, which are checked in every run
    stdin: bool = False  # reads the input from stdin
    note: str = ""


@dataclass
class Target:
    """`value` takes the row's results, {contestant: [Cost of each round]}; it returns None when that was not run."""

    text: str
    value: object
    limit: float
    at_least: bool
    unit: str = "x"

    def met(self, value):
        return value >= self.limit if self.at_least else value <= self.limit


@dataclass
class Row:
    name: str
    title: str
    data: str
    contestants: list
    targets: list
    plot: str = ""  # file name of the plot, none when empty


def inputs(scale):
    def lines(name, title, *options):
        return Input(name, title, ["--format", "lines", *options], int(10_000_000 * scale))

    return {one.name: one for one in (
        lines("recent", "UUIDs, 5 % repeats of the last 100,000", "--from", "recent"),
        lines("even", "UUIDs, 5 % repeats of any earlier one", "--from", "even"),
        lines("distinct", "UUIDs, no repeats", "--repeat-permille", "0"),
        Input("messages", "NDJSON messages of 300 bytes, 5 % repeats of the last 100,000",
              ["--format", "ndjson", "--size", "300"], int(5_000_000 * scale)),
    )}


# ---- values of targets ----------------------------------------------------------------------------------------

def paired(results, ours, others, value):
    """The median over rounds of value(the fastest of `others`, ours); only rounds in which all of them ran count."""
    known = [results[name] for name in others if results.get(name)]
    if not known or not results.get(ours):
        return None
    pairs = [value(min(runs[:-1], key=lambda cost: cost.wall), runs[-1])
             for runs in zip(*known, results[ours])]
    return statistics.median(pairs)


def times_faster(ours, *others):
    return lambda results: paired(results, ours, others, lambda other, our: other.wall / our.wall)


def memory_share(ours, *others):
    return lambda results: paired(results, ours, others, lambda other, our: our.peak_mib / other.peak_mib)


def highest_peak(name):
    return lambda results: max((cost.peak_mib for cost in results.get(name, [])), default=None)


# ---- contestants ----------------------------------------------------------------------------------------------

def find_peer(program):
    """A peer that no Debian package brings may be installed with cargo; the bench also runs without it."""
    return shutil.which(program) or shutil.which(program, path=os.path.expanduser("~/.cargo/bin"))


def line_peers(all_of_them):
    """Other programs that keep the first of equal lines; `sort -u` does the nearest thing that sorting can."""
    peers = [
        Contestant("mawk", [["mawk", UNIQUE_AWK, "{data}"]], SLOW),
        Contestant("gawk", [["gawk", UNIQUE_AWK, "{data}"]], SLOW),
        Contestant("sort -u", [["sort", "-u", "--parallel=2", "-S", "2G", "{data}"]], FAST, expect="sorted",
                   note="sorted, two threads"),
    ]
    if not all_of_them:
        return peers
    return peers + [
        Contestant("perl", [["perl", "-ne", "print unless $seen{$_}++", "{data}"]], SLOW),
        Contestant("datamash rmdup", [["datamash", "rmdup", "1"]], SLOW, stdin=True),
        Contestant("mlr head -n 1 -g", [["mlr", "--inidx", "--onidx", "--ifs", ",", "--ofs", ",", "head", "-n", "1",
                                         "-g", "1", "{data}"]], ONCE),
        Contestant("huniq", [["huniq"]], FAST, stdin=True,
                   note="holds 64-bit hashes only: may lose a line"),
        Contestant("runiq", [["runiq", "{data}"]], SLOW),
    ]


def rows(hapax):
    def lines(*more):
        return [hapax, "filter", "--json", "--format", "lines", *more, "{data}"]

    def piped_lines():
        return [hapax, "filter", "--json", "--format", "lines"]

    def messages(*more):
        return [hapax, "filter", "--json", "--format", "ndjson", "--id", "/id", *more, "{data}"]

    def ours(name, command, *tail, **more):
        return Contestant(name, [command, *tail], ours=True, **more)

    def with_store(command):
        store = ["--store", "{store}", "--expiry", "forever"]
        return [
            ours("no store", command()),
            ours("store", command(*store), store="fresh"),
            ours("store, second run", command(*store), store="kept", expect="duplicates",
                 note="the same input again: everything is a duplicate"),
            ours("store, --output", command(*store, "--output", "{output}"), store="fresh", output=True),
        ]

    def against_awk():
        return [
            Target("hapax: times the speed of the faster awk", times_faster("hapax", "mawk", "gawk"), 6, True),
            Target("hapax: part of mawk's peak memory", memory_share("hapax", "mawk"), 0.4, False),
            Target("hapax: peak memory", highest_peak("hapax"), 420, False, "MiB"),
        ]

    half = 0.5
    return [
        Row("lines-recent", "Lines, repeats near by", "recent",
            [ours("hapax", lines()), ours("hapax | cat", lines(), ["cat"]),
             Contestant("cat | hapax", [["cat", "{data}"], piped_lines()], ours=True), *line_peers(True)],
            against_awk(), "benchmarks-lines.svg"),
        Row("lines-even", "Lines, repeats anywhere", "even", [ours("hapax", lines()), *line_peers(False)],
            against_awk()),
        Row("memory", "10 M ids held", "distinct", [ours("hapax", lines(), runs=SLOW)],
            [Target("hapax: peak memory", highest_peak("hapax"), 420, False, "MiB")]),
        Row("ndjson", "NDJSON", "messages",
            [ours("hapax", messages()), ours("hapax | cat", messages(), ["cat"]),
             Contestant("simdjson, stream", [["{floor}", "many", "{data}"]], expect="records",
                        note="reads and validates only"),
             Contestant("simdjson, by line", [["{floor}", "lines", "{data}"]], expect="records",
                        note="reads and validates only"),
             Contestant("jq | mawk", [["jq", "-r", ".id", "{data}"], ["mawk", UNIQUE_AWK]], SLOW, expect="ids",
                        note="writes the ids, not the messages")],
            [Target("hapax: times the speed of jq | mawk", times_faster("hapax", "jq | mawk"), 15, True),
             Target("hapax: part of the speed of simdjson alone",
                    times_faster("hapax", "simdjson, stream", "simdjson, by line"), half, True)],
            "benchmarks-ndjson.svg"),
        Row("store-lines", "Lines with a store", "recent", with_store(lines),
            [Target("store: part of the speed without", times_faster("store", "no store"), half, True)],
            "benchmarks-store-lines.svg"),
        Row("store-ndjson", "NDJSON with a store", "messages", with_store(messages),
            [Target("store: part of the speed without", times_faster("store", "no store"), half, True)],
            "benchmarks-store-ndjson.svg"),
    ]
