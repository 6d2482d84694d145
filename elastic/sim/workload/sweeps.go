package workload

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/sim/sweeps"
)

// SweepsPrefix begins the name of a workload of sweeps.
const SweepsPrefix = "sweeps:"

// SweepsSyntax is the form of such a name, for people.
const SweepsSyntax = "sweeps:generated|PATH[:KEY=VALUE]...[:SEED]"

// Bounds of a workload of sweeps.
const (
	maxSweeps     = 1000
	maxSweepLanes = 1000
	maxTrials     = 10_000
)

// Sweeps is a workload of sweeps with, if asked for, ordinary jobs beside them.
type Sweeps struct {
	Name   string // as it was asked for, without its prefix and seed
	Seed   *uint64
	count  int
	gap    time.Duration // mean, exponentially distributed
	trials int
	lanes  int
	goal   float64 // quantile; 0 = none
	full   bool
	users  int
	start  time.Duration
	beside string
	tasks  []*sweeps.Task // nil = generated
}

// sweepKeys are what may follow the source, each with what it means.
var sweepKeys = []sweepKey{
	{"sweeps", "how many (10)", func(s *Sweeps, v string) error { return whole(v, 1, maxSweeps, &s.count) }},
	{"gap", "mean time between two (60s)", func(s *Sweeps, v string) error { return span(v, &s.gap) }},
	{"trials", "of each sweep (200)", func(s *Sweeps, v string) error { return whole(v, 1, maxTrials, &s.trials) }},
	{"lanes", "of each sweep at most (12)", func(s *Sweeps, v string) error { return whole(v, 1, maxSweepLanes, &s.lanes) }},
	{"goal", "a sweep is over at this quantile of the task's last metrics (0.95), or none", func(s *Sweeps, v string) error { return s.setGoal(v) }},
	{"search", "asha (random points, losers are paused) or full", func(s *Sweeps, v string) error {
		s.full = v == "full"
		if v != "full" && v != "asha" {
			return fmt.Errorf("want asha or full")
		}
		return nil
	}},
	{"users", "the sweeps are theirs by turns (1)", func(s *Sweeps, v string) error { return whole(v, 1, maxSweeps, &s.users) }},
	{"start", "of a trial in a lane that runs (2s)", func(s *Sweeps, v string) error { return span(v, &s.start) }},
	{"beside", "a generator of ordinary jobs, such as w4@5m", func(s *Sweeps, v string) error { s.beside = v; return nil }},
}

type sweepKey struct {
	key, says string
	set       func(s *Sweeps, value string) error
}

// SweepKeys lists the keys with what they mean, for people.
func SweepKeys() (keys, says []string) {
	for _, k := range sweepKeys {
		keys, says = append(keys, k.key), append(says, k.says)
	}
	return keys, says
}

// maxAllTrials bounds the trials of all sweeps together: a drawn trial takes 1 KB.
const maxAllTrials = 500_000

// ReadSweeps reads a name of the form SweepsSyntax and the tasks that it names.
func ReadSweeps(text string) (Sweeps, error) {
	parts := strings.Split(strings.TrimPrefix(text, SweepsPrefix), ":")
	s := Sweeps{count: 10, gap: time.Minute, trials: 200, lanes: 12, goal: .95, users: 1, start: 2 * time.Second}
	if seed, err := strconv.ParseUint(parts[len(parts)-1], 10, 64); err == nil && len(parts) > 1 {
		s.Seed, parts = &seed, parts[:len(parts)-1]
	}
	s.Name = SweepsPrefix + strings.Join(parts, ":")
	var given []string
	for _, part := range parts[1:] {
		key, value, _ := strings.Cut(part, "=")
		i := slices.IndexFunc(sweepKeys, func(k sweepKey) bool { return k.key == key })
		if i < 0 || slices.Contains(given, key) {
			keys, _ := SweepKeys()
			return s, fmt.Errorf("%q: want each of %s at most once, as KEY=VALUE", part, strings.Join(keys, ", "))
		}
		given = append(given, key)
		if err := sweepKeys[i].set(&s, value); err != nil {
			return s, fmt.Errorf("%s: %w", part, err)
		}
	}
	if s.count*s.trials > maxAllTrials {
		return s, fmt.Errorf("sweeps=%d:trials=%d: want at most %d trials in all", s.count, s.trials, maxAllTrials)
	}
	if parts[0] == "generated" {
		return s, nil
	}
	tasks, err := sweeps.LoadPath(parts[0])
	if err != nil {
		return s, fmt.Errorf("learning curves: %w; 'generated' draws some", err)
	}
	for _, t := range tasks {
		if s.trials > len(t.Metric) {
			return s, fmt.Errorf("trials=%d: task %s has %d configurations", s.trials, t.Name, len(t.Metric))
		}
	}
	s.tasks = tasks
	return s, nil
}

func (s *Sweeps) setGoal(v string) error {
	if s.goal = 0; v == "none" {
		return nil
	}
	q, err := strconv.ParseFloat(v, 64)
	if err != nil || !(q > 0 && q <= 1) {
		return fmt.Errorf("want a number above 0 and at most 1, or none")
	}
	s.goal = q
	return nil
}

func whole(v string, low, high int, into *int) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < low || n > high {
		return fmt.Errorf("want %d to %d", low, high)
	}
	*into = n
	return nil
}

func span(v string, into *time.Duration) error {
	d, err := time.ParseDuration(v)
	if err != nil || d < 0 || d > maxArrival {
		return fmt.Errorf("want a time such as 60s, at most %v", maxArrival)
	}
	*into = d
	return nil
}

// Workload draws the sweeps, and the jobs beside them, in order of Submit. The same seed and options
// give the same ones.
func (s Sweeps) Workload(seed uint64, opts Options) (Workload, error) {
	jobs, err := s.besides(seed, opts)
	if err != nil {
		return Workload{}, err
	}
	rng := stream(seed, sweepsStream)
	order := rng.Perm(max(1, len(s.tasks)))
	at := 0.
	for i := range s.count {
		a := &sweeps.Arrival{Trials: s.trials, Lanes: s.lanes, Halving: !s.full, Start: s.start.Seconds(), Seed: rng.Uint64(), Goal: math.Inf(1)}
		if s.tasks == nil {
			a.Task = sweeps.Generated(rng.Uint64(), s.trials)
		} else {
			a.Task = s.tasks[order[i%len(order)]]
		}
		if s.goal > 0 {
			a.Goal = a.Task.Goal(s.goal)
		}
		jobs = append(jobs, Job{
			Name: fmt.Sprintf("sweep%d", i+1), User: fmt.Sprintf("user%d", i%s.users+1), Submit: after(0, at),
			Spec: elastic.Spec{Min: 1, Max: 1}, Asked: 1, Speeds: laneSpeed{}, Sweep: a,
		})
		at += rng.ExpFloat64() * s.gap.Seconds()
	}
	slices.SortStableFunc(jobs, func(x, y Job) int { return cmp.Compare(x.Submit, y.Submit) })
	return Workload{Name: s.Name, Seed: seed, Note: s.note(), Count: len(jobs), Jobs: slices.Values(jobs)}, nil
}

// besides draws the ordinary jobs.
func (s Sweeps) besides(seed uint64, opts Options) ([]Job, error) {
	if s.beside == "" {
		return nil, nil
	}
	w, err := Generate(s.beside, seed, opts)
	if err != nil {
		return nil, fmt.Errorf("beside: %w", err)
	}
	return slices.Collect(w.Jobs), nil
}

// note says what is simulated, and what policies are told.
func (s Sweeps) note() string {
	curves := "curves drawn by 'generated'"
	if s.tasks != nil {
		curves = fmt.Sprintf("curves of %d recorded tasks", len(s.tasks))
	}
	search, goal := "asha", "no goal"
	if s.full {
		search = "full trials"
	}
	if s.goal > 0 {
		goal = fmt.Sprintf("over at the %g quantile of a task's last metrics", s.goal)
	}
	beside := ""
	if s.beside != "" {
		beside = "; beside jobs of " + s.beside
	}
	return fmt.Sprintf("%d sweeps, one every %v on average, users: %d; %d trials each by %s in at most %d lanes, %s, %v to start a trial, %s%s; "+
		"every policy is told of a sweep the trials that ended or were paused, their GPU-seconds and the lanes it can use, not its goal or curves to come",
		s.count, s.gap, s.users, s.trials, search, s.lanes, goal, s.start, curves, beside)
}

// laneSpeed is that of a lane: its trials have their own times.
type laneSpeed struct{}

// Seconds is 1 on one GPU: a lane has no units of work.
func (laneSpeed) Seconds(split []int) float64 {
	if len(split) != 1 || split[0] != 1 {
		return math.Inf(1)
	}
	return 1
}
