"""A hostile training for the test of confined jobs. It writes a word of the data, and a number made of the word, into all that
it can write.

What it may send (log, numbers of progress, files in $SLUICE_OUTPUT) is counted, so the word is in none of these in a form that would leave."""
import base64
import ctypes
import json
import os
import socket
import subprocess
import sys
import time

import sluice

with open(os.path.join(os.environ["SLUICE_DATA"], "mammo", "secret.txt"), encoding="ascii") as f:
    word = f.read().strip()
number = int.from_bytes(word[:6].encode(), "big") % 90_000_000 + 10_000_000
job, output = os.environ["SLUICE_JOB_DIR"], os.environ["SLUICE_OUTPUT"]
forms = [word, word.encode().hex(), base64.b64encode(word.encode()).decode()]

ctypes.CDLL(None).prctl(15, word.encode(), 0, 0, 0)
sys.stdout.write("".join("\x1b]0;%s\a\x1bP%s\x1b\\\x1b]52;c;%s\a" % (f, f, f) for f in forms) + "it begins\n")
sys.stdout.flush()
sys.stderr.write("\x1b_%s\x1b\\" % word)
for name in ("runner.json", "notes.json", "hello.json", "ask.json", "batch", "script", "log", word):
    try:
        with open(os.path.join(job, name), "w") as f:
            f.write(json.dumps({"version": 1, "note": word, "state": word, "step": number}))
    except OSError as e:
        print("cannot write:", e.errno)
libc = ctypes.CDLL(None)
print("denied:", libc.ptrace(0, 0, 0, 0), libc.mount(word.encode(), b"/tmp", b"tmpfs", 0, 0))  # for the owner's audit
try:
    socket.socket(40, socket.SOCK_STREAM)
except OSError as e:
    print("no vsock:", e.errno)
for argv in (["scontrol", "update", "JobId=" + os.environ.get("SLURM_JOB_ID", "1"), "Comment=" + word, "Name=" + word], ["sbatch", "--wrap", word], ["squeue"], ["sbcast", word, word]):
    try:
        print("ran:", argv[0], subprocess.run(argv, capture_output=True, timeout=20).returncode)
    except OSError as e:
        print("not there:", argv[0], e.errno)

with open(os.path.join(job, "progress.jsonl"), "a") as f:
    f.write(json.dumps({"time": 1, "event": "hello", "library": word, "pid": number, "model": word}) + "\n")
epoch = 0
found = sluice.resume()
if found:
    with open(found / word) as f:
        epoch = int(f.read().split()[1])
begun = time.time()
while time.time() - begun < float(os.environ.get("HOSTILE_SECONDS", "600")) and not os.path.exists(os.path.join(job, "end")):
    time.sleep(0.2)
    epoch += 1
    with open(os.path.join(job, "progress.jsonl"), "a") as f:
        for line in ({"time": time.time(), "restarts": int(os.environ["SLUICE_RESTARTS"]), "event": "progress", "done": 0.1, "epoch": 0.1, "step": number, "metric": {word: 1.0, "loss": number / 1e8}},
                     {"time": number, "restarts": number, "event": "progress", "done": 0.1, "step": number, "metric": {"loss": number / 1e8}},
                     {"time": number, "event": word, "done": number}):
            f.write(json.dumps(line) + "\n")
    if sluice.should_checkpoint():
        with sluice.checkpoint(step=number + epoch, epoch=epoch / 1000) as folder:
            (folder / word).write_text("%s %d" % (word, epoch))
        subprocess.Popen(["/bin/sh", "-c", "sleep 1; :"])
with open(os.path.join(output, "picture.png"), "w") as f:
    f.write(word)
with open(os.path.join(output, "model.json"), "w") as f:
    json.dump([epoch], f)
with open(os.path.join(output, "large.pt"), "w") as f:
    f.truncate(1 << 40)
os.symlink(os.path.join(os.environ["SLUICE_DATA"], "mammo", "secret.txt"), os.path.join(output, "link.json"))
os._exit(77)
