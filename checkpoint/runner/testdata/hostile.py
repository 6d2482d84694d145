"""A hostile program in a fence: it tries every way out and writes what came of each.

The numbers of system calls are those of amd64. The outcome of a way is one JSON line in $SLUICE_JOB_DIR/outcomes: "blocked" with the reason, or "open"
with what it got. The file outside.json says where things outside are.
"""
import ctypes
import errno
import json
import os
import resource
import socket
import stat
import subprocess
import sys
import time

with open("outside.json") as f:
    out = json.load(f)
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
ways = {}
keep = []  # files that stay open


def way(f):
    ways[f.__name__] = f
    return f


class Blocked(Exception):
    pass


def call(number, *args):
    ctypes.set_errno(0)
    got = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    if got < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return "the call %d returned %d" % (number, got)


def all_blocked(attempts):
    """Every one of several attempts must fail."""
    why = set()
    for a in attempts:
        try:
            got = a()
        except (OSError, subprocess.SubprocessError, Blocked) as e:
            why.add(errno.errorcode.get(getattr(e, "errno", None), str(e)))
        else:
            return "open: %s" % (got,)
    raise Blocked(" ".join(sorted(why)))


def connect(family, kind, where):
    s = socket.socket(family, kind)
    s.settimeout(3)
    s.connect(where)
    s.send(b"secret")
    return "sent to %s" % (where,)


@way
def tcp(): return connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", out["port"]))
@way
def tcp6(): return connect(socket.AF_INET6, socket.SOCK_STREAM, ("::1", out["port"]))
@way
def udp():
    # a datagram to nobody is no error: who listens outside says whether it came
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.sendto(b"secret", ("127.0.0.1", out["port"]))
    raise Blocked("sent into the fence's own loopback")
@way
def network(): return all_blocked([lambda a=a: connect(socket.AF_INET, socket.SOCK_STREAM, (a, out["port"])) for a in out["addresses"] + ["192.0.2.1"]])
@way
def udp_broadcast():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    return s.sendto(b"secret", ("255.255.255.255", out["port"]))
@way
def dns(): return socket.getaddrinfo("example.org", 80)
@way
def raw_sockets(): return all_blocked([lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1), lambda: socket.socket(socket.AF_INET6, socket.SOCK_RAW, 58)])
@way
def other_sockets(): return all_blocked([lambda f=f: socket.socket(f, k) for f in (17, 40, 38, 21, 30, 31, 29, 42, 44) for k in (1, 2, 3, 5)])
@way
def netlink(): return all_blocked([lambda p=p: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, p) for p in range(1, 22)])
@way
def abstract_socket(): return connect(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + out["abstract"])
@way
def unix_socket(): return connect(socket.AF_UNIX, socket.SOCK_STREAM, out["socket"])
@way
def software_pipe():
    """Another user has made it, and reads it."""
    def put(flags):
        fd = os.open(out["pipe"], flags | os.O_NONBLOCK)
        os.write(fd, b"secret")
        return "wrote into " + out["pipe"]
    return all_blocked([lambda f=f: put(f) for f in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC, os.O_WRONLY | os.O_CREAT)])
@way
def software_socket():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(3)
    s.connect(out["server"])
    return "connected to " + out["server"]
@way
def daemons(): return all_blocked([lambda p=p: connect(socket.AF_UNIX, socket.SOCK_STREAM, p) for p in (
    "/run/munge/munge.socket.2", "/var/run/munge/munge.socket.2", "/run/dbus/system_bus_socket", "/run/systemd/private", "/dev/log",
    "/run/sluice/control.sock", "/run/sluice-data/vaultd.sock", "/var/run/docker.sock")])


def write(path):
    with open(path, "w") as f:
        f.write("secret")
    return "wrote " + path


@way
def write_outside(): return all_blocked([lambda p=p: write(p) for p in (
    "/secret", "/usr/secret", "/usr/lib/secret", "/bin/secret", "/etc/secret", "/etc/passwd", "/code/secret", "/data/secret", "/data/mammo/secret", "/sluice/secret",
    "/sluice/bin/sluice", "/sluice/script", "/job/secret", "/home/secret", "/root/secret", "/run/secret", "/var/spool/secret", "/var/mail/secret", "/opt/secret", "/mnt/secret",
    "/dev/secret", out["folder"] + "/secret", out["vault"] + "/secret", out["vault"] + "/record.jsonl")])
@way
def read_vault(): return all_blocked([lambda p=p: os.listdir(p) for p in (out["vault"], out["jobs"], out["folder"], "/home", "/root", "/run", "/sys", "/var/spool")])
@way
def data_moves():
    """Links and renames that would put the data elsewhere."""
    secret = "/data/mammo/secret.txt"
    return all_blocked([lambda: os.link(secret, "/output/a"), lambda: os.link(secret, "/data/mammo/b"), lambda: os.rename(secret, "/output/c"), lambda: os.chmod(secret, 0o666),
                        lambda: os.chown(secret, -1, 0), lambda: os.setxattr(secret, "user.a", b"b"), lambda: os.utime(secret, (1, 1)), lambda: os.truncate(secret, 0), lambda: os.remove(secret)])
@way
def processes():
    names = []
    for pid in os.listdir("/proc"):
        if pid.isdigit():
            with open("/proc/%s/cmdline" % pid) as f:
                names.append(f.read())
    if any(out["marker"] in n for n in names) or len(names) > 8:
        return names
    raise Blocked("%d processes, all inside" % len(names))
@way
def vault_in_proc():
    """What bwrap was told names the vault, and must not be in a command line."""
    for name in ("cmdline", "environ"):
        try:
            with open("/proc/1/" + name) as f:
                text = f.read()
        except OSError:
            continue
        if out["vault"] in text:
            return text
    raise Blocked("the vault is not named")
@way
def descriptors():
    more = {}
    for fd in os.listdir("/proc/self/fd"):
        if int(fd) > 2:
            try:
                more[fd] = os.readlink("/proc/self/fd/" + fd)
            except OSError:
                pass  # the listing's own
    for fd, to in list(more.items()):
        if to.startswith("/proc/") or to.startswith("/job/"):
            del more[fd]
    if more:
        return more
    raise Blocked("none but the three")
@way
def log_file():
    """The program must not have the log itself, which it could make shorter or read again."""
    kinds = [stat.S_ISFIFO(os.fstat(fd).st_mode) for fd in (1, 2)]
    if all(kinds) and stat.S_ISCHR(os.fstat(0).st_mode):
        raise Blocked("the output is a pipe")
    return kinds
@way
def kill_outside(): return all_blocked([lambda s=s: os.kill(out["pid"], s) for s in (0, 10, 15)])
@way
def ptrace(): return all_blocked([lambda: call(101, 16, 1), lambda: call(101, 16, os.getppid()), lambda: call(101, 0x4206, 1)])
@way
def process_memory():
    buf = ctypes.create_string_buffer(16)
    return all_blocked([lambda: call(310, 1, buf, 1, buf, 1, 0), lambda: call(311, 1, buf, 1, buf, 1, 0), lambda: call(438, 3, 0, 0)])
@way
def first_process():
    """Bubblewrap's own process inside has the same user: its memory, descriptors and namespaces must be out of reach."""
    return all_blocked([lambda p=p: open("/proc/1/" + p, "rb") for p in ("mem", "task/1/mem", "maps", "environ", "cmdline", "ns/net", "root/data/mammo/secret.txt")] + [lambda: os.listdir("/proc/1/fd")])
@way
def listeners():
    """Filters of the program's own that would take the notices of denied calls, and allow them."""
    class Program(ctypes.Structure):
        _fields_ = [("n", ctypes.c_ushort), ("at", ctypes.c_void_p)]
    notify = (ctypes.c_uint8 * 8)(6, 0, 0, 0, 0, 0, 0xc0, 0x7f)  # every call gives a notice
    program = Program(1, ctypes.addressof(notify))
    def apart():
        # without a listener the kernel answers ENOSYS, also to the call that ends the process: it is killed
        pid = os.fork()
        if pid == 0:
            mount = (ctypes.c_uint8 * 32)(0x20, 0, 0, 0, 0, 0, 0, 0, 0x15, 0, 0, 1, 165, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0xc0, 0x7f, 6, 0, 0, 0, 0, 0, 0xff, 0x7f)
            call(317, 1, 0, ctypes.byref(Program(4, ctypes.addressof(mount))))
            try:
                call(165, b"none", b"/tmp", b"tmpfs", 0, 0)
            except OSError:
                os._exit(1)
            os._exit(0)
        if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0:
            raise Blocked("a notice to nobody")
        return "mounted"
    return all_blocked([lambda f=f: call(317, 1, f, ctypes.byref(program)) for f in (8, 8 | 2, 8 | 16, 8 | 32)] + [apart])
@way
def keyrings(): return all_blocked([lambda: call(250, 0, -4, 1), lambda: call(248, b"user", b"secret", b"secret", 6, -4), lambda: call(249, b"user", b"secret", None, -4)])
@way
def bpf(): return call(321, 0, 0, 0)
@way
def userfaultfd(): return call(323, 0)
@way
def io_uring(): return all_blocked([lambda: call(425, 8, ctypes.create_string_buffer(256)), lambda: call(426, 0, 0, 0, 0, 0, 0), lambda: call(427, 0, 0, 0, 0)])
@way
def perf(): return call(298, ctypes.create_string_buffer(128), 0, -1, -1, 0)
@way
def mounts(): return all_blocked([lambda: call(165, b"none", b"/tmp", b"tmpfs", 0, 0), lambda: call(165, b"none", b"/", 0, 32 | 4096, 0), lambda: call(166, b"/data/mammo", 2),
                                  lambda: call(430, b"tmpfs", 0), lambda: call(428, -100, b"/", 1), lambda: call(442, -100, b"/data/mammo", 0, ctypes.create_string_buffer(32), 32)])
@way
def roots(): return all_blocked([lambda: os.chroot("/tmp"), lambda: call(155, b"/tmp", b"/tmp"), lambda: call(303, -100, b"/data", ctypes.create_string_buffer(256), ctypes.create_string_buffer(8), 0),
                                 lambda: call(304, -100, ctypes.create_string_buffer(256), 0)])
@way
def namespaces():
    def child(flags):
        got = call(56, flags | 17, 0, 0, 0, 0)
        if got.endswith(" 0"):
            os._exit(0)
        return got
    def enter():
        with open("/proc/self/ns/net") as f:
            return call(308, f.fileno(), 0)
    return all_blocked([lambda f=f: call(272, f) for f in (0x10000000, 0x20000, 0x40000000, 0x08000000, 0x20000000, 0x04000000, 0x80)] +
                       [lambda f=f: child(f) for f in (0x10000000, 0x20000, 0x40000000)] + [lambda: call(435, ctypes.create_string_buffer(88), 88), enter])
@way
def become_root():
    return all_blocked([lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setgroups([0])])
@way
def setuid_programs():
    with open("/proc/self/status") as f:
        status = dict(line.split(":", 1) for line in f if ":" in line)
    rights = [status[k].strip() for k in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")]
    if status["NoNewPrivs"].strip() == "1" and all(int(r, 16) == 0 for r in rights) and status["Seccomp"].strip() == "2":
        raise Blocked("no new privileges, no capabilities")
    return status["NoNewPrivs"], rights
@way
def core_dumps():
    if resource.getrlimit(resource.RLIMIT_CORE) != (1, 1):
        return resource.getrlimit(resource.RLIMIT_CORE)
    def limit(n):
        try:
            resource.setrlimit(resource.RLIMIT_CORE, (n, 1))
        except ValueError as e:
            raise Blocked(str(e))
        return "limit %d" % n
    return all_blocked([lambda: limit(0), lambda: limit(-1)])
@way
def message_queue():
    rt = ctypes.CDLL("librt.so.1", use_errno=True)
    if rt.mq_open(("/" + out["name"]).encode(), 1) >= 0:
        return "opened"
    raise OSError(ctypes.get_errno(), "mq_open")
@way
def system_v(): return all_blocked([lambda: call(29, out["key"], 0, 0), lambda: call(64, out["key"], 0, 0), lambda: call(68, out["key"], 0)])
@way
def shared_memory(): return all_blocked([lambda: open("/dev/shm/" + out["name"]), lambda: open("/tmp/" + out["name"]), lambda: open("/var/tmp/" + out["name"])])
@way
def slurm():
    def run(name):
        got = subprocess.run([name, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
        if got.returncode != 0:
            raise Blocked("exit code %d" % got.returncode)
        return got.stdout
    names = ("sbatch", "salloc", "srun", "scontrol", "squeue", "scancel", "sacct", "sacctmgr", "sinfo", "sattach", "sbcast", "strigger", "munge", "unmunge")
    return all_blocked([lambda n=n, d=d: run(d + n) for n in names for d in ("", "/usr/bin/", "/bin/")])
@way
def later():
    def run(name):
        return subprocess.run([name], stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=True)
    return all_blocked([lambda n=n, d=d: run(d + n) for n in ("at", "batch", "crontab", "sendmail", "mail", "wall") for d in ("", "/usr/bin/", "/usr/sbin/", "/bin/")])
@way
def slurm_configuration(): return all_blocked([lambda p=p: open(p) for p in ("/etc/slurm/slurm.conf", "/etc/slurm-llnl/slurm.conf", "/usr/local/etc/slurm.conf", "/etc/munge/munge.key")])
@way
def terminals():
    import fcntl
    return all_blocked([lambda n=n, fd=fd: fcntl.ioctl(fd, n, b"x") for n in (0x5412, 0x541C) for fd in (0, 1, 2)])
@way
def devices():
    have = set(os.listdir("/dev"))
    more = have - {"null", "zero", "full", "random", "urandom", "tty", "console", "fd", "stdin", "stdout", "stderr", "core", "ptmx", "pts", "shm"}
    if more:
        return more
    return all_blocked([lambda: os.mknod("/tmp/sda", 0o600 | stat.S_IFBLK, os.makedev(8, 0)), lambda: open("/dev/mem"), lambda: open("/dev/kmsg")])
@way
def kernel_settings(): return all_blocked([lambda p=p: write(p) for p in ("/proc/sys/kernel/hostname", "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/sys/kernel/randomize_va_space")] +
                                          [lambda: socket.sethostname("secret"), lambda: call(227, 0, ctypes.create_string_buffer(16)), lambda: call(103, 3, ctypes.create_string_buffer(64), 64)])
@way
def environment():
    if "SECRET_OF_THE_NODE" in os.environ or any(out["vault"] in v for v in os.environ.values()):
        return dict(os.environ)
    raise Blocked("listed variables only")
@way
def command_line():
    """Other users of the node see command lines: the test outside looks."""
    subprocess.Popen(["/bin/sh", "-c", "sleep 8; : " + out["name"] + "-in-a-command-line"])
    raise Blocked("see what the test saw")


@way
def other_tables():
    """The calls of 32-bit programs and of x32 have other numbers, which the filter must not take for its own."""
    import mmap
    def killed(f):
        pid = os.fork()
        if pid == 0:
            f()
            os._exit(0)
        end = os.waitpid(pid, 0)[1]
        if os.WIFSIGNALED(end) and os.WTERMSIG(end) == 31:
            raise Blocked("SIGSYS")
        return end
    def bits32():
        code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        code.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")  # getpid by int 0x80
        ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
    return all_blocked([lambda: killed(bits32), lambda: killed(lambda: libc.syscall(ctypes.c_long(0x40000000 | 39)))])
@way
def file_lock():
    """A lock on a file that others of the node can open as well: the test outside tries it."""
    import fcntl
    keep.append(open(out["shown"]))
    fcntl.flock(keep[-1], fcntl.LOCK_EX)
    raise Blocked("see what the test saw")
@way
def file_events():
    """Others of the node can watch a file that is opened inside."""
    open(out["watched"]).close()
    raise Blocked("see what the test saw")


if __name__ == "__main__":
    with open(os.path.join(os.environ["SLUICE_JOB_DIR"], "outcomes"), "w") as f:
        for name, attempt in ways.items():
            try:
                outcome, detail = "open", str(attempt())
                if detail.startswith("open: "):
                    detail = detail[6:]
            except Blocked as e:
                outcome, detail = "blocked", str(e)
            except Exception as e:
                outcome, detail = "blocked", errno.errorcode.get(getattr(e, "errno", None), "") or "%s: %s" % (type(e).__name__, e)
            f.write(json.dumps({"way": name, "outcome": outcome, "detail": detail[:300]}) + "\n")
            f.flush()
    time.sleep(0.5)  # for what the test sees from outside
    print("the program ends")
    sys.exit(77)
