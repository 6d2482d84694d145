package story

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/slurm"
)

// meddlings are actions on one job outside of sluice.
var meddlings = []string{
	"user cancels", "user holds", "user releases", "user requeues", "user requeueholds", "user resizes",
	"user removes the comment", "user breaks the comment", "operator holds", "late word", "strands",
	"sluice pins", "sluice holds", "sluice releases",
}

// doings has, by name, what an act does to a job. Each reports whether anything was done.
var doings = map[string]func(p *play, a Act, job *world.Trainer) bool{
	"user cancels": func(p *play, a Act, job *world.Trainer) bool {
		ok := p.user(a).Cancel(p.ctx, job.ID()) == nil
		p.cancelled[a.Job] = p.cancelled[a.Job] || ok
		return ok
	},
	"user holds": func(p *play, a Act, job *world.Trainer) bool {
		p.held[a.Job] = true
		return p.user(a).Hold(p.ctx, job.ID()) == nil
	},
	"user releases": func(p *play, a Act, job *world.Trainer) bool { return p.user(a).Release(p.ctx, job.ID()) == nil },
	"user requeues": func(p *play, a Act, job *world.Trainer) bool { return p.user(a).Requeue(p.ctx, job.ID()) == nil },
	"user requeueholds": func(p *play, a Act, job *world.Trainer) bool {
		p.held[a.Job] = true
		return p.user(a).RequeueHold(p.ctx, job.ID()) == nil
	},
	"user resizes": func(p *play, a Act, job *world.Trainer) bool {
		u := slurm.Update{AnyNodes: true, NodeCount: 1, GPUsPerNode: a.GPUs, CPUs: 1, StartAfter: time.Second}
		return p.user(a).Update(p.ctx, job.ID(), u) == nil
	},
	"user removes the comment": func(p *play, a Act, job *world.Trainer) bool {
		p.held[a.Job], p.left[a.Job] = true, true
		return p.comments(a, job, "mine")
	},
	"user breaks the comment": func(p *play, a Act, job *world.Trainer) bool {
		p.held[a.Job], p.torn[a.Job] = true, true
		return p.comments(a, job, "sluice/1 min=x")
	},
	"operator holds": func(p *play, a Act, job *world.Trainer) bool {
		p.held[a.Job] = true
		return p.w.User("root").AdminHold(p.ctx, job.ID()) == nil
	},
	"late word": func(p *play, a Act, job *world.Trainer) bool {
		p.killed[a.Job] = true
		job.Die(137)
		return true
	},
	"strands": func(p *play, a Act, job *world.Trainer) bool {
		p.stranded[a.Job] = true
		job.Strand()
		return true
	},
	"sluice pins": func(p *play, a Act, job *world.Trainer) bool {
		return p.orders(job, func(d elastic.Directive) elastic.Directive { d.Pin = a.GPUs; return d })
	},
	"sluice holds": func(p *play, a Act, job *world.Trainer) bool {
		p.held[a.Job] = true
		return p.orders(job, func(d elastic.Directive) elastic.Directive { d.Hold = true; return d })
	},
	"progress is scribbled on": func(_ *play, a Act, job *world.Trainer) bool {
		job.Scribble(scribbles(a.Way)...)
		return true
	},
	"progress is replaced": func(_ *play, _ Act, job *world.Trainer) bool {
		job.Rewrite()
		return true
	},
	"runner is garbled": func(_ *play, a Act, job *world.Trainer) bool {
		job.Garble(pick(garbles, a.Way))
		return true
	},
	"checkpoint is spoiled": func(p *play, a Act, job *world.Trainer) bool {
		done, err := job.Spoil(a.Way)
		if err != nil {
			p.broken("a checkpoint could not be spoiled: %v", err)
		}
		return done
	},
	"sluice releases": func(p *play, _ Act, job *world.Trainer) bool { return p.lets(job) },
}

// atTheEdge is an ordinary job in the edge pool.
const atTheEdge = "ordinary at the edge"

// do carries out an act.
func (p *play) do(a Act) {
	done := true
	switch a.What {
	case "ordinary":
		p.w.Ordinary("carol", 1, a.GPUs, a.For)
	case atTheEdge:
		p.w.Ordinary("carol", 1, a.GPUs, a.For, "--partition="+edgePool)
	case "node fails":
		p.w.Slurm.NodeDown(a.Node, "a story")
	case "node is drained":
		p.w.Slurm.Drain(a.Node, "a story")
	case "node returns":
		p.w.Slurm.NodeReturn(a.Node)
	case "daemon is stopped":
		p.d.dies(false, a.For)
	case "clock is set":
		p.d.offset += a.For
	case "journal is copied", "copy is put back", "journal is lost":
		p.swap(a.What)
	case "second daemon":
		p.another(a)
	case "configuration is reloaded":
		p.d.retune(a.Way)
	case "stranger":
		p.stranger(a)
	case "power fails":
		p.powerFails(a)
	case ruleIsSet:
		p.sets(a)
	case reserved:
		p.reserves(a)
	case "store is corrupted", "store is cut off", "store is half lost", "store is newer":
		done = p.hurt(a)
	default:
		job := p.jobs[a.Job]
		done = job != nil && doings[a.What](p, a, job)
	}
	if done {
		p.did(a.What)
	}
	p.note("%s job=%d %s: %t", a.What, a.Job, a.Node, done)
}

// swap stops the daemon and replaces or removes its journal.
func (p *play) swap(what string) {
	p.d.dies(false, again)
	if p.mend(); what != "journal is copied" {
		p.d.stood = nil
	}
	err := map[string]func() error{
		"journal is copied": p.d.shelf.Copy, "copy is put back": p.d.shelf.PutBack, "journal is lost": p.d.shelf.Lose,
	}[what]()
	if err != nil {
		p.broken("%s: %v", what, err)
	}
}

// another starts a second daemon beside the first. On the same store it is refused; on a copy of the
// journal the two share only Slurm.
func (p *play) another(a Act) {
	if p.d.now == nil {
		return // no first daemon runs
	}
	j, err := p.d.shelf.Second(p.w.Now())
	switch {
	case err == nil && p.onDisk:
		p.broken("F16 a second daemon was let in")
	case err == nil:
		p.w.Records.SecondStarts(p.w.Now())
		p.d.secondUntil = p.w.Now().Add(a.For)
		p.d.second = p.d.engine(j, func(c *engine.Config) {
			c.Slurm, c.Events, c.By = datedSeam{p.w.Client.Named(world.Second), p.d, true}, p.secondEvent, "second"
		})
	}
}

// comments writes the job's comment as its user.
func (p *play) comments(a Act, job *world.Trainer, text string) bool {
	return p.user(a).Update(p.ctx, job.ID(), slurm.Update{Comment: &text}) == nil
}

// orders changes a job's directive through sluice.
func (p *play) orders(job *world.Trainer, change func(elastic.Directive) elastic.Directive) (done bool) {
	p.d.living(func() {
		done = p.d.now != nil && p.d.now.Direct(p.ctx, elastic.JobID(job.ID()), change) == nil
	})
	return done
}

// lets lifts sluice's hold and pin.
func (p *play) lets(job *world.Trainer) bool {
	return p.orders(job, func(elastic.Directive) elastic.Directive { return elastic.Directive{} })
}

// letGo releases all jobs that users hold and repairs all nodes, once all acts are over.
func (p *play) letGo() {
	if p.insisting > 0 {
		p.w.At(p.now()+time.Minute, func() { p.insist(p.letGo) })
		return
	}
	if p.letting = true; len(p.rules) > 0 {
		p.rules = nil
		p.enforce()
	}
	again := false
	for i := range p.s.Nodes {
		node := fmt.Sprintf("gpu%d", i+1)
		p.w.Slurm.NodeReturn(node)
		if !p.d.inCycle { // two users that report it exclude a node for good
			p.d.living(func() { // it may be killed by that
				if e := p.d.now; e != nil {
					_ = e.Trust(p.ctx, node, p.w.Now().Add(p.d.offset))
				}
			})
		}
	}
	for i, job := range p.jobs {
		if job != nil && (p.unmanaged(i) || p.misdated(i)) { // sluice says when it begins, and its user starts it
			_ = p.w.User(p.s.Jobs[i].User).Update(p.ctx, job.ID(), slurm.Update{StartAfter: time.Second})
		}
		if job == nil || !p.held[i] && !(p.stranded[i] && p.exempt(i)) && !p.s.forgetful() && !p.s.has("second daemon") {
			continue
		}
		if p.stranded[i] && p.exempt(i) && !p.succeeded(i) { // sluice does not manage it
			_ = p.w.User("root").Cancel(p.ctx, job.ID())
		}
		again = !p.lets(job) && !job.Ended() || again
		_ = p.w.User("root").Release(p.ctx, job.ID())
		p.note("somebody lets go of job %d", i)
	}
	if p.lettings++; again && p.lettings < 5 { // sluiced was down, or did not know of the requeue yet
		p.w.At(p.now()+time.Minute, func() { p.insist(p.letGo) })
	}
}

// submit submits a job.
func (p *play) submit(i int) {
	j := p.s.Jobs[i]
	m := behaviour(j.Manner)
	p.handed[i] = p.now()
	var due time.Time
	if j.Due > 0 {
		due = p.w.Now().Add(j.Due).Truncate(time.Second)
	}
	var args []string
	if j.Edge {
		args = append(args, "--partition=gpu,"+edgePool)
	}
	p.jobs[i] = p.w.Submit(world.Job{
		Args: append(args, j.asks()...), User: j.User, Name: fmt.Sprintf("job%d", i), Behaviour: m.is, Every: j.Every, Save: j.Save, Load: j.Load, Limit: j.Limit,
		Model: world.Amdahl(j.Seconds, j.Serial),
		Spec: elastic.Spec{
			Min: j.Min, Max: j.Max, Total: j.Total, AllowUneven: j.Uneven, Signal: j.Signal, Habit: j.Habit,
			Deadline: due, Soft: j.Due > 0,
		},
	})
	if j.Manner != "" {
		p.did("job " + j.Manner)
	}
	p.note("job %d is Slurm's %d", i, p.jobs[i].ID())
}

// handIn is insist for a submission: it also waits until the partition accepts jobs.
func (p *play) handIn(do func()) {
	p.insist(func() {
		if !p.shut {
			do()
			return
		}
		p.insisting++
		p.w.At(p.now()+15*time.Second, func() { p.insisting--; p.handIn(do) })
	})
}

// insist does something now, or as soon as slurmctld answers, as a user who tries again.
func (p *play) insist(do func()) {
	if !p.answers() {
		p.insisting++
		p.w.At(p.now()+15*time.Second, func() { p.insisting--; p.insist(do) })
		return
	}
	do()
}

// answers reports whether slurmctld answers users now.
func (p *play) answers() bool {
	if p.w.Now().Before(p.w.Slurm.DownUntil()) {
		return false // slurmctld is down
	}
	_, err := p.w.User("root").Jobs(context.Background())
	return err == nil
}
