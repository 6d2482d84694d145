package engine

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/say"
	"github.com/sluice-hpc/sluice/slurm"
)

// What Slurm refused is forgotten with the daemon: after a restart each job is tried once
// at once, which is harmless.

// noteRefused notes that Slurm would not take what a move wrote, and why.
func (e *Engine) noteRefused(in elastic.Intent, why reason.Reason, blameless bool, now time.Time) {
	js := e.byID[in.Job]
	if js == nil {
		return
	}
	r, again := &js.refused, time.Time{}
	and := elastic.Refusals.And
	if blameless {
		and = elastic.Refusals.AndNoNodes
	}
	if in.Kind == elastic.Resize && in.Fallbacks == 0 {
		r.Resize, r.From = and(r.Resize, in.Target, why, now), in.From
		again = r.ResizeAgain()
	} else {
		r.Start = and(r.Start, in.Target, why, now)
		again = r.StartAgain()
	}
	js.asked = askedOf(js)
	e.event(now, in.Job, "problem", fmt.Sprintf("Slurm does not take %s (%s); the next try is not before %s", in.Target, say.Reason(why, now), again.Format(time.TimeOnly)))
}

// mostFallen is how many moves in a row may come to nothing before the next one waits as
// after a refusal: others may be faster twice, but whatever keeps a job from starting three
// times is not over at once.
const mostFallen = 3

// noteFallen notes that a move did not bring its job to run.
func (e *Engine) noteFallen(js *jobState, in elastic.Intent, why reason.Reason, now time.Time) {
	if !js.silent.IsZero() {
		return // its folder is what failed
	}
	if js.fell++; js.fell < mostFallen || phaseOf(js.slurm) == elastic.Running {
		return
	}
	js.refused.Start = js.refused.Start.And(in.Target, why, now)
	js.asked = askedOf(js)
	e.event(now, in.Job, "problem", fmt.Sprintf("it did not start, %d times in a row; the next try is not before %s",
		js.fell, js.refused.StartAgain().Format(time.TimeOnly)))
}

// nextTry is when the first of the jobs that wait after a refusal, for their begin time or for
// other jobs is due, or of those that run is to save before its end; at the latest the time given.
func (e *Engine) nextTry(now, latest time.Time) time.Time {
	for _, js := range e.jobs {
		if at := js.refused.StartAgain(); at.After(now) && at.Before(latest) && js.rec.Ended.IsZero() {
			latest = at
		}
		if c := js.blocked.Code; (c == elastic.Depends || c == elastic.Obstructed || c == elastic.Unreachable) && now.Add(dependPeriod).Before(latest) {
			latest = now.Add(dependPeriod)
		}
		if at := js.rest; at.After(now) && at.Before(latest) && js.rec.Ended.IsZero() && js.slurm.State == slurm.Pending {
			latest = at
		}
		if at := e.savesAt(js, now); at.After(now) && at.Before(latest) {
			latest = at
		}
		if at := js.blocked.Until; at.After(now) && at.Before(latest) {
			latest = at
		}
	}
	return latest
}

// refusedCaps tells decisions what Slurm refused each job lately, and what it may have so
// long.
func (e *Engine) refusedCaps(s *elastic.Snapshot) []elastic.Cap {
	var out []elastic.Cap
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if js := e.byID[j.ID]; js != nil {
			js.refused.Idle = js.refused.Start.Times+js.refused.Obstacle.Times > 0 && idle(s, j)
			j.Refused = js.refused
		}
		if c, ok := j.RefusedCap(s.Now); ok {
			out = append(out, c)
		}
	}
	return out
}

// idle reports whether as many GPUs as the job needs at least are idle in its partitions.
func idle(s *elastic.Snapshot, j *elastic.Job) bool {
	free := 0
	for _, n := range s.Nodes {
		if n.InAny(j.Partition) {
			free += n.FreeOf(j.Spec.Type())
		}
	}
	return free >= max(j.Spec.Min, j.Directive.Pin)
}

// shun has a job tried on other nodes of its partitions than those on which Slurm would
// not start it, as long as there are any.
func (c *chooser) shun(j *elastic.Job) {
	shunned := map[string]bool{}
	for _, node := range j.Refused.Shuns(c.s.Now) {
		shunned[node] = true
	}
	if len(shunned) == 0 || j.Phase != elastic.Held {
		return
	}
	var names []string
	for _, p := range strings.Split(j.Partition, ",") {
		if name, in := c.narrow(p, func(node string, _ []string) bool { return !shunned[node] }); len(in) > 0 {
			names = append(names, name)
		}
	}
	if others := strings.Join(names, ","); others != "" && others != j.Partition {
		j.Partition = others
		j.Kept = reason.Join(j.Kept, reason.OthersFirst{Nodes: slurm.Compress(j.Refused.Start.Nodes)})
	}
}

// asked is what its user asks of Slurm, as far as sluice reads it and does not write it.
type asked struct {
	wish
	partition, account, qos, licenses string
	limit                             time.Duration
}

func askedOf(js *jobState) asked {
	sj := js.slurm
	return asked{wish{constraint: sj.Constraint, excluded: strings.Join(sj.ExcNodes, ",")}, js.rec.Partition, sj.Account, sj.QOS, sj.Licenses, sj.TimeLimit}
}

// ground is what Slurm judges requests by, whatever runs.
type ground struct {
	nodes      []slurm.Node // as configured
	partitions []slurm.Partition
}

func (e *Engine) groundOf(v view) *ground {
	g := &ground{partitions: e.limits.Partitions}
	for _, n := range v.nodes {
		g.nodes = append(g.nodes, slurm.Node{Name: n.Name, Partitions: n.Partitions, GPUs: n.GPUs, GPUType: n.GPUType, Types: configured(n.Types), CPUs: n.CPUs, MemoryMB: n.MemoryMB, Features: n.Features})
	}
	return g
}

func configured(types []slurm.OfType) []slurm.OfType {
	out := slices.Clone(types)
	for i := range out {
		out[i].Used = 0
	}
	return out
}

// reconsider forgets refusals that stand no more: of a job that runs, that was released or
// changed by its user, and of all once nodes or partitions are others than they were.
func (e *Engine) reconsider(v view) {
	var refused []*jobState
	for _, js := range e.jobs {
		r := &js.refused
		phase := phaseOf(js.slurm)
		released := phase == elastic.Queued && !e.moves(js.rec.ID)
		switch {
		case !js.rec.Ended.IsZero():
			*r = elastic.Refused{}
		case !js.seen:
		case askedOf(js) != js.asked:
			*r = elastic.Refused{}
		case phase == elastic.Running || released:
			r.Start, r.Obstacle, js.fell = elastic.Refusals{}, elastic.Refusals{}, 0
		}
		if r.Start.Times+r.Resize.Times+r.Obstacle.Times > 0 {
			refused = append(refused, js)
		}
	}
	if len(refused) == 0 {
		e.ground = nil
		return
	}
	was, is := e.ground, e.groundOf(v)
	if e.ground = is; was == nil || reflect.DeepEqual(was, is) {
		return
	}
	for _, js := range refused {
		js.refused = elastic.Refused{}
	}
}
