"""One rank on each node: rank 0 answers, rank 1 measures, in turn through the relay and by plain TCP on loopback. Arguments: megabytes of a
stream, round trips, and how often."""
import json
import os
import socket
import sys
import time

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
master, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
BYTES, ROUNDS, TIMES = int(sys.argv[1]) << 20, int(sys.argv[2]), int(sys.argv[3])


def exactly(s, n):
    left, view = n, memoryview(bytearray(1 << 20))
    while left:
        got = s.recv_into(view[:min(left, 1 << 20)])
        if not got:
            raise EOFError
        left -= got


def measured(s):
    """The seconds of a stream, and of the middle round trip."""
    trips = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        s.sendall(b"x" * 64)
        exactly(s, 64)
        trips.append(time.perf_counter() - begun)
    block, begun = bytes(1 << 20), time.perf_counter()
    for _ in range(BYTES >> 20):
        s.sendall(block)
    exactly(s, 1)
    return time.perf_counter() - begun, sorted(trips)[ROUNDS // 2]


def answer(s):
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for _ in range(TIMES):
        for _ in range(ROUNDS):
            exactly(s, 64)
            s.sendall(b"y" * 64)
        exactly(s, BYTES)
        s.sendall(b"z")


def loopback():
    with socket.create_server(("127.0.0.1", 0)) as server:
        if os.fork() == 0:
            answer(server.accept()[0])
            os._exit(0)
        return socket.create_connection(server.getsockname())


def middle(pairs):
    return {"seconds": sorted(p[0] for p in pairs)[TIMES // 2], "bytes": BYTES, "trip": sorted(p[1] for p in pairs)[TIMES // 2]}


out = {"rank": rank, "world": world, "node": os.environ["SLURMD_NODENAME"], "host": socket.gethostbyname(socket.gethostname())}
if rank == 0:
    with socket.create_server(("", port)) as listener:
        c, other = listener.accept()
    out["other"] = other[0]
    answer(c)
else:
    for _ in range(600):
        try:
            c = socket.create_connection((master, port), 5)
            break
        except OSError:
            time.sleep(0.05)
    plain = loopback()
    for s in (c, plain):
        s.settimeout(None)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    pairs = [(measured(c), measured(plain)) for _ in range(TIMES)]
    out["relayed"], out["plain"] = middle([p[0] for p in pairs]), middle([p[1] for p in pairs])
with open(os.path.join(os.environ["SLUICE_JOB_DIR"], "ping.%d" % rank), "w", encoding="ascii") as f:
    json.dump(out, f)
