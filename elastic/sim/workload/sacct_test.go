package workload_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

const site = "testdata/sacct/site.txt"

func history(t testing.TB, text string, partitions ...string) workload.History {
	t.Helper()
	h, err := workload.DecodeHistory(strings.NewReader(text), "acct.txt", partitions)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// accounts puts a header over lines.
func accounts(lines ...string) string {
	return "JobID|Submit|Start|End|State|AllocTRES\n" + strings.Join(lines, "\n") + "\n"
}

const plain = "7|2026-01-02T00:00:00|2026-01-02T01:00:00|2026-01-02T03:00:00|COMPLETED|cpu=8,node=2,gres/gpu=4"

func TestReadASitesHistory(t *testing.T) {
	w, h, err := workload.ReadSacct(site, workload.Likely)
	if err != nil {
		t.Fatal(err)
	}
	if w.Count != 70 || len(h.Runs) != 70 || w.Name != site {
		t.Errorf("%s: %d jobs of %d runs", w.Name, w.Count, len(h.Runs))
	}
	wantSkipped := []workload.Count{{workload.SkipStep, 2}, {workload.SkipNoGPU, 1}, {workload.SkipUnstarted, 2}, {workload.SkipRunning, 1}, {workload.SkipInstant, 1}}
	if !slices.Equal(h.Skipped, wantSkipped) {
		t.Errorf("skipped %v", h.Skipped)
	}
	if n, per := h.Cluster(); h.PeakGPUs != 16 || n != 4 || per != 4 || h.MostNodes != 2 {
		t.Errorf("peak %d on %d nodes of %d, at most %d a job", h.PeakGPUs, n, per, h.MostNodes)
	}
	if len(h.States) != 4 || h.States[0].What != "COMPLETED" || h.Types[0] != (workload.Count{What: "a100", N: 70}) {
		t.Errorf("states %v, types %v", h.States, h.Types)
	}
	first := h.Runs[0]
	if first.ID != "70100" || first.User != "bob" || first.GPUs != 4 || first.Nodes != 1 || first.Wait() != 0 || first.Took != 8*time.Minute+56*time.Second {
		t.Errorf("%+v", first)
	}
	if h.First != time.Date(2026, 3, 2, 8, 21, 7, 0, time.UTC) {
		t.Errorf("first submit %v", h.First)
	}
	if !slices.ContainsFunc(h.Runs, func(r workload.Run) bool { return r.ID == "70150_2" }) {
		t.Error("members of arrays are jobs of their own")
	}
	f := h.Figures()
	if f.MeanJCT < f.MedianJCT || f.P99JCT > f.LongestJCT || f.MeanWait <= 0 || f.MaxWait < f.MeanWait || f.GPUHours < 100 || f.Span < 24*time.Hour {
		t.Errorf("%+v", f)
	}
}

// TestHistoryLines: one line of each kind that sacct writes.
func TestHistoryLines(t *testing.T) {
	replace := func(from, to string) string { return strings.Replace(plain, from, to, 1) }
	for name, tc := range map[string]struct {
		line       string
		gpus       int
		nodes      int
		wait, took time.Duration
	}{
		"plain":          {plain, 4, 2, time.Hour, 2 * time.Hour},
		"types":          {replace("gres/gpu=4", "gres/gpu:a100=2,gres/gpu:v100=1"), 3, 2, time.Hour, 2 * time.Hour},
		"types and sum":  {replace("gres/gpu=4", "gres/gpu:a100=4,gres/gpu=4,gres/gpumem=80G,gres/gpuutil=3"), 4, 2, time.Hour, 2 * time.Hour},
		"one GPU on two": {replace("gres/gpu=4", "gres/gpu=1"), 1, 1, time.Hour, 2 * time.Hour},
		"epoch seconds":  {replace("2026-01-02T00:00:00|2026-01-02T01:00:00", "1767312000|1767315600"), 4, 2, time.Hour, 2 * time.Hour},
		"requeue clock":  {replace("2026-01-02T00:00:00", "2026-01-02T02:00:00"), 4, 2, 0, 2 * time.Hour},
		"cancelled by":   {replace("COMPLETED", "CANCELLED by 0"), 4, 2, time.Hour, 2 * time.Hour},
		"dos":            {plain + "\r", 4, 2, time.Hour, 2 * time.Hour},
	} {
		h := history(t, accounts(tc.line))
		if r := h.Runs[0]; r.GPUs != tc.gpus || r.Nodes != tc.nodes || r.Wait() != tc.wait || r.Took != tc.took {
			t.Errorf("%s: %+v", name, r)
		}
	}
	for name, tc := range map[string]struct{ line, want string }{
		"step":      {replace("7|", "7.batch|"), workload.SkipStep},
		"array":     {replace("7|", "7_3.0|"), workload.SkipStep},
		"no GPU":    {replace(",gres/gpu=4", ""), workload.SkipNoGPU},
		"zero":      {replace("gres/gpu=4", "gres/gpu=0"), workload.SkipNoGPU},
		"unstarted": {replace("2026-01-02T01:00:00", "None"), workload.SkipUnstarted},
		"pending":   {"8_[1-5%2]|2026-01-02T00:00:00|Unknown|Unknown|PENDING|", workload.SkipUnstarted},
		"running":   {replace("COMPLETED", "RUNNING"), workload.SkipRunning},
		"no end":    {replace("2026-01-02T03:00:00", "Unknown"), workload.SkipRunning},
		"instant":   {replace("2026-01-02T03:00:00", "2026-01-02T01:00:00"), workload.SkipInstant},
	} {
		h := history(t, accounts(plain, tc.line))
		if len(h.Runs) != 1 || !slices.Equal(h.Skipped, []workload.Count{{What: tc.want, N: 1}}) {
			t.Errorf("%s: %d runs, skipped %v", name, len(h.Runs), h.Skipped)
		}
	}
}

// TestHistoryColumns: any order, other columns, a name that holds the separator,
// the time a job could have run from, and elapsed times in sacct's spellings.
func TestHistoryNamesAccounts(t *testing.T) {
	w, _ := history(t, "JobID|Account|User|State|AllocTRES|Submit|Start|Elapsed\n"+
		"9|phys|ann|COMPLETED|gres/gpu=2|2026-01-01T00:00:00|2026-01-01T00:00:00|00:05:00\n").Workload(workload.Likely)
	for j := range w.Jobs {
		if j.Account != "phys" || j.User != "ann" {
			t.Errorf("%+v", j)
		}
	}
}

func TestHistoryColumns(t *testing.T) {
	text := "State|JobName|ReqTRES|NNodes|Elapsed|Comment|Start|Eligible|Submit|JobID|Partition\n" +
		"FAILED|a|b||gres/gpu=6,node=9|2|1-02:03:04|x|2026-01-03T00:00:00|2026-01-02T12:00:00|2026-01-01T00:00:00|9|gpu\n" +
		"FAILED|c|gres/gpu=1|1|05:06.123456||2026-01-03T00:00:00|Unknown|2026-01-02T00:00:00|10|cpu\n"
	h := history(t, text)
	r, q := h.Runs[1], h.Runs[0]
	if r.GPUs != 6 || r.Nodes != 2 || r.Took != 26*time.Hour+3*time.Minute+4*time.Second || r.Wait() != 12*time.Hour || r.End != r.Start+r.Took {
		t.Errorf("%+v", r)
	}
	if q.Took != 5*time.Minute+6*time.Second || q.Submit != 0 {
		t.Errorf("%+v", q)
	}
	only := history(t, text, "gpu")
	if len(only.Runs) != 1 || only.Runs[0].ID != "9" || !slices.Equal(only.Skipped, []workload.Count{{What: workload.SkipPartition, N: 1}}) {
		t.Errorf("%+v", only)
	}
}

func TestPeakCountsWhatStillRuns(t *testing.T) {
	at := func(id string, from, to int, state string) string {
		return fmt.Sprintf("%s|2026-01-02T00:00:00|2026-01-02T%02d:00:00|2026-01-02T%02d:00:00|%s|gres/gpu=4,node=1", id, from, to, state)
	}
	h := history(t, accounts(at("1", 1, 3, "COMPLETED"), at("2", 3, 4, "COMPLETED"), at("3", 2, 9, "RUNNING")))
	if h.PeakGPUs != 8 {
		t.Errorf("peak %d: two at a time, one of them unfinished; want 8", h.PeakGPUs)
	}
}

func TestHistoryErrors(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"empty":     {"", "acct.txt:1:1: the file is empty; fill it with\nsacct -a -D -X -P"},
		"no header": {plain, "acct.txt:1:1: the first line names no column JobID; print the accounts, with their header, by\nsacct"},
		"no start":  {"JobID|Submit|End|State|AllocTRES\n", "no column Start;"},
		"no length": {"JobID|Submit|Start|State|AllocTRES\n", "no column End, or Elapsed,;"},
		"no jobs":   {accounts(strings.Replace(plain, "COMPLETED", "RUNNING", 1)), "acct.txt:2:1: no finished run on GPUs among 1 lines: not finished (1)"},
		"partition": {accounts(plain), ""},
		"long":      {accounts(strings.Repeat("x", 2<<20)), "acct.txt:2:1: the line is longer than"},
	} {
		_, err := workload.DecodeHistory(strings.NewReader(tc.text), "acct.txt", nil)
		if name == "partition" {
			_, err = workload.DecodeHistory(strings.NewReader(tc.text), "acct.txt", []string{"gpu"})
			tc.want = "names no column Partition; add it to --format"
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v\nwant %s", name, err, tc.want)
		}
	}
	if _, _, err := workload.ReadSacct(filepath.Join(t.TempDir(), "none"), workload.Likely); !os.IsNotExist(err) {
		t.Error(err)
	}
	if _, _, err := workload.ReadSacct(site, workload.Assumption{}); err == nil || !strings.Contains(err.Error(), "growth 0: want 1") {
		t.Error(err)
	}
}

// TestUnreadableLines: a line that cannot be read is skipped, counted and named, and the
// others are replayed; too many of them, or none beside them, are refused.
func TestUnreadableLines(t *testing.T) {
	bad := func(from, to string) string { return accounts(plain, strings.Replace(plain, from, to, 1)) }
	for name, tc := range map[string]struct{ text, want string }{
		"fields":     {bad("|COMPLETED", ""), "acct.txt:3:1: 5 fields, and the first line names 6"},
		"more":       {bad("COMPLETED", "COMPL|ETED"), "acct.txt:3:1: 7 fields"},
		"id":         {bad("7|", "x7|"), `acct.txt:3:1: "x7": want a job id`},
		"submit":     {bad("2026-01-02T00:00:00", "yesterday"), `acct.txt:3:3: "yesterday": want a time such as`},
		"no submit":  {bad("2026-01-02T00:00:00", "Unknown"), `acct.txt:3:3: "Unknown": want a time such as`},
		"start":      {bad("2026-01-02T01:00:00", "2026-13-02T01:00:00"), `acct.txt:3:23: "2026-13-02T01:00:00": want a time`},
		"end":        {bad("2026-01-02T03:00:00", "2026-01-02T00:30:00"), `acct.txt:3:43: "2026-01-02T00:30:00": want an end after the start`},
		"gpus":       {bad("gpu=4", "gpu=four"), `acct.txt:3:73: "cpu=8,node=2,gres/gpu=four": want resources`},
		"too early":  {bad("2026-01-02T00:00:00", "0001-01-02T00:00:00"), "want a time"},
		"elapsed":    {"JobID|Submit|Start|Elapsed|State|ReqTRES\n1|2026-01-02T00:00:00|2026-01-02T00:00:00|1:2:3:4|X|gres/gpu=1\n", `"1:2:3:4": want a time run`},
		"elapsedraw": {"JobID|Submit|Start|ElapsedRaw|State|ReqTRES\n1|2026-01-02T00:00:00|2026-01-02T00:00:00|-4|X|gres/gpu=1\n", `"-4": want elapsed seconds`},
		"nodes":      {"JobID|Submit|Start|ElapsedRaw|State|ReqTRES|NNodes\n1|2026-01-02T00:00:00|2026-01-02T00:00:00|4|X|gres/gpu=1|many\n", `"many": want a number of nodes`},
	} {
		lone := !strings.Contains(tc.text, plain)
		h, err := workload.DecodeHistory(strings.NewReader(tc.text), "acct.txt", nil)
		if lone {
			if err == nil || !strings.Contains(err.Error(), "lines that cannot be read (1); the first") || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: %v\nwant %s", name, err, tc.want)
			}
			continue
		}
		if err != nil || len(h.Runs) != 1 || !slices.Equal(h.Skipped, []workload.Count{{What: workload.SkipBad, N: 1}}) {
			t.Errorf("%s: %d runs, skipped %v, %v", name, len(h.Runs), h.Skipped, err)
			continue
		}
		if len(h.Unreadable) != 1 || !strings.Contains(h.Unreadable[0], tc.want) {
			t.Errorf("%s: %v\nwant %s", name, h.Unreadable, tc.want)
		}
	}
	other := func(k int) string { return strings.Replace(plain, "7|", fmt.Sprint(100+k, "|"), 1) }
	for ill, want := range map[int]string{10: "", 12: "acct.txt: 12 of 62 lines cannot be read, which is too many to trust the others; the first is\nacct.txt:52:1: 7 fields"} {
		var lines []string
		for k := range 50 {
			lines = append(lines, other(k))
		}
		for range ill {
			lines = append(lines, plain+"|extra")
		}
		_, err := workload.DecodeHistory(strings.NewReader(accounts(lines...)), "acct.txt", nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d: %v", ill, err)
		}
	}
}

// TestRequeuedJobs: the lines are what sacct -D of Slurm 22.05.8 prints of jobs that were
// requeued: the same id, the submit of the requeue.
func TestRequeuedJobs(t *testing.T) {
	at := func(id, submit, start, end, state string, gpus int) string {
		return fmt.Sprintf("%s|2026-11-23T%s|2026-11-23T%s|2026-11-23T%s|%s|billing=1,cpu=1,gres/gpu=%d,node=1", id, submit, start, end, state, gpus)
	}
	first := at("1", "00:51:38", "00:51:38", "00:51:44", "REQUEUED", 2)
	member := at("2_2", "00:51:38", "00:51:38", "00:51:44", "REQUEUED", 1)
	text := accounts(first, at("2_1", "00:51:38", "00:51:38", "00:52:01", "CANCELLED by 0", 1), member,
		at("1", "00:51:44", "00:51:48", "00:51:55", "REQUEUED", 2), at("2_2", "00:51:44", "00:51:48", "00:52:01", "CANCELLED by 0", 1),
		at("1", "00:51:55", "00:52:00", "00:53:00", "COMPLETED", 4), // with other GPUs
		at("1", "05:51:55", "05:52:00", "05:53:00", "FAILED", 1),    // after the ids were reset
		first)
	h := history(t, text)
	if len(h.Runs) != 4 || h.Requeued != 2 || h.Joined != 5 || !slices.Equal(h.Skipped, []workload.Count{{What: workload.SkipRepeated, N: 1}}) {
		t.Fatalf("%d jobs, %d requeued with %d runs, skipped %v: %+v", len(h.Runs), h.Requeued, h.Joined, h.Skipped, h.Runs)
	}
	one := h.Runs[0]
	// 13 s on 2 GPUs and 60 s on 4 are as much as 66.5 s on 4.
	if one.ID != "1" || one.Wait() != 0 || one.JCT() != 82*time.Second || one.GPUs != 4 || one.Took.Round(time.Second) != 67*time.Second {
		t.Errorf("%+v", one)
	}
	if m := h.Runs[2]; m.ID != "2_2" || m.Took != 19*time.Second || m.JCT() != 23*time.Second {
		t.Errorf("%+v", m)
	}
	if again := h.Runs[3]; again.ID != "1#2" || again.Took != time.Minute {
		t.Errorf("%+v", again)
	}
	if h.PeakGPUs != 6 || h.States[0] != (workload.Count{What: "CANCELLED", N: 2}) {
		t.Errorf("peak %d, states %v", h.PeakGPUs, h.States)
	}
	// A run that was unfinished in the accounts of one month and ended in the next is one.
	h = history(t, accounts(strings.Replace(plain, "03:00:00|COMPLETED", "02:00:00|RUNNING", 1), plain))
	if len(h.Runs) != 1 || h.PeakGPUs != 4 || h.Runs[0].Took != 2*time.Hour {
		t.Errorf("%+v", h)
	}
}

// TestAssumedJobs: at its own size a run takes what it took; who is elastic is a
// share of those that could be, and the same ones under every assumption.
func TestAssumedJobs(t *testing.T) {
	h, err := workload.ReadHistory(site, nil)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		a := workload.Assumption{
			Serial: rapid.Float64Range(0, 1).Draw(t, "serial"), PerNode: rapid.Float64Range(0, 1).Draw(t, "per node"),
			Elastic: rapid.Float64Range(0, 1).Draw(t, "elastic"), Shortest: 20 * time.Minute,
			Growth: rapid.IntRange(1, 8).Draw(t, "growth"), Shrink: rapid.IntRange(0, 4).Draw(t, "shrink"),
		}
		w, err := h.Workload(a)
		if err != nil {
			t.Fatal(err)
		}
		elastic, i := 0, 0
		for j := range w.Jobs {
			r := h.Runs[i]
			i++
			checkJob(t, j, 64)
			split := slices.Repeat([]int{r.GPUs / r.Nodes}, r.Nodes)
			if took := alone(j, split...); math.Abs(took.Seconds()-r.Took.Seconds()) > 1e-3 {
				t.Fatalf("%s took %v, assumed %v", r.ID, r.Took, took)
			}
			if j.Spec.Sizes != nil {
				if j.Spec.Min != r.GPUs || j.Spec.Max != r.GPUs {
					t.Fatalf("a fixed job of %d GPUs: %+v", r.GPUs, j.Spec)
				}
				continue
			}
			elastic++
			if r.Took < a.Shortest || j.Spec.Max != a.Growth*r.GPUs || j.Spec.Min > r.GPUs || a.Shrink == 0 && j.Spec.Min != 1 {
				t.Fatalf("an elastic job of %d GPUs and %v: %+v", r.GPUs, r.Took, j.Spec)
			}
		}
		if elastic != h.ElasticRuns(a) {
			t.Fatalf("%d elastic jobs, counted %d", elastic, h.ElasticRuns(a))
		}
	})
	fixed := h.Fixed()
	for j := range fixed.Jobs {
		if j.Spec.Min != j.Asked || j.Spec.Max != j.Asked {
			t.Fatalf("%+v", j)
		}
	}
}

// TestElasticShareIsAShare: of many consecutive ids, and members of an array go
// together.
func TestElasticShareIsAShare(t *testing.T) {
	var lines []string
	for id := range 2000 {
		lines = append(lines, strings.Replace(plain, "7|", fmt.Sprint(50000+id, "|"), 1))
	}
	h := history(t, accounts(lines...))
	a := workload.Likely
	a.Elastic = .7
	if n := h.ElasticRuns(a); n < 1330 || n > 1470 {
		t.Errorf("%d of 2000 are elastic, want about 1400", n)
	}
	lines = nil
	for k := range 50 {
		lines = append(lines, strings.Replace(plain, "7|", fmt.Sprint("4711_", k, "|"), 1))
	}
	if n := history(t, accounts(lines...)).ElasticRuns(a); n != 0 && n != 50 {
		t.Errorf("%d of the 50 members of an array are elastic", n)
	}
}

func TestAssumptionsInWords(t *testing.T) {
	for a, want := range map[workload.Assumption]string{
		workload.Likely: "5% of the work does not divide, each further node costs 2%; jobs of 10m and more can run on one GPU to 4 times what they had",
		{Elastic: .5, Shortest: 2 * time.Hour, Growth: 2, Shrink: 4}: "0% of the work does not divide, each further node costs 0%; jobs of 2h and more can run on 1/4 of what they had to 2 times what they had, 50% of them are made elastic",
	} {
		if a.String() != want {
			t.Errorf("%s", a)
		}
	}
	for want, a := range map[string]workload.Assumption{
		"serial share NaN": {Serial: math.NaN()},
		"cost of a node":   {PerNode: -1},
		"elastic share 2":  {Elastic: 2},
		"shortest elastic": {Shortest: -1},
		"shrink -1":        {Growth: 1, Shrink: -1},
	} {
		if err := a.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", a, err)
		}
	}
}

// TestAround: what the comment and the summary of whatif say about scaling.
func TestAround(t *testing.T) {
	worse, better := workload.Likely.Around()
	if worse.Serial != .15 || worse.PerNode != .05 || better.Serial != .02 || better.PerNode != .01 || worse.Growth != 4 {
		t.Errorf("%+v, %+v", worse, better)
	}
	got := fmt.Sprintf("%.2f %.2f %.2f", worse.Gain(4, 8), workload.Likely.Gain(4, 8), better.Gain(4, 8))
	if got != "1.41 1.70 1.86" {
		t.Error(got)
	}
}

// FuzzSacct: whatever the bytes, an error or runs that make sense.
func FuzzSacct(f *testing.F) {
	text, err := os.ReadFile(site)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text[:3000]))
	f.Add(accounts(plain, "8_[1-5%2]|2026-01-02T00:00:00|Unknown|Unknown|PENDING|"))
	f.Add("jobid|submit|start|elapsedraw|state|reqtres|jobname\n1|5|6|7|x|gres/gpu:a=1|a|b\n")
	f.Fuzz(func(t *testing.T, text string) {
		h, err := workload.DecodeHistory(strings.NewReader(text), "f", nil)
		if err != nil {
			return
		}
		last := time.Duration(0)
		for _, r := range h.Runs {
			if r.Submit < last || r.Start < r.Submit || r.End < r.Start || r.GPUs < 1 || r.Nodes < 1 || r.Nodes > r.GPUs || r.Took < time.Second {
				t.Fatalf("%+v", r)
			}
			last = r.Submit
		}
		again, err := workload.DecodeHistory(strings.NewReader(text), "f", nil)
		if err != nil || !reflect.DeepEqual(h, again) {
			t.Fatal("two readings differ")
		}
		if _, err := h.Workload(workload.Likely); err != nil {
			t.Fatal(err)
		}
	})
}
