package lab

import (
	"path/filepath"
	"slices"
	"strings"
)

// kind is the role of a process in a lab.
type kind int

const (
	foreign kind = iota
	munged
	database // mariadbd
	slurmdbd
	slurmctld
	backup // the backup slurmctld
	script // slurmscriptd, slurmctld's helper, and what it runs
	slurmd
	stepd // slurmstepd, which supervises one step of a job
	task  // a process of a job, or something it started
)

// member is one process of a lab.
type member struct {
	process
	kind kind
	node string // of slurmd, stepd and, when known, task
}

// daemon returns the name under which the lab logs and shows it.
func (m member) daemon() string {
	switch m.kind {
	case munged:
		return "munged"
	case database:
		return "mariadbd"
	case slurmdbd:
		return "slurmdbd"
	case slurmctld:
		return "slurmctld"
	case backup:
		return backupName
	case script:
		return "slurmscriptd"
	case slurmd:
		return slurmdName(m.node)
	case stepd:
		return "slurmstepd"
	}
	return "job"
}

// backupName is the backup controller's daemon name.
const backupName = "slurmctld-backup"

func slurmdName(node string) string { return "slurmd-" + node }

// members finds all processes of the lab.
func (l *Lab) members() ([]member, error) {
	all, err := processes()
	if err != nil {
		return nil, err
	}
	var found []member
	place := map[int]int{} // pid -> index in found
	add := func(m member) {
		place[m.pid] = len(found)
		found = append(found, m)
	}
	for _, p := range all {
		if k, node := l.classify(p); k != foreign {
			add(member{p, k, node})
		}
	}
	// Descendants of a step or a script belong to the lab too, even with their
	// environment wiped. Parents may come after children in /proc, hence the loop until
	// nothing is new.
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			i, ours := place[p.ppid]
			if _, known := place[p.pid]; known || !ours {
				continue
			}
			if k, inherits := childKind[found[i].kind]; inherits {
				add(member{p, k, found[i].node})
				grown = true
			}
		}
	}
	return found, nil
}

// childKind is the kind of the children of a process, if they belong to the lab and are
// not recognised by themselves. Those of slurmd are about to become slurmstepd.
var childKind = map[kind]kind{slurmctld: script, backup: script, script: script, slurmd: stepd, stepd: task, task: task}

// classify determines the kind of a process by its command.
func (l *Lab) classify(p process) (kind, string) {
	conf, d := l.Conf(), l.layout()
	has := func(arg string) bool { return slices.Contains(p.args, arg) }
	switch {
	case runs(p, "munged") && has("--socket="+d.mungeSocket()):
		return munged, ""
	case runs(p, "mariadbd") && has("--datadir="+d.database()):
		return database, ""
	case runs(p, "slurmdbd") && slices.Contains(p.environ(), "SLURM_CONF="+conf):
		return slurmdbd, ""
	case runs(p, "slurmctld") && has(conf):
		return slurmctld, ""
	case runs(p, "slurmctld") && has(d.backupConf()):
		return backup, ""
	case len(p.args) > 0 && strings.Contains(p.args[0], "slurmscriptd") && p.cwd() == d.controllerDir():
		return script, ""
	case runs(p, "slurmd") && has(conf):
		return slurmd, after(p.args, "-N")
	case runs(p, "slurmstepd"):
		if node := l.stepNode(p); node != "" {
			return stepd, node
		}
	}
	// ClusterName is unique to the lab, and slurmstepd puts it, with the node's name,
	// into the environment of everything it starts. A user's shell has at most the first
	// of the two.
	env := p.environ()
	if slices.Contains(env, "SLURM_CLUSTER_NAME="+l.rec.Cluster) {
		for _, v := range env {
			if node, ok := strings.CutPrefix(v, "SLURMD_NODENAME="); ok {
				return task, node
			}
		}
	}
	return foreign, ""
}

// stepNode returns the node of a slurmstepd; "" if it belongs to another lab. slurmstepd
// renames itself, which wipes its arguments and environment, but it stays in slurmd's
// working directory and writes to slurmd's log.
func (l *Lab) stepNode(p process) string {
	cwd := p.cwd()
	var files []string
	for _, node := range l.NodeNames() {
		if cwd == l.layout().spool(node) {
			return node
		}
		if files == nil {
			files = p.files()
		}
		if slices.Contains(files, l.layout().log(slurmdName(node))) {
			return node
		}
	}
	return ""
}

// runs reports whether the process was started as the named program: directly, under its
// Debian alternative's name, renamed by itself ("slurmstepd: [7.0]"), or through a loader
// (ld-linux-x86-64.so.2 OPTIONS PROGRAM ...).
func runs(p process, name string) bool {
	for i, arg := range p.args {
		base := filepath.Base(arg)
		if base == name || base == name+"-wlm" || strings.HasPrefix(arg, name+": ") {
			return true
		}
		if i == 0 && !strings.HasPrefix(base, "ld-") {
			return false
		}
	}
	return false
}

// after returns the argument that follows flag.
func after(args []string, flag string) string {
	i := slices.Index(args, flag)
	if i < 0 || i+1 >= len(args) {
		return ""
	}
	return args[i+1]
}

// which selects members.
type which func(member) bool

func ofKind(kinds ...kind) which {
	return func(m member) bool { return slices.Contains(kinds, m.kind) }
}

func onNode(node string, kinds ...kind) which {
	return func(m member) bool { return m.node == node && slices.Contains(kinds, m.kind) }
}

// pick returns the lab's processes that are selected.
func (l *Lab) pick(w which) ([]member, error) {
	all, err := l.members()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(m member) bool { return !w(m) }), nil
}
