package reliability

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// fact is one reported figure of a campaign: its name, and its values.
type fact struct {
	name   string
	values map[string]string
	record *record
}

// record is the kept output of one campaign.
type record struct {
	file   string
	commit string
	began  string
	whole  bool // it ran to its end
	exit   string
	facts  []fact
}

// bad reports whether the campaign failed or was interrupted.
func (r *record) bad() bool { return !r.whole || r.exit != "0" }

// mostBytes bounds what is read of one record, mostLine the length of a line.
const (
	mostBytes = 256 << 20
	mostLine  = 1 << 20
)

// The formats of figures.
var (
	began    = once(`^# campaign \S+ commit (\S+) began (\S+):`)
	ended    = once(`^# campaign ended \S+ exit (\d+)$`)
	verdict  = once(`^([a-z][a-z0-9_-]*): ([a-z_]+=\S+(?: [a-z_]+=\S+)*)$`)
	counted  = once(`\breliability: ([a-z][a-z0-9-]*) (\d+)$`)
	planted  = once(`^planted=(\d+) caught=(\d+)$`)
	target   = once(`^(\S+) (Fuzz[A-Za-z0-9_]+)(?: source=([0-9a-f]+))?$`)
	fuzzed   = once(`^fuzz: elapsed: \S+, execs: (\d+) `)
	seeds    = once(`(\d+) seeds \((\d+) on disk\), (\d+) failed; ([0-9.]+) simulated days`)
	matrix   = once(`(\d+) requests, (\d+) denials, all of them logged`)
	mutated  = once(`(\d+) of (\d+) mutations refused`)
	crossed  = once(`(\d+) boundaries$`)
	pairsOf  = once(`: pairs=(\d+) apart=(\d+)$`)
	everyOne = once(`^--- PASS: TestCrashAtEveryBoundary\b`)
	exposure = once(`Overall exposure level for (\S+): ([0-9.]+)`)
)

func once(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// readAll reads the records of a folder, oldest first; a missing folder has none.
func readAll(dir string) ([]*record, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	var list []*record
	for _, name := range names {
		r, err := readFile(name)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	slices.SortStableFunc(list, func(a, b *record) int { return strings.Compare(a.began, b.began) })
	return list, nil
}

func readFile(path string) (*record, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file: %w", path, fs.ErrInvalid)
	}
	r, err := read(io.LimitReader(f, mostBytes))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r.file = filepath.Base(path)
	return r, nil
}

// read finds the figures in all that a campaign printed.
func read(from io.Reader) (*record, error) {
	r := &record{}
	in := bufio.NewScanner(from)
	in.Buffer(nil, mostLine)
	p := parser{r: r}
	for in.Scan() {
		p.line(strings.TrimRight(in.Text(), "\r"))
	}
	p.endTarget()
	return r, in.Err()
}

// parser is the state that spans lines.
type parser struct {
	r      *record
	target string // parser being fuzzed
	source string // of its package, as a hash; "" = unknown
	execs  string
	bounds string // boundaries counted; whether they were passed is not known yet
}

func (p *parser) say(name string, pairs ...string) {
	values := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		values[pairs[i]] = pairs[i+1]
	}
	p.r.facts = append(p.r.facts, fact{name, values, p.r})
}

func (p *parser) endTarget() {
	if p.target != "" && p.execs != "" {
		p.say("fuzz", "target", p.target, "source", p.source, "execs", p.execs)
	}
	p.target, p.source, p.execs = "", "", ""
}

func (p *parser) line(text string) {
	has := func(form func() *regexp.Regexp) []string { return form().FindStringSubmatch(text) }
	if m := has(began); m != nil {
		p.r.commit, p.r.began = m[1], m[2]
	} else if m := has(ended); m != nil {
		p.r.whole, p.r.exit = true, m[1]
	} else if m := has(counted); m != nil {
		p.say(m[1], "count", m[2])
	} else if m := has(verdict); m != nil {
		p.say(m[1], pairs(m[2])...)
	} else if m := has(planted); m != nil {
		p.say("planted", "planted", m[1], "caught", m[2])
	} else if m := has(target); m != nil {
		p.endTarget()
		p.target, p.source = strings.TrimPrefix(m[1], "./")+" "+m[2], m[3]
	} else if m := has(fuzzed); m != nil {
		p.execs = m[1]
	} else if m := has(seeds); m != nil {
		p.say("seeds", "seeds", m[1], "disk", m[2], "failed", m[3], "days", m[4])
	} else if m := has(matrix); m != nil {
		p.say("matrix", "requests", m[1], "denials", m[2])
	} else if m := has(mutated); m != nil {
		p.say("manifests", "refused", m[1], "total", m[2])
	} else if m := has(pairsOf); m != nil {
		p.say("pairs", "pairs", m[1], "apart", m[2])
	} else if m := has(exposure); m != nil {
		p.say("exposure", "unit", m[1], "score", m[2])
	} else if m := has(crossed); m != nil {
		p.bounds = m[1]
		p.passed()
	} else if has(everyOne) != nil {
		p.r.facts = append(p.r.facts, fact{"boundaries passed", nil, p.r})
		p.passed()
	}
}

// passed reports how many boundaries were passed, once they are counted and the test is
// known to have passed; the two come in either order.
func (p *parser) passed() {
	ok := slices.ContainsFunc(p.r.facts, func(f fact) bool { return f.name == "boundaries passed" })
	if ok && p.bounds != "" {
		p.say("boundaries", "total", p.bounds)
	}
}

// pairs are the keys and values of "a=b c=d", alternating.
func pairs(text string) []string {
	var list []string
	for word := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(word, "=")
		list = append(list, key, value)
	}
	return list
}

// number parses a count; what is no number is 0.
func (f fact) number(key string) float64 {
	n, err := strconv.ParseFloat(f.values[key], 64)
	if err != nil {
		return 0
	}
	return n
}
