"""Runs a program under the system calls that a unit file allows, as systemd would:
SystemCallFilter, MemoryDenyWriteExecute, RestrictAddressFamilies, NoNewPrivileges.

    box.py UNIT PROGRAM [ARGUMENT...]

The groups of calls are those that systemd-analyze knows; the kernel's filter is made
by libseccomp. Exits 69 where one of them is missing, and says which."""
import ctypes
import errno
import os
import socket
import subprocess
import sys

ALLOW, ERRNO = 0x7FFF0000, 0x00050000
EQUAL, MASKED = 4, 7  # how libseccomp compares an argument
PROT = 2  # which argument of mmap and mprotect it is
WRITE, EXEC = 2, 4


class Compare(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


def calls(word, seen):
    """The calls of a word of SystemCallFilter: of a group, or the call itself."""
    if not word.startswith("@"):
        return {word}
    if word in seen:
        return set()
    seen.add(word)
    out = subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager", word], capture_output=True,
                         text=True, check=True, env=dict(os.environ, SYSTEMD_COLORS="0")).stdout
    found = set()
    for line in out.splitlines()[1:]:
        name = line.strip()
        if name and not name.startswith("#"):
            found |= calls(name, seen)
    return found


def settings(unit):
    """The lines KEY=VALUE of the unit, in order."""
    with open(unit) as f:
        return [line.strip().split("=", 1) for line in f if "=" in line and not line.startswith("#")]


def allowed(unit):
    """The names of the calls that the unit allows."""
    names = set()
    for key, value in settings(unit):
        if key == "SystemCallFilter":
            found = set()
            for word in value.lstrip("~").split():
                found |= calls(word, set())
            names = names - found if value.startswith("~") else names | found
    return names | calls("@default", set())  # which systemd always allows


def box(unit):
    """Puts this process, and all it starts, under the unit's filter."""
    lib = ctypes.CDLL("libseccomp.so.2")
    lib.seccomp_init.restype = ctypes.c_void_p
    lib.seccomp_rule_add_array.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint, ctypes.c_void_p]
    lib.seccomp_load.argtypes = [ctypes.c_void_p]
    ctx = lib.seccomp_init(ERRNO | errno.EPERM)
    given = dict(settings(unit))
    families = [int(getattr(socket, f)) for f in given["RestrictAddressFamilies"].split()]

    def rule(name, *compare):
        number = lib.seccomp_syscall_resolve_name(name.encode())
        if number >= 0:  # else this machine's kernel has none of that name
            array = (Compare * max(1, len(compare)))(*compare)
            lib.seccomp_rule_add_array(ctx, ALLOW, number, len(compare), ctypes.cast(array, ctypes.c_void_p))

    for name in sorted(allowed(unit)):
        if name == "mmap" and given.get("MemoryDenyWriteExecute") == "yes":
            for prot in (0, WRITE, EXEC):  # never both
                rule(name, Compare(PROT, MASKED, WRITE | EXEC, prot))
        elif name in ("mprotect", "pkey_mprotect") and given.get("MemoryDenyWriteExecute") == "yes":
            rule(name, Compare(PROT, MASKED, EXEC, 0))
        elif name == "socket":
            for family in families:
                rule(name, Compare(0, EQUAL, family, 0))
        else:
            rule(name)
    if lib.seccomp_load(ctx) != 0:
        raise OSError("the kernel takes no filter")


try:
    box(sys.argv[1])
except (OSError, subprocess.CalledProcessError) as e:
    print("box:", e, file=sys.stderr)
    sys.exit(69)
os.execv(sys.argv[2], sys.argv[2:])
