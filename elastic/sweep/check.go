package sweep

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
)

// OptionError is a value that a sweep cannot have, by the option that gives it, without dashes; ""
// = what no option gives. Whoever knows where the option stands adds the place.
type OptionError struct {
	Option string
	Value  string // "" = it is left out, or has no short text
	Said   string // what is wanted instead
}

func (e *OptionError) Error() string {
	switch {
	case e.Option == "":
		return e.Said
	case e.Value == "":
		return "--" + e.Option + ": " + e.Said
	}
	return fmt.Sprintf("--%s %s: %s", e.Option, e.Value, e.Said)
}

func wrong(option string, value any, format string, args ...any) error {
	return &OptionError{option, fmt.Sprint(value), fmt.Sprintf(format, args...)}
}

// Bounds of what a search can do.
const (
	MaxRungs     = 64
	MaxRung      = 1_000_000_000 // epochs
	MaxReduction = 100
	MaxRepeats   = 100
	// MaxModel and MaxModelParams bound a Gaussian process: a suggestion takes time with the third
	// power of the trials, and a model of more parameters learns little from them.
	MaxModel       = 1000
	MaxModelParams = 32
	// MinMembers: a quarter of pbt's population is replaced.
	MinMembers = 4
)

// Validate reports a value out of range, in terms of the options that a user types; an error is an
// *OptionError. It knows no spaces: Params, Wheres and Tries are counted, and Check says whether
// Algorithm can search them.
func (s Sweep) Validate() error {
	switch {
	case s.Version > Version:
		return &OptionError{Said: fmt.Sprintf("version %d was written by a newer sluice", s.Version)}
	case !ValidToken(s.Token):
		return &OptionError{Said: fmt.Sprintf("token %q: want 32 lower-case hex digits", s.Token)}
	case !nameForm.MatchString(s.Metric.Name):
		return wrong("metric", fmt.Sprintf("%q", s.Metric.Name), "not a metric's name")
	case s.Goal != nil && (math.IsNaN(*s.Goal) || math.IsInf(*s.Goal, 0)):
		return wrong("goal", *s.Goal, "want a number")
	case s.Trials < 1 || s.Trials > MaxTrials:
		return wrong("trials", s.Trials, "want 1 to %d", MaxTrials)
	case s.Parallel < 1 || s.Parallel > MaxParallel:
		return wrong("parallel", s.Parallel, "want 1 to %d", MaxParallel)
	case s.OwnJobs && s.Trials > MaxParallel:
		return wrong("trials", s.Trials, "want at most %d with --trial=job, since each is a job; give fewer, or leave --trial=job out", MaxParallel)
	case s.PerGPU < 0 || s.PerGPU > MaxPerGPU:
		return wrong("per-gpu", s.PerGPU, "want 1 to %d", MaxPerGPU)
	case s.OwnJobs && s.PerGPU > 1:
		return wrong("per-gpu", s.PerGPU, "with --trial=job each trial has GPUs of its own: leave it out, or leave --trial=job out")
	case s.Epochs < 0 || s.Epochs > 1e15 || s.Epochs != s.Epochs:
		return wrong("epochs", s.Epochs, "want 0 to 1e15")
	case s.MaxFailures < 1 || s.MaxFailures > MaxTrials:
		return wrong("max-failures", s.MaxFailures, "want 1 to %d", MaxTrials)
	case s.KeepGB < 0 || s.KeepGB > 1e9 || s.KeepGB != s.KeepGB:
		return wrong("keep-gb", s.KeepGB, "want 0 to 1e9")
	case s.Within < 0:
		return wrong("sweep-time", s.Within, "may not be negative")
	case len(s.Params) > MaxTexts:
		return &OptionError{Option: "param", Said: fmt.Sprintf("there are more than %d", MaxTexts)}
	case len(s.Wheres) > MaxTexts:
		return &OptionError{Option: "where", Said: fmt.Sprintf("there are more than %d", MaxTexts)}
	case len(s.Tries) > MaxTexts:
		return &OptionError{Option: "try", Said: fmt.Sprintf("there are more than %d", MaxTexts)}
	case !slices.Contains([]State{Active, Paused, Stopped}, s.State):
		return &OptionError{Said: fmt.Sprintf("state %q: want paused, stopped or nothing", s.State)}
	case s.Repeats < 0 || s.Repeats > MaxRepeats:
		return wrong("repeats", s.Repeats, "want 1 to %d", MaxRepeats)
	case s.Reduction != 0 && (s.Reduction < 2 || s.Reduction > MaxReduction):
		return wrong("reduction", s.Reduction, "want 2 to %d", MaxReduction)
	case s.Members < 0 || s.Members > MaxParallel:
		return wrong("parallel", s.Members, "want 1 to %d", MaxParallel)
	}
	if !ascending(s.Rungs) {
		return &OptionError{Option: "rungs", Said: fmt.Sprintf("want at most %d epochs from 1 to %d, each larger than the one before it, as 3,9,27", MaxRungs, MaxRung)}
	}
	if s.Asks() != (len(s.Searcher) > 0) || len(s.Searcher) > MaxTexts {
		return &OptionError{Option: "searcher", Said: fmt.Sprintf("want the program that --sweep=ask asks for points, of at most %d words", MaxTexts)}
	}
	if _, err := regexp.Compile(s.Regex); err != nil || len(s.Regex) > 1000 {
		return wrong("metric-regex", fmt.Sprintf("%q", s.Regex), "not a regular expression of at most 1000 bytes")
	}
	return nil
}

func ascending(rungs []int) bool {
	last := 0
	for _, r := range rungs {
		if r <= last || r > MaxRung {
			return false
		}
		last = r
	}
	return len(rungs) <= MaxRungs
}

// methods are what may stand after --sweep=, and of these all but asha and pbt after asha+.
var methods = []string{"asha", "random", "grid", "sobol", "tpe", "gp", "pbt", "ask"}

// Searches are the values of --sweep without those of two parts.
func Searches() []string { return slices.Clone(methods) }

// Search is how the sweep searches: by which method, and whether trials that fall behind are paused.
//
//	asha       random points, halving     tpe       points by tpe, every trial to its end
//	asha+tpe   points by tpe, halving     grid, sobol, gp, random, pbt   likewise
//
// ok is false where no search is called so.
func (s Sweep) Search() (method string, halving, ok bool) {
	first, second, both := strings.Cut(s.Algorithm, "+")
	switch {
	case both && first == "asha":
		return second, true, second != "asha" && second != "pbt" && slices.Contains(methods, second)
	case both:
		return "", false, false
	case first == "asha":
		return "random", true, true
	}
	return first, false, slices.Contains(methods, first)
}

// Period is how many epochs lie between two decisions about a member of a population: as many as make
// 13 decisions of a trial, and 4 where its length is not known. 0 = there is no population.
func (s Sweep) Period() int {
	switch {
	case s.Members == 0:
		return 0
	case s.Epochs < 1:
		return 4
	}
	return max(1, int(min(s.Epochs, MaxRung))/13)
}

// Check reports what the search cannot do with the rest of the sweep, which is Valid; an error is an
// *OptionError. varied is how many parameters have more than one value.
func (s Sweep) Check(varied int) error {
	method, halving, ok := s.Search()
	switch {
	case !ok:
		return wrong("sweep", s.Algorithm, "no search is called so; there are %s, and asha+tpe and the like", strings.Join(methods, ", "))
	case halving && len(s.Rungs) == 0 && s.Epochs == 0:
		return wrong("sweep", s.Algorithm, "asha compares trials at parts of their length: add --epochs=N, the length of one, or choose random")
	case halving && len(s.Rungs) == 0 && s.Epochs < 2:
		return wrong("epochs", s.Epochs, "asha compares trials within their length: give 2 or more, or --sweep=random")
	case halving && len(s.Rungs) > 0 && s.Epochs > 0 && float64(s.Rungs[0]) >= s.Epochs:
		return wrong("rungs", s.Rungs[0], "a trial has %g epochs, so none would be compared", s.Epochs)
	case method == "pbt" && len(s.Rungs) > 0:
		return wrong("rungs", "", "pbt compares its members by itself: leave it out")
	case method == "pbt" && s.Reduction > 0:
		return wrong("reduction", s.Reduction, "pbt replaces a quarter of its members: leave it out")
	case !halving && len(s.Rungs) > 0:
		return wrong("rungs", "", "--sweep=%s compares no trials at epochs: choose asha or asha+%s, or leave it out", s.Algorithm, s.Algorithm)
	case !halving && s.Reduction > 0:
		return wrong("reduction", s.Reduction, "--sweep=%s pauses no trials at epochs: choose asha or asha+%s, or leave it out", s.Algorithm, s.Algorithm)
	case method == "gp" && s.Trials > MaxModel:
		return wrong("trials", s.Trials, "--sweep=%s takes at most %d, because each suggestion takes time with the third power of their number: choose tpe for more", s.Algorithm, MaxModel)
	case method == "gp" && varied > MaxModelParams:
		return wrong("sweep", s.Algorithm, "gp takes at most %d parameters that vary, and there are %d: choose tpe", MaxModelParams, varied)
	case (method == "gp" || method == "tpe") && varied == 0:
		return wrong("sweep", s.Algorithm, "no parameter has more than one value: there is nothing to learn; choose random")
	case method == "ask" && s.Repeats > 1:
		return wrong("repeats", s.Repeats, "the program that is asked for points repeats those that it wants repeated: leave it out")
	case method == "pbt" && s.Repeats > 1:
		return wrong("repeats", s.Repeats, "pbt changes the parameters of a trial while it runs, so there is nothing to repeat: leave it out")
	case method == "pbt" && s.PerGPU > 1:
		return wrong("per-gpu", s.PerGPU, "pbt compares its members while all of them run, each in a lane of its own: leave it out")
	case method == "pbt" && s.OwnJobs:
		return wrong("trial", "job", "pbt goes on in the same lanes with copies of the best trials: leave it out")
	case method == "pbt" && s.Members < MinMembers:
		return wrong("parallel", s.Members, "it is the size of pbt's population, of which a quarter is replaced: give %d or more", MinMembers)
	case method == "pbt" && s.Trials < s.Members:
		return wrong("trials", s.Trials, "pbt begins with %d (--parallel), and counts each replacement as a trial: give more", s.Members)
	}
	return nil
}
