package main_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

const (
	sharedNodes = 5
	sharedGPUs  = sharedNodes * 4
)

// tenant is an account with one user that always wants more GPUs than there are.
type tenant struct {
	account, user string
	share         float64 // its part of the GPUs
	came          bool
	open          []*job // its jobs that have not ended
	wants         int    // the sum of their maximums
	has           int    // GPUs of its running jobs
}

// TestSharedHour: on a real Slurm with slurmdbd and its default scheduling parameters, three accounts
// with 60, 30 and 10 shares always have more elastic jobs than GPUs. The GPU-seconds that sacct counts
// for each account over the whole time are compared with its share. It is a campaign: SLUICE_SHARED is
// how long, SLUICE_SHARED_SEED draws other jobs. The figures are printed.
func TestSharedHour(t *testing.T) {
	last, _ := time.ParseDuration(os.Getenv("SLUICE_SHARED"))
	if last <= 0 {
		t.Skip("a campaign: SLUICE_SHARED=1h tries it for so long; TestShares tries shares for a moment")
	}
	seed, _ := strconv.ParseUint(os.Getenv("SLUICE_SHARED_SEED"), 10, 64)
	tenants := []*tenant{
		{account: "astro", user: "sluice-test-ada", share: .6},
		{account: "geo", user: "sluice-test-gus", share: .3},
		{account: "law", user: "sluice-test-liv", share: .1},
	}
	var names []string
	for _, a := range tenants {
		names = append(names, a.user)
	}
	s := play(t, withNodes(sharedNodes, 4), withUsers(names), func(c *site.Config) {
		c.Lab.Accounting = true
		c.Lab.ExtraConf = "PriorityType=priority/multifactor\nPriorityWeightFairshare=100000\nPriorityDecayHalfLife=7-0\nPriorityCalcPeriod=1\n"
	})
	ctx, cancel := context.WithTimeout(context.Background(), last+20*time.Minute)
	t.Cleanup(cancel)
	s.ctx = ctx
	for _, a := range tenants {
		s.must(s.Lab.Enroll(s.ctx, a.account, a.user))
		s.limit("account", a.account, fmt.Sprintf("fairshare=%.0f", 100*a.share))
	}
	s.readsShares("60", "30", "10")
	s.must(site.Until(s.ctx, 2*time.Minute, "sluiced to read the shares", func() (bool, error) {
		out, err := s.Run(s.ctx, "", "sluice", "shares", "--csv")
		return strings.Contains(out, "\nastro,") && strings.Contains(out, "\nlaw,"), err
	}))

	g := &sharing{scene: s, draw: rand.New(rand.NewPCG(seed, 18)), tenants: tenants}
	g.fill()
	from := time.Now().Truncate(time.Second).Add(time.Second) // sacct's times are whole seconds
	until := from.Add(last.Truncate(time.Second))
	for time.Now().Before(until) {
		g.look()
		g.refill()
		time.Sleep(time.Second)
	}
	t.Log(s.as("", "sluice", "shares"))
	g.clear()
	g.judge(from, until)
}

// sharing is the run of one campaign.
type sharing struct {
	*scene
	draw    *rand.Rand
	tenants []*tenant
	jobs    []*job
	ended   int // jobs that trained every step

	looked time.Time
	loose  float64 // GPU-seconds free that no open move waits for
}

// fill lets one account come after the other, the largest first, each once those before it have all
// GPUs. If all came at once, each would start all its jobs on their minimums while GPUs are free, and a
// started job keeps its minimum: the smallest account would be above its share until these end.
func (g *sharing) fill() {
	g.t.Helper()
	sum := 0.0
	for _, a := range g.tenants {
		a.came, sum = true, sum+a.share
		want := .9 * sharedGPUs * a.share / sum
		g.must(site.Until(g.ctx, 5*time.Minute, a.account+" to have what it deserves", func() (bool, error) {
			g.refill()
			time.Sleep(time.Second)
			g.look()
			return float64(a.has) >= want, nil
		}))
		g.t.Logf("%s came: it has %d GPUs", a.account, a.has)
	}
	g.loose = 0
}

// refill submits jobs until each account that came wants more than all GPUs and four times its share, one
// job of each in turn: what a job could use is not wanted while it moves or has no checkpoint.
func (g *sharing) refill() {
	g.t.Helper()
	for added := true; added; {
		added = false
		for _, a := range g.tenants {
			if !a.came || float64(a.wants) > max(sharedGPUs+4, 4*sharedGPUs*a.share) {
				continue
			}
			g.submitFor(a)
			added = true
		}
	}
}

// submitFor submits a job of 1 to 8 GPUs that trains for 2 to 5 minutes on half its maximum. Nothing is
// declared about its speed; up to a sixth of its work does not get faster on more GPUs.
func (g *sharing) submitFor(a *tenant) {
	g.t.Helper()
	most := 1 + g.draw.IntN(8)
	step := 1 + g.draw.Float64()             // seconds on one GPU
	serial := float64(g.draw.IntN(4)) / 18   // 0 to 1/6
	minutes := 2 + 3*g.draw.Float64()        // on half its maximum
	half := float64(max(1, most/2))          // GPUs
	faster := 1 / (serial + (1-serial)/half) // than on one GPU
	steps := minutes * 60 * faster / step    // in all
	epochs := max(1, int(steps/perEpoch+.5))
	j := g.submit(fmt.Sprintf("%s-%d", a.account, len(g.jobs)), a.user, epochs, []string{fmt.Sprintf("--max-gpus=%d", most)},
		"--seconds", fmt.Sprintf("%.3f", step), "--serial", fmt.Sprintf("%.3f", serial))
	j.most = most
	g.jobs, a.open, a.wants = append(g.jobs, j), append(a.open, j), a.wants+most
}

// look takes the jobs that have ended from their accounts, and counts GPUs that are free.
func (g *sharing) look() {
	g.t.Helper()
	report, err := g.Control().Report(g.ctx)
	g.must(err)
	seen := map[int64]wire.Job{}
	free := 0
	for _, n := range report.Nodes {
		free += n.Free
	}
	for _, v := range report.Jobs {
		seen[v.JobID] = v
		if v.Move != nil {
			free -= max(v.Move.From.GPUs(), v.Move.Target.GPUs())
		}
	}
	now := time.Now()
	if !g.looked.IsZero() {
		g.loose += now.Sub(g.looked).Seconds() * float64(max(0, free))
	}
	g.looked = now
	for _, a := range g.tenants {
		var open []*job
		a.has = 0
		for _, j := range a.open {
			v := seen[j.id]
			if !v.Ended {
				open, a.has = append(open, j), a.has+v.GPUs
				continue
			}
			a.wants -= j.most
			g.ended++
			if v.State != "COMPLETED" {
				g.t.Errorf("job %d of %s ended as %s: %s", j.id, a.account, v.State, v.Reason)
				continue
			}
			j.whole()
		}
		a.open = open
	}
}

// clear cancels what has not ended and waits for the ends.
func (g *sharing) clear() {
	g.t.Helper()
	for _, a := range g.tenants {
		for _, j := range a.open {
			_, _ = g.Run(g.ctx, a.user, "scancel", fmt.Sprint(j.id)) // it may have ended by itself
		}
	}
	g.must(site.Until(g.ctx, 5*time.Minute, "all jobs to end", func() (bool, error) {
		out, err := g.Run(g.ctx, "", "squeue", "--all", "--noheader")
		return err == nil && strings.TrimSpace(out) == "", nil
	}))
}

// runsOf asks sacct for all runs of the jobs, those before a requeue too. Without -j it leaves out jobs
// with an eligible time ahead. slurmdbd may be a moment behind.
func (g *sharing) runsOf() string {
	g.t.Helper()
	var ids []string
	for _, j := range g.jobs {
		ids = append(ids, fmt.Sprint(j.id))
	}
	var out string
	g.must(site.Until(g.ctx, 2*time.Minute, "sacct to know the end of every run", func() (bool, error) {
		var err error
		out, err = g.Run(g.ctx, "", "env", "SLURM_TIME_FORMAT=%s", "sacct", "--duplicates", "-a", "-nPX", "-S", "2000-01-01",
			"-j", strings.Join(ids, ","), "--format=Account,Start,End,AllocTRES,State")
		return err == nil && !strings.Contains(out, "RUNNING") && !strings.Contains(out, "PENDING"), nil
	}))
	return out
}

// judge prints the figures, and compares them with the shares.
func (g *sharing) judge(from, until time.Time) {
	t := g.t
	t.Helper()
	used, runs, err := gpuSeconds(g.runsOf(), from.Unix(), until.Unix())
	g.must(err)
	all, had := until.Sub(from).Seconds()*sharedGPUs, 0.0
	for _, a := range g.tenants {
		had += used[a.account]
	}
	worst := 0.0
	var parts []string
	for _, a := range g.tenants {
		part := used[a.account] / had
		worst = max(worst, math.Abs(part-a.share)/a.share)
		parts = append(parts, fmt.Sprintf("%s=%.4f", a.account, part))
		t.Logf("%s has %.0f%% of the shares and had %.2f%% of the GPU-seconds, %.0f", a.account, 100*a.share, 100*part, used[a.account])
	}
	audited, err := g.Audit(g.ctx)
	g.must(err)
	t.Logf("shared: seconds=%.0f %s worst_deviation=%.2f%% idle=%.2f%% idle_beyond_moves=%.2f%% jobs=%d completed=%d runs=%d moves=%d violations=%d",
		until.Sub(from).Seconds(), strings.Join(parts, " "), 100*worst, 100*(1-had/all), 100*g.loose/all,
		len(g.jobs), g.ended, runs, audited.Tally.Moves, len(audited.Violations))
	most := .15 // a start, and a job of 8 GPUs, weigh much in minutes
	if until.Sub(from) >= time.Hour {
		most = .05
	}
	if !(worst <= most) {
		t.Errorf("an account had %.2f%% more or less than its share, want at most %.0f%%", 100*worst, 100*most)
	}
}

// gpuSeconds adds up by account the lines "account|start|end|allocated|state" of sacct, of each run what
// lies between from and until, in seconds of the epoch. runs is how many had GPUs in that time.
func gpuSeconds(out string, from, until int64) (used map[string]float64, runs int, err error) {
	used = map[string]float64{}
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) != 5 {
			return nil, 0, fmt.Errorf("sacct printed %q: want 5 fields", line)
		}
		gpus := 0
		for part := range strings.SplitSeq(f[3], ",") {
			if n, ok := strings.CutPrefix(part, "gres/gpu="); ok {
				if gpus, err = strconv.Atoi(n); err != nil {
					return nil, 0, fmt.Errorf("sacct printed %q: %w", line, err)
				}
			}
		}
		if gpus == 0 { // cancelled before it started
			continue
		}
		start, err1 := strconv.ParseInt(f[1], 10, 64)
		end, err2 := strconv.ParseInt(f[2], 10, 64)
		if err1 != nil || err2 != nil {
			return nil, 0, fmt.Errorf("sacct printed %q: a run on %d GPUs without a start or an end", line, gpus)
		}
		if start, end = max(start, from), min(end, until); start < end {
			used[f[0]] += float64(end-start) * float64(gpus)
			runs++
		}
	}
	return used, runs, nil
}

// TestGPUSecondsOfRuns: of each run what lies in the time asked about, also of those before a requeue.
func TestGPUSecondsOfRuns(t *testing.T) {
	used, runs, err := gpuSeconds(`astro|90|110|billing=1,cpu=1,gres/gpu=2,node=1|REQUEUED
astro|120|190|billing=1,gres/gpu=4,node=1|COMPLETED
geo|195|260|gres/gpu=1|CANCELLED by 0
geo|10|100|gres/gpu=8|COMPLETED
law|Unknown|150||CANCELLED by 0
`, 100, 200)
	if err != nil || runs != 3 || used["astro"] != 10*2+70*4 || used["geo"] != 5 || used["law"] != 0 {
		t.Error(used, runs, err)
	}
	for _, bad := range []string{"astro|1|Unknown|gres/gpu=2|RUNNING", "astro|1|2|gres/gpu=x|COMPLETED", "astro|1|2"} {
		if _, _, err := gpuSeconds(bad, 0, 9); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
