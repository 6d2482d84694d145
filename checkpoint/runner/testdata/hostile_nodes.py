"""A hostile program on each of two nodes: it tries to get packets out of the job's network, and writes what came of each way, as hostile.py does."""
import errno
import fcntl
import json
import os
import socket
import struct
import sys
import time

with open("outside.json", encoding="ascii") as f:
    out = json.load(f)
rank, folder = int(os.environ["SLURM_PROCID"]), os.environ["SLUICE_JOB_DIR"]
mine, other = "10.117.0.%d" % (rank + 1), "10.117.0.%d" % (2 - rank)
DEVICE, PORT = b"sluice0", 9999
outside = out["addresses"] + ["127.0.0.1", "127.0.1.1", "192.0.2.1", "8.8.8.8"]
ports = [out["port"], 6817, 6818, 22, 53]
ways = {}


def way(f):
    ways[f.__name__] = f


def all_blocked(attempts):
    why = set()
    for a in attempts:
        try:
            got = a()
        except OSError as e:
            why.add(errno.errorcode.get(e.errno, str(e)))
        else:
            return "open: %s" % (got,)
    raise PermissionError(0, " ".join(sorted(why)))


def tcp(address, port, seconds=1):
    def attempt():
        with socket.create_connection((address, port), seconds) as s:
            s.send(b"secret")
        return (address, port)
    return attempt


def udp(address, port, broadcast=False):
    """Only an answer shows that a datagram was not dropped on its way."""
    def attempt():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.settimeout(0.2)
            if broadcast:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            s.sendto(b"secret", (address, port))
            return s.recvfrom(100)
    return attempt


@way
def nodes_tcp():
    return all_blocked(tcp(a, p) for a in outside for p in ports)


@way
def nodes_udp():
    return all_blocked(udp(a, p) for a in outside for p in ports)


@way
def nodes_beyond():
    return all_blocked([tcp(a, out["port"]) for a in ("10.117.0.3", "10.117.77.7", "10.118.0.1")] +
                       [udp(a, PORT, True) for a in ("10.117.0.3", "10.117.255.255", "255.255.255.255", "10.117.0.0")])


@way
def nodes_multicast():
    def join():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.settimeout(0.2)
            s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(mine))
            s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 0)
            s.sendto(b"secret", ("224.0.0.1", PORT))
            return s.recvfrom(100)
    return all_blocked([join])


@way
def nodes_ipv6():
    def link():
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
            s.settimeout(0.2)
            s.sendto(b"secret", ("ff02::1", PORT, 0, socket.if_nametoindex("sluice0")))
            return s.recvfrom(100)
    return all_blocked([link, lambda: socket.create_connection(("::1", out["port"]), 1).send(b"secret")])


@way
def nodes_dns():
    return all_blocked([lambda: socket.getaddrinfo("example.org", 80)])


@way
def nodes_spoofed():
    def spoof(source, option):
        def attempt():
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                if option:
                    s.setsockopt(socket.IPPROTO_IP, option, 1)
                s.bind((source, 0))
                s.sendto(b"spoofed", (other, PORT))
        return attempt
    for source in ("10.117.0.3", "127.0.0.1", "192.0.2.1", other):
        for option in (0, 15, 19):  # IP_FREEBIND, IP_TRANSPARENT
            try:
                spoof(source, option)()
            except OSError:
                pass
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.sendto(b"honest", (other, PORT))
    got, end = [], time.time() + 30
    while time.time() < end and (b"honest", other) not in got:
        datagram, source = inbox.recvfrom(100)
        if datagram != b"secret":  # the kernel passes a broadcast of one's own back
            got.append((datagram, source[0]))
    if any(g != (b"honest", other) for g in got):
        return "open: %s" % got
    raise PermissionError(0, "%d came, from its sender" % len(got))


@way
def nodes_raw():
    return all_blocked([lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW), lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP),
                        lambda: socket.socket(17, socket.SOCK_RAW, 0x0300), lambda: socket.socket(17, socket.SOCK_DGRAM, 0x0300)])


@way
def nodes_settings():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    address = struct.pack("16sHH4s8x", DEVICE, socket.AF_INET, 0, socket.inet_aton("192.0.2.7"))

    def write(name, text):
        with open(name, "w", encoding="ascii") as f:
            f.write(text)

    def route():  # RTM_NEWROUTE, default
        n = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
        body = struct.pack("BBBBBBBBI", socket.AF_INET, 0, 0, 0, 254, 4, 253, 1, 0) + struct.pack("HHI", 8, 4, socket.if_nametoindex("sluice0"))
        n.send(struct.pack("IHHII", 16 + len(body), 24, 0x605, 1, 0) + body)
        code = struct.unpack("i", n.recv(4096)[16:20])[0]
        if code < 0:
            raise OSError(-code, os.strerror(-code))
        return "a route"
    return all_blocked([lambda: fcntl.ioctl(s, 0x8916, address), lambda: fcntl.ioctl(s, 0x8922, struct.pack("16sI12x", DEVICE, 9000)), route,
                        lambda: fcntl.ioctl(s, 0x8914, struct.pack("16sH14x", DEVICE, 0)), lambda: write("/proc/sys/net/ipv4/ip_forward", "1"),
                        lambda: write("/proc/sys/net/ipv6/conf/sluice0/disable_ipv6", "0"), lambda: os.open("/dev/net/tun", os.O_RDWR)])


inbox = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
inbox.settimeout(30)
inbox.bind(("", PORT))
open(os.path.join(folder, "listens.%d" % rank), "w", encoding="ascii").close()
while not os.path.exists(os.path.join(folder, "listens.%d" % (1 - rank))):
    time.sleep(0.05)
with open(os.path.join(folder, "outcomes.%d" % rank), "w", encoding="ascii") as f:
    for name, attempt in ways.items():
        try:
            outcome, detail = "open", attempt()
        except OSError as e:
            outcome, detail = "blocked", e.strerror
        print(json.dumps({"Way": name, "Outcome": outcome, "Detail": str(detail)}), file=f, flush=True)
if rank == 1:
    for _ in range(3):
        sys.stdout.write("x" * 999_999 + "\n")
    sys.stdout.flush()
sys.exit(77 * rank)
