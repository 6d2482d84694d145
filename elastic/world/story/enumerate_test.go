package story_test

import (
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/world/story"
)

// plain is a scenario without faults.
func plain(policy string, jobs []story.Job, acts ...story.Act) story.Story {
	return story.Story{
		Seed: 7, Nodes: 3, GPUs: 4, Policy: policy, Draining: 300 * time.Millisecond,
		Period: 30 * time.Second, Transition: 500 * time.Millisecond, Jobs: jobs, Acts: acts,
	}
}

func job(at time.Duration, user string, most int, total float64) story.Job {
	return story.Job{At: at, User: user, Min: 1, Max: most, Total: total, Seconds: 60, Serial: 0.05, Save: 2 * time.Second, Load: 3 * time.Second}
}

// tales are the crash scenarios, in which every effect of the daemon is tried. Together they cover
// everything that sluiced does.
func tales() map[string]story.Story {
	three := []story.Job{job(0, "alice", 12, 40), job(100*time.Second, "bob", 8, 12), job(160*time.Second, "dave", 4, 6)}
	signalled := job(0, "alice", 8, 20)
	signalled.Signal, signalled.Every = "USR2", 2
	habit := job(0, "alice", 8, 20)
	habit.Habit, habit.Every = true, 1
	deaf := job(30*time.Second, "bob", 8, 10)
	deaf.Manner = "saves for ever"
	limited := job(0, "alice", 8, 1000)
	limited.Limit = 12 * time.Minute
	all := map[string]story.Story{
		"time limit":      plain("lookahead", []story.Job{limited, job(100*time.Second, "bob", 8, 12)}),
		"grow and shrink": plain("knapsack", three, story.Act{At: 200 * time.Second, What: "ordinary", GPUs: 2, For: 4 * time.Minute}),
		"in turns":        plain("turns", three[:2]),
		"signal and deaf": plain("lookahead", []story.Job{signalled, deaf}),
		"by habit":        plain("lookahead", []story.Job{habit, job(2*time.Minute, "bob", 8, 10)}),
		"nodes and words": plain("lookahead", three[:2],
			story.Act{At: 50 * time.Second, What: "node fails", Node: "gpu1"}, story.Act{At: 55 * time.Second, What: "node returns", Node: "gpu1"},
			story.Act{At: 100 * time.Second, What: "late word", Job: 0}, story.Act{At: 3 * time.Minute, What: "strands", Job: 1}),
		"orders": plain("lookahead", three[:2],
			story.Act{At: 45 * time.Second, What: "sluice pins", Job: 0, GPUs: 3}, story.Act{At: 2 * time.Minute, What: "sluice holds", Job: 1},
			story.Act{At: 3 * time.Minute, What: "sluice releases", Job: 1}, story.Act{At: 4 * time.Minute, What: "user requeues", Job: 0}),
	}
	disk := all["grow and shrink"]
	disk.Disk = true
	all["on disk"] = disk
	return all
}

// TestKilledAtEveryEffect kills the daemon before and after every single effect of every crash
// scenario: a sample by default, all with SLUICE_EXHAUSTIVE=1.
func TestKilledAtEveryEffect(t *testing.T) {
	shelves := onDisk(t)
	for name, s := range tales() {
		t.Run(name, func(t *testing.T) {
			effects := untroubled(t, s, shelves)
			var tried atomic.Int64
			each(effects, stride(29), func(k int) {
				for _, after := range []bool{false, true} {
					with(t, s, shelves, story.Kill{Effect: k, After: after})
					tried.Add(1)
				}
			})
			t.Logf("%d effects, killed %d times", effects, tried.Load())
		})
	}
}

// TestMeddledWithAtEveryEffect lets a user act, a node fail, be drained or return, or an administrator
// set a rule, right before every effect.
func TestMeddledWithAtEveryEffect(t *testing.T) {
	acts := []story.Act{
		{What: "node fails", Node: "gpu1"}, {What: "node is drained", Node: "gpu2"}, {What: "node returns", Node: "gpu1"},
		{What: "user cancels"}, {What: "user holds"}, {What: "user releases"}, {What: "user requeues"}, {What: "user requeueholds"},
		{What: "user resizes", GPUs: 1}, {What: "user removes the comment"}, {What: "user breaks the comment"},
		{What: "operator holds"}, {What: "late word"}, {What: "strands"},
		{What: "node is reserved", Node: "gpu2", For: 2 * time.Minute, Way: 5},
	}
	for way := range uint64(story.Rules) {
		acts = append(acts, story.Act{What: "rule is set", For: 20 * time.Second, Way: way}, story.Act{What: "rule is set", For: 4 * time.Minute, Way: 1<<8 + way})
	}
	s := tales()["grow and shrink"]
	effects := untroubled(t, s, nil)
	var tried atomic.Int64
	each(len(acts), 1, func(i int) {
		a := acts[i-1]
		for k := 1 + (i-1)%stride(97); k <= effects; k += stride(97) {
			a.Effect = k
			one := s
			one.Acts = append(append([]story.Act(nil), s.Acts...), a)
			with(t, one, nil)
			tried.Add(1)
		}
	})
	t.Logf("%d effects, %d acts, tried %d times", effects, len(acts), tried.Load())
}

// stride is the distance between tried effects: n by default, three times that under the race detector,
// 1 with SLUICE_EXHAUSTIVE=1.
func stride(n int) int {
	switch {
	case os.Getenv("SLUICE_EXHAUSTIVE") == "1":
		return 1
	case underRace:
		return 3 * n
	}
	return n
}

// untroubled plays the crash scenario without a kill and returns its number of effects.
func untroubled(t *testing.T, s story.Story, shelves story.Shelves) int {
	t.Helper()
	o := story.Play(t.Context(), s, shelves, nil)
	if len(o.Broken) > 0 {
		t.Fatal(strings.Join(o.Broken, "\n"))
	}
	return o.Effects
}

// with plays the crash scenario with the daemon killed at effects.
func with(t *testing.T, s story.Story, shelves story.Shelves, kills ...story.Kill) story.Outcome {
	t.Helper()
	s.Kills = kills
	o := story.Play(t.Context(), s, shelves, nil)
	if len(o.Broken) > 0 {
		t.Errorf("%s\ngo test ./elastic/world/story -run TestSeed -v -story='%s'", strings.Join(o.Broken, "\n"), s.Line())
	}
	return o
}

// each calls do with 1, 1+by and so on up to n, in parallel on all cores.
func each(n, by int, do func(int)) {
	defer debug.SetGCPercent(debug.SetGCPercent(1600))
	next := make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for k := range next {
				do(k)
			}
		})
	}
	for k := 1; k <= n; k += by {
		next <- k
	}
	close(next)
	wg.Wait()
}
