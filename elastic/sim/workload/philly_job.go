package workload

import (
	"fmt"
	"slices"
	"time"
)

// phillyReader sums up a log.
type phillyReader struct {
	clusters []string
	jobs     int
	tally    sacctReader
}

// job adds one job to the history, or to what was skipped.
func (d *phillyReader) job(j phillyJob) error {
	d.jobs++
	if d.jobs > MaxJobs {
		return fmt.Errorf("more than %d jobs; cut the log", MaxJobs)
	}
	run, skip := j.run()
	if len(d.clusters) > 0 && !slices.Contains(d.clusters, j.Cluster) {
		skip = SkipPartition
	}
	if skip == "" && j.Submitted.IsZero() {
		return fmt.Errorf("job %q has no submitted_time", cut(j.ID))
	}
	switch skip {
	case "":
		run.line, run.state = d.jobs, j.Status
		return d.tally.keep(run)
	case SkipRunning:
		d.tally.open[run.record()] = run
		fallthrough
	default:
		d.tally.skipped[skip]++
	}
	return nil
}

// run makes one run of the job's attempts, or says why it cannot.
func (j phillyJob) run() (run dated, skip string) {
	run = dated{Run: Run{ID: j.ID, User: j.User, Account: j.Cluster, Partition: j.Cluster}, said: j.Submitted.Time, submit: j.Submitted.Time}
	longest, used := time.Duration(0), 0.0 // used in GPU-seconds
	for i, a := range j.Attempts {
		gpus, nodes := a.gpus()
		took := a.End.Sub(a.Start.Time)
		if last := i == len(j.Attempts)-1; last && !a.Start.IsZero() && a.End.IsZero() && gpus > 0 {
			run.start, run.GPUs, run.Nodes = a.Start.Time, gpus, nodes
			return run, SkipRunning
		}
		if a.Start.IsZero() || a.End.IsZero() || took <= 0 || gpus == 0 {
			continue
		}
		if run.start.IsZero() {
			run.start = a.Start.Time
		}
		if took > longest {
			longest, run.GPUs, run.Nodes = took, gpus, nodes
		}
		run.end, used = a.End.Time, used+took.Seconds()*float64(gpus)
	}
	if run.GPUs == 0 {
		return run, j.unstarted()
	}
	if run.start.Before(run.submit) { // clocks differ
		run.submit = run.start
	}
	run.Took = toDuration(used / float64(run.GPUs))
	return run, ""
}

// unstarted says why no attempt of a job counts.
func (j phillyJob) unstarted() string {
	started, gpus := false, false
	for _, a := range j.Attempts {
		n, _ := a.gpus()
		gpus = gpus || n > 0
		started = started || !a.Start.IsZero()
	}
	switch {
	case !started:
		return SkipUnstarted
	case !gpus:
		return SkipNoGPU
	}
	return SkipInstant
}
