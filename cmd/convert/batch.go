package convert

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// The number of processes as a program divides its batch by it.
const worldSize = `(?:(?:torch\.)?(?:distributed|dist)\.get_world_size\(\)|(?:\w+\.)?world_size|WORLD_SIZE|int\(os\.(?:environ\[["']WORLD_SIZE["']\]|(?:environ\.get|getenv)\(["']WORLD_SIZE["'][^()]*\))\))`

var (
	divides   = lazy(`^(?:int\((.+) //? ` + worldSize + `\)|max\(1, (.+) // ` + worldSize + `\)|(.+) // ` + worldSize + `)$`)
	processes = lazy(`(?i)world_?size|device_count|\bn(?:um|r)?_?(?:gpus?|procs?|processes|ranks|replicas|devices|nodes)(?:_|\b)|\bgpus(?:_|\b)|\bSLURM_(?:N|GPUS|STEP_NUM|JOB_NUM)`)
	assigns   = lazy(`^\s*([\w.]+(?:, [\w.]+)*)(?:: [\w.]+)? ?(?:[-+*/%]|//)?= ?([^=].*)$`)
	option    = lazy(`add_argument\(\s*["'](?:-\w["'], ["'])?--([\w-]+)["']`)
	defines   = lazy(`^\s*def (\w+)\((.*)\).*:\s*$`)
	atom      = lazy(`^(?:[\w.]+|[\w.]+\([^()]*\)|[\w.]+\[[^\[\]]*\]|\([^()]*\))$`)
	product   = lazy(`^[\w.]+(?: (?:\*|//) [\w.]+)*$`)
	names     = lazy(`[A-Za-z_][\w.]*`)
	spawns    = lazy(`\b(?:mp|multiprocessing)\.(?:spawn|start_processes)\(`)
)

// wholeBatch returns the batch of all processes together, from that of one, which line at gives the DataLoader.
// It MUST be the same at every size: sluice.torch keeps it for the life of a training. ranks is the number of
// processes that the script started, 0 if unknown.
func (t *training) wholeBatch(at int, batch string, ranks int) (string, error) {
	on := t.dependents()
	value := batch
	if from := t.assigned(at, batch); from >= 0 {
		value = assigns().FindStringSubmatch(strings.TrimRight(t.lines[from], "\n"))[2]
	}
	if whole := divided(value); whole != "" && !on.in(whole) {
		return whole, nil
	}
	if call := t.passed(at, batch, on); call >= 0 {
		return "", fmt.Errorf("line %d: this batch depends on the number of processes; pass that of all, and write ALL // dist.get_world_size() in the DataLoader", call+1)
	}
	switch {
	case on.in(batch):
		return "", fmt.Errorf("line %d: the batch depends on the number of processes in a way that is not understood; write it as ALL // dist.get_world_size()", at+1)
	case ranks < 1:
		return "", fmt.Errorf("line %d: the batch of all GPUs together is not known: give the job script too, or write the batch as ALL // dist.get_world_size()", at+1)
	case ranks == 1:
		return batch, nil
	case !atom().MatchString(batch):
		batch = "(" + batch + ")"
	}
	return fmt.Sprintf("%s * %d", batch, ranks), nil
}

// divided returns the whole of which an expression is the part of one process; "" = it is none.
func divided(expression string) string {
	m := divides().FindStringSubmatch(expression)
	if m == nil {
		return ""
	}
	if whole := m[1] + m[2] + m[3]; atom().MatchString(whole) || product().MatchString(whole) {
		return whole
	}
	return "" // a + b // n divides b alone
}

// dependents are the names in a program that are others at another number of processes.
type dependents struct {
	names map[string]bool // with their dots; ".name" = the option of this name, whatever the parsed options are called
	all   bool            // too long a chain of assignments: any name may be one
}

// mostPasses bounds how long a chain of assignments against the order of lines is followed.
const mostPasses = 20

// dependents finds the names that depend on the number of processes by what is assigned to them.
func (t *training) dependents() dependents {
	d := dependents{names: map[string]bool{}}
	for pass := 0; ; pass++ {
		known := len(d.names)
		for _, l := range t.lines {
			l = strings.TrimRight(l, "\n")
			_, preset, _ := strings.Cut(l, "default=")
			preset, _, _ = strings.Cut(preset, "help=")
			if o := option().FindStringSubmatch(l); o != nil && d.in(preset) {
				d.names["."+strings.ReplaceAll(o[1], "-", "_")] = true
			}
			if m := assigns().FindStringSubmatch(l); m != nil && d.in(m[2]) {
				for name := range strings.SplitSeq(m[1], ", ") {
					d.names[name] = true
				}
			}
		}
		if len(d.names) == known {
			return d
		}
		if pass == mostPasses {
			d.all = true
			return d
		}
	}
}

// in reports whether an expression is another at another number of processes.
func (d dependents) in(expression string) bool {
	if processes().MatchString(expression) {
		return true
	}
	for _, name := range names().FindAllString(expression, -1) {
		if d.all || d.names[name] {
			return true
		}
		for i, r := range name {
			if r == '.' && (d.names[name[:i]] || d.names["."+strings.Split(name[i+1:], ".")[0]]) {
				return true
			}
		}
	}
	return false
}

// assigned is the line above line at, in its function or outside of all, that gives a name its value; -1 if
// there is none, or not only this one.
func (t *training) assigned(at int, name string) int {
	found := -1
	for i, l := range t.lines {
		m := assigns().FindStringSubmatch(strings.TrimRight(l, "\n"))
		if m == nil || !slices.Contains(strings.Split(m[1], ", "), name) {
			continue
		}
		if found >= 0 || m[1] != name || slices.Contains(names().FindAllString(m[2], -1), name) {
			return -1
		}
		found = i
	}
	for i := found + 1; i < at && found >= 0; i++ {
		if defines().MatchString(strings.TrimRight(t.lines[i], "\n")) && indent(t.lines[found]) != "" {
			return -1 // in another function
		}
	}
	if found >= at {
		return -1
	}
	return found
}

// passed is a line that calls the function around line at with an argument, for the parameter name, that
// depends on the number of processes; -1 if there is none.
func (t *training) passed(at int, name string, on dependents) int {
	var function []string
	for i := at; i >= 0 && function == nil; i-- {
		function = defines().FindStringSubmatch(strings.TrimRight(t.lines[i], "\n"))
	}
	if function == nil {
		return -1
	}
	place := -1
	for i, parameter := range strings.Split(function[2], ",") {
		if parameter, _, _ = strings.Cut(strings.TrimSpace(parameter), "="); strings.TrimSpace(strings.Split(parameter, ":")[0]) == name {
			place = i
		}
	}
	if place < 0 {
		return -1
	}
	call := regexp.MustCompile(`(?:^|[^\w.])` + function[1] + `\((.*)\)\s*$`)
	for i, l := range t.lines {
		m := call.FindStringSubmatch(strings.TrimRight(l, "\n"))
		if m == nil || defines().MatchString(l) {
			continue
		}
		args, named := arguments(m[1])
		if on.in(named[name]) || place < len(args) && on.in(args[place]) {
			return i
		}
	}
	return -1
}

// sameEverywhere returns an error where the optimizer or its scheduler depends on the number of processes: the
// batch of all is the same at every size, and so MUST the rate be. Likewise where the program starts its
// processes itself.
func (t *training) sameEverywhere() error {
	on := t.dependents()
	for i, l := range t.lines {
		if spawns().MatchString(l) {
			return fmt.Errorf("line %d: it starts its processes itself; 'sluice ranks' starts one for each GPU", i+1)
		}
		if (optimizes().MatchString(l) || schedules().MatchString(l)) && on.in(t.statement(i)) {
			return fmt.Errorf("line %d: this depends on the number of processes, and the batch of all does not; write the value for that batch", i+1)
		}
	}
	return nil
}

// statement is the statement that begins in line i: the lines up to the end of its brackets.
func (t *training) statement(i int) string {
	var b strings.Builder
	for depth := 0; i < len(t.lines); i++ {
		b.WriteString(t.lines[i])
		depth += strings.Count(t.lines[i], "(") - strings.Count(t.lines[i], ")")
		if depth <= 0 {
			break
		}
	}
	return b.String()
}
