package audit

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestExpand(t *testing.T) {
	for list, want := range map[string][]string{
		"":                  nil,
		"(null)":            nil,
		"gpu1":              {"gpu1"},
		"gpu[1-2,07],login": {"gpu1", "gpu2", "gpu07", "login"},
		"a[09-11]z":         {"a09z", "a10z", "a11z"},
	} {
		if got, err := expand(list); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, %v", list, got, err)
		}
	}
	for _, bad := range []string{"gpu[", "gpu]", "gpu[2-1]", "gpu[x]", "gpu[0-99999999]", "a[1][2]", ","} {
		if got, err := expand(bad); err == nil {
			t.Errorf("%q: read as %q", bad, got)
		}
	}
}

func TestGpusOf(t *testing.T) {
	for gres, want := range map[string]int{
		"gpu:4": 4, "gpu:a100:4(S:0-1)": 4, "shard:8,gpu:2": 2, "gpu:a:1,gpu:b:3": 4, "gpu": 0, "gpu:x": 0, "": 0, "gpu:-3": 0,
	} {
		if got := gpusOf(gres); got != want {
			t.Errorf("%q: %d, want %d", gres, got, want)
		}
	}
}

func TestGrain(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"2026-11-21T14:22:49Z": time.Second, "2026-11-21T14:22:49.123Z": time.Millisecond,
		"2026-11-21T14:22:49.123456+01:00": time.Microsecond,
	} {
		if got := grainOf(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestUnevenSplit: shares are assigned to the nodes of a started job in order; a job that was
// not started has none. A line of another slurmctld thread comes between.
func TestUnevenSplit(t *testing.T) {
	log := `[2026-11-21T14:27:00.540] gres_job_state gres:gpu(7696487) type:(null)(4294967294) job:1 flags:
[2026-11-21T14:27:00.540]   total_gres:5
[2026-11-21T14:27:00.540]   gres_cnt_node_alloc[0]:4
[2026-11-21T14:27:00.540]   gres_bit_alloc[0]:0-3 of 4
[2026-11-21T14:27:00.540] debug2: Tree head got back 0 looking for 1
[2026-11-21T14:27:00.540]   gres_cnt_node_alloc[1]:1
[2026-11-21T14:27:00.540]   gres_bit_alloc[1]:2 of 4
[2026-11-21T14:27:00.541] sched/backfill: _start_job: Started JobId=1 in gpu on gpu[1-2]
[2026-11-21T14:27:00.542] sched: Allocate JobId=2 NodeList=gpu3 #CPUs=1 Partition=gpu
`
	got, err := ParseController(strings.NewReader(log), "log", time.UTC)
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	want := []Share{{Node: "gpu1", GPUs: 4, Bits: []int{0, 1, 2, 3}}, {Node: "gpu2", GPUs: 1, Bits: []int{2}}}
	if !reflect.DeepEqual(got[0].Shares, want) || got[0].Number != 8 || len(got[1].Shares) != 0 {
		t.Errorf("%+v", got)
	}
}

// TestRequeuedByANode: the completion of a run whose node was lost is not the job's last,
// although no requeue was requested and it has not started again yet.
func TestRequeuedByANode(t *testing.T) {
	log := `[2026-11-21T14:27:00.100] _slurm_rpc_submit_batch_job: JobId=1 InitPrio=1 usec=1
[2026-11-21T14:27:01.100] sched: Allocate JobId=1 NodeList=gpu1 #CPUs=1 Partition=gpu
[2026-11-21T14:27:22.220] requeue job JobId=1 due to failure of node gpu1
[2026-11-21T14:27:22.220] TRACE_JOBS: deallocate_nodes: JobId=1
[2026-11-21T14:27:22.220] Requeuing JobId=1
`
	for text, want := range map[string]int{log: 0, strings.ReplaceAll(log, "Requeuing", "Forgetting"): 1} {
		records, err := ParseController(strings.NewReader(text), "log", time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		at := func(s int) time.Time { return time.Date(2026, 11, 21, 14, 27, s, 0, time.UTC) }
		e := Evidence{Controller: records, GPUs: map[string]int{"gpu1": 4},
			Completions: []Completion{{Job: 1, State: "NODE_FAIL", Start: at(1), End: at(22), Line: Line{Number: 1, Grain: time.Second}}},
			Events: []Event{{Line: Line{Number: 1, At: at(0)}, Kind: "adopted", Job: 1}, {Line: Line{Number: 2, At: at(10)}, Kind: "run", Job: 1},
				{Line: Line{Number: 3, At: at(59)}, Kind: "act", Job: 2}}}
		n := 0
		for _, v := range Check(e, Options{Patience: 15 * time.Second}).Violations {
			if v.Invariant == "I2" {
				n++
			}
		}
		if n != want {
			t.Errorf("%d complaints, want %d: %s\n%s", n, want, text, Check(e, Options{Patience: 15 * time.Second}))
		}
	}
}

// TestStartedByBackfill: for a job that the main scheduler starts, Slurm 26.05 logs what older
// releases log; for one that backfill starts, only the places of its tasks.
func TestStartedByBackfill(t *testing.T) {
	chosen := func(job string) string {
		return `[2026-11-22T00:29:37.049] TRACE_JOBS: select_nodes: [JobId=` + job + `] change state: PENDING -> RUNNING
[2026-11-22T00:29:37.049] TRACE_JOBS: select_nodes: [JobId=` + job + `] change state: PENDING -> RUNNING
[2026-11-22T00:29:37.049] gres_job_state gres:gpu(7696487) type:(null)(0) job:` + job + ` flags:
[2026-11-22T00:29:37.049]   gres_cnt_node_alloc[0]:1
[2026-11-22T00:29:37.049]   gres_bit_alloc[0]:1 of 4
`
	}
	log := chosen("60") + `[2026-11-22T00:29:37.049] debug:  slurm_cred_create: creating credential for JobId=60 SLUID=sD99M80AGJYK00
[2026-11-22T00:29:37.049] debug2: Tree head got back 0 looking for 1
[2026-11-22T00:29:37.049] debug:  laying out the 1 tasks on 1 hosts gpu3 dist 8192
` + chosen("61") + `[2026-11-22T00:29:38.005] sched: Allocate JobId=61 NodeList=gpu2 #CPUs=1 Partition=gpu
[2026-11-22T00:29:38.006] debug:  laying out the 1 tasks on 1 hosts gpu2 dist 8192
`
	got, err := ParseController(strings.NewReader(log), "log", time.UTC)
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, want := range []Record{{Kind: Allocated, Job: 60, Shares: []Share{{Node: "gpu3", GPUs: 1, Bits: []int{1}}}},
		{Kind: Allocated, Job: 61, Shares: []Share{{Node: "gpu2", GPUs: 1, Bits: []int{1}}}}} {
		if r := got[i]; r.Kind != want.Kind || r.Job != want.Job || !reflect.DeepEqual(r.Shares, want.Shares) {
			t.Errorf("%+v, want %+v", r, want)
		}
	}
}

// TestFailedCalls: a call that Slurm refused is not a change, and its account is not attributed
// to the next one.
func TestFailedCalls(t *testing.T) {
	log := `[2026-11-21T14:27:00.100] debug2: Processing RPC: REQUEST_JOB_REQUEUE from UID=1000
[2026-11-21T14:27:00.101] _slurm_rpc_requeue: Requeue of JobId=1 returned an error: Job is pending execution
[2026-11-21T14:27:00.200] debug2: Processing RPC: REQUEST_JOB_REQUEUE from UID=7
[2026-11-21T14:27:00.201] debug:  _job_requeue_op: JobId=1 state 0x0 reason 16 priority 0
[2026-11-21T14:27:00.300] _slurm_rpc_update_job: JobId=1 uid=7: Job/step already completing or completed
[2026-11-21T14:27:00.400] debug:  _job_requeue_op: JobId=2 state 0x0 reason 16 priority 0
`
	got, err := ParseController(strings.NewReader(log), "log", time.UTC)
	if err != nil || len(got) != 2 || got[0].UID != 7 || got[1].UID != -1 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestLongLinesAreLeftOut(t *testing.T) {
	text := "one\n" + strings.Repeat("x", maxLine+10) + "\nthree"
	var got []string
	if err := eachLine(strings.NewReader(text), "f", func(l Line) { got = append(got, l.String()) }); err != nil {
		t.Fatal(err)
	}
	if want := []string{"f:1: one", "f:3: three"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
}

func TestLinesAreFitForATerminal(t *testing.T) {
	l := Line{File: "f", Number: 1, Text: "a\x1b[31mb\u0085" + strings.Repeat("y", 2*maxShown)}
	if got := l.String(); strings.ContainsAny(got, "\x1b\u0085") || len(got) > maxShown+20 {
		t.Errorf("%q", got)
	}
}

func FuzzParseEvents(f *testing.F) {
	f.Add(clean(f)[events])
	f.Add(`{"time":"x"}`)
	f.Fuzz(func(t *testing.T, text string) {
		events, _, err := ParseEvents(strings.NewReader(text), "e")
		if err != nil {
			t.Fatal(err)
		}
		Check(Evidence{Events: events, GPUs: map[string]int{"gpu1": 4}}, Options{})
	})
}

func FuzzParseController(f *testing.F) {
	f.Add(clean(f)[slurm])
	story, _, err := ParseEvents(strings.NewReader(clean(f)[events]), "e")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		records, err := ParseController(strings.NewReader(text), "c", time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		Check(Evidence{Events: story, Controller: records, GPUs: map[string]int{"gpu1": 4}}, Options{})
	})
}

func FuzzParseCompletions(f *testing.F) {
	f.Add(clean(f)[comp])
	for _, h := range hostile {
		f.Add(strings.ReplaceAll(clean(f)[comp], "two.sh", h.name))
	}
	log, err := ParseController(strings.NewReader(clean(f)[slurm]), "l", time.UTC)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		runs, _, err := ParseCompletions(strings.NewReader(text), "c", time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		Check(Evidence{Completions: runs}, Options{})
		Check(Evidence{Completions: runs, Controller: log}, Options{})
	})
}

func FuzzParseConf(f *testing.F) {
	f.Add(clean(f)[conf])
	f.Fuzz(func(t *testing.T, text string) {
		gpus, err := ParseConf(strings.NewReader(text), "c")
		if err != nil {
			t.Fatal(err)
		}
		for node, n := range gpus {
			if n < 0 {
				t.Fatalf("%s has %d GPUs", node, n)
			}
		}
	})
}

func FuzzParseShown(f *testing.F) {
	f.Add(clean(f)[shown])
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := ParseShown(strings.NewReader(text), "c"); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzExpand(f *testing.F) {
	f.Add("gpu[1-2,07],login")
	f.Fuzz(func(t *testing.T, list string) {
		if names, err := expand(list); err == nil && len(names) > 2*maxHosts {
			t.Fatalf("%d names", len(names))
		}
	})
}
