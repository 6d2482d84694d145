"""Another account of the node, which looks for a secret that a program in a fence has put into all that it has.

argv[1] is JSON that says where things are. The outcome of a way is one JSON line: "blocked", or "open" with what was found. The numbers of system calls
are those of amd64.
"""
import base64
import ctypes
import errno
import json
import os
import socket
import subprocess
import sys

out = json.loads(sys.argv[1])
secret, me = out["secret"], os.getuid()
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
forms = [secret.encode(), secret.encode().hex().encode(), base64.b64encode(secret.encode()).rstrip(b"="), str(out["number"]).encode()]
ways = {}


def way(f):
    ways[f.__name__] = f
    return f


class Blocked(Exception):
    pass


def call(number, *args):
    got = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    if got < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return "the call %d returned %d" % (number, got)


def processes():
    """The numbers of the program's processes, as this account sees them."""
    found = []
    for pid in os.listdir("/proc"):
        if pid.isdigit():
            try:
                if os.stat("/proc/" + pid).st_uid == out["uid"]:
                    found.append(pid)
            except OSError:
                pass
    return found


def any_open(attempts):
    """What the first attempt got that did not fail."""
    why, tried = set(), 0
    for a in attempts:
        tried += 1
        try:
            got = a()
        except (OSError, subprocess.SubprocessError, Blocked) as e:
            why.add(errno.errorcode.get(getattr(e, "errno", None), str(e)))
        else:
            return got
    raise Blocked("%d tried: %s" % (tried, " ".join(sorted(why))))


def has(text):
    return any(f in text for f in forms)


def slurp(path):
    with open(path, "rb") as f:
        return f.read(1 << 20)


def search(paths):
    """Which of these files has the secret."""
    n = 0
    for p in paths:
        try:
            text = slurp(p)
        except OSError:
            continue
        n += 1
        if has(text):
            return p
    raise Blocked("%d files read, none has it" % n)


def in_proc(*names):
    return ["/proc/%s/%s" % (p, n) for p in processes() for n in names]


@way
def process_environment(): return any_open([lambda p=p: slurp(p) for p in in_proc("environ", "auxv")])
@way
def process_maps():
    def maps(p):
        text = slurp(p)
        if not text:
            raise Blocked("empty")  # of a process that ends
        return text
    return any_open([lambda p=p: maps(p) for p in in_proc("maps", "smaps", "numa_maps", "pagemap")])
@way
def process_contents(): return any_open([lambda p=p: slurp(p) for p in in_proc("mem")])
@way
def process_files(): return any_open([lambda p=p: os.listdir(p) for p in in_proc("fd", "fdinfo", "map_files", "cwd/", "root/")])
@way
def process_links(): return any_open([lambda p=p: os.readlink(p) for p in in_proc("exe", "cwd", "root", "ns/net", "ns/mnt")])
@way
def process_calls(): return any_open([lambda p=p: slurp(p) for p in in_proc("syscall", "stack", "io", "personality", "timers")])
@way
def process_mounts(): return search(in_proc("mountinfo", "mounts", "mountstats"))
@way
def process_network(): return search(in_proc("net/unix", "net/tcp", "net/udp") + ["/proc/net/unix", "/proc/net/tcp"])
@way
def process_names():
    """comm, stat and status are for everyone."""
    for p in processes():
        for t in [p] + os.listdir("/proc/%s/task" % p):
            if has(slurp("/proc/%s/comm" % t)):
                return "the secret is the name of process %s" % t
    raise Blocked("not among the names")
@way
def process_attributes():
    """Priority and limits are for everyone."""
    for p in processes():
        if out["nice"] > out["present"] and os.getpriority(os.PRIO_PROCESS, int(p)) == out["nice"]:
            return "the priority of process %s is that which it chose" % p
        if libc.syscall(252, 1, int(p)) == 2 << 13 | out["io"]:  # ioprio_get
            return "the priority of process %s for disks is that which it chose" % p
    raise Blocked("none")
@way
def lock_ranges():
    """The kernel shows all locks to everyone, with their first and last bytes."""
    if has(slurp("/proc/locks")):
        return "the number is in /proc/locks"
    raise Blocked("not in /proc/locks")
@way
def vault_folders(): return any_open([lambda p=p: os.listdir(p) for p in out["folders"]] + [lambda p=p: slurp(p + "/" + secret) for p in out["folders"]])
@way
def vault_watched():
    fd = libc.inotify_init1(0)
    def watch(p):
        if libc.inotify_add_watch(fd, p.encode(), 0xFFF) < 0:
            raise OSError(ctypes.get_errno(), "inotify")
        return "watched " + p
    return any_open([lambda p=p: watch(p) for p in out["folders"]])
@way
def fifos(): return any_open([lambda p=p: os.open(p + "/fifo", os.O_RDONLY | os.O_NONBLOCK) for p in out["folders"]])
@way
def setuid_file(): return any_open([lambda p=p: subprocess.run([p + "/setuid", "-c", "id -u"], capture_output=True, check=True, timeout=10) for p in out["folders"]])
@way
def shared_folders():
    """What is written to /tmp and /dev/shm inside is not there outside."""
    for folder in ("/tmp", "/dev/shm", "/var/tmp", "/run", "/dev/mqueue"):
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        if any(secret in n for n in names):
            return folder
    raise Blocked("not in 5 folders")
@way
def shared_system_v():
    rt = ctypes.CDLL("librt.so.1", use_errno=True)
    def queue():
        if rt.mq_open(("/" + secret).encode(), 0) < 0:
            raise OSError(ctypes.get_errno(), "mq_open")
        return "opened"
    key = out["key"] + 1
    return any_open([lambda: call(29, key, 0, 0), lambda: call(64, key, 0, 0), lambda: call(68, key, 0), queue])
@way
def sockets_inside():
    def connect(family, where):
        s = socket.socket(family, socket.SOCK_STREAM)
        s.settimeout(3)
        s.connect(where)
        return "connected to %s" % (where,)
    return any_open([lambda: connect(socket.AF_INET, ("127.0.0.1", out["inside"])), lambda: connect(socket.AF_UNIX, "\0" + secret)] +
                    [lambda p=p: connect(socket.AF_UNIX, p + "/socket") for p in out["folders"]])
@way
def enter_namespaces():
    def enter(p):
        fd = os.open(p, os.O_RDONLY)
        return call(308, fd, 0)
    return any_open([lambda p=p: enter(p) for p in in_proc("ns/user", "ns/mnt", "ns/net", "ns/pid", "ns/ipc")] +
                    [lambda p=p: call(308, os.pidfd_open(int(p)), 0x20000 | 0x10000000) for p in processes()])
@way
def trace():
    buf = ctypes.create_string_buffer(64)
    part = (ctypes.c_long * 2)(ctypes.addressof(buf), 16)
    there = (ctypes.c_long * 2)(0x400000, 16)
    all_ = []
    for p in map(int, processes()):
        all_ += [lambda p=p: call(101, 16, p, 0, 0), lambda p=p: call(101, 0x4206, p, 0, 0), lambda p=p: call(310, p, part, 1, there, 1, 0),
                 lambda p=p: call(438, os.pidfd_open(p), 0, 0), lambda p=p: call(312, os.getpid(), p, 0, 0, 1)]
    return any_open(all_)
@way
def signals(): return any_open([lambda p=p: os.kill(int(p), 0) for p in processes()])
@way
def limits(): return any_open([lambda p=p: call(302, int(p), 7, 0, ctypes.create_string_buffer(16)) for p in processes()])
@way
def job_folder():
    """All that others can read of the job."""
    return search([os.path.join(d, n) for d, _, names in os.walk(out["job"]) for n in names])
@way
def job_folder_names():
    for d, folders, names in os.walk(out["base"]):
        for n in folders + names:
            if secret in n:
                return os.path.join(d, n)
    raise Blocked("no such name")
@way
def job_folder_written():
    def put(name):
        with open(os.path.join(out["job"], name), "a") as f:
            f.write("{}")
        return name
    return any_open([lambda n=n: put(n) for n in ("request.json", "runner.json", "progress.jsonl", "script", "new")])


if __name__ == "__main__":
    for name, attempt in ways.items():
        try:
            outcome, detail = "open", str(attempt())
        except Blocked as e:
            outcome, detail = "blocked", str(e)
        except Exception as e:
            outcome, detail = "broken", "%s: %s" % (type(e).__name__, e)
        print(json.dumps({"way": name, "outcome": outcome, "detail": detail[:200]}), flush=True)
    print(json.dumps({"way": "processes", "outcome": "", "detail": str(len(processes()))}))
