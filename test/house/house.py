"""What the house tests share: the root of the tree and a way to run a command."""

import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def run(*command, cwd=ROOT, env=None, timeout=120):
    """Runs a command and gives back the finished process, with text in stdout and stderr."""
    return subprocess.run(command, cwd=cwd, env=dict(os.environ, **(env or {})), capture_output=True, text=True,
                          timeout=timeout, stdin=subprocess.DEVNULL)


def tool(name):
    return os.path.join(ROOT, "tools", name)


def write(folder, name, text):
    """Writes folder/name, making the folders on the way."""
    path = os.path.join(str(folder), name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path
