package metrics

import (
	"flag"
	"fmt"
	"io"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
	"github.com/sluice-hpc/sluice/nodes"
)

var update = flag.Bool("update", false, "rewrite METRICS.md and the expected outputs")

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// jobOf returns the report of a running job on one node.
func jobOf(id int, gpus int) publish.JobReport {
	place := nodes.Placement{{Node: "n1", GPUs: gpus}}
	jr := publish.JobReport{Job: &elastic.Job{ID: elastic.JobID(id), Phase: elastic.Running, Place: place}}
	jr.Record = journal.JobRecord{Token: fmt.Sprint("t", id), Identity: journal.Identity{ID: elastic.JobID(id), Owner: elastic.Owner{User: "ann", UID: 7}, SlurmUID: 7, Account: journal.Account{Name: "bio", Known: true}},
		Tag: elastic.Tag{Spec: elastic.Spec{Min: 1}}, Life: journal.Life{Submitted: noon, FirstRun: noon}}
	jr.Run = journal.Segment{Place: place}
	return jr
}

func reportOf(at time.Time, jobs ...publish.JobReport) *publish.Report {
	return &publish.Report{At: at, Jobs: jobs, Nodes: []nodes.Node{{Name: "n1", Type: "a100", GPUs: 8, Used: 6, Usable: true}, {Name: "n2", GPUs: 4}}}
}

func newMetrics(t *testing.T, o Options) *Metrics {
	t.Helper()
	m, err := New("1.2", o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// scrape returns what Prometheus would read, without the runtime's own metrics.
func scrape(t *testing.T, m *Metrics, accept string) string {
	t.Helper()
	request := httptest.NewRequest("GET", "/metrics", nil)
	request.Header.Set("Accept", accept)
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, request)
	if answer.Code != 200 {
		t.Fatalf("status %d: %s", answer.Code, answer.Body)
	}
	return answer.Body.String()
}

// wants checks lines of a scrape.
func wants(t *testing.T, m *Metrics, lines ...string) {
	t.Helper()
	got := strings.Split(scrape(t, m, ""), "\n")
	for _, want := range lines {
		if !slices.Contains(got, want) {
			name, _, _ := strings.Cut(want, "{")
			name, _, _ = strings.Cut(name, " ")
			var of []string
			for _, line := range got {
				if strings.HasPrefix(line, name) {
					of = append(of, line)
				}
			}
			t.Errorf("no line %s; there are\n%s", want, strings.Join(of, "\n"))
		}
	}
}

// TestGauges: a scrape has what the last report says.
func TestGauges(t *testing.T) {
	m := newMetrics(t, Options{Users: true, Jobs: true})
	waiting := publish.JobReport{Job: &elastic.Job{Phase: elastic.Waiting}, Record: journal.JobRecord{Token: "w", Identity: journal.Identity{ID: 9, Owner: elastic.Owner{User: "bob"}}, Life: journal.Life{Submitted: noon}}}
	late := jobOf(3, 2)
	late.Record.Promised, late.Due = true, elastic.DueUnmet
	late.Record.Tag.Spec.Deadline = noon.Add(time.Hour)
	late.Intent = &elastic.Intent{Kind: elastic.Resize}
	r := reportOf(noon.Add(time.Minute), jobOf(1, 2), late, waiting)
	r.Health = []elastic.Finding{{Node: "n2", Excluded: true}, {Node: "n3"}}
	r.Demands = []elastic.Demand{{}, {}}
	m.Cycle(r, time.Second, nil)
	wants(t, m, `sluice_build_info{go="`+goVersion()+`",version="1.2"} 1`, `sluice_jobs{phase="running"} 2`, `sluice_jobs{phase="waiting"} 1`, `sluice_jobs{phase="suspended"} 0`,
		`sluice_gpus{type="a100",use="elastic"} 4`, `sluice_gpus{type="a100",use="other"} 2`, `sluice_gpus{type="a100",use="idle"} 2`,
		`sluice_gpus{type="gpu",use="unusable"} 4`, `sluice_nodes_excluded 1`, `sluice_ordinary_jobs_waiting 2`, `sluice_longest_wait_seconds 60`,
		`sluice_deadlines{state="in_doubt"} 1`, `sluice_moves_open{move="resize"} 1`, `sluice_blind 0`,
		`sluice_user_jobs{phase="running",user="ann"} 2`, `sluice_user_gpus{user="ann"} 4`, `sluice_job_gpus{account="bio",job="1",user="ann"} 2`, `sluice_cycle_seconds_count 1`)
	m.Configure(Options{})
	m.Cycle(r, time.Second, nil)
	if text := scrape(t, m, ""); strings.Contains(text, "ann") || strings.Contains(text, "bob") {
		t.Error("a user is named although users are not asked for")
	}
}

// TestCounters: what happens is counted once, and nothing that was so before the daemon started.
func TestCounters(t *testing.T) {
	m := newMetrics(t, Options{})
	a := jobOf(1, 4)
	a.Run.Price = elastic.Price{Save: time.Hour} // of a move before this daemon
	a.Record.Promised, a.Record.Tag.Spec.Deadline = true, noon.Add(time.Hour)
	b := jobOf(2, 1)
	b.Record.Promised, b.Record.Tag.Spec.Deadline = true, noon.Add(30*time.Second)
	m.Cycle(reportOf(noon, a, b), time.Second, nil)
	wants(t, m, `sluice_dead_seconds_total{part="save"} 0`)

	m.Event(event.Event{Job: 1, Kind: "open", Fields: event.Fields{Move: elastic.Resize}})
	m.Event(event.Event{Job: 1, Kind: "close", Fields: event.Fields{Outcome: elastic.Done}})
	a.Run = journal.Segment{Restarts: 1, Place: nodes.Placement{{Node: "n1", GPUs: 2}}, Price: elastic.Price{Save: 4 * time.Second, Drain: time.Second, Start: 2 * time.Second}}
	a.Job = &elastic.Job{ID: 1, Phase: elastic.Running, Place: a.Run.Place}
	m.Cycle(reportOf(noon.Add(time.Minute), a, b), time.Second, nil)
	a.Run.Price.Load = 3 * time.Second // its first step
	m.Cycle(reportOf(noon.Add(2*time.Minute), a, b), time.Second, nil)
	m.Cycle(reportOf(noon.Add(2*time.Minute), a, b), time.Second, nil) // the same again
	wants(t, m, `sluice_moves_total{move="resize",outcome="done"} 1`,
		`sluice_dead_seconds_total{part="save"} 4`, `sluice_dead_seconds_total{part="stop"} 1`, `sluice_dead_seconds_total{part="wait"} 2`, `sluice_dead_seconds_total{part="start"} 3`,
		`sluice_dead_gpu_seconds_total 30`,    // 5 s of 4 GPUs, 5 s of 2
		`sluice_gained_gpu_seconds_total 240`, // a minute with 3 GPUs beyond the minimum, one with 1
		`sluice_deadlines_total{outcome="broken"} 1`, `sluice_deadlines_total{outcome="kept"} 0`)

	a.Ended, a.Job, a.Ending = true, new(elastic.Job), journal.Ending{How: journal.Completed}
	a.Record.Ended, a.Record.State = noon.Add(3*time.Minute), "COMPLETED"
	for range 2 {
		m.Cycle(reportOf(noon.Add(3*time.Minute), b, a), time.Second, nil)
	}
	wants(t, m, `sluice_jobs_ended_total{how="completed"} 1`, `sluice_deadlines_total{outcome="kept"} 1`, `sluice_deadlines_total{outcome="broken"} 1`)
}

// TestBlind: the seconds of an outage add up, over several outages.
func TestBlind(t *testing.T) {
	m := newMetrics(t, Options{})
	m.Cycle(reportOf(noon), time.Second, nil)
	for _, seconds := range []int{0, 5, 20, -1, 0, 7} {
		r := reportOf(noon)
		if seconds >= 0 {
			r.Blind, r.BlindFor = "squeue: timed out", time.Duration(seconds)*time.Second
		}
		m.Cycle(r, time.Second, io.ErrUnexpectedEOF)
	}
	wants(t, m, `sluice_blind_seconds_total 27`, `sluice_blind 1`, `sluice_undecided_cycles_total 6`)
}

// TestBounded: whatever the number of accounts, users, jobs and types of GPUs, the number of series is
// bounded, and no GPU is left out of the sum.
func TestBounded(t *testing.T) {
	r := &publish.Report{At: noon}
	for i := range 3000 {
		jr := jobOf(i+1, 1)
		jr.Record.Owner.User = fmt.Sprint("user", i)
		jr.Job.Place[0].Node = fmt.Sprint("n", i)
		r.Jobs = append(r.Jobs, jr)
		r.Nodes = append(r.Nodes, nodes.Node{Name: fmt.Sprint("n", i), Type: fmt.Sprint("type", i), GPUs: 2, Used: 1, Usable: true})
	}
	series, sum := map[string]int{}, map[string]float64{}
	for _, s := range Gauges(r, Options{Users: true, Jobs: true}) {
		series[s.Name]++
		sum[s.Name] += s.Value
	}
	for name, most := range map[string]int{"sluice_gpus": 4 * (mostTypes + 1), "sluice_user_jobs": 5 * (mostUsers + 1), "sluice_user_gpus": mostUsers + 1, "sluice_job_gpus": mostJobs + 1} {
		if series[name] == 0 || series[name] > most {
			t.Errorf("%d series of %s, want at most %d", series[name], name, most)
		}
	}
	for name, want := range map[string]float64{"sluice_gpus": 6000, "sluice_user_jobs": 3000, "sluice_user_gpus": 3000, "sluice_job_gpus": 3000} {
		if sum[name] != want {
			t.Errorf("%s adds up to %v, want %v", name, sum[name], want)
		}
	}
}

// TestNil: a daemon without an address for metrics counts nothing.
func TestNil(t *testing.T) {
	var m *Metrics
	m.Configure(Options{})
	m.Cycle(reportOf(noon), time.Second, nil)
	m.Event(event.Event{})
	m.Decided(1)
	m.Requested("squeue", 1, false)
	m.Wrote(1, true)
	m.Message("mail", "sent")
	m.Waiting(1)
}
