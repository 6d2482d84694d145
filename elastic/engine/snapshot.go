package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// snapshot gathers everything the decision may depend on.
func (e *Engine) snapshot(v view, now time.Time) elastic.Snapshot {
	s := elastic.Snapshot{Now: now, By: e.cfg.By, Before: e.last.Now, Away: e.away, Began: e.began, Limits: e.cfg.Limits, Nodes: e.settled(e.well(inventory(v)), now)}
	s.Jobs = slices.Grow(s.Jobs, e.living())
	for _, js := range e.ordered() {
		if js.lives() {
			s.Jobs = append(s.Jobs, e.jobOf(js, now))
		}
	}
	s.Intents = slices.Clone(e.open)
	s = s.Lent()
	s.Due = slices.Concat(e.revivals(now), e.clearings(now), e.savings(now))
	var ordinary []slurm.Job
	for _, sj := range v.jobs {
		if js := e.byID[elastic.JobID(sj.ID)]; js != nil && js.seen && !js.disown {
			continue
		}
		ordinary = append(ordinary, sj)
		if tenant, ok := tenantOf(sj, now); ok {
			s.Tenants = append(s.Tenants, tenant)
		}
		if d, ok := demandOf(sj); ok {
			s.Demands = append(s.Demands, d)
		}
	}
	s.Others = e.others(ordinary, v.nodes)
	perNode(e.limits.Limits, s.Nodes)
	s.Caps = e.caps(v, &s)
	spread(&s)
	e.choose(&s, v)
	e.expect(&s)
	e.reserve(&s)
	e.edges(&s)
	e.depart(&s, v)
	e.bar(&s, v)
	return s
}

// lives reports whether decisions are about the job.
func (js *jobState) lives() bool { return js.rec.Ended.IsZero() && !js.disown }

func (e *Engine) living() (n int) {
	for _, js := range e.jobs {
		if js.lives() {
			n++
		}
	}
	return n
}

// expect settles what is expected of jobs where nothing is said of the kind of node, as far
// as the idleness of their GPUs does not speak against it.
func (e *Engine) expect(s *elastic.Snapshot) {
	s.Expect()
	for i := range s.Jobs {
		if js := e.byID[s.Jobs[i].ID]; js != nil {
			s.Jobs[i].Curve = js.doubted(s.Jobs[i].Curve)
		}
	}
}

// others counts, on each node, the GPUs of ordinary jobs. Slurm's list of jobs tells no
// split: 9 GPUs on three nodes of 4 may be 4+4+1 or 3+3+3. A job over several nodes counts
// evenly, but not for more than ordinary jobs were seen to use on the node in the last look,
// which came BEFORE this list; else a job that starts on what is left is taken back again
// and again.
func (e *Engine) others(ordinary []slurm.Job, all []slurm.Node) map[string]int {
	out, spread, whole := map[string]int{}, map[string]int{}, map[string]int{}
	for _, n := range all {
		whole[n.Name] = n.GPUs
	}
	for _, sj := range ordinary {
		countOthers(out, spread, whole, sj)
	}
	if len(spread) == 0 {
		return out
	}
	for _, n := range e.last.Foreign() {
		if more := min(spread[n.Name], n.Used-out[n.Name]); more > 0 {
			out[n.Name] += more
		}
	}
	return out
}

// countOthers adds what a job holds on each of its nodes for certain, and what more it would
// hold there if its GPUs were spread evenly.
func countOthers(certain, spread, whole map[string]int, sj slurm.Job) {
	if !onNodes(sj) || sj.Whole() < 1 {
		return
	}
	most, even := 0, (sj.Whole()+len(sj.Nodes)-1)/len(sj.Nodes)
	for _, n := range sj.Nodes {
		most += whole[n]
	}
	for _, n := range sj.Nodes {
		least := max(1, sj.Whole()-(most-whole[n]))
		certain[n] += least
		if even > least {
			spread[n] += even - least
		}
	}
}

// tenantOf is an ordinary job that has GPUs. While it is being cleaned away Slurm counts
// them as free already.
func tenantOf(sj slurm.Job, now time.Time) (elastic.Tenant, bool) {
	if !onNodes(sj) || sj.Completing || sj.Whole() < 1 {
		return elastic.Tenant{}, false
	}
	t := elastic.Tenant{ID: elastic.JobID(sj.ID), Type: sj.GPUType}
	for _, n := range sj.Nodes {
		t.Place = append(t.Place, nodes.Share{Node: n, GPUs: (sj.Whole() + len(sj.Nodes) - 1) / len(sj.Nodes)})
	}
	if sj.TimeLeft > 0 {
		t.Ends = now.Add(sj.TimeLeft)
	}
	return t, true
}

func inventory(v view) []nodes.Node {
	spanning := spans(v.jobs)
	out := make([]nodes.Node, 0, len(v.nodes))
	for _, n := range v.nodes {
		usable, state := n.Usable()
		why := nodes.Unusable{State: state}
		if !usable {
			why.Note = n.Reason
		}
		out = append(out, nodes.Node{
			Name: n.Name, Partitions: n.Partitions, Type: n.Kind(), Types: typesOf(n), GPUs: n.GPUs, Used: n.GPUsUsed,
			Usable: usable, Why: why, CPUs: n.CPUs, CPUsUsed: n.CPUsUsed, MemoryMB: n.MemoryMB, MemUsedMB: n.MemUsedMB,
			Spanning: spanning[n.Name],
		})
	}
	return out
}

// typesOf is a node's GPUs by type where it has several.
func typesOf(n slurm.Node) (out []nodes.OfType) {
	for _, t := range n.Types {
		out = append(out, nodes.OfType{Type: t.Type, GPUs: t.GPUs, Used: t.Used})
	}
	return out
}

// spans counts, per node, the jobs with GPUs that run on other nodes as well, be
// they sluice's or not. One that is being cleaned away is gone, as its GPUs are.
func spans(jobs []slurm.Job) map[string]int {
	out := map[string]int{}
	for _, sj := range jobs {
		if len(sj.Nodes) < 2 || sj.Whole() < 1 || sj.Completing || !onNodes(sj) {
			continue
		}
		for _, n := range sj.Nodes {
			out[n]++
		}
	}
	return out
}

// deafRest is how many grace periods a job that did not answer is left alone, and
// deafMost how often that doubles at most.
const deafRest, deafMost = 10, 6

// jobOf is one job as decisions see it.
func (e *Engine) jobOf(js *jobState, now time.Time) elastic.Job {
	r, sj := js.rec, js.slurm
	j := elastic.Job{
		ID: r.ID, Name: r.Name, User: r.User, UID: r.UID, Partition: e.openTo(js).Partition, Spec: r.Tag.Spec,
		Directive: r.Tag.Directive, Incarnation: r.Tag.Incarnation,
		Phase: phaseOf(sj), State: string(sj.State), Reason: sj.Reason, Restarts: sj.Restarts, Eligible: sj.Eligible, PassAsked: js.passAsked,
		Submitted: r.Submitted, Begun: r.FirstRun, Started: sj.Start, TimeLeft: sj.TimeLeft, TimeLimit: sj.TimeLimit,
		Speaks: r.Speaks || r.Tag.Spec.Signal != "", Deaf: r.Deaf, Done: r.Done,
		Curve: e.curveOf(r, now), MIG: js.gauged.mig, Ailing: js.ailing, Price: r.Price, Moved: r.Moved, Rest: later(js.rest, js.unheard),
		Asked: cmp.Or(r.Tag.Directive.Pin, r.Tag.Spec.Min), Attained: js.attained(now), Reached: js.course.reached, Stretch: e.stretchOf(r, now),
	}
	j.Billing = sj.Billing
	j.Promised, j.Licenses = r.Promised, slurm.LicenseNames(sj.Licenses)
	m := e.limits.Memory[sj.ID]
	j.Memory = elastic.Memory{PerNodeMB: m.PerNode, PerCPUMB: m.PerCPU, PerGPUMB: m.PerGPU}
	// A deaf job is asked again after a rest: disks get room, users repair. The rest
	// doubles each time, or one that saves for longer than it lasts would do nothing else.
	if rest := deafRest * e.cfg.Limits.Grace << min(max(0, r.Deaf-e.cfg.Limits.DeafAfter), deafMost); r.Deaf >= e.cfg.Limits.DeafAfter && now.Sub(r.Moved) > rest {
		j.Deaf = e.cfg.Limits.DeafAfter - 1
	}
	if j.Unproven = !e.proven(js); j.Unproven && j.Phase == elastic.Held && j.Directive.Pin == 0 {
		j.Grown, j.Spec = j.Spec, j.Spec.AtMinimum()
	}
	j.MaxNodes = j.Spec.Nodes
	j.Lingers, j.HeldBefore = e.lingers(js), js.waited
	j.UserHold = j.Phase == elastic.Running && sj.Held && !js.hold
	// While a job is being cleaned away Slurm counts its GPUs as free already,
	// so they must not be taken off what others use.
	if onNodes(sj) && !sj.Completing {
		j.Place = r.Place
	}
	if j.Phase == elastic.Held && sj.Reason == heldByAdmin && !r.Barred {
		j.Directive.Hold = true
	}
	j.Spoke, j.Unread, j.Quiet = js.runner.word.State != "", js.unreadSince(now), js.quietSince(now)
	if js.runner.ok {
		j.Heartbeat, j.Resumed, j.RunnerOf = js.runner.word.Beat, js.runner.word.Resumed, js.runner.word.Incarnation
		j.Choosing, j.RetryAt = js.runner.chooses(), js.retryAt(now)
		j.Rhythm = time.Duration(js.runner.word.Rhythm * float64(time.Second))
		j.SavesEvery = time.Duration(js.runner.word.Every * float64(time.Second))
		j.SaveCost = time.Duration(js.runner.word.Cost * float64(time.Second))
		if a := js.runner.word.Answer; a != nil {
			j.Saved = elastic.Saved{Request: a.Request, Checkpoint: a.Checkpoint, Error: a.Error, Committed: a.Committed}
		}
	}
	return j
}

// chooses reports whether a runner spoke that has yet to find the checkpoint to start from.
func (w runnerWord) chooses() bool {
	return w.ok && w.word.State == checkpoint.Starting && w.word.Resumed == ""
}

func phaseOf(sj slurm.Job) elastic.Phase {
	switch {
	case sj.Completing:
		return elastic.Completing
	case sj.State == slurm.Running:
		return elastic.Running
	case sj.State == slurm.Suspended:
		return elastic.Suspended
	case sj.State == slurm.Pending && sj.Held:
		return elastic.Held
	case sj.State == slurm.Pending:
		return elastic.Queued
	}
	return elastic.Ended
}

// waitsForGPUs lists the reasons under which an ordinary pending job would start
// if more GPUs were free.
var waitsForGPUs = map[string]bool{"": true, "None": true, "Resources": true, "Priority": true}

func demandOf(sj slurm.Job) (elastic.Demand, bool) {
	if sj.State != slurm.Pending || sj.Held || sj.Completing || sj.Whole() < 1 || !waitsForGPUs[sj.Reason] {
		return elastic.Demand{}, false
	}
	return elastic.Demand{
		ID: elastic.JobID(sj.ID), Partition: sj.Partition, Nodes: max(1, sj.NodeCount), GPUs: sj.Whole(), Type: sj.GPUType,
	}, true
}
