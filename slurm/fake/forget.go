package fake

import (
	"maps"
	"slices"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// restarting is how long a slurmctld that was killed is down.
const restarting = 5 * time.Second

// unmissed is the maximum age of a run, counted from its start, for which a restarted
// slurmctld does not notice that the node does not have it: BatchStartTimeout + 10 s. It
// asks again after unregistered: twenty pings (MAX_REG_FREQUENCY in ping_nodes.c) of a
// third of SlurmdTimeout, 300 s.
const (
	unmissed     = 20 * time.Second
	unregistered = 33 * time.Minute
)

// Forgotten is the cause of a run that slurmctld ended because it had lost the record of
// starting it.
const Forgotten = "forgotten"

// memory is the saved state of slurmctld's jobs.
type memory struct {
	next slurm.JobID
	prio int64
	jobs []*job // the records themselves,
	as   []job  // and their saved contents
}

// Save stores the present state as slurmctld's saved state; a later Forget goes back to
// it.
func (f *Fake) Save() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.saved = f.remember()
}

// Forget kills slurmctld and starts it again 5 s later, or when a longer outage is over,
// from its last saved state. Jobs submitted since are gone and their numbers are given
// again; changes since are undone. A run on the nodes that the saved state does not
// contain is ended. A run that the saved state contains and the nodes do not have counts
// as lost with its node, at once or, if it had just begun, half an hour later. Without
// Save nothing happens.
func (f *Fake) Forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forgetSince(f.saved)
}

func (f *Fake) remember() *memory {
	m := &memory{next: f.nextID, prio: f.prio, jobs: slices.Clone(f.jobs)}
	for _, j := range f.jobs {
		c := *j
		c.split, c.cpusOn = slices.Clone(j.split), maps.Clone(j.cpusOn)
		m.as = append(m.as, c)
	}
	return m
}

func (f *Fake) forgetSince(m *memory) {
	if m == nil {
		return
	}
	f.logf("slurmctld killed")
	stopping := map[*job]bool{}
	for _, j := range f.jobs {
		stopping[j] = j.completing && j.state == slurm.Pending
	}
	f.recover = func() { f.restore(m, stopping) } // not before a longer outage is over: nothing ends without slurmctld
	f.down(restarting)
}

// restore replaces the present state by the saved one.
func (f *Fake) restore(m *memory, stopping map[*job]bool) {
	f.logf("slurmctld forgets what it had not saved")
	gone := slices.DeleteFunc(slices.Clone(f.jobs), func(j *job) bool { return slices.Contains(m.jobs, j) })
	for _, j := range append(slices.Clone(f.jobs), m.jobs...) {
		f.give(j) // empty the second time
	}
	for _, j := range gone {
		f.leaveOpen(j)
		f.abort(j)
		j.state, j.completing, j.next, j.end = slurm.Cancelled, false, nil, f.now
	}
	f.jobs, f.nextID, f.prio = slices.Clone(m.jobs), m.next, m.prio
	for i, j := range f.jobs {
		f.recall(j, m.as[i], stopping[j])
	}
	f.schedule()
}

// recall restores the job's record to its saved contents and makes the nodes agree with
// it. stopping is set if its run was being ended when slurmctld was killed.
func (f *Fake) recall(j *job, was job, stopping bool) {
	run, limit, drain := j.run, j.limitEv, j.drainEv
	same := was.run != nil && was.run == run && (!run.over || run.endUnreported) && was.state == slurm.Running
	if !same {
		f.abort(j)
		if limit != nil {
			limit.dead = true
		}
		if drain != nil {
			drain.dead = true
		}
	}
	split, cpus := was.split, was.cpusOn
	*j = was
	j.split, j.cpusOn = nil, nil
	switch {
	case same:
		f.logf("job %d recovered", j.id)
		j.limitEv = limit
		f.retake(j, split, cpus)
	case was.completing: // its nodes were cleaned up earlier
		j.completing = false
		if do := j.next; do != nil {
			j.next = nil
			do()
		}
	case was.state == slurm.Running && stopping: // the node reports how its script ended
		j.state, j.run, j.limitEv = slurm.Pending, nil, nil
		j.exitCode = 128 + int(syscall.SIGTERM)
		f.finish(j, slurm.Failed, Cause{What: Forgotten, By: "slurmctld"})
	case was.state == slurm.Running && f.now.Sub(was.start) < unmissed:
		j.limitEv = nil
		f.logf("job %d is believed to run", j.id)
		f.retake(j, split, cpus)
		f.after(unregistered, func() {
			if j.state == slurm.Running && j.run == was.run {
				f.lostRun(j)
			}
		})
	case was.state == slurm.Running: // no node has it any more
		j.state, j.run, j.limitEv = slurm.Pending, nil, nil
		f.lostRun(j)
	}
	if j.state.Ended() {
		f.after(f.cfg.MinJobAge, func() { f.forget(j) })
	}
	f.wakeAt(j)
}

// lostRun makes slurmctld find that no node runs a job that it believes to be running.
func (f *Fake) lostRun(j *job) {
	why := Cause{What: NodeFailed, By: "slurmctld"}
	if !j.requeue {
		f.finish(j, slurm.NodeFail, why)
		return
	}
	f.toQueue(j, why)
}

// abort ends the run of a job on its nodes.
func (f *Fake) abort(j *job) {
	if r := j.run; r != nil && !r.over {
		r.stop()
		j.program.Stop(r, Cause{What: Forgotten, By: "slurmctld"})
		f.logf("job %d aborted", j.id)
	}
	j.killed = f.now
}

// retake gives a running job its GPUs and CPUs again.
func (f *Fake) retake(j *job, split []slurm.GPUShare, cpus map[string]int) {
	j.split, j.cpusOn, j.from = split, cpus, f.now
	for _, s := range split {
		n := f.node(s.Node)
		for _, idx := range s.IDs {
			n.holder[idx] = j.id
		}
		n.cpus += cpus[s.Node]
	}
}
