package confine

// arch is one kind of processor: its number in the kernel's audit interface, and the column
// of its system calls in the table.
type arch struct {
	name   string // as in runtime.GOARCH
	audit  uint32
	column int
	// more is set in the numbers of a second table of calls, which is denied; 0 = none.
	more uint32
}

var archs = []arch{
	{"amd64", 0xC000003E, 0, 0x40000000}, // its second table is x32
	{"arm64", 0xC00000B7, 1, 0},
}

// none: the processor has no such call.
const none = -1

// call is a system call by its numbers, in the order of archs.
type call struct {
	name    string
	numbers [2]int
}

// denied fail with EPERM, whatever their arguments.
var denied = []call{
	// What other processes hold.
	{"ptrace", [2]int{101, 117}},
	{"process_vm_readv", [2]int{310, 270}},
	{"process_vm_writev", [2]int{311, 271}},
	{"kcmp", [2]int{312, 272}},
	{"pidfd_getfd", [2]int{438, 438}},
	{"perf_event_open", [2]int{298, 241}},
	// What the kernel keeps for a user and not for a namespace.
	{"add_key", [2]int{248, 217}},
	{"request_key", [2]int{249, 218}},
	{"keyctl", [2]int{250, 219}},
	{"quotactl", [2]int{179, 60}},
	{"quotactl_fd", [2]int{443, 443}},
	{"syslog", [2]int{103, 116}},
	{"acct", [2]int{163, 89}},
	{"fanotify_init", [2]int{300, 262}},
	// Large parts of the kernel that no training needs.
	{"bpf", [2]int{321, 280}},
	{"userfaultfd", [2]int{323, 282}},
	{"io_uring_setup", [2]int{425, 425}},
	{"io_uring_enter", [2]int{426, 426}},
	{"io_uring_register", [2]int{427, 427}},
	{"init_module", [2]int{175, 105}},
	{"finit_module", [2]int{313, 273}},
	{"delete_module", [2]int{176, 106}},
	{"kexec_load", [2]int{246, 104}},
	{"kexec_file_load", [2]int{320, 294}},
	{"reboot", [2]int{169, 142}},
	{"swapon", [2]int{167, 224}},
	{"swapoff", [2]int{168, 225}},
	{"iopl", [2]int{172, none}},
	{"ioperm", [2]int{173, none}},
	{"settimeofday", [2]int{164, 170}},
	{"clock_settime", [2]int{227, 112}},
	{"adjtimex", [2]int{159, 171}},
	{"clock_adjtime", [2]int{305, 266}},
	{"vhangup", [2]int{153, 58}},
	// Another view of the file systems.
	{"mount", [2]int{165, 40}},
	{"umount2", [2]int{166, 39}},
	{"pivot_root", [2]int{155, 41}},
	{"chroot", [2]int{161, 51}},
	{"open_tree", [2]int{428, 428}},
	{"move_mount", [2]int{429, 429}},
	{"fsopen", [2]int{430, 430}},
	{"fsconfig", [2]int{431, 431}},
	{"fsmount", [2]int{432, 432}},
	{"fspick", [2]int{433, 433}},
	{"mount_setattr", [2]int{442, 442}},
	{"open_tree_attr", [2]int{467, 467}},
	{"name_to_handle_at", [2]int{303, 264}},
	{"open_by_handle_at", [2]int{304, 265}},
	// Other namespaces.
	{"unshare", [2]int{272, 97}},
	{"setns", [2]int{308, 268}},
	{"sethostname", [2]int{170, 161}},
	{"setdomainname", [2]int{171, 162}},
}

// Calls that are examined by their arguments.
var (
	clone      = call{"clone", [2]int{56, 220}}
	clone3     = call{"clone3", [2]int{435, 435}}
	socket     = call{"socket", [2]int{41, 198}}
	socketpair = call{"socketpair", [2]int{53, 199}}
	ioctl      = call{"ioctl", [2]int{16, 29}}
	setrlimit  = call{"setrlimit", [2]int{160, 164}}
	prlimit64  = call{"prlimit64", [2]int{302, 261}}
	seccomp    = call{"seccomp", [2]int{317, 277}}
)
