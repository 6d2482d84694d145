package fake

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// shortOptions names the one-letter options of sbatch that are understood.
var shortOptions = map[byte]string{
	'H': "hold", 'J': "job-name", 'p': "partition", 'A': "account", 'N': "nodes", 'n': "ntasks",
	'c': "cpus-per-task", 'w': "nodelist", 'x': "exclude", 't': "time", 'b': "begin", 'D': "chdir",
	'o': "output", 'e': "error", 'G': "gpus", 'q': "qos", 'C': "constraint", 'd': "dependency", 'L': "licenses",
}

// flags are the options without a value.
var flags = map[string]bool{"hold": true, "requeue": true, "no-requeue": true, "parsable": true, "quiet": true}

// request is a submission, as far as the fake understands it.
type request struct {
	want     want
	name     string
	part     string
	account  string
	qos      string
	comment  string
	dir      string
	stdout   string
	limit    time.Duration
	endless  bool // the limit is unlimited
	resv     string
	begin    string
	depends  []term
	licenses string
	held     bool
	requeue  bool
	parsable bool
}

// parse reads the script's #SBATCH lines, then the arguments, which override them.
func parse(s slurm.Submission) (request, error) {
	r := request{requeue: true, dir: s.Dir, stdout: "slurm-%j.out", want: want{perTask: 1}}
	if r.dir == "" {
		r.dir = "/"
	}
	lines := directives(s.Stdin)
	if _, err := r.read(lines); err != nil {
		return r, err
	}
	rest, err := r.read(s.Args)
	if err != nil {
		return r, err
	}
	if r.name == "" && len(rest) > 0 {
		r.name = rest[0][strings.LastIndex(rest[0], "/")+1:]
	}
	if r.name == "" {
		r.name = "sbatch"
	}
	r.want.settle()
	return r, nil
}

// directives returns the options of the #SBATCH lines before the first command. Quoting
// is not supported: package sbatch does that for sluice itself.
func directives(script []byte) []string {
	var out []string
	lines := bufio.NewScanner(bytes.NewReader(script))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if rest, ok := strings.CutPrefix(line, "#SBATCH "); ok {
			out = append(out, strings.Fields(rest)...)
		} else if line != "" && !strings.HasPrefix(line, "#") {
			break
		}
	}
	return out
}

// read reads options up to the first word that is none and returns the rest.
func (r *request) read(args []string) ([]string, error) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		var name, value string
		var has bool
		switch {
		case arg == "--":
			return args[i+1:], nil
		case strings.HasPrefix(arg, "--"):
			name, value, has = strings.Cut(arg[2:], "=")
		case strings.HasPrefix(arg, "-") && len(arg) > 1:
			if name = shortOptions[arg[1]]; name == "" {
				return nil, fmt.Errorf("invalid option -- '%c'", arg[1])
			}
			value, has = arg[2:], len(arg) > 2
		default:
			return args[i:], nil
		}
		if !has && !flags[name] {
			if i++; i >= len(args) {
				return nil, fmt.Errorf("option '--%s' requires an argument", name)
			}
			value = args[i]
		}
		if err := r.set(name, value); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// set stores one option. Options without an effect here are accepted.
func (r *request) set(name, value string) (err error) {
	w := &r.want
	switch name {
	case "hold":
		r.held = true
	case "requeue":
		r.requeue = true
	case "no-requeue":
		r.requeue = false
	case "parsable":
		r.parsable = true
	case "job-name":
		r.name = value
	case "partition":
		r.part = value
	case "account":
		r.account = value
	case "qos":
		r.qos = value
	case "comment":
		r.comment = value
	case "chdir":
		r.dir = value
	case "output":
		r.stdout = value
	case "reservation":
		r.resv = value
	case "begin":
		r.begin = value
	case "licenses":
		r.licenses = value
	case "dependency":
		r.depends, err = dependency(value)
	case "time":
		r.limit, err = limit(value)
		r.endless = r.limit == 0
	case "nodes":
		w.minNodes, w.maxNodes, err = nodeRange(value)
	case "ntasks":
		w.tasks, err = count(name, value)
	case "cpus-per-task":
		w.perTask, err = count(name, value)
	case "cpus-per-gpu":
		w.perGPU, err = count(name, value)
	case "mem-per-gpu":
		w.memPerGPU, err = count(name, strings.TrimSuffix(value, "M"))
	case "gpus":
		w.gpuType, w.total, err = gpus(value)
	case "gpus-per-node":
		w.gpuType, w.perNode, err = gpus(value)
	case "gres":
		w.gpuType, w.perNode, err = gpus(strings.TrimPrefix(value, "gpu:"))
	case "nodelist":
		w.req, err = slurm.Expand(value)
	case "constraint":
		w.constraint = strings.ReplaceAll(value, ",", "&")
	case "exclude":
		w.exclude, err = slurm.Expand(value)
	}
	return err
}

// settle fills in what the options leave open.
func (w *want) settle() {
	if w.minNodes == 0 {
		w.minNodes = max(1, len(w.req))
		if w.total == 0 {
			w.maxNodes = w.minNodes
		}
	}
	if w.tasks == 0 {
		w.tasks = w.minNodes
	}
	w.perTask = max(1, w.perTask)
	w.cpus = w.tasks * w.perTask
}

func count(name, value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > 1_000_000 {
		return 0, fmt.Errorf("Invalid numeric value %q for --%s.", value, name)
	}
	return n, nil
}

// gpus reads "4" and "a100:4".
func gpus(value string) (string, int, error) {
	kind, number := "", value
	if at := strings.LastIndexByte(value, ':'); at >= 0 {
		kind, number = value[:at], value[at+1:]
	}
	n, err := count("gpus", number)
	return kind, n, err
}

// nodeRange reads "2" and "1-3".
func nodeRange(value string) (int, int, error) {
	low, high, ranged := strings.Cut(value, "-")
	lo, err := count("nodes", low)
	if err != nil || !ranged {
		return lo, lo, err
	}
	hi, err := count("nodes", high)
	return lo, hi, err
}

// limit reads minutes, M:S, H:M:S and D-H[:M[:S]].
func limit(value string) (time.Duration, error) {
	if strings.EqualFold(value, "UNLIMITED") || strings.EqualFold(value, "INFINITE") {
		return 0, nil
	}
	days, rest, hasDays := strings.Cut(value, "-")
	if !hasDays {
		days, rest = "0", value
	}
	parts := append([]string{days}, strings.Split(rest, ":")...)
	units := map[int][]time.Duration{
		2: {24 * time.Hour, time.Minute},
		3: {24 * time.Hour, time.Minute, time.Second},
		4: {24 * time.Hour, time.Hour, time.Minute, time.Second},
	}[len(parts)]
	if hasDays {
		units = []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second}
	}
	if len(parts) > len(units) {
		return 0, fmt.Errorf("Invalid --time specification")
	}
	var total time.Duration
	for i, p := range parts {
		n, err := count("time", p)
		if err != nil {
			return 0, fmt.Errorf("Invalid --time specification")
		}
		total += time.Duration(n) * units[i]
	}
	return total, nil
}
