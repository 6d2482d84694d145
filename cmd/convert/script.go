package convert

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/sbatch"
)

// Proposal is a file as 'sluice init' would have it.
type Proposal struct {
	Text  string   // equal to the file's where nothing is changed
	Notes []string // what was not understood, and what to check
	// Unknown: the program was not understood, so it may train differently at another size.
	Unknown bool
}

func (p *Proposal) note(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

// What a header asks for, one option a line; other forms are left alone.
var (
	gresLine   = lazy(`^#SBATCH\s+--gres[= ]\s*gpu(?::([A-Za-z][\w.-]*))?(?::(\d+))?\s*(?:#.*)?$`)
	gpusLine   = lazy(`^#SBATCH\s+(?:--gpus[= ]|-G\s*)\s*(?:([A-Za-z][\w.-]*):)?(\d+)\s*(?:#.*)?$`)
	perNode    = lazy(`^#SBATCH\s+--gpus-per-node[= ]\s*(?:([A-Za-z][\w.-]*):)?(\d+)\s*(?:#.*)?$`)
	nodesLine  = lazy(`^#SBATCH\s+(?:--nodes[= ]|-N\s*)\s*(\d+)\s*(?:#.*)?$`)
	taskLine   = lazy(`^#SBATCH\s+(?:--ntasks-per-node[= ]\s*(\d+)|(?:--ntasks[= ]|-n\s*)\s*(\d+))\s*(?:#.*)?$`)
	sizeLine   = lazy(`^#SBATCH\s+(?:--gres|--gpus|-G|--nodes|-N)`)
	command    = lazy(`^(\s*)(exec\s+)?(srun\s+)?((?:\S*/)?python[0-9.]*\s+-m\s+torch\.distributed\.(?:run|launch)|(?:\S*/)?python[0-9.]*|torchrun)\s+(.+)$`)
	perNodeArg = lazy(`\s--?nproc[-_]per[-_]node[= ](\S+)`)
	nodesArg   = lazy(`\s--?nnodes[= ](\S+)`)
	batchLine  = lazy(`(?i)^[^#]*batch.*(?:` + sizeNames + `)|^[^#]*(?:` + sizeNames + `).*batch`)
	epochsArg  = lazy(`\s--(?:num[-_])?epochs[= ](\d+)(?:\s|$)`)
)

// sizeNames are variables of a job script that are others at another size.
const sizeNames = `SLURM_N(?:TASKS|PROCS|NODES|TASKS_PER_NODE)\b|SLURM_(?:GPUS|JOB_NUM_NODES|TASKS_PER_NODE|STEP_NUM)|WORLD_SIZE`

// lazy compiles a pattern when it is first used: sluice starts often, and rarely needs one of these.
func lazy(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// Wants is how many GPUs a script asked for.
type Wants struct {
	GPUs, nodes int
	Ranks       int // processes of the training: what of its batch is one's, times this is the batch of all
	tasks       int // of srun; 0 = the script does not say
	kind        string
	lines       []int // of the options, which give way to a range of sizes
}

// Script proposes a job script that is elastic: a range of sizes for the number of GPUs, and
// the training under 'sluice ranks'. program is the training program, "" if it is not
// known.
func Script(name, text, program string) (Proposal, Wants) {
	out := Proposal{Text: text}
	lines := strings.SplitAfter(text, "\n")
	if strings.Contains(text, "\n#SLUICE") || strings.HasPrefix(text, "#SLUICE") {
		out.note("%s: it has #SLUICE lines already; nothing is changed", name)
		return out, Wants{}
	}
	w, last, ok := asked(name, lines, &out)
	if k := slices.IndexFunc(lines, batchLine().MatchString); k >= 0 && ok {
		out.note("%s:%d: this batch is another at every size; give the program the batch of all GPUs together, as it uses it with sluice", name, k+1)
		ok = false
	}
	k := trainingLine(name, lines, program, &out)
	if !ok || k < 0 {
		return out, w
	}
	call, epochs, ok := underRanks(name, k, lines[k], &out)
	if !ok {
		return out, w
	}
	w.Ranks = w.processes(lines[k])
	switch {
	case w.Ranks == 0:
		w.Ranks = w.GPUs
		if w.GPUs > 1 && program != "" {
			out.note("%s: it does not say how many processes it starts (--ntasks); one for each of its %d GPUs is assumed, for the batch of all", name, w.GPUs)
		}
	case w.Ranks != w.GPUs:
		out.note("%s: it started %d processes on %d GPUs; sluice ranks starts one for each GPU", name, w.Ranks, w.GPUs)
	}
	lines[k] = call
	size := fmt.Sprintf("#SLUICE --min-gpus=1 --max-gpus=%d", 2*w.GPUs)
	if w.kind != "" {
		size += " --gpu-types=" + w.kind
	}
	if epochs != "" {
		size += " --epochs=" + epochs
	} else {
		out.note("%s: add --epochs=N or --steps=N to the #SLUICE line: sluice then knows how much work is left", name)
	}
	out.note("%s: it asked for %d GPUs; --max-gpus=%d is twice that: name what the program can use", name, w.GPUs, 2*w.GPUs)
	for _, i := range w.lines {
		lines[i] = ""
	}
	lines[last] += size + "\n"
	changed := strings.Join(lines, "")
	if err := submittable(name, changed); err != nil {
		for _, e := range joined(err) {
			out.note("sluice submit refuses the rest: %s", e)
		}
	}
	out.Text = changed
	return out, w
}

// joined returns the errors of which err consists.
func joined(err error) []error {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		return several.Unwrap()
	}
	return []error{err}
}

// asked reads the number of GPUs from the header. last is its last line.
func asked(name string, lines []string, out *Proposal) (w Wants, last int, ok bool) {
	w.nodes, last = 1, -1
	perNodes, tasksPerNode := 0, 0
	for i, l := range lines {
		l = strings.TrimSpace(l)
		if l != "" && !strings.HasPrefix(l, "#") {
			break
		}
		if !strings.HasPrefix(l, "#SBATCH") {
			continue
		}
		last = i
		number := func(s string) int { n, _ := strconv.Atoi(s); return n }
		switch m := []string(nil); {
		case match(gpusLine(), l, &m):
			w.kind, w.GPUs, w.lines = m[1], number(m[2]), append(w.lines, i)
		case match(gresLine(), l, &m), match(perNode(), l, &m):
			w.kind, perNodes, w.lines = m[1], max(number(m[2]), 1), append(w.lines, i)
		case match(nodesLine(), l, &m):
			w.nodes, w.lines = max(number(m[1]), 1), append(w.lines, i)
		case match(taskLine(), l, &m): // sluice ranks starts one process for each GPU
			tasksPerNode, w.tasks, w.lines = number(m[1]), max(w.tasks, number(m[2])), append(w.lines, i)
		case sizeLine().MatchString(l):
			out.note("%s:%d: %q is not understood; write the number of GPUs as --gpus=N, one option a line", name, i+1, l)
			return w, last, false
		}
	}
	if w.GPUs == 0 {
		w.GPUs = perNodes * w.nodes
	}
	if w.tasks == 0 {
		w.tasks = tasksPerNode * w.nodes
	}
	switch {
	case last < 0:
		out.note("%s: it has no #SBATCH lines; is it a job script?", name)
		return w, last, false
	case w.GPUs == 0:
		out.note("%s: it asks for no GPUs: neither --gpus, --gpus-per-node nor --gres=gpu in its #SBATCH lines", name)
		return w, last, false
	case w.GPUs > 100_000:
		out.note("%s: it asks for %d GPUs, which is no size of a job", name, w.GPUs)
		return w, last, false
	}
	return w, last, true
}

func match(e *regexp.Regexp, line string, m *[]string) bool {
	*m = e.FindStringSubmatch(line)
	return *m != nil
}

// trainingLine is the line that starts the training, -1 if it is not clear which.
func trainingLine(name string, lines []string, program string, out *Proposal) int {
	var found []int
	for i, l := range lines {
		l = strings.TrimRight(l, "\n")
		if command().MatchString(l) && (program == "" || strings.Contains(l, baseName(program))) {
			found = append(found, i)
		}
	}
	switch {
	case len(found) == 0 && program != "":
		out.note("%s: no line runs %s with python or torchrun; put srun \"$SLUICE\" ranks -- before its command", name, program)
	case len(found) == 0:
		out.note("%s: no line runs python or torchrun; put srun \"$SLUICE\" ranks -- before the training's command", name)
	case len(found) > 1:
		numbers := make([]int, len(found))
		for i, k := range found {
			numbers[i] = k + 1
		}
		out.note("%s: lines %s run python; name the training program: sluice init %s train.py", name, present.Ranges(numbers), name)
	default:
		return found[0]
	}
	return -1
}

func baseName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// underRanks is the command under 'sluice ranks', and the epochs that its arguments name.
func underRanks(name string, k int, l string, out *Proposal) (call, epochs string, ok bool) {
	l = strings.TrimRight(l, "\n")
	m := command().FindStringSubmatch(l)
	if strings.HasSuffix(l, "\\") || strings.ContainsAny(m[5], "|&;<>`(") {
		out.note("%s:%d: the command goes on, is piped or redirected; put srun \"$SLUICE\" ranks -- before the program yourself", name, k+1)
		return "", "", false
	}
	ranks, program := `srun "$SLUICE" ranks -- `, m[4]+" "+m[5]
	if strings.Contains(m[4], "torch") {
		rest, known := afterOptions(m[5])
		if !known {
			out.note("%s:%d: its options of torchrun are not understood; see 'sluice ranks --help'", name, k+1)
			return "", "", false
		}
		ranks, program = `srun "$SLUICE" ranks --torchrun -- `, rest
		if fields := strings.Fields(m[4]); len(fields) > 1 {
			program = fields[0] + " " + rest
		}
	}
	if e := epochsArg().FindStringSubmatch(l); e != nil {
		epochs = e[1]
	}
	return m[1] + m[2] + ranks + program + "\n", epochs, true
}

// processes is how many processes the training line starts; 0 = it does not say.
func (w Wants) processes(l string) int {
	m := command().FindStringSubmatch(strings.TrimRight(l, "\n"))
	if !strings.Contains(m[4], "torch") {
		return w.tasks
	}
	each, nodes := perNodeArg().FindStringSubmatch(l), w.nodes
	if n := nodesArg().FindStringSubmatch(l); n != nil {
		if number, err := strconv.Atoi(n[1]); err == nil {
			nodes = number
		}
	}
	if each == nil {
		return nodes // torchrun's default is one
	}
	if n, err := strconv.Atoi(each[1]); err == nil {
		return n * nodes
	}
	return w.GPUs // gpu, auto, a variable
}

// afterOptions drops the options of torchrun that say how many processes there are and where they
// meet, which sluice ranks sets itself; false if there are others.
func afterOptions(args string) (rest string, known bool) {
	drop := regexp.MustCompile(`^--?(?:nproc[-_]per[-_]node|nnodes|node[-_]rank|rdzv[-_](?:id|backend|endpoint)|master[-_](?:addr|port)|max[-_]restarts)(=\S+|\s+\S+)\s+|^--standalone\s+|^--use[-_]env\s+`)
	for {
		at := drop.FindStringIndex(args)
		if at == nil {
			return args, !strings.HasPrefix(args, "-")
		}
		args = args[at[1]:]
	}
}

// submittable returns what 'sluice submit' refuses of a script.
func submittable(name, text string) error {
	script, err := sbatch.ParseScript(name, []byte(text))
	if err != nil {
		return err
	}
	line, err := sbatch.ParseCommandLine([]string{name})
	if err != nil {
		return err
	}
	_, err = sbatch.Merge(line, nil, script)
	return err
}
