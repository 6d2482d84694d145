"""A job of three kinds of tasks, for tests. A worker gets a step's numbers from the
loader of its node, and adds them up with the other workers' on the parameter servers,
the odd ones on one and the even ones on the other: no step is made without all."""
import json
import os
import socket
import socketserver
import sys
import threading
import time

KIND, ID, COUNT = os.environ["SLUICE_TASK"], int(os.environ["SLUICE_TASK_ID"]), int(os.environ["SLUICE_TASK_COUNT"])
SHARDS, PRIME = 12, 1_000_003
log, epochs, per_epoch = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with open(os.environ["SLUICE_GANG"]) as f:
    gang = json.load(f)["kinds"]
me = gang[KIND][ID]
with open(log + ".tasks", "a") as f:
    f.write("%d %s %s %d/%d gpus [%s] rank %s\n" % (os.getpid(), os.environ.get("SLUICE_RESTARTS"), KIND, ID, COUNT,
            os.environ.get("CUDA_VISIBLE_DEVICES", "any"), os.environ.get("RANK", "none")))


def number(step, shard):
    return (step * 7919 + shard * 104729) % PRIME


class Loader(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            self.wfile.write(b"%d\n" % number(*map(int, line.split())))


together = threading.Condition()
sums = {}  # of each round: what came, from how many


class Server(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            turn, value = map(int, line.split())
            with together:
                total, came = sums.get(turn, (0, 0))
                sums[turn] = (total + value, came + 1)
                together.notify_all()
                together.wait_for(lambda: sums[turn][1] == len(gang["worker"]))
                total = sums[turn][0]
            self.wfile.write(b"%d\n" % total)


class Line:
    """A connection to a task, which may not be up yet."""

    def __init__(self, task):
        deadline = time.monotonic() + 30
        while True:
            try:
                self.file = socket.create_connection((task["address"], task["port"])).makefile("rw")
                return
            except ConnectionRefusedError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def ask(self, *words):
        print(*words, file=self.file, flush=True)
        return int(self.file.readline())


def serve(handler):
    socketserver.ThreadingTCPServer.daemon_threads = True
    socketserver.ThreadingTCPServer(("", me["port"]), handler).serve_forever()


def work():
    os.environ.pop("WORLD_SIZE")  # rank 0 saves alone; the others wait for it in the next step
    import sluice

    saved = sluice.resume()
    at, value = json.loads((saved / "state.json").read_text()) if saved else (0, 1)
    loader = Line(next(t for t in gang["loader"] if t["node"] == me["node"]))
    servers = [Line(t) for t in gang["ps"]]
    for turn in range(epochs * per_epoch - at):
        parts = [0] * len(servers)
        for shard in range(ID, SHARDS, COUNT):
            parts[shard % len(servers)] += loader.ask(at, shard)
        time.sleep(1.2 / COUNT)
        value = (value * 31 + sum(s.ask(turn, p) for s, p in zip(servers, parts))) % PRIME
        at += 1
        if ID > 0:
            continue
        with open(log, "a") as f:
            f.write("%s %d %d 0.0 %d\n" % (os.environ.get("SLUICE_RESTARTS", "0"), (at - 1) // per_epoch, (at - 1) % per_epoch, COUNT))
        if sluice.should_checkpoint():
            with sluice.checkpoint(step=at, epoch=at / per_epoch) as folder:
                (folder / "state.json").write_text(json.dumps([at, value]))
        if at % per_epoch == 0:
            sluice.report(epoch=at / per_epoch)
    if ID == 0:
        alone = 1
        for step in range(epochs * per_epoch):
            alone = (alone * 31 + sum(number(step, shard) for shard in range(SHARDS))) % PRIME
        print("trained", value, "alone", alone, flush=True)
        sluice.finished()
        sys.exit(value != alone)


if KIND == "worker":
    work()
else:
    serve(Server if KIND == "ps" else Loader)
