package soak

import (
	"context"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// life makes gauges of one life, a minute apart, as of says.
func life(n, number int, of func(i int, g *gauge)) []gauge {
	list := make([]gauge, n)
	for i := range list {
		list[i] = gauge{at: time.Duration(i) * time.Minute, life: number, rss: 20000, live: 4 << 20, fds: 16, goroutines: 9, database: 3 << 20, jobs: i}
		of(i, &list[i])
	}
	return list
}

// TestFlat: a fluctuating value is flat, a growing one is named, and only the last life
// counts.
func TestFlat(t *testing.T) {
	for name, c := range map[string]struct {
		of   func(int, *gauge)
		grew string // "" = nothing
	}{
		"still":       {func(int, *gauge) {}, ""},
		"breathes":    {func(i int, g *gauge) { g.rss += int64(i%3) * 3000; g.fds += i % 4; g.database += int64(i%2) << 22 }, ""},
		"warms up":    {func(i int, g *gauge) { g.rss = min(40000, int64(i)*10000) }, ""},
		"memory":      {func(i int, g *gauge) { g.rss += int64(i) * 700 }, "resident memory"},
		"live memory": {func(i int, g *gauge) { g.live += int64(i) << 17 }, "live memory"},
		"a job in ten minutes that is never freed": {func(i int, g *gauge) { g.jobs = i / 10; g.live += int64(i) * 200 << 10 }, "live memory"},
		"jobs that ended within a day":             {func(i int, g *gauge) { g.jobs = 9 * i; g.live += int64(i) * 9 * 9 << 10; g.rss += int64(i) * 9 * 20 }, ""},
		"more than these":                          {func(i int, g *gauge) { g.jobs = 9 * i; g.live += int64(i) * 9 * 40 << 10; g.rss += int64(i) * 9 * 60 }, "in which 180 jobs ended; resident memory"},
		"file descriptors":                         {func(i int, g *gauge) { g.fds += i }, "file descriptors"},
		"goroutines":                               {func(i int, g *gauge) { g.goroutines += i }, "goroutines"},
		"database":                                 {func(i int, g *gauge) { g.database += int64(i) << 19 }, "database"},
		"database, many jobs":                      {func(i int, g *gauge) { g.database += int64(i) << 19; g.jobs = i * 100 }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			earlier := life(40, 0, func(i int, g *gauge) { g.rss = int64(i) * 9000 })
			f := flat(append(earlier, life(40, 1, c.of)...))
			said := strings.Join(f.grown, "; ")
			if (c.grew == "") != (said == "") || !strings.Contains(said, c.grew) {
				t.Errorf("said %q, want %q", said, c.grew)
			}
			if f.minutes != 39 {
				t.Errorf("judged %v minutes, the last life had 39", f.minutes)
			}
		})
	}
	for n := range 12 {
		if f := flat(life(n, 0, func(i int, g *gauge) { g.rss = int64(i) << 30 })); f.minutes != 0 || f.grown != nil {
			t.Errorf("%d gauges are too few to judge: %+v", n, f)
		}
	}
}

func TestSlope(t *testing.T) {
	got := slope(life(61, 0, func(i int, g *gauge) { g.rss = 20000 + int64(i)*10 }))
	if math.Abs(got-600) > 1 {
		t.Errorf("10 KiB a minute are %v KiB an hour", got)
	}
	if got := slope(nil); got != 0 {
		t.Errorf("no gauges: %v", got)
	}
}

func TestReadings(t *testing.T) {
	if got := residentKiB("Name:\tsluiced\nVmRSS:\t   20480 kB\nThreads:\t9\n"); got != 20480 {
		t.Errorf("VmRSS: %d", got)
	}
	for _, bad := range []string{"", "VmRSS:", "VmRSS: much kB\n"} {
		if got := residentKiB(bad); got != 0 {
			t.Errorf("%q: %d", bad, got)
		}
	}
	states := parseStates("7 RUNNING\n 8 COMPLETED \nslurm_load_jobs error\n9_1 PENDING\n")
	if len(states) != 2 || states[7] != "RUNNING" || states[8] != "COMPLETED" {
		t.Errorf("states: %v", states)
	}
	quiet := parseQuiet(`{"version": 1, "jobs": [{"job_id": 7}, {"job_id": 8, "quiet_since": "2026-11-28T14:51:25Z"}]}`)
	if len(quiet) != 1 || quiet[0] != 8 || parseQuiet("sluice: error: no answer") != nil {
		t.Errorf("quiet: %v", quiet)
	}
}

// TestDraw: one seed gives one sequence, and every fault occurs in it.
func TestDraw(t *testing.T) {
	var one, two []string
	seen := map[string]int{}
	a, b := rand.New(rand.NewPCG(7, 0)), rand.New(rand.NewPCG(7, 0))
	for range 1000 {
		x, y := draw(a).name, draw(b).name
		one, two, seen[x] = append(one, x), append(two, y), seen[x]+1
	}
	if strings.Join(one, " ") != strings.Join(two, " ") {
		t.Error("the same seed drew different troubles")
	}
	for _, tr := range troubles {
		if seen[tr.name] == 0 {
			t.Errorf("%s never happens", tr.name)
		}
	}
}

func TestVerdict(t *testing.T) {
	got := line(Options{Seed: 3}, "22.05.8", 8, counts{submits: 9, nodes: 1, controllers: 2, daemons: 3},
		flatness{minutes: 320, rss: [2]int64{20000, 20100}, slope: -12.4, unexplained: -9, live: [2]int64{5 << 20, 6 << 20}, fds: [2]int64{16, 17}}, 0)
	for _, want := range []string{"soak: hours=8.00 slurm=22.05.8 seed=3 submits=9 ", " kills=6 nodes=1 ", " promises_broken=0 ",
		" rss_kib=20000..20100 rss_slope=-12KiB/h rss_unexplained=-9KiB live_kib=5120..6144 fds=16..17 "} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %q: %s", want, got)
		}
	}
}

func TestRefuses(t *testing.T) {
	for _, hours := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if err := Run(context.Background(), Options{Hours: hours, Out: io.Discard, Story: io.Discard}); err == nil {
			t.Errorf("--hours %v was taken", hours)
		}
	}
}
