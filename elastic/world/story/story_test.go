package story_test

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/world/story"
)

var (
	seeds = flag.Uint64("seeds", 0, "how many seeds to play; 0 = a few")
	from  = flag.Uint64("from", 0, "the first of them")
	seed  = flag.Int64("seed", -1, "play this seed alone and tell all of it")
	tale  = flag.String("story", "", "play this story, as a failure prints it, and tell all of it")
	brief = flag.Bool("brief", false, "do not shorten what fails")
)

// tries bounds how often a failing scenario is played again to shorten it.
const tries = 400

// TestSeeds plays the scenarios of many seeds. A failing scenario is printed as a line that plays it
// again, and in its shortened form.
func TestSeeds(t *testing.T) {
	n := *seeds
	switch {
	case n > 0:
		defer debug.SetGCPercent(debug.SetGCPercent(1600))
	case testing.Short():
		n = 10
	default:
		n = 15
	}
	shelves := onDisk(t)
	began := time.Now()
	failed := 0
	c := story.Campaign{From: *from, Seeds: n, Workers: runtime.GOMAXPROCS(0), Shelves: shelves, Failed: func(seed uint64, s story.Story, o story.Outcome) {
		t.Errorf("go test ./elastic/world/story -run TestSeed -v -seed=%d\n%s", seed, strings.Join(o.Broken, "\n"))
		if failed++; !*brief && failed <= 5 {
			t.Log(shortened(s, shelves))
		}
	}}
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM) // what was played until then is reported
	defer stop()
	total := c.Run(ctx)
	t.Logf("%.1f seeds/s\n%s", float64(total.Seeds)/time.Since(began).Seconds(), total)
}

// shortened returns the shortened form of a failing scenario.
func shortened(s story.Story, shelves story.Shelves) string {
	kind := func(s story.Story) string {
		return story.Play(context.Background(), s, shelves, nil).Kind()
	}
	first := kind(s)
	short := story.Shrink(s, tries, func(s story.Story) bool { return kind(s) == first })
	o := story.Play(context.Background(), short, shelves, nil)
	return "shortened:\n" + short.String() + strings.Join(o.Broken, "\n") +
		"\ngo test ./elastic/world/story -run TestSeed -v -story='" + short.Line() + "'"
}

// TestSeed plays one scenario, of -seed or -story.
func TestSeed(t *testing.T) {
	var s story.Story
	switch {
	case *tale != "":
		var err error
		if s, err = story.Parse(*tale); err != nil {
			t.Fatal(err)
		}
	case *seed >= 0:
		s = story.Draw(uint64(*seed))
	default:
		t.Skip("give -seed or -story")
	}
	var log strings.Builder
	shelves := onDisk(t)
	o := story.Play(t.Context(), s, shelves, &log)
	t.Logf("%s\n%s", s, log.String())
	for _, b := range o.Broken {
		t.Error(b)
	}
	if len(o.Broken) > 0 && *tale == "" && !*brief {
		t.Log(shortened(s, shelves))
	}
}

// TestRegressions plays the scenarios that once violated an invariant. In testdata/regressions.txt each
// is a line after a line that describes it.
func TestRegressions(t *testing.T) {
	raw, err := os.ReadFile("testdata/regressions.txt")
	if err != nil {
		t.Fatal(err)
	}
	shelves, what := onDisk(t), ""
	for _, line := range strings.Split(strings.TrimSpace(string(raw)), "\n") {
		if strings.HasPrefix(line, "#") {
			what = line
			continue
		}
		s, err := story.Parse(line)
		if err != nil {
			t.Fatalf("%s\n%v", what, err)
		}
		if o := story.Play(t.Context(), s, shelves, nil); len(o.Broken) > 0 {
			t.Errorf("%s\n%s", what, strings.Join(o.Broken, "\n"))
		}
	}
}

// TestSameStoryTwice: I9, the same scenario has the same result, also on a disk that loses power, is
// damaged and blocks.
func TestSameStoryTwice(t *testing.T) {
	shelves := onDisk(t)
	told := 0
	for seed := uint64(0); told < 5; seed++ {
		s := story.Draw(seed)
		if told >= 3 && !s.Disk {
			continue
		}
		told++
		var logs [2]string
		for i := range logs {
			var log strings.Builder
			story.Play(t.Context(), s, shelves, &log)
			logs[i] = folders.ReplaceAllString(log.String(), "")
		}
		if logs[0] != logs[1] {
			t.Errorf("seed %d goes two ways: %s", seed, parting(logs[0], logs[1]))
		}
	}
}

// folders matches the paths of stores, which differ between plays.
var folders = regexp.MustCompile(`/\S*/(state|jobs)/`)

// parting returns the first line in which two logs differ.
func parting(a, b string) string {
	other := strings.Split(b, "\n")
	for i, line := range strings.Split(a, "\n") {
		if i >= len(other) || line != other[i] {
			return line
		}
	}
	return "the second goes on"
}

// TestStoriesPrintAndParseBack: the printed line has the whole scenario.
func TestStoriesPrintAndParseBack(t *testing.T) {
	for seed := range uint64(200) {
		s := story.Draw(seed)
		again, err := story.Parse(s.Line())
		if err != nil || again.Line() != s.Line() {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// TestShrinkFindsWhatMatters: a scenario that fails because of one fault and one job is reduced to
// little else.
func TestShrinkFindsWhatMatters(t *testing.T) {
	s := story.Draw(3)
	s.Kills = append(s.Kills, story.Kill{Effect: 77})
	short := story.Shrink(s, 1000, func(s story.Story) bool {
		return len(s.Jobs) > 0 && len(s.Kills) > 0 && s.Kills[len(s.Kills)-1].Effect == 77
	})
	if len(short.Jobs) != 1 || len(short.Kills) != 1 || len(short.Acts)+len(short.Faults)+len(short.Windows) > 0 || short.Jobs[0].Manner != "" {
		t.Errorf("%s", short)
	}
}

// TestSecondEnd: a job that its user requeues after its end, and that ends again while sluiced is down, has
// a second end in the log.
func TestSecondEnd(t *testing.T) {
	s := story.Story{
		Seed: 1, Nodes: 1, GPUs: 4, Policy: "knapsack", Draining: 200 * time.Millisecond, Period: 30 * time.Second, Transition: time.Second,
		Jobs: []story.Job{{User: "alice", Min: 1, Max: 1, Total: 1.5, Seconds: 60, Save: time.Second, Load: time.Second}},
		Acts: []story.Act{
			{At: 200 * time.Second, What: "user requeues"},
			{At: 201 * time.Second, What: "daemon is stopped", For: 5 * time.Minute},
		},
	}
	var log strings.Builder
	o := story.Play(t.Context(), s, nil, &log)
	if n := strings.Count(log.String(), "job 1 ended: COMPLETED"); len(o.Broken) > 0 || n != 2 {
		t.Errorf("%v, %d ends\n%s", o.Broken, n, log.String())
	}
}
