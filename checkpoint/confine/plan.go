package confine

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Places inside of every fence.
const (
	CodeDir   = "/code"
	DataDir   = "/data"
	OutputDir = "/output"
	Sluice    = "/sluice/bin/sluice"
	Script    = "/sluice/script"
	PythonDir = "/sluice/python"
	ownBin    = "/sluice/bin"
	hostname  = "confined"
)

// JobDir is the program's job folder inside; its last part is the job's token, as outside.
func JobDir(token string) string { return "/job/" + token }

// Start is one start of the script.
type Start struct {
	Fence  Fence
	Token  string
	Script string // its path outside
	Sluice string // path of the sluice program outside
	Python string // folder of the training library outside; "" = none
	// Env are the script's variables, with paths as they are inside.
	Env      []string
	GPUs     []string // device files of the job's GPUs
	UID, GID int
	// Nodes are the names of the job's nodes in Slurm's order, and Node is the number of this one. With two or
	// more the fence waits for its network before it starts its command.
	Nodes []string
	Node  int
	// Site is what the fence shows of the network of the site; it counts with OfSite only.
	Site Site
}

// several reports whether the job has several nodes.
func (s Start) several() bool { return len(s.Nodes) > 1 }

// File is a file whose content bwrap reads from a descriptor.
type File struct {
	Path    string
	Content string
}

// Plan is what bwrap is told. Its descriptors are, from First on: the options, the seccomp
// program, the pipe for its status, the pipe that it waits for if Waits, and the content of each of Files.
type Plan struct {
	Options []string
	Files   []File
	Waits   bool // a byte in the pipe starts the command
}

// First is the number of the first descriptor after standard error.
const First = 3

// Argv is the command line that starts a command inside, given the path of bwrap. The
// options are not on it: other users of the node can read command lines.
func Argv(bwrap string, command []string) []string {
	return append([]string{bwrap, "--args", strconv.Itoa(First), "--"}, command...)
}

// GuardVerb is the first argument of the sluice program where it starts a command inside that is counted.
const GuardVerb = "guard"

// Guarded is the command line inside that starts a command and has its denied calls counted. The descriptor with the
// number socket is connected to the runner, which waits there for the listener.
func Guarded(socket int, command []string) []string {
	return append([]string{Sluice, GuardVerb, strconv.Itoa(socket), "--"}, command...)
}

// Data is the form in which bwrap reads its options.
func (p Plan) Data() []byte { return []byte(strings.Join(p.Options, "\x00") + "\x00") }

// driver are the device files of the GPU driver that belong to no single GPU.
var driver = []string{"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"}

// Build returns the fence of one start. The order of the options matters: a later mount
// covers an earlier one.
func Build(s Start, m Machine) Plan {
	p := Plan{Waits: s.several()}
	next := First + 3
	add := func(options ...string) { p.Options = append(p.Options, options...) }
	add("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try",
		"--cap-drop", "ALL", "--hostname", hostname, "--new-session", "--die-with-parent",
		"--seccomp", strconv.Itoa(First+1), "--json-status-fd", strconv.Itoa(First+2))
	if s.Fence.Network != OfSite {
		add("--unshare-net")
	}
	if p.Waits {
		add("--block-fd", strconv.Itoa(next))
		next++
	}
	// The first process inside is bubblewrap's own. Its memory would be open to the program, which has the same user.
	add("--proc", "/proc", "--tmpfs", "/proc/1", "--remount-ro", "/proc/1")
	add("--dev", "/dev", "--tmpfs", "/dev/shm", "--tmpfs", "/tmp", "--tmpfs", "/var/tmp")
	for _, e := range m.Shown {
		if e.Link != "" {
			add("--symlink", e.Link, e.Path)
		} else {
			add("--ro-bind", e.Path, e.Path)
		}
	}
	for _, file := range m.Masked {
		if path.Base(file) == "srun" {
			add("--ro-bind", s.Sluice, file)
		} else {
			add("--ro-bind", "/dev/null", file)
		}
	}
	if len(s.GPUs) > 0 {
		for _, device := range slices.Concat(s.GPUs, driver) {
			add("--dev-bind-try", device, device)
		}
	}
	for _, f := range etc(s) {
		add("--ro-bind-data", strconv.Itoa(next+len(p.Files)), f.Path)
		p.Files = append(p.Files, f)
	}
	add("--ro-bind", s.Sluice, Sluice, "--symlink", "sluice", ownBin+"/srun", "--ro-bind", s.Script, Script)
	if s.Python != "" {
		add("--ro-bind", s.Python, PythonDir)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Fence.Data)) {
		add("--ro-bind", s.Fence.Data[name], DataDir+"/"+name)
	}
	add("--ro-bind", s.Fence.Code, CodeDir, "--bind", s.Fence.Output, OutputDir, "--bind", s.Fence.Inner, JobDir(s.Token))
	add("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", CodeDir)
	for _, entry := range s.Env {
		if name, value, ok := strings.Cut(entry, "="); ok && name != "" && !strings.Contains(entry, "\x00") {
			add("--setenv", name, value)
		}
	}
	if p.Waits && s.Fence.Network == Relayed {
		for _, v := range toDevice {
			add("--setenv", v[0], v[1])
		}
	}
	return p
}

// user is the name of the one user inside.
const user = "sluice"

// etc are the files of /etc that every fence has: one user, one group, and how hosts are found.
func etc(s Start) []File {
	files := []File{
		{"/etc/passwd", fmt.Sprintf("%s:x:%d:%d::/tmp:/bin/sh\n", user, s.UID, s.GID)},
		{"/etc/group", fmt.Sprintf("%s:x:%d:\n", user, s.GID)},
	}
	if s.Fence.Network == OfSite {
		return append(files, s.Site.files()...)
	}
	return append(files, File{"/etc/hosts", hosts(s.Node, s.Nodes)}, File{"/etc/nsswitch.conf", switches("files")})
}

// switches is /etc/nsswitch.conf inside, where the names of machines are looked up so.
func switches(hosts string) string { return "passwd: files\ngroup: files\nhosts: " + hosts + "\n" }

// passed are the variables that every confined program gets if they are set: what it has of
// the node, as numbers.
var passed = []string{
	"SLURM_JOB_ID", "SLURM_JOBID", "SLURM_JOB_NODELIST", "SLURM_NODELIST", "SLURM_NNODES", "SLURM_JOB_NUM_NODES", "SLURM_NODEID",
	"SLURMD_NODENAME", "SLURM_GPUS_ON_NODE", "SLURM_JOB_GPUS", "SLURM_CPUS_ON_NODE", "SLURM_CPUS_PER_TASK", "SLURM_RESTART_COUNT",
	"SLURM_MEM_PER_NODE", "SLURM_JOB_END_TIME", "SLURM_JOB_START_TIME", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER",
	"GPU_DEVICE_ORDINAL", "ROCR_VISIBLE_DEVICES", "SLUICE_BANNERS",
}

// Environment returns the variables of the given that may be inside, and those that every
// fence sets.
func Environment(f Fence, given []string) []string {
	search := "/usr/local/bin:/usr/bin:/bin"
	var out []string
	for _, entry := range given {
		name, value, ok := strings.Cut(entry, "=")
		switch {
		case !ok || !shows(f.Environment, name) && !slices.Contains(passed, name):
		case name == "PATH":
			search = value
		case !slices.Contains(fixed, name):
			out = append(out, entry)
		}
	}
	return append(out, "PATH="+ownBin+":"+search, "HOME=/tmp", "TMPDIR=/tmp", "USER="+user, "LOGNAME="+user, "SHELL=/bin/sh",
		"SLUICE_DATA="+DataDir, "SLUICE_OUTPUT="+OutputDir, Marker+"=1")
}

// Marker is the variable that is set inside of a fence only.
const Marker = "SLUICE_CONFINED"

// fixed are the variables that a fence sets itself.
var fixed = []string{"PATH", "HOME", "TMPDIR", "USER", "LOGNAME", "SHELL", "SLUICE_DATA", "SLUICE_OUTPUT", Marker}

// shows reports whether a list of names has one.
func shows(list []string, name string) bool {
	return slices.ContainsFunc(list, func(l string) bool {
		prefix, open := strings.CutSuffix(l, "*")
		return l == name || open && strings.HasPrefix(name, prefix)
	})
}
