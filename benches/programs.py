"""Programs whose behaviour is known over the kernel's TCP, and what extraction finds of them (methods A.13): rows of a Markdown table. As root.

programs.py FLOWLOOM             run all conditions over the path of `flowloom shell`, and print the rows (three minutes)
                                 KEEP=FOLDER keeps the vectors
programs.py serve|ask CONDITION  what that starts on the right and on the left

Each condition has CONNECTIONS connections, captured at the device of either side: there the monitor stands at one end.
"""

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

CONNECTIONS = 10
PORT, QUIT = 7000, 7001
FULL = 1448
ROUTE = "ip route change {net}/16 dev path scope link src {own} {options}"
# Behaviour: what the server writes (bytes, pause before it in seconds), options of its sockets, and of the routes of server and client.
AT_ONCE = [(200_000, 0)]
PIECES = [(15_000, 0), (15_000, 0.3), (15_000, 0.12), (15_000, 0.3)]
WRITES = [(100, 0), (2_000, 0), (300, 0), (5_000, 0)]
SMALL = [(100, 0)] + [(100, 0.02)] * 19
CONDITIONS = {"at once": AT_ONCE, "in pieces": PIECES, "paced to 8 Mbit/s": [(1_500_000, 0)], "read slowly": [(3_000_000, 0)]}
CONDITIONS |= {f"initial window of {n}": AT_ONCE for n in (1, 2, 3, 4, 10, 20, 30)}
CONDITIONS |= {"acknowledged at once": AT_ONCE, "several writes": WRITES, "small writes, Nagle": SMALL, "small writes, no Nagle": SMALL}
PACE = 8_000_000
PAUSE = 1.5


def route(condition, side):
    own, net = (("198.18.0.1", "198.19.0.0"), ("198.19.0.1", "198.18.0.0"))[side == "right"]
    options = "initcwnd 10"
    if condition.startswith("initial window"):
        options = f"initcwnd {condition.split()[-1]}"
    elif condition == "acknowledged at once":
        options = "initcwnd 10 quickack 1"
    subprocess.run(ROUTE.format(net=net, own=own, options=options).split(), check=True)


def record(file):
    """Writes the packets of the device, headers alone, with the kernel's times (SO_TIMESTAMPNS)."""
    packets = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
    packets.bind(("path", 3))
    packets.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 20)
    packets.setsockopt(socket.SOL_SOCKET, 35, 1)
    with open(file, "wb") as out:
        signal.signal(signal.SIGINT, lambda *_: (out.close(), os._exit(0)))
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65_535, 101))
        while True:
            data, stamps, _, _ = packets.recvmsg(65_535, 64)
            seconds, nanos = struct.unpack("qq", stamps[0][2])
            out.write(struct.pack("<IIII", seconds, nanos, min(len(data), 100), len(data)) + data[:100])


def capture(side):
    running = subprocess.Popen(["python3", SELF, "record", f"{side}.pcap"])
    time.sleep(0.7)
    return running


def end(running):
    time.sleep(0.3)
    running.send_signal(signal.SIGINT)
    running.wait()


def serve(condition):
    route(condition, "right")
    running = capture("right")
    server, quit = (socket.create_server(("0.0.0.0", port)) for port in (PORT, QUIT))
    for _ in range(CONNECTIONS):
        one, _ = server.accept()
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, condition != "small writes, Nagle")
        if condition.startswith("paced"):
            one.setsockopt(socket.SOL_SOCKET, 47, PACE // 8)  # SO_MAX_PACING_RATE
        one.recv(1000)
        for size, pause in CONDITIONS[condition]:
            time.sleep(pause)
            one.sendall(bytes(size))
        one.shutdown(socket.SHUT_WR)
        one.recv(1000)
        one.close()
    last, _ = quit.accept()
    end(running)
    last.close()


def ask(condition):
    route(condition, "left")
    running = capture("left")
    slow = condition == "read slowly"
    for _ in range(CONNECTIONS):
        one = socket.socket()
        if slow:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 200_000)
        one.settimeout(30)
        for _ in range(100):
            try:
                one.connect((os.environ["FLOWLOOM_PEER"], PORT))
                break
            except OSError:
                time.sleep(0.1)
        one.sendall(bytes(300))
        have, paused = 0, not slow
        while piece := one.recv(65_536):
            have += len(piece)
            if not paused and have > 1_000_000:
                paused = True
                time.sleep(PAUSE)
        one.close()
        time.sleep(0.1)
    end(running)
    with socket.create_connection((os.environ["FLOWLOOM_PEER"], QUIT)) as last:
        last.recv(1)


def vectors(program, side):
    subprocess.run([program, "convert", f"{side}.pcap", "-o", f"{side}.jsonl", "--force", "-q"], check=True)
    with open(f"{side}.jsonl", encoding="utf-8") as file:
        every = [json.loads(line) for line in file]
    # The connection that ends the servers has no data.
    return [one for one in every if "adus" in one and sum(adu["bytes"] for adu in one["adus"]) > 1_000]


def pauses(one):
    """Those of the server inside its response: bytes before it, and milliseconds."""
    return {pause["after_bytes"]: pause["length_ns"] / 1e6 for pause in one.get("acceptor_pauses", [])}


def told(condition):
    """What is right, and a function that says whether what extraction found of a connection is: None if it found nothing."""
    known = lambda one, value, right: None if value is None and not pauses(one) else bool(value is not None and right(value) and not pauses(one))
    if condition == "in pieces":
        # A write begins so long after the one before, which takes a round trip to leave.
        at = {15_000: 300, 30_000: 120, 45_000: 300}
        near = lambda one: pauses(one).keys() == at.keys() and all(at[k] - 45 < v < at[k] + 25 for k, v in pauses(one).items())
        return "pauses behind 15, 30 and 45 kB, to a round trip", near
    if condition.startswith("paced"):
        return "a rate within 10 %, no pause", lambda one: known(one, one["acceptor"].get("rate"), lambda rate: abs(rate / PACE - 1) < 0.1)
    if condition == "read slowly":
        # The window stays open until the buffer is full.
        held = lambda one: [pause["length_ns"] / 1e9 for pause in one.get("initiator_read_pauses", [])] or None
        right = lambda lengths: len(lengths) == 1 and PAUSE - 0.15 < lengths[0] < PAUSE + 0.05
        return f"the reader pauses for {PAUSE} s, less 0.15 s for its buffer, the writer does not", lambda one: known(one, held(one), right)
    if condition == "acknowledged at once":
        prompt = lambda one: one["initiator"]["prompt_acks"] or one["initiator"]["quick_acks"]
        each = lambda one: one["initiator"]["prompt_ack_segments"] == one["initiator"]["prompt_acks"] and "ack_delay_ns" not in one["initiator"]
        return "one segment an acknowledgement, none late, no pause", lambda one: known(one, prompt(one) or None, lambda _: each(one))
    if condition == "several writes":
        return "writes behind 100, 2,100 and 2,400 bytes", lambda one: set(pauses(one)) == {100, 2_100, 2_400}
    if condition.startswith("small writes"):
        has = not condition.endswith("no Nagle")
        say = lambda one: one["acceptor"].get("nagle")
        return f"Nagle's algorithm: {'yes' if has else 'no'}", lambda one: None if say(one) is None else say(one) is has
    size = FULL * (int(condition.split()[-1]) if condition.startswith("initial window") else 10)
    return f"a first flight of {size:,} bytes, no pause", lambda one: known(one, one["acceptor"].get("first_flight_bytes"), lambda found: found == size)


def main(program):
    program = os.path.realpath(program)
    print("| program | monitor beside | what is right | right | unknown | wrong |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("path.toml", "w", encoding="utf-8") as file:
            file.write('[network.bottleneck]\nrate = "100mbit"\ndelay = "20ms"\nqueue = { kind = "drop-tail", limit = "2000p" }\n')
        for condition in CONDITIONS:
            words = [program, "shell", "path.toml", "-o", "run", "--force", "-q"]
            words += ["--peer", f"python3 {SELF} serve '{condition}'", "--", "python3", SELF, "ask", condition]
            subprocess.run(words, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for side, who in (("left", "client"), ("right", "server")):
                found = vectors(program, side)
                what, judge = told(condition)
                verdicts = [judge(one) for one in found]
                print(f"| {condition} | {who} | {what} | {' | '.join(str(verdicts.count(v)) for v in (True, None, False))} |", flush=True)
                if "KEEP" in os.environ:
                    os.replace(f"{side}.jsonl", os.path.join(os.environ["KEEP"], f"{condition}-{side}.jsonl".replace(" ", "_").replace("/", "")))


SELF = os.path.realpath(__file__)
if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", condition]:
            serve(condition)
        case ["ask", condition]:
            ask(condition)
        case ["record", file]:
            record(file)
        case [program]:
            main(program)
