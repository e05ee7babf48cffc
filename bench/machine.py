"""machine.py - says on what the numbers were taken: processor, memory, disk, kernel, compiler, versions of the peers."""

import json
import os
import platform
import shutil
import subprocess

import harness
import rows


def first_line(command):
    if not shutil.which(command[0]):
        return "not installed"
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                          text=True, errors="replace", timeout=20, check=False)
    return next((line.strip() for line in done.stdout.splitlines() if line.strip()), "no version told")


def field(path, name):
    with open(path, encoding="utf-8", errors="replace") as stream:
        for line in stream:
            key, _, value = line.partition(":")
            if key.strip() == name:
                return value.strip()
    return "unknown"


def file_system(folder):
    """The type and options of the mount that holds `folder`; the longest mount point that is a prefix of it."""
    folder = os.path.realpath(folder) + "/"
    best = ("", "unknown", "")
    with open("/proc/mounts", encoding="utf-8") as mounts:
        for line in mounts:
            _, point, kind, options = line.split()[:4]
            if folder.startswith(point.rstrip("/") + "/") and len(point) >= len(best[0]):
                best = (point, kind, options)
    return best[1], best[2]


def package_version(package):
    if not shutil.which("dpkg-query"):
        return "unknown"
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout.strip() or "not installed"


def build_settings(build):
    done = subprocess.run(["meson", "introspect", "--buildoptions", build], stdout=subprocess.PIPE, text=True,
                          check=False)
    wanted = {"buildtype", "optimization", "b_ndebug", "b_lto"}
    return ", ".join(f"{one['name']}={one['value']}" for one in json.loads(done.stdout or "[]") if one["name"] in wanted)


def describe(folder, build, hapax):
    """A list of (what, text); no path and no host name in it."""
    kind, options = file_system(folder)
    if kind in ("tmpfs", "ramfs"):
        options += "; NOT A DISK: the rows with a store mean nothing here"
    memory_gib = int(field("/proc/meminfo", "MemTotal").split()[0]) / (1 << 20)
    peers = [("mawk", ["mawk", "-W", "version"]), ("gawk", ["gawk", "--version"]), ("jq", ["jq", "--version"]),
             ("sort", ["sort", "--version"]), ("perl", ["perl", "-e", "print $^V"]),
             ("datamash", ["datamash", "--version"]), ("mlr", ["mlr", "--version"]),
             ("huniq", [rows.find_peer("huniq") or "huniq", "--version"]),
             ("runiq", [rows.find_peer("runiq") or "runiq", "--version"])]
    return [
        ("processor", f"{field('/proc/cpuinfo', 'model name')}, {len(os.sched_getaffinity(0))} cores, "
                      f"cache {field('/proc/cpuinfo', 'cache size')}"
                      + (", a virtual machine" if " hypervisor" in field("/proc/cpuinfo", "flags") else "")),
        ("memory", f"{memory_gib:.1f} GiB"),
        ("kernel", f"{platform.system()} {platform.release()}"),
        ("file system", f"{kind} ({options})"),
        ("disk", f"{harness.durable_write_rate(folder):,.0f} MB/s of 1 MiB writes, each waited for (fdatasync)"),
        ("compiler", first_line(["cc", "--version"])),
        ("hapax", f"{first_line([hapax, '--version'])}; {build_settings(build)}"),
        ("simdjson", package_version("libsimdjson-dev")),
        ("peers", "; ".join(f"{name}: {first_line(command)}" for name, command in peers)),
    ]
