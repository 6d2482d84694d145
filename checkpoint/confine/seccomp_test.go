package confine

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// kernel runs a program as the kernel does, on struct seccomp_data.
func kernel(t *testing.T, program []Instruction, audit, number uint32, args [6]uint64) uint32 {
	t.Helper()
	var acc uint32
	for pc, steps := 0, 0; ; steps++ {
		if pc >= len(program) || steps > len(program) {
			t.Fatalf("the program runs out at %d", pc)
		}
		i := program[pc]
		pc++
		jump := func(yes bool) {
			if yes {
				pc += int(i.JT)
			} else {
				pc += int(i.JF)
			}
		}
		switch i.Code {
		case load:
			switch {
			case i.K == atCall:
				acc = number
			case i.K == atArch:
				acc = audit
			case i.K >= atArgs && i.K < atArgs+48 && i.K%4 == 0:
				arg := args[(i.K-atArgs)/8]
				acc = uint32(arg >> (8 * (i.K % 8)))
			default:
				t.Fatalf("loads from %d", i.K)
			}
		case isEqual:
			jump(acc == i.K)
		case anySet:
			jump(acc&i.K != 0)
		case answer:
			return i.K
		default:
			t.Fatalf("unknown code %#x", i.Code)
		}
	}
}

func TestFilter(t *testing.T) {
	eperm, nofamily := fail|uint32(syscall.EPERM), fail|uint32(syscall.EAFNOSUPPORT)
	type row struct {
		what string
		call call
		args [6]uint64
		want uint32
	}
	rows := []row{
		{"fork", clone, [6]uint64{17}, allow},
		{"a thread", clone, [6]uint64{0x3d0f00}, allow},
		{"a user namespace", clone, [6]uint64{0x10000000 | 17}, eperm},
		{"a network namespace", clone, [6]uint64{0x40000000 | 17}, eperm},
		{"a mount namespace with high bits", clone, [6]uint64{1<<40 | 0x20000}, eperm},
		{"clone3", clone3, [6]uint64{}, fail | uint32(syscall.ENOSYS)},
		{"AF_UNIX", socket, [6]uint64{1, 1, 0}, allow},
		{"AF_INET", socket, [6]uint64{2, 1, 0}, allow},
		{"AF_INET6", socket, [6]uint64{10, 2, 0}, allow},
		{"AF_NETLINK route", socket, [6]uint64{16, 3, 0}, allow},
		{"AF_NETLINK uevent", socket, [6]uint64{16, 3, 15}, nofamily},
		{"AF_NETLINK audit", socket, [6]uint64{16, 3, 9}, nofamily},
		{"AF_VSOCK", socket, [6]uint64{40, 1, 0}, nofamily},
		{"AF_PACKET", socket, [6]uint64{17, 3, 0}, nofamily},
		{"AF_ALG", socket, [6]uint64{38, 5, 0}, nofamily},
		{"AF_RDS", socket, [6]uint64{21, 5, 0}, nofamily},
		{"AF_UNIX with high bits", socket, [6]uint64{1<<32 | 40, 1, 0}, nofamily},
		{"socketpair", socketpair, [6]uint64{1, 1, 0}, allow},
		{"socketpair of others", socketpair, [6]uint64{30, 1, 0}, nofamily},
		{"terminal size", ioctl, [6]uint64{0, 0x5413}, allow},
		{"TIOCSTI", ioctl, [6]uint64{0, 0x5412}, eperm},
		{"TIOCSTI with high bits", ioctl, [6]uint64{0, 1<<32 | 0x5412}, eperm},
		{"TIOCLINUX", ioctl, [6]uint64{0, 0x541C}, eperm},
		{"the limit of open files", setrlimit, [6]uint64{7, 1}, allow},
		{"the limit of core dumps", setrlimit, [6]uint64{4, 1}, eperm},
		{"reading the limit of core dumps", prlimit64, [6]uint64{0, 4, 0, 1}, allow},
		{"setting it", prlimit64, [6]uint64{0, 4, 1, 0}, eperm},
		{"setting it by a high address", prlimit64, [6]uint64{0, 4, 1 << 32, 0}, eperm},
		{"setting another", prlimit64, [6]uint64{0, 7, 1, 0}, allow},
		{"read", call{"read", [2]int{0, 63}}, [6]uint64{}, allow},
	}
	for _, c := range denied {
		rows = append(rows, row{c.name, c, [6]uint64{}, eperm}, row{c.name + " with arguments", c, [6]uint64{4, 1, 2, 3, 4, 5}, eperm})
	}
	for _, a := range archs {
		program := a.filter(Alone)
		if len(program) > 4096 {
			t.Errorf("%s: %d instructions, the kernel takes 4096", a.name, len(program))
		}
		for _, r := range rows {
			if n := r.call.numbers[a.column]; n != none {
				if got := kernel(t, program, a.audit, uint32(n), r.args); got != r.want {
					t.Errorf("%s: %s: %#x, want %#x", a.name, r.what, got, r.want)
				}
			}
		}
		if got := kernel(t, program, 0x40000003, 1, [6]uint64{}); got != killProcess {
			t.Errorf("%s: a call of 32 bits: %#x", a.name, got)
		}
		if a.more != 0 {
			if got := kernel(t, program, a.audit, a.more|41, [6]uint64{2}); got != killProcess {
				t.Errorf("%s: a call of the second table: %#x", a.name, got)
			}
		}
	}
}

// TestNotices: a filter that gives notices denies what the plain one denies, with the error that Denied says, and allows nothing
// else. Only listeners are denied besides, and only by the filter that has one.
func TestNotices(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, a := range archs {
		alone, under, over := a.filter(Alone), a.filter(Under), a.filter(Over)
		try := func(n uint32, args [6]uint64) {
			plain, below, above := kernel(t, alone, a.audit, n, args), kernel(t, under, a.audit, n, args), kernel(t, over, a.audit, n, args)
			if int(n) == seccomp.numbers[a.column] && args[1]&newListener != 0 {
				if below != allow || above != notice {
					t.Errorf("%s: a further listener: %#x below, %#x above", a.name, below, above)
				}
				return
			}
			what, e := a.denied(int(n), args)
			want := plain
			if plain&^0xffff == fail && below == notice {
				want = notice
				if plain != fail|uint32(e) || what == "another call" || Untold[what] != "" {
					t.Errorf("%s: call %d is %s with %v, the plain filter says %#x", a.name, n, what, e, plain)
				}
			}
			if below != want || above != want {
				t.Errorf("%s: call %d %v: plain %#x, below %#x, above %#x", a.name, n, args, plain, below, above)
			}
		}
		for n := range uint32(1000) {
			for range 20 {
				try(n, [6]uint64{random.Uint64() & 63, random.Uint64(), random.Uint64()})
			}
		}
		for n := range uint32(64) {
			try(uint32(ioctl.numbers[a.column]), [6]uint64{0, 0x5400 + uint64(n)})
			try(uint32(prlimit64.numbers[a.column]), [6]uint64{0, uint64(n), 1})
		}
		for _, c := range denied {
			if n := c.numbers[a.column]; n != none && Untold[c.name] == "" && kernel(t, over, a.audit, uint32(n), [6]uint64{}) != notice {
				t.Errorf("%s: %s is not told", a.name, c.name)
			}
		}
		for _, words := range []string{"clone3", "io_uring_setup"} {
			if Untold[words] == "" {
				t.Errorf("%s is told: ordinary trainings make it", words)
			}
		}
	}
}

// TestFilterEnds: every call has an answer, whatever its number and its arguments.
func TestFilterEnds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, a := range archs {
		program := a.filter(Alone)
		for n := range uint32(1000) {
			kernel(t, program, a.audit, n, [6]uint64{random.Uint64(), random.Uint64(), random.Uint64()})
		}
	}
}

func TestFilterOfAnUnknownProcessor(t *testing.T) {
	if _, err := Filter("riscv64", Alone); !errors.Is(err, ErrImpossible) {
		t.Errorf("%v, want ErrImpossible", err)
	}
	if p, err := Filter(runtime.GOARCH, Alone); err != nil || len(Bytes(p)) != 8*len(p) {
		t.Errorf("%s: %v", runtime.GOARCH, err)
	}
}

// TestNumbers compares the numbers of this processor's calls with those of the library.
func TestNumbers(t *testing.T) {
	known := map[string]int{
		"ptrace": unix.SYS_PTRACE, "process_vm_readv": unix.SYS_PROCESS_VM_READV, "process_vm_writev": unix.SYS_PROCESS_VM_WRITEV,
		"kcmp": unix.SYS_KCMP, "pidfd_getfd": unix.SYS_PIDFD_GETFD, "perf_event_open": unix.SYS_PERF_EVENT_OPEN, "add_key": unix.SYS_ADD_KEY,
		"request_key": unix.SYS_REQUEST_KEY, "keyctl": unix.SYS_KEYCTL, "quotactl": unix.SYS_QUOTACTL, "quotactl_fd": unix.SYS_QUOTACTL_FD,
		"syslog": unix.SYS_SYSLOG, "acct": unix.SYS_ACCT, "fanotify_init": unix.SYS_FANOTIFY_INIT, "bpf": unix.SYS_BPF,
		"userfaultfd": unix.SYS_USERFAULTFD, "io_uring_setup": unix.SYS_IO_URING_SETUP, "io_uring_enter": unix.SYS_IO_URING_ENTER,
		"io_uring_register": unix.SYS_IO_URING_REGISTER, "init_module": unix.SYS_INIT_MODULE, "finit_module": unix.SYS_FINIT_MODULE,
		"delete_module": unix.SYS_DELETE_MODULE, "kexec_load": unix.SYS_KEXEC_LOAD, "kexec_file_load": unix.SYS_KEXEC_FILE_LOAD,
		"reboot": unix.SYS_REBOOT, "swapon": unix.SYS_SWAPON, "swapoff": unix.SYS_SWAPOFF, "settimeofday": unix.SYS_SETTIMEOFDAY,
		"clock_settime": unix.SYS_CLOCK_SETTIME, "adjtimex": unix.SYS_ADJTIMEX, "clock_adjtime": unix.SYS_CLOCK_ADJTIME, "vhangup": unix.SYS_VHANGUP,
		"mount": unix.SYS_MOUNT, "umount2": unix.SYS_UMOUNT2, "pivot_root": unix.SYS_PIVOT_ROOT, "chroot": unix.SYS_CHROOT, "open_tree": unix.SYS_OPEN_TREE,
		"move_mount": unix.SYS_MOVE_MOUNT, "fsopen": unix.SYS_FSOPEN, "fsconfig": unix.SYS_FSCONFIG, "fsmount": unix.SYS_FSMOUNT, "fspick": unix.SYS_FSPICK,
		"mount_setattr": unix.SYS_MOUNT_SETATTR, "open_tree_attr": unix.SYS_OPEN_TREE_ATTR, "name_to_handle_at": unix.SYS_NAME_TO_HANDLE_AT, "open_by_handle_at": unix.SYS_OPEN_BY_HANDLE_AT,
		"unshare": unix.SYS_UNSHARE, "setns": unix.SYS_SETNS, "sethostname": unix.SYS_SETHOSTNAME, "setdomainname": unix.SYS_SETDOMAINNAME,
		"clone": unix.SYS_CLONE, "clone3": unix.SYS_CLONE3, "socket": unix.SYS_SOCKET, "socketpair": unix.SYS_SOCKETPAIR, "ioctl": unix.SYS_IOCTL,
		"setrlimit": unix.SYS_SETRLIMIT, "prlimit64": unix.SYS_PRLIMIT64, "seccomp": unix.SYS_SECCOMP,
	}
	for _, a := range archs {
		if a.name != runtime.GOARCH {
			continue
		}
		for _, c := range append([]call{clone, clone3, socket, socketpair, ioctl, setrlimit, prlimit64, seccomp}, denied...) {
			want, listed := known[c.name]
			if !listed && c.name != "iopl" && c.name != "ioperm" {
				t.Errorf("%s is not compared", c.name)
			}
			if listed && c.numbers[a.column] != want {
				t.Errorf("%s: %d, the library says %d", c.name, c.numbers[a.column], want)
			}
		}
	}
}
