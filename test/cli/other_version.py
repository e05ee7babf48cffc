#!/usr/bin/python3
"""Makes a sound store look as if it had been written in another format version.

usage: other_version.py STORE VERSION

The version stands at byte 8 of both superblocks, the CRC-32C of the block (its own bytes as zeros) at byte 12; see
docs/format.md. Without a right CRC it would be damage, not another version.
"""

import os
import struct
import sys


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def main():
    state, version = sys.argv[1], int(sys.argv[2])
    for name in ("SUPER.0", "SUPER.1"):
        path = os.path.join(state, name)
        with open(path, "r+b") as file:
            block = bytearray(file.read())
            if not any(block):
                continue
            stored, block[12:16] = bytes(block[12:16]), bytes(4)
            assert stored == struct.pack("<I", crc32c(block)), f"{path}: not the block this tool knows"
            block[8:12] = struct.pack("<I", version)
            block[12:16] = struct.pack("<I", crc32c(block))
            file.seek(0)
            file.write(block)


main()
