#!/usr/bin/env python3
"""Writes a small valid file of every kind to fuzz/corpus/, for the fuzzer to begin with."""

import gzip
import pathlib
import shutil
import struct
import subprocess

CORPUS = pathlib.Path(__file__).parent / "corpus"


def tcp(flags=0x10, options=b""):
    return struct.pack(">HHIIBBHHH", 40000, 80, 7, 9, (20 + len(options)) // 4 << 4, flags, 512, 0, 0) + options


def ipv4(payload, protocol=6, fragment=0, options=b"", length=None):
    header = 20 + len(options)
    length = header + len(payload) + 100 if length is None else length
    addresses = bytes([10, 0, 0, 1, 192, 0, 2, 9])
    head = struct.pack(">BBHHHBBH", 0x40 | header // 4, 0, length, 1, fragment, 64, protocol, 0)
    return head + addresses + options + payload


def ipv6(payload, following=6, length=None):
    length = len(payload) + 100 if length is None else length
    return struct.pack(">IHBB", 6 << 28, length, following, 64) + bytes(range(32)) + payload


def ethernet(payload, kind=0x0800, tags=()):
    tagged = b"".join(struct.pack(">HH", tag, 42) for tag in tags)
    return bytes([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]) + tagged + struct.pack(">H", kind) + payload


SYN = tcp(0x02, bytes([2, 4, 5, 180, 1, 3, 3, 7, 4, 2, 1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1]))
EXTENSIONS = bytes([60, 0, 1, 4, 0, 0, 0, 0, 43, 0, 1, 4, 0, 0, 0, 0, 51, 0, 0, 0, 0, 0, 0, 0])
EXTENSIONS += bytes([44, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 9])

# (index of the link type in the target's list, packet)
PACKETS = [
    (0, ethernet(ipv4(tcp()))),
    (0, ethernet(ipv4(SYN))),
    (0, ethernet(ipv4(SYN, options=bytes(8)), tags=[0x88A8, 0x8100])),
    (0, ethernet(ipv4(tcp(), length=0))),
    (0, ethernet(ipv4(tcp(), fragment=0x2000))),
    (0, ethernet(ipv4(bytes([6, 1]) + bytes(10) + tcp(), protocol=51))),
    (0, ethernet(ipv6(tcp()), 0x86DD)),
    (0, ethernet(ipv6(EXTENSIONS + SYN, following=0), 0x86DD)),
    (0, ethernet(b"\xaa\xaa\x03\0\0\0\x08\0" + ipv4(tcp()), 100)),
    (0, ethernet(bytes(28), 0x0806)),
    (1, bytes([0, 4, 0, 1, 0, 6]) + bytes(8) + b"\x08\0" + ipv4(tcp())),
    (2, b"\x86\xdd" + bytes(8) + bytes([0, 6]) + bytes(8) + ipv6(tcp())),
    (3, ipv4(SYN)),
    (3, ipv6(tcp(), length=0)),
    (4, struct.pack("<I", 2) + ipv4(tcp())),
    (5, struct.pack(">I", 24) + ipv6(tcp())),
]


def pcap(order, magic):
    out = struct.pack(order + "IHHIIII", magic, 2, 4, 0, 0, 65535, 1)
    for index, (_, packet) in enumerate(PACKETS[:4]):
        out += struct.pack(order + "IIII", 1000 + index, 5, len(packet), len(packet) + 100) + packet
    return out


def pcapng(order):
    def option(code, value):
        return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)

    def block(kind, body):
        body += bytes(-len(body) % 4)
        length = struct.pack(order + "I", 12 + len(body))
        return struct.pack(order + "I", kind) + length + body + length

    end = struct.pack(order + "HH", 0, 0)
    section = block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))
    out = section
    out += block(1, struct.pack(order + "HHI", 1, 0, 64) + option(9, b"\x09") + option(14, bytes(8)) + end)
    out += block(1, struct.pack(order + "HHI", 101, 0, 0) + option(9, b"\x8a") + end)
    packet, raw = PACKETS[0][1], PACKETS[12][1]
    flags = option(2, struct.pack(order + "I", 1)) + end
    out += block(6, struct.pack(order + "IIIII", 0, 1, 2, len(packet), 200) + packet + bytes(-len(packet) % 4) + flags)
    out += block(3, struct.pack(order + "I", len(packet)) + packet)
    out += block(2, struct.pack(order + "HHIIII", 1, 9, 1, 2, len(raw), 200) + raw)
    out += block(4, bytes(8)) + section
    out += block(1, struct.pack(order + "HHI", 1, 0, 0))
    out += block(6, struct.pack(order + "IIIII", 0, 0, 0, len(packet), 200) + packet)
    return out


def main():
    wire, capture = CORPUS / "wire", CORPUS / "capture"
    wire.mkdir(parents=True, exist_ok=True)
    capture.mkdir(parents=True, exist_ok=True)
    for index, (link, packet) in enumerate(PACKETS):
        (wire / f"seed-{index}").write_bytes(bytes([link]) + struct.pack(">I", len(packet) + 100) + packet)
    files = {f"pcap-{order}-{magic:x}": pcap(order, magic) for order in "<>" for magic in (0xA1B2C3D4, 0xA1B23C4D)}
    files |= {f"pcapng-{order}": pcapng(order) for order in "<>"}
    for name, data in files.items():
        packed = {"plain": data, "gzip": gzip.compress(data, mtime=0)}
        if shutil.which("zstd"):
            packed["zstd"] = subprocess.run(["zstd", "-qc"], input=data, stdout=subprocess.PIPE, check=True).stdout
        for choice, (kind, stored) in enumerate(packed.items()):
            name = name.replace("<", "little").replace(">", "big")
            (capture / f"seed-{name}-{kind}").write_bytes(bytes([choice * 5]) + stored)


if __name__ == "__main__":
    main()
