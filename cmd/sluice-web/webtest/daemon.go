package webtest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/nodes"
)

// Now is when the canned answers were made.
var Now = time.Date(2026, 11, 24, 14, 30, 0, 0, time.UTC)

// The users of the canned jobs.
const (
	Ann, AnnUID = "ann", 1001
	Bob, BobUID = "bob", 1002
)

// Daemon is a sluiced as one user sees it. Its fields may be changed between requests, through Set.
type Daemon struct {
	Jobs    int    // number of jobs; the first has the number FirstJob
	Nodes   int    // number of nodes, of 8 GPUs each
	Only    string // jobs of this user alone; "" = of all
	Name    string // name of the first job; "" = an ordinary one
	Err     error  // of every call
	NoNews  error  // of Past, Forecast and WhatIf: an older sluiced
	Private bool
	// Trials are what the daemon knows of each sweep; nil = it is an older one. The viewer is an Operator, or
	// is not.
	Trials   *Sweeps
	Operator bool
	// NoSweeps: no job is a lane of a sweep.
	NoSweeps bool

	mu    sync.Mutex
	tried []wire.WhatIf
	asked int
}

// FirstJob is the number of the first job, which is Ann's and runs. The one after it is Bob's.
const FirstJob = 4001

// Set changes the daemon while it is used.
func (d *Daemon) Set(change func(*Daemon)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(d)
}

// Tried returns the changes that were tried.
func (d *Daemon) Tried() []wire.WhatIf {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.tried)
}

func (d *Daemon) fault() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked++
	return d.Err
}

// sizes of the canned jobs, by number.
var sizes = []int{4, 2, 8, 1, 6, 3, 8, 2}

// job returns the i-th job.
func (d *Daemon) job(i int) wire.Job {
	user, uid := Ann, uint32(AnnUID)
	if i%2 == 1 {
		user, uid = Bob, BobUID
	}
	names := []string{"resnet50-sweep", "llama-finetune", "bert-base", "vit-large", "diffusion-xl", "whisper-small"}
	j := wire.Job{JobID: int64(FirstJob + i), Token: fmt.Sprintf("%032d", i), Name: names[i%len(names)], User: user, UID: uid, Partition: "gpu", Account: []string{"phys", "bio"}[i%2],
		State: "RUNNING", ST: "R", GPUs: sizes[i%len(sizes)], Min: 1, Max: 8, Model: names[i%len(names)], Total: 90, Done: float64(7 * (i%12 + 1)), Unit: "epoch", Seconds: 240 / float64(sizes[i%len(sizes)]),
		Source: "measured", Reason: "stays at its size: a resize costs 14 s and would save 9 s", Speaks: true, Incarnation: 2, Restarts: 1, Checkpoint: "00000042",
		Price: wire.Price{Save: 4, Drain: 2, Start: 3, Load: 5, Total: 14, Measured: 3}, Submitted: Now.Add(-time.Duration(30+11*(i%60)) * time.Minute),
		ETA: Now.Add(time.Duration(20+13*(i%30)) * time.Minute)}
	j.Sweep = d.sweepOf(i)
	if i == 0 && d.Name != "" {
		j.Name, j.Comment, j.Model, j.Reason = d.Name, d.Name, d.Name, d.Name
	}
	busy := .87
	j.Busy = &busy
	j.FirstRun = j.Submitted.Add(5 * time.Minute)
	j.Started = j.Submitted.Add(15 * time.Minute)
	if i >= d.running() {
		j.State, j.ST, j.GPUs, j.ETA, j.Seconds, j.Busy, j.Started, j.Incarnation, j.Done, j.FirstRun = "PENDING", "PD", 0, time.Time{}, 0, nil, time.Time{}, 0, 0, time.Time{}
		j.Reason = "waiting for 1 GPU: all GPUs are in use; 3 jobs run at their minimum"
		return j
	}
	left := j.GPUs
	for k := i; left > 0; k++ {
		n := min(left, 4)
		j.Place = append(j.Place, nodes.Share{Node: d.node(k), GPUs: n})
		left -= n
	}
	if i%9 == 4 {
		j.Move = &wire.Move{Kind: "resize", Step: 2, Doing: "saving a checkpoint", From: j.Place, Target: nodes.Placement{{Node: d.node(i), GPUs: 8}}, Cause: "grows to 8 GPUs: job 3990 has ended", Opened: Now.Add(-4 * time.Second)}
	}
	if i%13 == 6 {
		j.Problems = []string{"no heartbeat for 4 min"}
	}
	return j
}

func (d *Daemon) running() int { return min(d.Jobs, max(1, d.Nodes*3/2)) }

func (d *Daemon) node(k int) string { return fmt.Sprintf("gpu%03d", k%max(1, d.Nodes)+1) }

func (d *Daemon) all() (out []wire.Job) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.Jobs {
		if j := d.job(i); d.Only == "" || j.User == d.Only {
			out = append(out, j)
		}
	}
	return out
}

// Status returns the state of the daemon.
func (d *Daemon) Status(context.Context) (wire.Status, error) {
	return wire.Status{Version: 1, Program: "1.0", Policy: "lookahead", Started: Now.Add(-time.Hour), Cycled: Now.Add(-3 * time.Second), Next: Now.Add(7 * time.Second), Jobs: d.Jobs, GPUs: 8 * d.Nodes}, d.fault()
}

// Report returns all jobs; one has ended.
func (d *Daemon) Report(ctx context.Context) (wire.Report, error) {
	r, err := d.Present(ctx)
	ended := d.job(0)
	ended.JobID, ended.Name, ended.GPUs, ended.Place, ended.Ended, ended.State, ended.ST, ended.EndedAt, ended.Move = FirstJob-1, "cifar", 0, nil, true, "COMPLETED", "CD", Now.Add(-time.Hour), nil
	r.Jobs = append(r.Jobs, ended)
	return r, err
}

// Present returns the jobs that have not ended, and the nodes.
func (d *Daemon) Present(context.Context) (wire.Report, error) {
	r := wire.Report{Version: 1, At: Now.Add(-3 * time.Second), Policy: "lookahead", Jobs: d.all(), Demands: []wire.Demand{{JobID: 9, Partition: "gpu", Nodes: 1, GPUs: 4}}}
	used := map[string]int{}
	for _, j := range r.Jobs {
		for _, p := range j.Place {
			used[p.Node] += p.GPUs
		}
	}
	for k := range d.Nodes {
		n := wire.Node{Name: d.node(k), Partitions: []string{"gpu"}, Type: "h100", GPUs: 8, Elastic: min(8, used[d.node(k)]), Usable: true, CPUs: 64}
		n.Used = n.Elastic
		switch {
		case k%17 == 5:
			n.Usable, n.Why, n.State = false, "drained by root: replaced fan", "DRAINED"
		case k%11 == 3 && n.Used < 8:
			n.Used++
		}
		if n.Usable {
			n.Free = 8 - n.Used
		}
		if k%23 == 7 {
			n.Health = &wire.Health{Excluded: true, Why: "1 GPU reports uncorrectable memory errors", Jobs: []int64{FirstJob}}
		}
		r.Nodes = append(r.Nodes, n)
	}
	return r, d.fault()
}

// Shares returns a tree of two accounts.
func (d *Daemon) Shares(context.Context) (wire.Shares, error) {
	hours := &wire.GPUHours{Day: 91.5, Week: 502, Month: 2210}
	return wire.Shares{Version: 1, At: Now, Count: true, GPUs: 8 * d.Nodes, Lines: []wire.Share{
		{Account: "root", Shares: 1, Deserved: 8 * d.Nodes, Used: 6 * d.Nodes, Wanted: 9 * d.Nodes, Own: float64(8 * d.Nodes)},
		{Account: "phys", Parent: "root", Depth: 1, Shares: 3, Deserved: 5 * d.Nodes, Used: 4 * d.Nodes, Wanted: 5 * d.Nodes, Own: float64(6 * d.Nodes), Lent: float64(2 * d.Nodes), Hours: hours},
		{Account: "phys", User: Ann, Depth: 2, Shares: 1, Deserved: 5 * d.Nodes, Used: 4 * d.Nodes, Wanted: 5 * d.Nodes, Hours: hours},
		{Account: "bio", Parent: "root", Depth: 1, Shares: 1, Deserved: 3 * d.Nodes, Used: 3 * d.Nodes, Wanted: 4 * d.Nodes, Own: float64(2 * d.Nodes), Borrowed: float64(d.Nodes), Hours: hours},
	}}, d.fault()
}

func (d *Daemon) find(id elastic.JobID) (wire.Job, error) {
	for _, j := range d.all() {
		if j.JobID == int64(id) {
			return j, d.fault()
		}
	}
	if err := d.fault(); err != nil {
		return wire.Job{}, err
	}
	return wire.Job{}, wire.Fail(wire.NotFound, "", "no job %d", id)
}

// Explain returns a job and its sizes.
func (d *Daemon) Explain(_ context.Context, id elastic.JobID) (wire.Explanation, error) {
	j, err := d.find(id)
	e := wire.Explanation{Version: 1, At: Now, Policy: "lookahead", Job: j}
	for _, g := range []int{1, 2, 3, 4, 6, 8} {
		seconds := 30 + 210/float64(g)
		s := wire.Size{GPUs: g, Nodes: 1, Seconds: seconds, Source: "fitted", Left: seconds * (j.Total - j.Done), Now: g == j.GPUs}
		if g == j.GPUs || g == 1 {
			s.Source = "measured"
		} else {
			s.Left, s.Dead = s.Left+14, 14
		}
		e.Sizes = append(e.Sizes, s)
	}
	return e, err
}

// runs are the runs of a job.
func runs(j wire.Job) []wire.Segment {
	if j.GPUs == 0 && !j.Ended {
		return nil
	}
	first := wire.Segment{Restarts: 0, Incarnation: 1, Place: nodes.Placement{{Node: "gpu001", GPUs: 1}}, GPUs: 1, Started: j.FirstRun, Ended: j.Started.Add(-30 * time.Second), DoneTo: j.Done / 4, Seconds: 240, Cause: "starts at its minimum of 1 GPU"}
	second := wire.Segment{Restarts: 1, Incarnation: 2, Place: j.Place, GPUs: max(1, j.GPUs), Started: j.Started, Ended: j.EndedAt, DoneFrom: j.Done / 4, DoneTo: j.Done, Seconds: j.Seconds, Cause: fmt.Sprintf("grows from 1 to %d GPUs: job 3990 has ended; done in 12 min instead of 48 min", j.GPUs), Price: j.Price}
	return []wire.Segment{first, second}
}

// History returns a job's runs.
func (d *Daemon) History(_ context.Context, id elastic.JobID) (wire.History, error) {
	j, err := d.find(id)
	return wire.History{Version: 1, At: Now, Job: j, Segments: runs(j)}, err
}

// Speeds returns measurements of two shapes.
func (d *Daemon) Speeds(_ context.Context, model string, _ *uint32) (wire.Speeds, error) {
	return wire.Speeds{Version: 1, At: Now, Model: model, Unit: "epoch", Measured: []wire.SpeedShape{{GPUs: 1, Nodes: 1, Split: []int{1}, Seconds: 240, Samples: 9}, {GPUs: 2, Nodes: 1, Split: []int{2}, Seconds: 135, Samples: 4}}}, d.fault()
}

func (d *Daemon) newer() error {
	if err := d.fault(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.NoNews
}

// Past returns jobs, or samples of the cluster, in pages of 1000.
func (d *Daemon) Past(_ context.Context, q client.PastQuery) (wire.Past, error) {
	p := wire.Past{Version: 1, At: Now, Of: q.Of, From: q.From, To: q.To, Kept: Now.AddDate(0, -1, 0), Own: d.Private}
	if err := d.newer(); err != nil {
		return p, err
	}
	if q.Of == wire.OfNodes {
		for at := q.From; at.Before(Now) && len(p.Clusters) < 200; at = at.Add(Now.Sub(q.From) / 200) {
			c := wire.PastCluster{At: at, Seconds: Now.Sub(q.From).Seconds() / 200, GPUs: 8 * d.Nodes, Used: 5*d.Nodes + len(p.Clusters)%(d.Nodes+1), Elastic: 4 * d.Nodes, Free: 2 * d.Nodes, Running: 9, Waiting: 3}
			for k := range d.Nodes {
				c.Nodes = append(c.Nodes, wire.PastNode{Name: d.node(k), GPUs: 8, Used: 5, Elastic: 4, Usable: k%17 != 5})
			}
			p.Clusters = append(p.Clusters, c)
		}
		return p, nil
	}
	from := 0
	_, _ = fmt.Sscan(q.Cursor, &from)
	all := d.all()
	for i, j := range all {
		if i < from {
			continue
		}
		if len(p.Jobs) == wire.PastRowsMost {
			p.Next = fmt.Sprint(i)
			break
		}
		p.Jobs = append(p.Jobs, past(j))
		if i%3 == 0 && j.GPUs > 0 { // one like it has ended
			was := j
			was.JobID, was.Ended, was.State, was.EndedAt = j.JobID-2000, true, "COMPLETED", Now.Add(-time.Duration(5+i%20)*time.Minute)
			p.Jobs = append(p.Jobs, past(was))
		}
	}
	return p, nil
}

func past(j wire.Job) wire.PastJob {
	out := wire.PastJob{JobID: j.JobID, Token: j.Token, Name: j.Name, User: j.User, UID: j.UID, Account: j.Account, Partition: j.Partition, Min: j.Min, Max: j.Max, Submitted: j.Submitted, FirstRun: j.FirstRun, EndedAt: j.EndedAt, Done: j.Done, Total: j.Total, Unit: j.Unit, Runs: runs(j)}
	if j.Ended {
		out.State = j.State
	}
	return out
}

func expected(j wire.Job) wire.Expected {
	e := wire.Expected{JobID: j.JobID, Name: j.Name, User: j.User, GPUs: j.GPUs, Ends: j.ETA, Sure: .8}
	if j.GPUs == 0 {
		e.Starts, e.Ends, e.Sure = Now.Add(40*time.Minute), Now.Add(100*time.Minute), .4
		e.Sizes = []wire.Expecting{{From: Now, To: e.Starts, Sure: .5}, {From: e.Starts, To: e.Ends, GPUs: 4, Nodes: 1, Sure: .4}}
	} else {
		middle := Now.Add(j.ETA.Sub(Now) / 2)
		e.Sizes = []wire.Expecting{{From: Now, To: middle, GPUs: j.GPUs, Nodes: 1, Sure: .9}, {From: middle, To: e.Ends, GPUs: min(8, j.GPUs+2), Nodes: 1, Sure: .6}}
	}
	e.Low, e.High = e.Ends.Add(-10*time.Minute), e.Ends.Add(25*time.Minute)
	return e
}

// Forecast returns what is expected.
func (d *Daemon) Forecast(context.Context) (wire.Forecast, error) {
	f := wire.Forecast{Version: 1, At: Now, Policy: "lookahead", Until: Now.Add(24 * time.Hour), Complete: true, Steps: 40}
	for _, j := range d.all() {
		f.Jobs = append(f.Jobs, expected(j))
	}
	return f, d.newer()
}

// WhatIf moves the ends of the changed job and of some others.
func (d *Daemon) WhatIf(_ context.Context, change wire.WhatIf) (wire.WhatIfAnswer, error) {
	if err := d.newer(); err != nil {
		return wire.WhatIfAnswer{}, err
	}
	d.Set(func(d *Daemon) { d.tried = append(d.tried, change) })
	a := wire.WhatIfAnswer{Version: 1, At: Now, Policy: "lookahead", Change: change, Before: 36_000, After: 34_000}
	for i, j := range d.all() {
		before := expected(j)
		after, later := before, 0.0
		switch {
		case j.JobID == change.JobID:
			later = -1800
		case i%5 == 2:
			later = 600
		}
		after.Ends = before.Ends.Add(time.Duration(later) * time.Second)
		a.Jobs = append(a.Jobs, wire.Difference{JobID: j.JobID, Name: j.Name, User: j.User, Before: before, After: after, Later: &later})
	}
	return a, nil
}
