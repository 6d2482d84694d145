package sbatch

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/space"
)

// sweepOptions are the options that only a sweep has.
var sweepOptions = []string{"goal", "keep-gb", "max-failures", "metric", "metric-regex", "param", "parallel", "per-gpu", "reduction", "repeats", "rungs", "searcher", "seed", "sweep-time", "trial", "trials", "try", "where"}

// sweeps reads the options of a sweep.
func (m *merger) sweeps() {
	kind, is := m.chosen["sweep"]
	if !is {
		for _, name := range sweepOptions {
			if s, given := m.chosen[name]; given && s.is == own {
				m.fail(s.fail("this is an option of a sweep, and there is no --sweep", "add --sweep=asha, or leave it out"))
			}
		}
		return
	}
	sw := &sweep.Sweep{Version: sweep.Version, Trials: sweep.UsualTrials, Parallel: sweep.UsualParallel, MaxFailures: sweep.UsualMaxFailures, KeepGB: sweep.UsualKeepGB}
	m.request.Sweep = sw
	before := len(m.errs)
	m.value("sweep", func(v string) error { sw.Algorithm = v; return nil })
	if _, given := m.chosen["metric"]; !given {
		m.fail(kind.fail("a sweep searches by a metric", "add --metric=NAME:max or NAME:min, as the program reports it"))
	}
	m.value("metric", func(v string) (err error) { sw.Metric, err = sweep.ParseMetric(v); return err })
	m.value("trials", func(v string) (err error) { sw.Trials, err = within(v, sweep.MaxTrials); return err })
	m.value("parallel", func(v string) (err error) { sw.Parallel, err = within(v, sweep.MaxParallel); return err })
	m.value("per-gpu", func(v string) (err error) { sw.PerGPU, err = within(v, sweep.MaxPerGPU); return err })
	m.value("max-failures", func(v string) (err error) { sw.MaxFailures, err = within(v, sweep.MaxTrials); return err })
	m.value("repeats", func(v string) (err error) { sw.Repeats, err = within(v, sweep.MaxRepeats); return err })
	m.value("reduction", func(v string) (err error) { sw.Reduction, err = within(v, sweep.MaxReduction); return err })
	m.value("rungs", func(v string) (err error) { sw.Rungs, err = parseRungs(v); return err })
	m.value("goal", func(v string) error { x, err := finite(v); sw.Goal = &x; return err })
	m.value("keep-gb", func(v string) (err error) { sw.KeepGB, err = finite(v); return err })
	m.value("seed", func(v string) (err error) {
		sw.Seed, err = strconv.ParseUint(v, 10, 64)
		return plainly(err, "want a whole number")
	})
	m.value("sweep-time", func(v string) (err error) { sw.Within, err = ParseDuration(v); return err })
	m.value("metric-regex", func(v string) error { sw.Regex = v; return checkMetricRegex(v) })
	m.value("searcher", func(v string) (err error) { sw.Searcher, err = searcherWords(v); return err })
	if s, given := m.chosen["searcher"]; given && !sw.Asks() {
		m.fail(s.fail("only --sweep=ask asks a program for points", "write --sweep=ask or asha+ask, or leave it out"))
	} else if !given && sw.Asks() {
		m.fail(kind.fail("the program that is asked for points is missing", "add --searcher='python3 search.py'"))
	}
	m.value("trial", func(v string) error { sw.OwnJobs = v == "job"; return checkTrial(v) })
	sw.Epochs = m.request.Spec.Total
	if !sw.OwnJobs {
		m.request.Spec.Total, m.request.Spec.Unit = 0, ""
	}
	if s, ok := m.chosen["array"]; ok {
		m.fail(s.fail("a sweep makes its jobs itself", "leave it out; --parallel says how many trials run at once"))
	}
	if s, ok := m.chosen["deadline"]; ok {
		m.fail(s.fail("the end of a sweep cannot be predicted", "leave it out; --sweep-time bounds the sweep"))
	}
	m.space(sw, len(m.errs) == before)
}

// searcherWords are the words of the program that is asked for points: quotes group, and nothing is
// expanded.
func searcherWords(v string) ([]string, error) {
	words, wrong := splitWords(v, 0, "", 0)
	if wrong != nil {
		return nil, errors.New(wrong.Why)
	}
	var out []string
	for _, w := range words {
		out = append(out, w.text)
	}
	if len(out) == 0 || len(out) > sweep.MaxTexts {
		return nil, fmt.Errorf("want a program and its arguments, at most %d words", sweep.MaxTexts)
	}
	return out, nil
}

// checkTrial checks how trials run.
func checkTrial(v string) error {
	if v == "job" || v == "lane" {
		return nil
	}
	return errors.New("want job, for trials that are jobs of their own, or lane, for jobs that run trials one after the other")
}

func within(v string, most int) (int, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("want a whole number from 1 to %d", most)
	}
	return n, nil
}

// parseRungs reads 3,9,27. Validate says whether they ascend.
func parseRungs(v string) (rungs []int, err error) {
	for text := range strings.SplitSeq(v, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil {
			return nil, errors.New("want epochs, as 3,9,27")
		}
		rungs = append(rungs, n)
	}
	return rungs, nil
}

func finite(v string) (float64, error) {
	x, err := strconv.ParseFloat(v, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, errors.New("want a number, such as 0.93 or 1e-3")
	}
	return x, nil
}

func plainly(err error, why string) error {
	if err == nil {
		return nil
	}
	return errors.New(why)
}

func checkMetricRegex(v string) error {
	s := sweep.Sweep{Version: sweep.Version, Token: strings.Repeat("0", 32), Metric: sweep.Metric{Name: "m"}, Trials: 1, Parallel: 1, MaxFailures: 1, Regex: v}
	if err := s.Validate(); err != nil {
		why := "longer than 1000 bytes"
		var bad *syntax.Error
		if _, err := regexp.Compile(v); errors.As(err, &bad) && len(v) <= 1000 {
			why = fmt.Sprintf("%s: `%s`", bad.Code, bad.Expr)
		}
		return fmt.Errorf("not a regular expression: %s; want one such as 'acc=(?P<metric>[0-9.]+)'", why)
	}
	if !strings.Contains(v, "(") {
		return errors.New("want a group around the number, as in 'acc=(?P<metric>[0-9.]+)'; a group named epoch is the epoch")
	}
	return nil
}

// space reads parameters, constraints and starting points, and how the script uses them. Each
// error has the place of the text in which it is. sound: the sweep's other options could be read.
func (m *merger) space(sw *sweep.Sweep, sound bool) {
	given := map[space.Option][]setting{}
	for _, source := range m.sources {
		for _, s := range source {
			if o := space.Option(s.name); s.is == own && slices.Contains([]space.Option{space.Param, space.Where, space.Try}, o) {
				given[o] = append(given[o], s)
			}
		}
	}
	texts := func(o space.Option) (out []string) {
		for _, s := range given[o] {
			out = append(out, s.value)
		}
		return out
	}
	sw.Params, sw.Wheres, sw.Tries = texts(space.Param), texts(space.Where), texts(space.Try)
	if method, _, _ := sw.Search(); method == "pbt" {
		sw.Members = min(sw.Parallel, sw.Trials)
	}
	checked := *sw
	checked.Token = strings.Repeat("0", 32)
	sp, err := CheckSweep(checked)
	if option := new(sweep.OptionError); err != nil && (sound || !errors.As(err, &option)) { // else it is reported already
		m.located(err, given)
	}
	if sp != nil {
		m.used(sp)
	}
	if method, _, _ := sw.Search(); method == "grid" && err == nil {
		points, _ := sp.Grid(space.Levels) // it was made in CheckSweep
		m.points = (len(points) + len(sw.Tries)) * max(1, sw.Repeats)
	}
}

// CheckSweep reports what sluiced would refuse about a sweep: an *sweep.OptionError, or an
// *space.Error with the option and the index of the text. The space is nil only if it cannot be read.
func CheckSweep(s sweep.Sweep) (*space.Space, error) {
	invalid := s.Validate()
	sp, _, err := space.Read(s.Params, s.Wheres, s.Tries)
	if err != nil {
		return nil, err
	}
	if invalid != nil {
		return sp, invalid
	}
	if err := s.Check(sp.Varied()); err != nil {
		return sp, err
	}
	if method, _, _ := s.Search(); method == "grid" {
		if _, err := sp.Grid(space.Levels); err != nil {
			return sp, err
		}
	}
	return sp, nil
}

// located turns an error about a text into one with its place.
func (m *merger) located(err error, given map[space.Option][]setting) {
	var option *sweep.OptionError
	if errors.As(err, &option) {
		if s, given := m.chosen[option.Option]; given {
			m.fail(s.fail(option.Said, ""))
		} else {
			m.fail(m.chosen["sweep"].fail(err.Error(), ""))
		}
		return
	}
	var e *space.Error
	if !errors.As(err, &e) {
		m.fail(m.chosen["sweep"].fail(err.Error(), ""))
		return
	}
	if e.Index >= len(given[e.Option]) {
		m.fail(m.chosen["sweep"].fail(e.Said, "add it as --param NAME=..."))
		return
	}
	s := given[e.Option][e.Index]
	at := s.valueAt
	if at.Line > 0 {
		at.Column += e.Column - 1 + m.quote(at)
	}
	m.fail(&Error{At: at, What: s.typed(), Why: fmt.Sprintf("column %d of the value: %s", e.Column, e.Said)})
}

// quote is 1 if an opening quote is at this place of the script, else 0.
func (m *merger) quote(at Place) int {
	for _, line := range m.request.script.header {
		if line.number == at.Line && at.Column >= 1 && at.Column <= len(line.text) && strings.IndexByte(`'"`, line.text[at.Column-1]) >= 0 {
			return 1
		}
	}
	return 0
}

// used compares the uses of parameters in the script with the parameters.
func (m *merger) used(sp *space.Space) {
	seen := map[string]bool{}
	params := map[string]space.Parameter{}
	for _, p := range sp.Parameters() {
		params[p.Name] = p
	}
	if _, taken := params[sweep.TrialName]; taken {
		m.fail(m.chosen["sweep"].fail("{trial} is the number of the trial", "give the parameter another name"))
	}
	for _, u := range sweep.Uses(m.request.script.Body) {
		if u.Name == "" || u.Name == sweep.TrialName {
			continue
		}
		at := Place{Source: m.request.script.source, Line: u.Line, Column: u.Column}
		p, known := params[u.Name]
		if !known && u.Name == sweep.SeedName {
			continue
		}
		if !known {
			m.fail(&Error{At: at, What: "{" + u.Name + "}", Why: "no parameter is called " + u.Name + "; there are " + strings.Join(names(sp), ", "),
				Do: "for the text itself write {{" + u.Name + "}}"})
			continue
		}
		seen[u.Name] = true
		for _, choice := range p.Choices {
			if err := sweep.Plain(choice); err != nil {
				m.fail(&Error{At: at, What: "{" + u.Name + "}", Why: fmt.Sprintf("its value %q: %v", choice, err), Do: `write "$` + p.Variable() + `"`})
			}
		}
	}
	if body := string(m.request.script.Body); !strings.Contains(body, "SLUICE_PARAM") && len(seen) > 0 {
		for _, p := range sp.Parameters() {
			if !seen[p.Name] && p.Kind != space.Fixed {
				m.warn(fmt.Sprintf("no command of the script has {%s}; the program gets it as %s and from sluice.params() only", p.Name, p.Variable()))
			}
		}
	}
}

func names(sp *space.Space) (out []string) {
	for _, p := range sp.Parameters() {
		out = append(out, p.Name)
	}
	if out = append(out, sweep.TrialName); !slices.Contains(out, sweep.SeedName) {
		out = append(out, sweep.SeedName)
	}
	return out
}

// lanes makes the request one for the lanes of its sweep: an array of jobs, each on the smallest
// size that was asked for unless there is a larger one. If trials are jobs of their own there is one
// for each, of any size that was asked for, and as many at once as there would be lanes.
func (m *merger) lanes() {
	sw := m.request.Sweep
	if sw == nil {
		return
	}
	sw.Parallel = min(sw.Parallel, sw.Trials)
	m.request.Array = &Array{Step: 1}
	jobs := sw.Parallel
	if sw.OwnJobs {
		jobs = sw.Trials
		if m.points > 0 {
			jobs = min(jobs, m.points)
		}
		m.request.Array.Limit = min(sw.Parallel, jobs)
	} else if spec := &m.request.Spec; spec.Max == 0 && len(spec.Sizes) == 0 && spec.Step == 0 {
		if _, given := m.chosen["max-gpus"]; !given {
			spec.Max = spec.Min
		}
	}
	for i := range jobs {
		m.request.Array.Tasks = append(m.request.Array.Tasks, i)
	}
}

// SweepName is the name of a sweep: the job's, or that of the script.
func (r Request) SweepName() string {
	return cmp.Or(r.given, r.jobName())
}
