# SPDX-License-Identifier: MIT OR Apache-2.0
"""The link's hosts: their addresses and paths, and the network namespaces they live in."""

import dataclasses
import fcntl
import json
import os
import signal
import struct
import subprocess
import time

PREFIX = "fldemo"
SERVER_NAMESPACE = f"{PREFIX}-servers"
SERVER_SUBNET = "10.77.2"
WEB, FILES, SHELL, DATABASE = (f"{SERVER_SUBNET}.{host}" for host in (10, 20, 30, 40))
APPLICATIONS = {  # by server address and port; FTP's data connections use any other port of FILES
    (WEB, 80): "HTTP/1.1",
    (WEB, 443): "HTTP/2 over TLS",
    (FILES, 21): "FTP control",
    (FILES, 873): "rsync",
    (SHELL, 22): "SSH (shell, scp)",
    (DATABASE, 5432): "PostgreSQL",
}
LEFT_MAC = bytes.fromhex("020000000001")
RIGHT_MAC = bytes.fromhex("020000000002")


@dataclasses.dataclass(frozen=True)
class Client:
    """A client and its path: round-trip times in ms on either side of the monitor, loss per packet and direction."""

    left_rtt: float
    right_rtt: float
    left_loss: float
    right_loss: float


# Total round-trip times from 5 to 200 ms, about evenly spaced in their logarithm; the monitor's place differs.
CLIENTS = [
    Client(4.0, 1.0, 0.0000, 0.0000),
    Client(4.5, 1.6, 0.0030, 0.0015),
    Client(4.2, 3.2, 0.0000, 0.0030),
    Client(7.0, 1.9, 0.0060, 0.0030),
    Client(5.0, 5.9, 0.0015, 0.0015),
    Client(9.0, 4.2, 0.0090, 0.0015),
    Client(13.0, 3.0, 0.0030, 0.0000),
    Client(7.5, 12.0, 0.0045, 0.0045),
    Client(18.0, 5.6, 0.0000, 0.0015),
    Client(16.0, 12.7, 0.0120, 0.0030),
    Client(30.0, 4.8, 0.0030, 0.0060),
    Client(20.0, 22.3, 0.0015, 0.0000),
    Client(42.0, 9.3, 0.0060, 0.0030),
    Client(30.0, 32.3, 0.0030, 0.0030),
    Client(66.0, 9.6, 0.0090, 0.0030),
    Client(52.0, 39.8, 0.0015, 0.0015),
    Client(90.0, 21.0, 0.0060, 0.0030),
    Client(88.0, 47.0, 0.0030, 0.0060),
    Client(140.0, 25.0, 0.0045, 0.0015),
    Client(150.0, 50.0, 0.0060, 0.0030),
]


class Failure(Exception):
    """Something the caller can mend; its text says how."""


def client_namespace(client):
    return f"{PREFIX}-c{client + 1:02}"


def run(*argv, **options):
    """Runs a set-up command to its end; its own words become the failure's."""
    done = subprocess.run(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
    )
    if done.returncode != 0:
        raise Failure(f"`{' '.join(map(str, argv))}` failed: {done.stdout.strip()[-600:]}")
    return done.stdout


TUNSETIFF = 0x400454CA
IFF_TUN_NO_PI = 0x1001


def open_tun(name):
    """A TUN device in the caller's namespace. It offers no offload: every packet in it has its size on a wire."""
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN_NO_PI))
    return fd


def make_namespace(namespace, tun, addresses):
    """Makes a namespace whose only way out is a TUN device, and returns the device's file descriptor."""
    run("ip", "netns", "add", namespace)
    fd = open_tun(tun)  # made here and moved: the descriptor keeps working
    run("ip", "link", "set", tun, "netns", namespace)
    inside = ("ip", "-n", namespace)
    run(*inside, "link", "set", "lo", "up")
    for address in addresses:
        run(*inside, "address", "add", f"{address}/32", "dev", tun)
    # A queue longer than any burst: the relay alone decides what is lost.
    run(*inside, "link", "set", tun, "mtu", "1500", "txqueuelen", "10000", "up")
    # What most hosts run, whatever this one is set to; as a route's attribute because the sysctl may be refused.
    run(*inside, "route", "add", "default", "dev", tun, "congctl", "cubic")
    return fd


def existing_namespaces():
    return [line.split()[0] for line in run("ip", "netns", "list").splitlines() if line.startswith(PREFIX)]


def remove_namespaces():
    """Ends every process inside this script's namespaces, and removes them; one that resists does not stop the rest."""
    for sent in (signal.SIGTERM, signal.SIGKILL):
        pids = set()
        for namespace in existing_namespaces():
            pids.update(
                subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True).stdout.split()
            )
        for pid in pids:
            try:
                os.kill(int(pid), sent)
            except ProcessLookupError:
                pass
        if pids:
            time.sleep(0.5)
    for namespace in existing_namespaces():
        subprocess.run(["ip", "netns", "delete", namespace], check=False)


def tun_drops(namespace, tun):
    """Packets the device's queue lost because the relay read too late."""
    stats = json.loads(run("ip", "-j", "-s", "-n", namespace, "link", "show", tun))
    return stats[0]["stats64"]["tx"]["dropped"]
