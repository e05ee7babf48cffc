"""report.py - turns results into the page of docs/ and its plots. It measures nothing."""

import html
import os
import statistics

BAR_COLOURS = {True: "#1b7f5c", False: "#8a94a6"}  # hapax, and everybody else


def median(runs, field):
    return statistics.median(getattr(cost, field) for cost in runs)


def spread(runs):
    return f"{min(cost.wall for cost in runs):.2f} to {max(cost.wall for cost in runs):.2f}"


def shown(value, unit):
    if value is None:
        return "not measured"
    return f"{value:,.0f} MiB" if unit == "MiB" else f"{value:.2f}x"


def verdict(target, value):
    if value is None:
        return "not measured"
    return "met" if target.met(value) else "**NOT MET**"


def cell(text):
    return text.replace("|", "\\|")


def verdict_table(outcomes):
    lines = ["| row | what | target | measured | verdict |", "|---|---|---|---|---|"]
    for outcome in outcomes:
        for target in outcome.row.targets:
            value = target.value(outcome.results)
            limit = shown(target.limit, target.unit).replace(".00x", "x")
            lines.append(f"| {outcome.row.name} | {cell(target.text)} | {'>=' if target.at_least else '<='} {limit} | "
                         f"{shown(value, target.unit)} | {verdict(target, value)} |")
    return lines


def row_table(outcome):
    """Ratios are medians of the ratios of single rounds, so a slow minute of the machine is in both numbers."""
    row = outcome.row
    base = row.contestants[0].name
    lines = ["| contestant | runs | wall s | range | CPU s | peak MiB | M records/s | MB/s | time, relative | note |",
             "|---|---|---|---|---|---|---|---|---|---|"]
    for contestant in row.contestants:
        runs = outcome.results.get(contestant.name)
        if not runs:
            lines.append(f"| {cell(contestant.name)} | 0 | | | | | | | | {outcome.skipped.get(contestant.name, '')} |")
            continue
        wall = median(runs, "wall")
        ratio = statistics.median(run.wall / ours.wall for run, ours in zip(runs, outcome.results[base]))
        lines.append(
            f"| {cell(contestant.name)} | {len(runs)} | {wall:.2f} | {spread(runs)} | {median(runs, 'cpu'):.2f} | "
            f"{median(runs, 'peak_mib'):,.0f} | {outcome.facts['in'] / wall / 1e6:.2f} | "
            f"{outcome.facts['bytes'] / wall / 1e6:,.0f} | {ratio:.2f} | {contestant.note} |")
    return lines


def plot(title, outcome):
    """Bars of wall time, one a contestant, peak memory beside each; the shortest is the best."""
    rows = [(one, outcome.results[one.name]) for one in outcome.row.contestants if outcome.results.get(one.name)]
    longest = max(median(runs, "wall") for _, runs in rows)
    left, width, step = 150, 430, 26
    height = 62 + step * len(rows)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="760" height="{height}" viewBox="0 0 760 {height}" '
        'font-family="sans-serif" font-size="13" role="img">',
        f"<title>{html.escape(title)}</title>",
        f'<rect width="760" height="{height}" fill="#ffffff"/>',
        f'<text x="12" y="22" font-size="15" font-weight="bold" fill="#222222">{html.escape(title)}</text>',
        '<text x="12" y="40" fill="#555555">median wall time in seconds, shorter is better; peak memory</text>',
    ]
    for index, (contestant, runs) in enumerate(rows):
        wall = median(runs, "wall")
        length = max(1.0, width * wall / longest)
        top = 52 + step * index
        parts += [
            f'<text x="{left - 8}" y="{top + 14}" text-anchor="end" fill="#222222">{html.escape(contestant.name)}</text>',
            f'<rect x="{left}" y="{top}" width="{length:.1f}" height="18" fill="{BAR_COLOURS[contestant.ours]}"/>',
            f'<text x="{left + length + 8:.1f}" y="{top + 14}" fill="#222222">{wall:.2f} s, '
            f'{median(runs, "peak_mib"):,.0f} MiB</text>',
        ]
    return "\n".join(parts + ["</svg>", ""])


METHOD = """\
## Method

- Each row names its contestants; all of them do the job in turn, round after round, so that a slow minute of the machine
  falls on all. Fast ones have {fast} rounds, those that take long {slow} or 1. Shown are medians. Ratios are taken round by round
  (both numbers from the same round), then the median of those is shown: a target is judged by that, and peak memory by its highest run.
- Wall time is that of the whole pipeline, from before the first process starts until the last has ended. CPU is user and
  system time of all its processes. Peak is `ru_maxrss`, summed over the processes of a pipeline.
- Output goes to `/dev/null`; `hapax | cat` writes to a pipe, `cat | hapax` reads from one, `--output` is a file on the disk above. Input is a
  file that was read once before, so it comes from memory for everybody. `LC_ALL=C` for everybody; `sort` gets two threads and
  2 GiB. simdjson runs on one thread over blocks of 256 KiB, the DOM parser, every record parsed whole; the faster of its two ways counts.
- **A wrong answer ends the bench.** The generator knows which records are first copies. Before the timed runs each contestant
  runs once with its output hashed: hapax and its peers must write exactly those, in order (`sort -u`: as many lines and bytes;
  `jq`: the ids of those). A repeat of a message carries another receive time than the first copy, so keeping the wrong one is
  seen. hapax also has its counts checked in every timed run, and each store is verified after that first run.
- With a store: a fresh one for each run, full durability, on the disk above; "second run" works on the store that the run before left.
- hapax is built with meson's settings as they ship (assertions on). `make bench` repeats all of it; `bench/README.md` tells how to add a row.
"""


def page(outcomes, machine, scale, runs, plots):
    lines = ["# Benchmarks", "",
             "Written by `make bench`; do not edit. What the words mean and how it was measured stands at the end.", ""]
    if scale != 1:
        lines += [f"**A run at {scale:g} of the size**: good for a first look, not for the targets.", ""]
    lines += ["## Targets", "", *verdict_table(outcomes), "", "## Results", ""]
    for outcome in outcomes:
        facts = outcome.facts
        lines += [f"### {outcome.row.name}: {outcome.row.title}", "",
                  f"{facts['in']:,} {outcome.title}; {facts['bytes'] / 1e6:,.0f} MB, {facts['distinct']:,} distinct ids.",
                  "", *row_table(outcome), ""]
        if outcome.row.plot in plots:
            lines += [f"![{outcome.row.title}]({outcome.row.plot})", ""]
    lines += ["## Machine", "", *[f"- {name}: {text}" for name, text in machine], "",
              METHOD.format(fast=runs[0], slow=runs[1])]
    return "\n".join(lines)


def write(path, outcomes, machine, scale, runs):
    folder = os.path.dirname(path) or "."
    os.makedirs(folder, exist_ok=True)
    plots = {}
    for outcome in outcomes:
        if outcome.row.plot and outcome.results:
            plots[outcome.row.plot] = plot(f"{outcome.row.title}: {outcome.facts['in'] / 1e6:g} M records", outcome)
    for name, text in plots.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as stream:
            stream.write(text)
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(page(outcomes, machine, scale, runs, plots))
