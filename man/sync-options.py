#!/usr/bin/python3
"""Keeps the option section of each verb's man page equal to the verb's option table.

usage: man/sync-options.py [--check] PROGRAM [FOLDER]

The table is read from `PROGRAM VERB --help`, which prints it. In FOLDER/hapax-VERB.1.scd (default: the folder of this
file) everything between the line "# OPTIONS" and the next heading is replaced; with --check nothing is written, and
the exit code is 1 where a page differs.
"""

import os
import re
import subprocess
import sys

VERBS = ["filter", "stat", "explain", "dump", "verify"]
MARK = "; The list below is kept by sync-options.py: change the table in src/cli, then run it.\n"


def table(program, verb):
    """The rows of a verb's table: (names, argument, text)."""
    text = subprocess.run([program, verb, "--help"], check=True, capture_output=True, text=True).stdout
    rows = []
    for line in text.splitlines():
        option = re.match(r"  ((?:-\w(?:, )?)?(?:--[a-z-]+)?)(?: ([A-Z|]+))?(?:  +(.*))?$", line)
        if option and option.group(1):
            rows.append([option.group(1).split(", "), option.group(2), option.group(3) or ""])
        elif rows and line.startswith(" " * 20):
            rows[-1][2] = (rows[-1][2] + " " + line.strip()).strip()
        elif rows and not line:
            break
    return rows


def escape(text):
    return re.sub(r"([\\*_#`~])", r"\\\1", text)


def section(rows):
    lines = [MARK, "\n"]
    for names, argument, text in rows:
        head = ", ".join(f"*{name}*" for name in names)
        if argument:
            head += f" _{escape(argument)}_"
        default = re.search(r" \[default: (.*)\]$", text)
        if default:
            text = text[: default.start()] + ". Default: " + default.group(1)
        text = text[0].upper() + text[1:] if text[0].isalpha() and not text[:2].isupper() else text
        lines.append(f"{head}\n\t{escape(text)}.\n\n")
    return "".join(lines)


def synced(page, rows):
    found = re.search(r"(?m)^# OPTIONS\n\n(.*?)(?=^# )", page, re.S)
    if found is None:
        raise SystemExit("no section OPTIONS with a heading behind it")
    return page[: found.start(1)] + section(rows) + page[found.end(1):]


def main():
    words = sys.argv[1:]
    check = "--check" in words
    words = [word for word in words if word != "--check"]
    if len(words) not in (1, 2):
        raise SystemExit(__doc__)
    folder = words[1] if len(words) == 2 else os.path.dirname(os.path.abspath(__file__))
    differ = 0
    for verb in VERBS:
        path = os.path.join(folder, f"hapax-{verb}.1.scd")
        with open(path, encoding="utf-8") as file:
            page = file.read()
        wanted = synced(page, table(words[0], verb))
        if page == wanted:
            continue
        if check:
            print(f"{path}: its options are not those of hapax {verb} --help; run man/sync-options.py")
            differ = 1
        else:
            with open(path, "w", encoding="utf-8") as file:
                file.write(wanted)
    return differ


if __name__ == "__main__":
    sys.exit(main())
