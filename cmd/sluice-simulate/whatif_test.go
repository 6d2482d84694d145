package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
	planner "github.com/sluice-hpc/sluice/nodes"
)

// backfillSnapshot is two nodes of four GPUs, some jobs running and some waiting:
// GPUs and the minutes each still takes, wherever it runs.
func backfillSnapshot(running, waiting [][2]int) (elastic.Snapshot, backfill) {
	var b backfill
	inventory, _, _ := parseCluster("2x4")
	s := elastic.Snapshot{Nodes: inventory, Now: time.Unix(0, 0)}
	add := func(of [2]int) *elastic.Job {
		b.took = append(b.took, 60*float64(of[1]))
		s.Jobs = append(s.Jobs, elastic.Job{
			ID: elastic.JobID(len(s.Jobs) + 1), Phase: elastic.Waiting, Spec: elastic.Spec{Min: of[0], Max: of[0], Sizes: of[:1], Total: 1},
		})
		return &s.Jobs[len(s.Jobs)-1]
	}
	for _, r := range running {
		j := add(r)
		j.Phase = elastic.Running
		j.Place = planner.Place(s.Nodes, []planner.Request{fixedRequest(1, r[0])})[0].Placement
		planner.Charge(s.Nodes, planner.Load{Place: j.Place})
	}
	for _, q := range waiting {
		add(q)
	}
	return s, b
}

func TestBackfill(t *testing.T) {
	for name, tc := range map[string]struct {
		running, waiting [][2]int
		want             string // the jobs that start, numbered from 1 through both
	}{
		"all fit":                       {nil, [][2]int{{4, 60}, {2, 60}, {1, 60}}, "1 2 3"},
		"over two nodes":                {nil, [][2]int{{8, 60}, {1, 60}}, "1"},
		"a short one slips in":          {[][2]int{{4, 60}, {2, 30}}, [][2]int{{8, 60}, {1, 50}}, "4"},
		"one that delays waits":         {[][2]int{{4, 60}, {2, 30}}, [][2]int{{8, 60}, {1, 70}}, ""},
		"long beside the head":          {[][2]int{{4, 60}, {3, 90}}, [][2]int{{4, 60}, {1, 500}}, "4"},
		"not where the head will be":    {[][2]int{{3, 60}, {4, 90}}, [][2]int{{4, 60}, {1, 500}}, ""},
		"a second long one has no room": {[][2]int{{4, 60}, {1, 90}}, [][2]int{{5, 10}, {1, 500}, {1, 500}, {1, 500}}, "4 5"},
		"an impossible head":            {nil, [][2]int{{9, 60}, {8, 60}}, "2"},
	} {
		s, b := backfillSnapshot(tc.running, tc.waiting)
		var got []string
		answer := b.serve(s)
		for _, j := range s.Jobs {
			if d, named := answer[j.ID]; named {
				got = append(got, fmt.Sprint(j.ID))
				if d.GPUs != j.Spec.Min || d.Place.GPUs() != d.GPUs || d.Why == nil {
					t.Errorf("%s: job %d: %+v", name, j.ID, d)
				}
			}
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%s: %v start, want %s", name, got, tc.want)
		}
	}
}

// TestBackfillNeverOverbooks: whatever waits, what starts fits, and the snapshot is not
// changed.
func TestBackfillNeverOverbooks(t *testing.T) {
	jobs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) [2]int {
		return [2]int{rapid.IntRange(1, 9).Draw(t, "gpus"), rapid.IntRange(1, 99).Draw(t, "minutes")}
	}), 0, 12)
	rapid.Check(t, func(t *rapid.T) {
		s, b := backfillSnapshot(nil, jobs.Draw(t, "waiting"))
		before := slices.Clone(s.Nodes)
		answer := b.serve(s)
		if !slices.EqualFunc(before, s.Nodes, func(a, b planner.Node) bool { return a.Used == b.Used }) {
			t.Fatal("the snapshot's nodes were changed")
		}
		for _, j := range s.Jobs {
			planner.Charge(s.Nodes, planner.Load{Place: answer[j.ID].Place})
		}
		for _, n := range s.Nodes {
			if n.Used > n.GPUs {
				t.Fatalf("%d GPUs of %d on %s", n.Used, n.GPUs, n.Name)
			}
		}
	})
}

// TestBeside: the policy sees elastic jobs only; others are GPUs in use and, while
// they wait, demands.
func TestBeside(t *testing.T) {
	s, b := backfillSnapshot([][2]int{{3, 60}}, [][2]int{{1, 10}, {4, 60}, {2, 10}, {8, 60}})
	s.Jobs[1].Spec = elastic.Spec{Min: 1, Max: 4, Total: 1} // the first that waits is elastic
	started, saw := b.beside(s)
	if len(started) != 1 || started[3].GPUs != 4 {
		t.Errorf("started %v", started)
	}
	if len(saw.Jobs) != 1 || saw.Jobs[0].ID != 2 || saw.Nodes[0].Used+saw.Nodes[1].Used != 7 || saw.Others["n1"]+saw.Others["n2"] != 7 {
		t.Errorf("saw %+v", saw)
	}
	want := []elastic.Demand{{ID: 4, Nodes: 1, GPUs: 2}, {ID: 5, Nodes: 1, GPUs: 8}}
	if !slices.Equal(saw.Demands, want) {
		t.Errorf("demands %+v", saw.Demands)
	}
	if s.Nodes[0].Used+s.Nodes[1].Used != 3 || len(s.Jobs) != 5 {
		t.Error("the snapshot was changed")
	}
}

// TestStartsOfPlainJobs: with the price of a start, a plain job takes what it took;
// an elastic one takes longer.
func TestStartsOfPlainJobs(t *testing.T) {
	price := 30 * time.Second
	plain := workload.Job{Spec: elastic.Spec{Min: 4, Sizes: []int{4}, Total: 100}, Speeds: workload.Assumed{Unit: 6, Reference: 4}}
	changes := workload.Job{Spec: elastic.Spec{Min: 1, Total: 100}, Speeds: workload.Assumed{Unit: 6, Reference: 4}}
	short := workload.Job{Spec: elastic.Spec{Min: 4, Sizes: []int{4}, Total: 100}, Speeds: workload.Assumed{Unit: .1, Reference: 4}}
	var got []float64
	for j := range startedBySlurm(workload.Workload{Jobs: slices.Values([]workload.Job{plain, changes, short})}, price).Jobs {
		got = append(got, price.Seconds()+j.Spec.Total*j.Speeds.Seconds([]int{4}))
	}
	if math.Abs(got[0]-600) > 1e-9 || math.Abs(got[1]-630) > 1e-9 || got[2] < 30 || got[2] > 30.1 {
		t.Errorf("%v", got)
	}
}

func TestFold(t *testing.T) {
	got := fold(strings.Repeat("word ", 40) + "\x1b[31mred")
	for i, line := range strings.Split(strings.TrimSuffix(got, "\n"), "\n") {
		if len(line) > 88 || i > 0 && !strings.HasPrefix(line, "  word") {
			t.Errorf("line %d: %q", i, line)
		}
	}
	if strings.Contains(got, "\x1b") {
		t.Error("a terminal's command came through")
	}
}

func TestWordsOfChange(t *testing.T) {
	for _, tc := range []struct {
		from, to time.Duration
		want     string
	}{{100, 60, "40% less"}, {100, 104, "4% more"}, {1000, 1001, "the same"}, {0, 5, "the same"}} {
		if got := became(tc.from*time.Second, tc.to*time.Second); got != tc.want {
			t.Errorf("%v to %v: %s", tc.from, tc.to, got)
		}
	}
	for f, want := range map[float64]string{0: "0", 999.6: "1,000", 1234567: "1,234,567", 12345: "12,345"} {
		if got := thousands(f); got != want {
			t.Errorf("%v: %s, want %s", f, got, want)
		}
	}
}

// TestFaithful: a replay that differs from the record is reported, with the direction.
func TestFaithful(t *testing.T) {
	run := workload.Run{ID: "1", End: 100 * time.Minute, Took: time.Hour, GPUs: 1, Nodes: 1}
	for replayed, want := range map[time.Duration]string{
		101 * time.Minute: "is close to what happened",
		60 * time.Minute:  "40% off. Jobs waited for something",
		200 * time.Minute: "100% off. The replay has fewer free GPUs",
	} {
		w := whatif{history: workload.History{Runs: []workload.Run{run}}, before: outcome{Figures: workload.Figures{MeanJCT: replayed}}}
		if got := w.faithful(); !strings.Contains(got, want) {
			t.Errorf("%v: %s", replayed, got)
		}
	}
}

// TestAccountsOfManyJobs: the rows of accounts add up to all jobs, more than are shown are summed up,
// and a history that names no account has no rows.
func TestAccountsOfManyJobs(t *testing.T) {
	drawn := func(of []string, jct []int) whatif {
		w := whatif{}
		for i, name := range of {
			w.history.Runs = append(w.history.Runs, workload.Run{ID: fmt.Sprint(i), Account: name, Took: time.Hour, GPUs: 2, Nodes: 1})
			w.before.result.Jobs = append(w.before.result.Jobs, replay.JobResult{End: time.Hour})
			for k := range w.after {
				w.after[k].result.Jobs = append(w.after[k].result.Jobs, replay.JobResult{End: time.Duration(jct[i%len(jct)]) * time.Minute})
			}
		}
		return w
	}
	rapid.Check(t, func(t *rapid.T) {
		w := drawn(rapid.SliceOfN(rapid.StringMatching(`[a-z]{1,2}`), 1, 90).Draw(t, "accounts"), rapid.SliceOfN(rapid.IntRange(1, 120), 1, 9).Draw(t, "minutes"))
		rows := w.accounts()
		jobs, sooner, later := 0, 0, 0
		for _, a := range rows {
			jobs, sooner, later = jobs+a.Jobs, sooner+a.Sooner, later+a.Later
		}
		s, l, _ := w.compared(w.after[0], w.all())
		if jobs != len(w.history.Runs) || sooner != s || later != l {
			t.Fatalf("the rows have %d jobs, %d sooner, %d later; all together %d, %d, %d", jobs, sooner, later, len(w.history.Runs), s, l)
		}
		table, err := w.byAccount()
		lines := strings.Split(strings.TrimSpace(table), "\n")
		want := 1 + min(len(rows), shownAccounts)
		if len(rows) > shownAccounts {
			want++
		}
		if err != nil || len(lines) != want || len(rows) > shownAccounts && !strings.HasPrefix(lines[want-1], fmt.Sprintf("(%d others)", len(rows)-shownAccounts)) {
			t.Fatalf("%d accounts are shown in %d lines, want %d:\n%s", len(rows), len(lines), want, table)
		}
	})
	if w := drawn([]string{"", ""}, []int{1}); w.accounts() != nil || w.whoGains() != "" {
		t.Error("a history without accounts has rows of accounts")
	}
}

// TestWhoGains: an account gains or loses if it does under each assumption.
func TestWhoGains(t *testing.T) {
	w := whatif{}
	for i, minutes := range [][3]int{{50, 55, 40}, {70, 80, 61}, {55, 65, 50}} {
		w.history.Runs = append(w.history.Runs, workload.Run{Account: []string{"phys", "bio", "chem"}[i], Took: time.Hour, GPUs: 1, Nodes: 1})
		w.before.result.Jobs = append(w.before.result.Jobs, replay.JobResult{End: time.Hour})
		for k, m := range minutes {
			w.after[k].result.Jobs = append(w.after[k].result.Jobs, replay.JobResult{End: time.Duration(m) * time.Minute})
		}
	}
	want := "Who gains: the jobs of phys end sooner in the mean under all three assumptions; those of bio end later under all three; for chem it depends on the assumption"
	if got := w.whoGains(); !strings.HasPrefix(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
