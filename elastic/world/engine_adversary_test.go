package world_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// scene is a random workload from a seed, without false reports.
type scene struct {
	seed  uint64
	jobs  []world.Job
	after []time.Duration // when each is submitted
}

// drawScene draws jobs of several users over an hour and more. Together they want more GPUs than the
// cluster has, and their minimums fit.
func drawScene(seed uint64) scene {
	rng := rand.New(rand.NewPCG(seed, 0xf18))
	s := scene{seed: seed}
	at := time.Duration(0)
	for n := range 7 {
		alone := 60 + 240*rng.Float64() // seconds a unit on one GPU
		s.jobs = append(s.jobs, world.Job{
			User:  []string{"ada", "bea", "cyd"}[n%3],
			Spec:  elastic.Spec{Min: 1, Max: []int{8, 16}[rng.IntN(2)], Total: float64(30 + rng.IntN(60))},
			Model: world.Amdahl(alone, 0.01+0.07*rng.Float64()),
			Save:  4 * time.Second, Load: 10 * time.Second,
		})
		s.after = append(s.after, at)
		at += time.Duration(rng.ExpFloat64() * float64(4*time.Minute))
	}
	return s
}

// equals is two users with one identical job each.
func equals(seed uint64) scene {
	s := drawScene(seed)
	s.jobs, s.after = s.jobs[:1], []time.Duration{0, 0}
	s.jobs[0].Spec.Max = 16 // all there is
	s.jobs = append(s.jobs, s.jobs[0])
	s.jobs[1].User = "bea"
	return s
}

// outcome is the result of a scene.
type outcome struct {
	jct      []float64 // seconds from submit to end, by job
	runs     [][]world.RunRecord
	came     []time.Time
	moves    int     // runs after each job's first
	jobHours float64 // from first run to end, all jobs
}

// play plays a scene to its end with a policy. Jobs for which lies is true report as the adversary does.
func (s scene) play(t *testing.T, policy string, a adversary, lies func(job int) bool) outcome {
	t.Helper()
	return s.playOn(t, new(journal.Memory), policy, a, lies)
}

// playOn is play with a journal of earlier jobs.
func (s scene) playOn(t *testing.T, kept *journal.Memory, policy string, a adversary, lies func(job int) bool) outcome {
	t.Helper()
	w := world.New(world.Config{Fake: fake.Config{Seed: s.seed, Nodes: fake.Grid(4, 4)}})
	d := boot(t, w, kept, policy, func(c *engine.Config) { // as sluice.toml has it
		c.Limits.Cooldown, c.Limits.Payback, c.Limits.Grace = 30*time.Second, 2, 5*time.Minute
	})
	trainers := make([]*world.Trainer, len(s.jobs))
	for n, j := range s.jobs {
		if lies(n) {
			j.ForgeLine = a.reports(s.seed+uint64(n), j)
		}
		w.At(s.after[n], func() { trainers[n] = w.Submit(j) })
	}
	all := func() bool { return len(w.Trainers()) == len(s.jobs) && w.Over() }
	if err := w.DriveUntil(context.Background(), d, 100*time.Hour, all); err != nil || !all() {
		t.Fatalf("%s, seed %d, %s: not all jobs ended: %v", policy, s.seed, a.name, err)
	}
	for _, bad := range w.Check() {
		t.Errorf("%s, seed %d, %s: %s", policy, s.seed, a.name, bad)
	}
	return s.outcome(trainers)
}

func (s scene) outcome(trainers []*world.Trainer) (o outcome) {
	begin := trainers[0].Runs()[0].Began // the first job starts as it comes
	for n, tr := range trainers {
		runs := tr.Runs()
		end := runs[len(runs)-1].Ended
		o.runs = append(o.runs, runs)
		o.came = append(o.came, begin.Add(s.after[n]))
		o.jct = append(o.jct, end.Sub(begin.Add(s.after[n])).Seconds())
		o.moves += len(runs) - 1
		o.jobHours += end.Sub(runs[0].Began).Hours()
	}
	return o
}

// had returns the GPU-seconds that a job used within so many seconds of its submission.
func (o outcome) had(job int, within float64) (sum float64) {
	until := o.came[job].Add(time.Duration(within * float64(time.Second)))
	for _, r := range o.runs[job] {
		end := r.Ended
		if end.After(until) {
			end = until
		}
		if end.After(r.Began) {
			sum += end.Sub(r.Began).Seconds() * float64(gpusOf(r))
		}
	}
	return sum
}

func gpusOf(r world.RunRecord) (n int) {
	for _, s := range r.Split {
		n += s.GPUs
	}
	return n
}

// liars returns the number of seeds: few by default, or SLUICE_LIARS.
func liars(t *testing.T, usual int) int {
	t.Helper()
	if s := os.Getenv("SLUICE_LIARS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			t.Fatalf("SLUICE_LIARS=%s: want a number of seeds", s)
		}
		return n
	}
	return usual
}

func allHonest(int) bool { return false }
func allLie(int) bool    { return true }

// gains is the effect of false reports, over seeds.
type gains struct {
	n                     int
	jct                   []float64 // relative decrease of the liar's completion time
	honest, lying         []float64 // seconds that it takes
	had, others, restless float64   // sums, for the means
}

// about returns the mean and its random error, twice the standard error. Any change alters a schedule,
// so that single seeds differ by tens of per cent. With the few default seeds, which are always
// the same, the error is taken as 0.
func about(of []float64) (mean, give float64) {
	n := float64(len(of))
	for _, x := range of {
		mean += x / n
	}
	if n < 10 {
		return mean, 0
	}
	for _, x := range of {
		give += (x - mean) * (x - mean)
	}
	return mean, 2 * math.Sqrt(give/(n-1)/n)
}

func (g *gains) add(honest, lying outcome, liar int) {
	within := min(honest.jct[liar], lying.jct[liar])
	g.n++
	g.jct = append(g.jct, 1-lying.jct[liar]/honest.jct[liar])
	g.honest, g.lying = append(g.honest, honest.jct[liar]), append(g.lying, lying.jct[liar])
	g.had += lying.had(liar, within)/honest.had(liar, within) - 1
	before, after := 0.0, 0.0
	for k := range honest.jct {
		if k != liar {
			before, after = before+honest.jct[k], after+lying.jct[k]
		}
	}
	g.others += after/before - 1
	g.restless += (float64(lying.moves) - float64(honest.moves)) / lying.jobHours
}

// spared returns the relative decrease of the liar's total completion time over all seeds, and its
// random error, twice the standard error of the ratio. Here a short job that ends much later
// does not outweigh long ones, as it does in the mean of relative decreases.
func (g *gains) spared() (share, give float64) {
	var honest, lying, off float64
	for n := range g.honest {
		honest, lying = honest+g.honest[n], lying+g.lying[n]
	}
	share = 1 - lying/honest
	for n := range g.honest {
		d := g.lying[n] - (1-share)*g.honest[n]
		off += d * d
	}
	n := float64(len(g.honest))
	return share, 2 * math.Sqrt(off/max(1, n-1)*n) / honest
}

func (g *gains) String() string {
	share, off := g.spared()
	k := 100 / float64(g.n)
	mean, give := about(g.jct)
	return fmt.Sprintf("time %+6.1f %% (+-%.1f, most %+.0f %%), of all time %+.1f %% (+-%.1f), GPU time %+6.1f %%, others take %+6.1f %%, resizes %+.2f per job-hour", 100*mean, 100*give, 100*slices.Max(g.jct), 100*share, 100*off, g.had*k, g.others*k, g.restless/float64(g.n))
}

// judged are the tested policies: the default, and in a campaign the plain one too.
func judged() []string {
	if os.Getenv("SLUICE_LIARS") == "" {
		return []string{"lookahead"}
	}
	return []string{"lookahead", "knapsack"}
}

// everyday are the adversaries of default runs; a campaign has all of them.
var everyday = map[string]bool{
	"log-normal noise": true, "is fast": true, "scales beyond all measure": true,
}

// gallery plays adversaries on the scenes of some seeds, and passes on their outcomes without false
// reports and with false reports of the jobs that lies selects.
func gallery(t *testing.T, draw func(uint64) scene, lies func(s scene) func(int) bool, judge func(t *testing.T, a adversary, s []scene, honest, lying []outcome)) {
	for _, policy := range judged() {
		var scenes []scene
		var honest []outcome
		for n := range liars(t, 2) {
			s := draw(uint64(n + 1))
			scenes, honest = append(scenes, s), append(honest, s.play(t, policy, adversary{}, allHonest))
		}
		for _, a := range adversaries {
			if os.Getenv("SLUICE_LIARS") == "" && !everyday[a.name] {
				continue
			}
			t.Run(policy+"/"+a.name, func(t *testing.T) {
				var lying []outcome
				for _, s := range scenes {
					lying = append(lying, s.play(t, policy, a, lies(s)))
				}
				judge(t, a, scenes, honest, lying)
			})
		}
	}
}

// theLiar selects the one job of a scene that reports falsely.
func (s scene) theLiar() int { return int(s.seed) % len(s.jobs) }

func oneLies(s scene) func(int) bool { return func(k int) bool { return k == s.theLiar() } }

// TestFalseSpeedsMoveNoJob: F18, sluice does not move jobs more often although all programs have bad
// clocks. The effect of deliberate false reports by all programs is printed.
func TestFalseSpeedsMoveNoJob(t *testing.T) {
	unraced(t)
	all := func(scene) func(int) bool { return allLie }
	gallery(t, drawScene, all, func(t *testing.T, a adversary, s []scene, honest, lying []outcome) {
		plan, beyond := 0.0, make([]float64, len(s))
		for n := range s {
			beyond[n] = (float64(lying[n].moves) - float64(honest[n].moves)) / lying[n].jobHours
			plan += float64(honest[n].moves) / honest[n].jobHours / float64(len(s))
		}
		mean, give := about(beyond)
		t.Logf("%+.2f (+-%.2f) resizes per job-hour beyond the %.2f of honest programs; worst seed %+.2f", mean, give, plan, slices.Max(beyond))
		if a.noise && mean-give > 1 { // with any policy
			t.Errorf("more than one a job-hour")
		}
	})
}

// undetected are false reports that cannot be detected while they are made: they agree with each other
// and with the clock. The gain of the first is bounded once the job trains beyond its declared
// total; the other harms the job that makes it.
var undetected = map[string]bool{steadyHalf: true, "is twice as long as it is": true}

// steadyHalf claims in every line that the job is half as long.
const steadyHalf = "is half as long as it is"

// TestLiarsGainNothing: F18, false reports of speed gain nothing with the default policy. The plain
// policy gives more GPUs to jobs with more remaining work, and so to jobs that claim it: that gain
// is printed.
func TestLiarsGainNothing(t *testing.T) {
	unraced(t)
	gallery(t, drawScene, oneLies, gained)
}

// TestEqualUsers prints the effect if one of two users with equal jobs reports falsely. Policies serve
// one of two equal jobs first, and any difference may change which, so that the result of a
// single seed means little.
func TestEqualUsers(t *testing.T) {
	gallery(t, equals, oneLies, func(t *testing.T, _ adversary, s []scene, honest, lying []outcome) { t.Log(sum(s, honest, lying)) })
}

func gained(t *testing.T, a adversary, s []scene, honest, lying []outcome) {
	g := sum(s, honest, lying)
	t.Log(g)
	mean, give := about(g.jct)
	if os.Getenv("SLUICE_LIARS") != "" { // for make reliability-report
		fmt.Printf("\nliars: in=%s seeds=%d gain_percent=%.1f give_percent=%.1f detectable=%t\n", strings.ReplaceAll(t.Name(), "/", "-"), g.n, 100*mean, 100*give, !undetected[a.name])
	}
	if mean-give > 0.02 && !undetected[a.name] && !strings.Contains(t.Name(), "/knapsack/") {
		t.Errorf("the liar's job takes %.1f %% less", 100*mean)
	}
	if share, off := g.spared(); share-off > 0.05 && a.name == steadyHalf && strings.Contains(t.Name(), "/lookahead/") {
		t.Errorf("the liar's jobs take %.1f %% less", 100*share)
	}
}

func sum(s []scene, honest, lying []outcome) *gains {
	g := new(gains)
	for n := range s {
		g.add(honest[n], lying[n], s[n].theLiar())
	}
	return g
}
