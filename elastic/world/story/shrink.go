package story

import (
	"fmt"
	"time"
)

// Shrink returns a scenario that still fails and from which no part can be removed without making it
// pass: parts are removed by halves, then one by one (delta debugging), and the rest is
// simplified. fails is called at most tries times.
func Shrink(s Story, tries int, fails func(Story) bool) Story {
	k := &shrinking{Story: s, left: tries, fails: fails}
	for k.round() && k.left > 0 {
	}
	return k.Story
}

// shrinking is a scenario that is being shortened.
type shrinking struct {
	Story
	left  int
	fails func(Story) bool
}

// round tries every removal once and reports whether any succeeded.
func (k *shrinking) round() bool {
	before := k.Line()
	reduce(k, func(s *Story) *[]string { return &s.Faults })
	reduce(k, func(s *Story) *[]Kill { return &s.Kills })
	reduce(k, func(s *Story) *[]Window { return &s.Windows })
	reduce(k, func(s *Story) *[]Act { return &s.Acts })
	k.dropJobs()
	k.plainer()
	return k.Line() != before
}

// keep replaces the scenario by s if s still fails.
func (k *shrinking) keep(s Story) bool {
	if k.left <= 0 {
		return false
	}
	k.left--
	if !k.fails(s) {
		return false
	}
	k.Story = s
	return true
}

// reduce removes elements of one list: halves, quarters, ... single ones.
func reduce[T any](k *shrinking, of func(*Story) *[]T) {
	for size := (len(*of(&k.Story)) + 1) / 2; size >= 1; size /= 2 {
		for from := 0; from < len(*of(&k.Story)); {
			s := k.Story
			list := *of(&s)
			to := min(from+size, len(list))
			*of(&s) = append(append([]T(nil), list[:from]...), list[to:]...)
			if !k.keep(s) {
				from = to
			}
		}
	}
}

// dropJobs removes whole jobs with their acts.
func (k *shrinking) dropJobs() {
	for i := len(k.Jobs) - 1; i >= 0; i-- {
		s := k.Story
		s.Jobs = append(append([]Job(nil), k.Jobs[:i]...), k.Jobs[i+1:]...)
		s.Acts = nil
		for _, a := range k.Acts {
			if a.Job == i && doings[a.What] != nil {
				continue
			}
			if a.Job > i {
				a.Job--
			}
			s.Acts = append(s.Acts, a)
		}
		k.keep(s)
	}
}

// plainer replaces special properties of jobs and of the cluster, and times, by simple ones.
func (k *shrinking) plainer() {
	for i := range k.Jobs {
		for _, change := range []func(*Job){
			func(j *Job) { j.Manner = "" }, func(j *Job) { j.Habit = false }, func(j *Job) { j.Every = 0 },
			func(j *Job) { j.Signal = "" }, func(j *Job) { j.Limit = 0 }, func(j *Job) { j.Due = 0 }, func(j *Job) { j.Constraint = "" }, func(j *Job) { j.Uneven = false },
			func(j *Job) { j.Serial = 0 }, func(j *Job) { j.Min = 1 }, func(j *Job) { j.At = 0 },
			func(j *Job) { j.Save, j.Load = time.Second, time.Second }, func(j *Job) { j.Total = (j.Total + 1) / 2 },
		} {
			s := k.Story
			s.Jobs = append([]Job(nil), k.Jobs...)
			if change(&s.Jobs[i]); s.Jobs[i] != k.Jobs[i] {
				k.keep(s)
			}
		}
	}
	for _, change := range []func(*Story){
		func(s *Story) { s.Jitter = 0 }, func(s *Story) { s.Disk = false }, func(s *Story) { s.Personal = false },
		func(s *Story) { s.Policy = "knapsack" }, func(s *Story) { s.Nodes-- },
	} {
		s := k.Story
		if change(&s); s.Nodes > min(len(s.Features), 1) && s.Line() != k.Line() && k.placed(s) {
			k.keep(s)
		}
	}
}

// placed reports whether all nodes that are named exist.
func (k *shrinking) placed(s Story) bool {
	for _, a := range s.Acts {
		var n int
		if _, err := fmt.Sscanf(a.Node, "gpu%d", &n); err == nil && n > s.Nodes {
			return false
		}
	}
	return true
}
