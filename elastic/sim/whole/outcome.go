package whole

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// outcome sums up from the records of Slurm, the programs and the journal.
func (s *site) outcome(w workload.Workload) (Outcome, error) {
	held := map[slurm.JobID][]fake.Allocation{}
	for _, a := range s.w.Slurm.Allocations() {
		held[a.Job] = append(held[a.Job], a)
	}
	ends := map[slurm.JobID]time.Time{}
	for _, e := range s.w.Slurm.Ends() {
		ends[e.Job] = e.At
	}
	out := Outcome{Abandoned: s.abandoned, Result: replay.Result{
		Policy: s.cfg.Policy.Name, Workload: w.Name, Seed: w.Seed, Info: s.cfg.Info, Note: w.Note,
		Rounds: s.rounds, Decisions: s.decisions,
	}}
	for _, j := range s.jobs {
		id := j.trainer.ID()
		r := s.jobResult(j, held[id])
		r.End = ends[id].Sub(s.begin)
		out.Jobs = append(out.Jobs, r)
		out.Restarts += r.Restarts
		out.Useful += r.Useful
		out.Restarting += r.Restarting
		out.Makespan = max(out.Makespan, r.End-s.jobs[0].Submit)
	}
	capacity := 0
	for _, n := range s.cfg.Nodes {
		capacity += n.GPUs
	}
	out.Idle = max(0, float64(capacity)*out.Makespan.Seconds()-out.Useful-out.Restarting)
	if s.spread.n > 0 {
		out.Fragmentation = s.spread.sum / s.spread.n
	}
	if err := s.prices(&out); err != nil {
		return Outcome{}, err
	}
	return out, s.tellEvents()
}

// jobResult is what one job had: GPUs as Slurm counts them, training as its
// program does.
func (s *site) jobResult(j job, held []fake.Allocation) replay.JobResult {
	runs := j.trainer.Runs()
	r := replay.JobResult{
		Name: j.Name, Submit: j.Submit, Start: -1, Deadline: j.Deadline, Restarts: max(0, len(runs)-1),
	}
	for _, a := range held {
		if from := a.From.Sub(s.begin); r.Start < 0 || from < r.Start {
			r.Start = from
		}
		r.Restarting += float64(a.GPUs) * a.To.Sub(a.From).Seconds()
	}
	for _, run := range runs {
		split, gpus := sizes(run)
		for _, work := range run.Work {
			r.Useful += float64(gpus) * (work.To - work.From) * j.Speeds.Seconds(split)
		}
	}
	r.Restarting = max(0, r.Restarting-r.Useful)
	return r
}

func sizes(run world.RunRecord) (split []int, gpus int) {
	for _, share := range run.Split {
		split, gpus = append(split, share.GPUs), gpus+share.GPUs
	}
	return split, gpus
}

// prices averages what the engine measured of the moves.
func (s *site) prices(out *Outcome) error {
	var sum elastic.Price
	for _, j := range s.jobs {
		segments, err := s.journal.Segments(context.Background(), j.trainer.Token)
		if err != nil {
			return err
		}
		for _, seg := range segments {
			if p := seg.Price; p.Drain > 0 {
				sum.Save, sum.Drain, sum.Start, sum.Load = sum.Save+p.Save, sum.Drain+p.Drain, sum.Start+p.Start, sum.Load+p.Load
				out.Moves++
			}
		}
	}
	if n := time.Duration(out.Moves); n > 0 {
		out.Price = elastic.Price{Save: sum.Save / n, Drain: sum.Drain / n, Start: sum.Start / n, Load: sum.Load / n, Measured: out.Moves}
	}
	return nil
}

// tellEvents reports what happened, in order of time.
func (s *site) tellEvents() error {
	if s.cfg.Events == nil {
		return nil
	}
	var all []replay.Event
	for i, j := range s.jobs {
		own, err := s.eventsOf(i, j)
		if err != nil {
			return err
		}
		all = append(all, own...)
	}
	slices.SortStableFunc(all, func(a, b replay.Event) int { return cmp.Compare(a.At, b.At) })
	for _, e := range all {
		s.cfg.Events(e)
	}
	return nil
}

// eventsOf is one job's story: its submit, its runs and its end.
func (s *site) eventsOf(index int, j job) ([]replay.Event, error) {
	segments, err := s.journal.Segments(context.Background(), j.trainer.Token)
	if err != nil {
		return nil, err
	}
	causes := map[int]reason.Reason{}
	for _, seg := range segments {
		causes[seg.Restarts] = seg.Cause
	}
	out := []replay.Event{{At: j.Submit, Job: index, Name: j.Name, Kind: "submit"}}
	tell := func(at time.Time, kind string, from, to nodes.Placement, why reason.Reason) {
		out = append(out, replay.Event{At: at.Sub(s.begin), Job: index, Name: j.Name, Kind: kind, From: from, To: to, Why: why, Moment: at})
	}
	var at nodes.Placement
	for _, run := range j.trainer.Runs() {
		to := place(run)
		tell(run.Began, kindOf(at, to), at, to, causes[run.Restarts])
		at = to
		switch {
		case run.Ended.IsZero():
		case run.Why == (fake.Cause{}):
			tell(run.Ended, "end", at, nil, nil)
		case s.parked(j, run):
			tell(run.Ended, "stop", at, nil, nil)
			at = nil
		}
	}
	return out, nil
}

// kindOf is what a replay calls a change of place.
func kindOf(from, to nodes.Placement) string {
	switch {
	case len(from) == 0:
		return "start"
	case from.GPUs() != to.GPUs():
		return "resize"
	}
	return "move"
}

// parked reports whether the run was stopped for its job to wait again.
func (s *site) parked(j job, run world.RunRecord) bool {
	return slices.ContainsFunc(s.parks[elastic.JobID(j.trainer.ID())], func(t time.Time) bool {
		return !t.Before(run.Began) && !t.After(run.Ended)
	})
}

func place(run world.RunRecord) nodes.Placement {
	var p nodes.Placement
	for _, share := range run.Split {
		p = append(p, nodes.Share{Node: share.Node, GPUs: share.GPUs})
	}
	return p
}
