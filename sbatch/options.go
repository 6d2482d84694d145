package sbatch

import "strings"

// arity is whether an option takes a value, in getopt_long's terms.
type arity uint8

const (
	bare     arity = iota // --hold
	valued                // --time=10 or --time 10
	optional              // --nice or --nice=10, never --nice 10
)

// meaning is the role of an option for sluice.
type meaning uint8

const (
	passed  meaning = iota // sbatch's only: passed on unread
	watched                // sbatch's, but sluice reads it, refuses it or acts on it
	shared                 // sbatch's and sluice's: allowed on both kinds of line
	own                    // sluice's only
)

// option is one row of the table of options.
type option struct {
	name  string
	short byte // 0 = none
	takes arity
	is    meaning
}

// options are those of sbatch in Slurm 20.11, 22.05, 24.11 and 26.05 together, read from
// the tables compiled into the four releases, and sluice's own. If releases differ in the
// value of an option, the row accepts both forms.
var options = []option{
	{"account", 'A', valued, passed},
	{"acctg-freq", 0, valued, passed},
	{"array", 'a', valued, watched},
	{"autocomplete", 0, valued, watched},
	{"batch", 0, valued, watched},
	{"bb", 0, valued, passed},
	{"bbf", 0, valued, passed},
	{"begin", 'b', valued, passed},
	{"chdir", 'D', valued, passed},
	{"cluster", 0, valued, watched},
	{"cluster-constraint", 0, valued, passed},
	{"clusters", 'M', valued, watched},
	{"comment", 0, valued, watched},
	{"consolidate-segments", 0, bare, watched},
	{"constraint", 'C', valued, watched},
	{"container", 0, valued, watched},
	{"container-id", 0, valued, watched},
	{"container-type", 0, valued, watched},
	{"context", 0, valued, passed},
	{"contiguous", 0, bare, watched},
	{"core-spec", 'S', valued, watched},
	{"cores-per-socket", 0, valued, passed},
	{"cpu-freq", 0, valued, passed},
	{"cpus-per-gpu", 0, valued, shared},
	{"cpus-per-task", 'c', valued, watched},
	{"delay-boot", 0, valued, passed},
	{"dependency", 'd', valued, passed},
	{"distribution", 'm', valued, watched},
	{"error", 'e', valued, passed},
	{"exclude", 'x', valued, passed},
	{"exclusive", 0, optional, watched},
	{"export", 0, valued, watched},
	{"export-file", 0, valued, passed},
	{"external", 0, bare, watched},
	{"extra", 0, valued, passed},
	{"extra-node-info", 'B', valued, passed},
	{"get-user-env", 0, optional, passed},
	{"gid", 0, valued, watched},
	{"gpu-bind", 0, valued, passed},
	{"gpu-freq", 0, valued, passed},
	{"gpus", 'G', valued, watched},
	{"gpus-per-node", 0, valued, watched},
	{"gpus-per-socket", 0, valued, watched},
	{"gpus-per-task", 0, valued, watched},
	{"gres", 0, valued, watched},
	{"gres-flags", 0, valued, passed},
	{"help", 'h', bare, watched},
	{"hint", 0, valued, passed},
	{"hold", 'H', bare, watched},
	{"ignore-pbs", 0, bare, watched},
	{"input", 'i', valued, passed},
	{"job-name", 'J', valued, watched},
	{"kill-on-invalid-dep", 0, valued, passed},
	{"licenses", 'L', valued, passed},
	{"mail-type", 0, valued, passed},
	{"mail-user", 0, valued, passed},
	{"mcs-label", 0, valued, passed},
	{"mem", 0, valued, watched},
	{"mem-bind", 0, valued, passed},
	{"mem-per-cpu", 0, valued, watched},
	{"mem-per-gpu", 0, valued, shared},
	{"mem-update", 0, valued, passed},
	{"mincpus", 0, valued, passed},
	{"network", 0, valued, passed},
	{"nice", 0, optional, passed},
	{"no-kill", 'k', optional, passed},
	{"no-requeue", 0, bare, watched},
	{"nodefile", 'F', valued, watched},
	{"nodelist", 'w', valued, watched},
	{"nodes", 'N', valued, watched},
	{"ntasks", 'n', valued, watched},
	{"ntasks-per-core", 0, valued, passed},
	{"ntasks-per-gpu", 0, valued, watched},
	{"ntasks-per-node", 0, valued, watched},
	{"ntasks-per-socket", 0, valued, passed},
	{"ntasks-per-tres", 0, valued, watched},
	{"oom-kill-step", 0, optional, passed},
	{"open-mode", 0, valued, watched},
	{"output", 'o', valued, passed},
	{"overcommit", 'O', bare, passed},
	{"oversubscribe", 's', bare, passed},
	{"parsable", 0, bare, watched},
	{"partition", 'p', valued, watched},
	{"power", 0, valued, passed},
	{"prefer", 0, valued, watched},
	{"priority", 0, valued, watched},
	{"profile", 0, valued, passed},
	{"propagate", 0, optional, passed},
	{"qos", 'q', valued, passed},
	{"quiet", 'Q', bare, watched},
	{"reboot", 0, bare, passed},
	{"requeue", 0, optional, watched},
	{"reservation", 0, valued, passed},
	{"resources", 0, valued, passed},
	{"resv-ports", 0, optional, passed},
	{"segment", 0, valued, watched},
	{"signal", 0, valued, passed},
	{"sockets-per-node", 0, valued, passed},
	{"spread-job", 0, bare, watched},
	{"spread-segments", 0, bare, watched},
	{"stepmgr", 0, bare, passed},
	{"switches", 0, valued, watched},
	{"tasks-per-node", 0, valued, watched},
	{"test-only", 0, bare, watched},
	{"thread-spec", 0, valued, watched},
	{"threads-per-core", 0, valued, passed},
	{"time", 't', valued, passed},
	{"time-min", 0, valued, passed},
	{"tmp", 0, valued, passed},
	{"tres-bind", 0, valued, passed},
	{"tres-per-task", 0, valued, watched},
	{"uid", 0, valued, watched},
	{"usage", 0, bare, watched},
	{"use-min-nodes", 0, bare, passed},
	{"verbose", 'v', bare, passed},
	{"version", 'V', bare, watched},
	{"wait", 'W', bare, watched},
	{"wait-all-nodes", 0, valued, passed},
	{"wckey", 0, valued, passed},
	{"wrap", 0, valued, watched},

	{"allow-uneven", 0, optional, own},
	{"checkpoint-dir", 0, valued, own},
	{"checkpoint-every", 0, valued, own},
	{"checkpoint-glob", 0, valued, own},
	{"checkpoint-marker", 0, valued, own},
	{"checkpoint-signal", 0, valued, own},
	{"checkpoint-still", 0, valued, own},
	{"code", 0, valued, own},
	{"config", 0, valued, own},
	{"data", 0, valued, own},
	{"deadline", 0, valued, own}, // on #SBATCH lines it is sbatch's, see slurms
	{"deadline-mode", 0, valued, own},
	{"epochs", 0, valued, own},
	{"fence", 0, valued, own},
	{"for", 0, valued, own},
	{"goal", 0, valued, own},
	{"gpu-sizes", 0, valued, own},
	{"gpu-step", 0, valued, own},
	{"gpu-types", 0, valued, own},
	{"grace", 0, valued, own},
	{"keep-gb", 0, valued, own},
	{"max-failures", 0, valued, own},
	{"max-gpus", 0, valued, own},
	{"metric", 0, valued, own},
	{"metric-regex", 0, valued, own},
	{"min-gpus", 0, valued, own},
	{"model", 0, valued, own},
	{"notify", 0, valued, own},
	{"on-timeout", 0, valued, own},
	{"parallel", 0, valued, own},
	{"param", 0, valued, own},
	{"per-gpu", 0, valued, own},
	{"progress-regex", 0, valued, own},
	{"reduction", 0, valued, own},
	{"repeats", 0, valued, own},
	{"retries", 0, valued, own},
	{"rungs", 0, valued, own},
	{"searcher", 0, valued, own},
	{"seed", 0, valued, own},
	{"steps", 0, valued, own},
	{"sweep", 0, valued, own},
	{"sweep-time", 0, valued, own},
	{"task", 0, valued, own},
	{"token", 0, valued, own},
	{"trial", 0, valued, own},
	{"trials", 0, valued, own},
	{"try", 0, valued, own},
	{"user", 0, bare, own},
	{"where", 0, valued, own},
}

// The table is searched linearly: it is short, and building an index at every start of
// sluice would take longer than all look-ups together.

// byName returns the option of exactly that name, nil when there is none.
func byName(name string) *option {
	for i := range options {
		if options[i].name == name {
			return &options[i]
		}
	}
	return nil
}

// byShort returns the option of that letter, nil when there is none.
func byShort(letter byte) *option {
	for i := range options {
		if letter != 0 && options[i].short == letter {
			return &options[i]
		}
	}
	return nil
}

// resolve finds a long option by its name or an unambiguous prefix of it, as getopt_long
// does. If several options have the prefix, it still returns one (without a name) if all
// are sbatch's only and take the same kind of value: the installed sbatch then decides
// which is meant. Otherwise others lists them. An unknown option (which a SPANK plugin
// may define) gives nil without others.
func resolve(name string) (o *option, others []string) {
	if exact := byName(name); exact != nil {
		return exact, nil
	}
	var found []*option
	for i := range options {
		if name != "" && strings.HasPrefix(options[i].name, name) {
			found = append(found, &options[i])
		}
	}
	switch {
	case len(found) == 0:
		return nil, nil
	case len(found) == 1:
		return found[0], nil
	}
	alike := true
	for _, f := range found {
		others = append(others, "--"+f.name)
		alike = alike && f.is == passed && f.takes == found[0].takes
	}
	if alike {
		return &option{takes: found[0].takes}, nil
	}
	return nil, others
}
