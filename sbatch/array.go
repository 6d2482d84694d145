package sbatch

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-hpc/sluice/elastic"
)

// Array is the value of --array.
type Array struct {
	Tasks []int // indices, ascending, each once; at least one
	Limit int   // how many tasks may run at once; 0 = any number
	Step  int   // the step as first written, whatever the indices; 1 without
}

// Min is the first index.
func (a Array) Min() int { return a.Tasks[0] }

// Max is the last index.
func (a Array) Max() int { return a.Tasks[len(a.Tasks)-1] }

// ParseArray reads sbatch's list of indices: 0-15, 0-15:4, 1,3,5-7, each optionally
// followed by %N. The indices may be in brackets. An error names its column, in bytes
// from 1.
func ParseArray(value string) (Array, error) {
	p := arrayParser{text: value}
	p.bracketed = p.take('[')
	for {
		if err := p.span(); err != nil {
			return Array{}, err
		}
		if !p.take(',') {
			break
		}
	}
	if p.bracketed && !p.take(']') {
		return Array{}, p.wrong("want ]")
	}
	a := Array{Step: max(1, p.step)}
	if p.take('%') {
		n, err := p.number("how many tasks may run at once")
		if err != nil {
			return Array{}, err
		}
		a.Limit = min(n, elastic.MaxIndex+1)
	}
	if p.at < len(p.text) {
		return Array{}, p.wrong("want a list of indices such as 0-15, 0-15:4 or 1,3,5-7, and %N for how many may run at once")
	}
	slices.Sort(p.tasks)
	a.Tasks = slices.Compact(p.tasks)
	return a, nil
}

type arrayParser struct {
	text      string
	at        int
	bracketed bool
	step      int // index of the first; 0 = none yet
	tasks     []int
}

func (p *arrayParser) wrong(why string) error { return fmt.Errorf("column %d: %s", p.at+1, why) }

func (p *arrayParser) take(c byte) bool {
	if p.at >= len(p.text) || p.text[p.at] != c {
		return false
	}
	p.at++
	return true
}

// number reads decimal digits.
func (p *arrayParser) number(what string) (int, error) {
	end := p.at
	for end < len(p.text) && p.text[end] >= '0' && p.text[end] <= '9' {
		end++
	}
	if end == p.at {
		return 0, p.wrong("want a number: " + what)
	}
	n, err := strconv.Atoi(p.text[p.at:end])
	if err != nil {
		n = math.MaxInt
	}
	p.at = end
	return n, nil
}

// span reads 7, 5-7 or 5-17:3.
func (p *arrayParser) span() error {
	from := p.at
	first, err := p.index()
	if err != nil {
		return err
	}
	last, step := first, 1
	if p.take('-') {
		if last, err = p.index(); err != nil {
			return err
		}
		if last < first {
			p.at = from
			return p.wrong(fmt.Sprintf("%d is below %d", last, first))
		}
		if p.take(':') {
			at := p.at
			if step, err = p.number("a step"); err != nil {
				return err
			}
			if step < 1 {
				p.at = at
				return p.wrong("a step is 1 or more")
			}
			step = min(step, elastic.MaxIndex+1)
			p.step = cmp.Or(p.step, step)
		}
	}
	if len(p.tasks) > 2*elastic.MaxIndex {
		p.at = from
		return p.wrong("too many indices")
	}
	for i := first; i <= last; i += step {
		p.tasks = append(p.tasks, i)
	}
	return nil
}

func (p *arrayParser) index() (int, error) {
	at := p.at
	n, err := p.number("an index")
	if err == nil && n > elastic.MaxIndex {
		p.at = at
		err = p.wrong(fmt.Sprintf("the largest index there can be is %d", elastic.MaxIndex))
	}
	return n, err
}

// array reads the array, and the file names that depend on it.
func (m *merger) array(env environment) {
	if _, ok := m.chosen["array"]; !ok {
		return
	}
	m.value("array", func(v string) error {
		a, err := ParseArray(v)
		m.request.Array = &a
		return err
	})
	for _, name := range []string{"output", "error", "input"} {
		value := ""
		if s, ok := m.chosen[name]; ok {
			value = s.value
		}
		if v := env["SBATCH_"+strings.ToUpper(name)]; v != "" && (value == "" || m.chosen[name].at.Line > 0) {
			value = v
		}
		if name == "output" {
			value = cmp.Or(value, "slurm-%A_%a.out")
		}
		if value != "" {
			m.request.files = append(m.request.files, "--"+name+"="+value)
		}
	}
}

// part is the job's part of the array.
func (r Request) part(j Job) elastic.Array {
	if r.Array == nil {
		return elastic.Array{}
	}
	n := len(r.Array.Tasks)
	return elastic.Array{Job: j.Of, Index: j.Index, Count: n, Limit: r.Array.Limit, Open: j.Of == 0 && n > 1 && !j.Whole}
}

// task is the option with which 'sluice run' passes the job's part of the array to the
// script: sbatch's --export and a requeue do not change it.
func (r Request) task(j Job) []string {
	if r.Array == nil {
		return nil
	}
	return []string{fmt.Sprintf("--array=%d_%d/%d:%d-%d:%d", j.Of, j.Index, len(r.Array.Tasks), r.Array.Min(), r.Array.Max(), r.Array.Step)}
}

// filesOf are the options with the names of the task's files, if they contain %A or %a:
// for sbatch the job is part of no array.
func (r Request) filesOf(j Job) (out []string) {
	for _, file := range r.files {
		if named := fileOf(file, j); named != file {
			out = append(out, named)
		}
	}
	return out
}

// fileOf replaces %A and %a, with or without a width, as sbatch does. For the array's
// first job %A is its own id, which sbatch inserts for %A as well. A backslash disables
// all symbols of a name.
func fileOf(name string, j Job) string {
	if strings.Contains(name, `\`) {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		end := i + 1
		for name[i] == '%' && end < len(name) && name[end] >= '0' && name[end] <= '9' {
			end++
		}
		if name[i] != '%' || end == len(name) {
			b.WriteByte(name[i])
			continue
		}
		width, _ := strconv.Atoi(name[i+1 : end])
		switch symbol := name[i : end+1]; {
		case name[end] == 'a':
			fmt.Fprintf(&b, "%0*d", min(width, 10), j.Index)
		case name[end] == 'A' && j.Of != 0:
			fmt.Fprintf(&b, "%0*d", min(width, 10), j.Of)
		case name[end] == 'A':
			b.WriteString("%" + name[i+1:end] + "j")
		default:
			b.WriteString(symbol)
		}
		i = end
	}
	return b.String()
}

// Single is the request for one job that is part of no array.
func (r Request) Single() Request {
	r.Array, r.files = nil, nil
	return r
}
