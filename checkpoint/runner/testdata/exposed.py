"""A program in a fence that puts a secret into all that it has, so that another account of the node may find it.

It makes the file "exposed" in $SLUICE_JOB_DIR once it is done, and ends when "seen" is there. The secret is 12 letters and a number.
"""
import ctypes
import fcntl
import json
import mmap
import os
import resource
import shutil
import socket
import subprocess
import sys
import threading
import time

with open("outside.json") as f:
    out = json.load(f)
secret, number = out["secret"], out["number"]
job = os.environ["SLUICE_JOB_DIR"]
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
keep, failed = [], {}


def do(what, f):
    try:
        keep.append(f())
    except Exception as e:
        failed[what] = "%s: %s" % (type(e).__name__, e)


def named():
    for folder in ("/tmp", "/dev/shm", "/output", job):
        os.mkdir("%s/folder-%s" % (folder, secret))
        path = "%s/%s" % (folder, secret)
        with open(path, "w") as f:
            f.write(secret)
        os.chmod(path, 0o666)
        keep.append(open(path))
    os.mkfifo("/output/fifo", 0o666)
    os.mkfifo(job + "/fifo", 0o666)


def mapped():
    with open("/tmp/" + secret, "r+") as f:
        keep.append(mmap.mmap(f.fileno(), len(secret)))
    return os.memfd_create(secret)


def setuid():
    shutil.copy("/bin/sh", "/output/setuid")
    os.chmod("/output/setuid", 0o6777)


def lock():
    # bytes of a file of its own, from "number" on
    f = open("/tmp/locked", "w")
    fcntl.lockf(f, fcntl.LOCK_EX, 7, number)
    return f


def system_v():
    key = out["key"] + 1
    for number_, args in ((29, (key, 4096, 0o1666)), (64, (key, 1, 0o1666)), (68, (key, 0o1666))):
        libc.syscall(ctypes.c_long(number_), *[ctypes.c_long(a) for a in args])
    return ctypes.CDLL("librt.so.1", use_errno=True).mq_open(("/" + secret).encode(), 0o102, 0o666, None)


def listen():
    for family, where in ((socket.AF_INET, ("127.0.0.1", out["inside"])), (socket.AF_UNIX, "\0" + secret), (socket.AF_UNIX, "/output/socket"), (socket.AF_UNIX, job + "/socket")):
        s = socket.socket(family, socket.SOCK_STREAM)
        s.bind(where)
        s.listen()
        keep.append(s)


def child():
    os.chdir("/tmp/folder-" + secret)
    shutil.copy("/bin/sleep", "/tmp/" + secret + "-program")
    return subprocess.Popen(["/tmp/" + secret + "-program", "60"], env={"SECRET": secret})


def attributes():
    if out["nice"] > out["present"]:
        os.setpriority(os.PRIO_PROCESS, 0, out["nice"])
    libc.syscall(251, 1, 0, 2 << 13 | out["io"])  # ioprio_set
    resource.setrlimit(resource.RLIMIT_NOFILE, (777, 777))
    with open("/proc/self/oom_score_adj", "w") as f:
        f.write("789")


def read_files():
    with open(out["old"]) as f:
        return f.read()


def journals():
    with open(job + "/progress.jsonl", "a") as f:
        f.write('{"time":1.5,"event":"hello","done":0,"metric":{"%s":1}}\n{"time":2.5,"event":"%s"}\n' % (secret, secret))
    for name in ("runner.json", "notes.json", "steps", secret + ".json"):
        with open(job + "/" + name, "w") as f:
            f.write(json.dumps({"text": secret}))
    folder = job + "/checkpoints/" + secret
    os.makedirs(folder)
    with open(folder + "/weights", "w") as f:
        f.write(secret)


for f in (named, mapped, setuid, lock, system_v, listen, child, attributes, read_files, journals):
    do(f.__name__, f)
# last: the file names of the process itself
do("name", lambda: libc.prctl(15, secret.encode(), 0, 0, 0))
do("thread", lambda: threading.Thread(target=lambda: (libc.prctl(15, secret.encode(), 0, 0, 0), time.sleep(60)), daemon=True).start())
with open(job + "/exposed.new", "w") as f:
    json.dump(failed, f)
os.rename(job + "/exposed.new", job + "/exposed")
for _ in range(3000):
    if os.path.exists(job + "/seen"):
        break
    time.sleep(0.01)
os._exit(77)  # 1 outside
