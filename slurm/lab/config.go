package lab

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Config says what lab to build. The zero value of every field is usable.
type Config struct {
	// Dir holds everything the lab writes. It must not exist or be empty; its path must
	// be short (it contains Unix sockets) and without blanks. "" = DefaultDir.
	Dir string
	// Nodes is the number of nodes, 1 to 64; 0 = 3. They are named
	// NodePrefix ("" = "gpu") followed by 1, 2, ...
	Nodes      int
	NodePrefix string
	// GPUs is the number of GPUs of each node, 1 to 64; 0 = 4, -1 = none.
	GPUs int
	// GPUType is the Slurm type of the GPUs; "" = no type.
	GPUType string
	// GPUTypes are the types of single nodes, in order; "" and nodes beyond the list have
	// GPUType. A node of several types has counts that add up to GPUs: "a100:2+t4:2".
	GPUTypes []string
	// CPUs and MemoryMB are what each node claims to have, whatever the machine
	// has; 0 = 16 CPUs, 64000 MB.
	CPUs     int
	MemoryMB int
	// SlurmUser runs slurmctld and is a Slurm operator. "" = the account "slurm"
	// where the lab runs as root and the account exists, else the caller.
	SlurmUser string
	// Partitions; none = one called "gpu" with all nodes. The first is the default.
	Partitions []Partition
	// ExtraConf is added to slurm.conf; a key the lab also sets replaces the
	// lab's line.
	ExtraConf string
	// MinJobAge is how long ended jobs stay visible; 0 = 300 s. Whole seconds.
	MinJobAge time.Duration
	// SlurmdTimeout is the time after which a silent node is DOWN; 0 = 20 s, at least 3
	// s. Whole seconds.
	SlurmdTimeout time.Duration
	// FastScheduling makes slurmctld run its scheduler as often as it can, for tests that
	// wait for many jobs and do not test when those start. Without it SchedulerParameters
	// are Slurm's defaults, as on most sites: a pass of the scheduler at most every 3 s,
	// and only on request; the backfill every 30 s.
	FastScheduling bool
	// StartTimeout bounds Up's wait for all nodes to be idle; 0 = 90 s. A lab
	// usually needs two seconds; a starved machine many more.
	StartTimeout time.Duration
	// Root is the root of another file-system tree (such as debootstrap makes) whose
	// Slurm to run; "" = this machine's. Jobs use this machine's files in either case.
	Root string
	// Backup runs a second slurmctld that takes over when the first does not answer for 6
	// s (SlurmctldTimeout); root only.
	Backup bool
	// Accounting runs slurmdbd on a private MariaDB, and has slurmctld enforce the
	// limits of accounts, users and QOS. Only users that Enroll added can submit.
	Accounting bool
	// Apart is a shell command that each slurmd runs first, with $NODE set, in its own
	// mount namespace: its mounts are visible to that node's jobs only. "" = none, and no
	// namespace. Root only.
	Apart string
}

// Partition is one Slurm partition.
type Partition struct {
	Name  string
	Nodes []string // node names; none = all
	// Options are added to the partition's line: "PriorityTier=2 MaxTime=60".
	Options string
}

// DefaultDir is $SLUICE_LAB_DIR, else sluice-lab under an ordinary user's
// $XDG_RUNTIME_DIR, else /tmp/sluice-lab-UID. Other accounts cannot enter root's runtime
// directory, so root's default is in /tmp.
func DefaultDir() string {
	if dir := os.Getenv("SLUICE_LAB_DIR"); dir != "" {
		return dir
	}
	uid := os.Geteuid()
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" && uid != 0 {
		return filepath.Join(dir, "sluice-lab")
	}
	return filepath.Join("/tmp", "sluice-lab-"+strconv.Itoa(uid))
}

// NodeNames returns the names of the nodes in order.
func (c Config) NodeNames() []string {
	names := make([]string, c.Nodes)
	for i := range names {
		names[i] = c.NodePrefix + strconv.Itoa(i+1)
	}
	return names
}

// gpuType is the type of the i-th node's GPUs; "" = no type.
func (c Config) gpuType(i int) string {
	if i < len(c.GPUTypes) && c.GPUTypes[i] != "" {
		return c.GPUTypes[i]
	}
	return c.GPUType
}

// gpuKind is the GPUs of one type on a node.
type gpuKind struct {
	name string // "" = no type
	gpus int
}

// kinds are the i-th node's GPUs by type.
func (c Config) kinds(i int) []gpuKind {
	list := c.gpuType(i)
	if !strings.Contains(list, ":") {
		return []gpuKind{{list, c.GPUs}}
	}
	var out []gpuKind
	for part := range strings.SplitSeq(list, "+") {
		name, number, _ := strings.Cut(part, ":")
		n, _ := strconv.Atoi(number)
		out = append(out, gpuKind{name, n})
	}
	return out
}

// kindsFit reports whether a node's entry of GPUTypes gives a type for each of its GPUs.
func (c Config) kindsFit(i int) bool {
	sum, seen := 0, map[string]bool{}
	for _, k := range c.kinds(i) {
		if k.name != "" && !plainName().MatchString(k.name) || k.gpus < 1 && c.GPUs > 0 || seen[k.name] {
			return false
		}
		sum, seen[k.name] = sum+k.gpus, true
	}
	return sum == c.GPUs
}

// mistyped is the first invalid entry of GPUTypes; -1 when there is none.
func (c Config) mistyped() int {
	for i := range c.GPUTypes {
		if !c.kindsFit(i) {
			return i
		}
	}
	return -1
}

// complete fills in the defaults.
func (c Config) complete() Config {
	c.Dir = cmp.Or(c.Dir, DefaultDir())
	c.Nodes = cmp.Or(c.Nodes, 3)
	c.NodePrefix = cmp.Or(c.NodePrefix, "gpu")
	c.GPUs = max(cmp.Or(c.GPUs, 4), 0)
	c.CPUs = cmp.Or(c.CPUs, 16)
	c.MemoryMB = cmp.Or(c.MemoryMB, 64000)
	c.MinJobAge = cmp.Or(c.MinJobAge, 300*time.Second)
	c.SlurmdTimeout = cmp.Or(c.SlurmdTimeout, 20*time.Second)
	c.StartTimeout = cmp.Or(c.StartTimeout, 90*time.Second)
	if len(c.Partitions) == 0 {
		c.Partitions = []Partition{{Name: "gpu"}}
	}
	return c
}

var (
	// Slurm treats blanks, #, %, commas and brackets in a path as syntax.
	plainPath = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^/[A-Za-z0-9._/+@-]*$`) })
	plainName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,30}$`) })
)

// maxSocketPath is what fits into sockaddr_un with its final zero.
const maxSocketPath = 107

// check refuses what Slurm would refuse with a less clear message; c is complete.
func (c Config) check() error {
	bad := func(format string, a ...any) error {
		return fmt.Errorf("%w: %s", ErrConfig, fmt.Sprintf(format, a...))
	}
	switch {
	case !filepath.IsAbs(c.Dir) || !plainPath().MatchString(c.Dir):
		return bad("directory %q: must be an absolute path of letters, digits and . _ / + @ -", c.Dir)
	case c.Nodes < 1 || c.Nodes > 64:
		return bad("%d nodes: must be 1 to 64", c.Nodes)
	case !plainName().MatchString(c.NodePrefix):
		return bad("node prefix %q: must be a letter, then letters, digits, - or _", c.NodePrefix)
	case c.GPUs > 64:
		return bad("%d GPUs a node: must be at most 64", c.GPUs)
	case c.GPUType != "" && !plainName().MatchString(c.GPUType):
		return bad("GPU type %q: must be a letter, then letters, digits, - or _", c.GPUType)
	case c.mistyped() >= 0:
		return bad("GPU type %q: must be a letter, then letters, digits, - or _; or several with numbers that add up to %d, such as a100:2+t4:2",
			c.GPUTypes[c.mistyped()], c.GPUs)
	case c.CPUs < 1 || c.CPUs > 4096:
		return bad("%d CPUs a node: must be 1 to 4096", c.CPUs)
	case c.MemoryMB < 1:
		return bad("%d MB a node: must be positive", c.MemoryMB)
	case c.SlurmdTimeout < 3*time.Second:
		return bad("slurmd timeout %v: must be at least 3s", c.SlurmdTimeout)
	case c.MinJobAge < 2*time.Second:
		return bad("minimum job age %v: must be at least 2s", c.MinJobAge)
	case c.Backup && os.Geteuid() != 0:
		return bad("a backup controller: only root can give it a host name of its own")
	}
	if n := len(c.longestSocket()); n > maxSocketPath {
		return bad("directory %s: %d bytes too long for the sockets below it: choose a shorter one", c.Dir, n-maxSocketPath)
	}
	return c.checkPartitions()
}

func (c Config) checkPartitions() error {
	known, seen := c.NodeNames(), map[string]bool{}
	for _, p := range c.Partitions {
		if !plainName().MatchString(p.Name) || seen[p.Name] {
			return fmt.Errorf("%w: partition %q: must be a new name of letters, digits, - or _", ErrConfig, p.Name)
		}
		seen[p.Name] = true
		for _, n := range p.Nodes {
			if !slices.Contains(known, n) {
				return fmt.Errorf("%w: partition %s: no node %q, there are %s", ErrConfig, p.Name, n, strings.Join(known, " "))
			}
		}
		if strings.ContainsAny(p.Options, "\n\\") {
			return fmt.Errorf("%w: partition %s: options must be one line", ErrConfig, p.Name)
		}
	}
	return nil
}

// longestSocket is the longest socket path that slurmstepd uses for a plausible job:
// spool/NODE/NODE_JOBID.STEPID, where batch steps are called 4294967291.
func (c Config) longestSocket() string {
	node := c.NodePrefix + strconv.Itoa(c.Nodes)
	return layout(c.Dir).spool(node) + "/" + node + "_9999999.4294967291"
}
