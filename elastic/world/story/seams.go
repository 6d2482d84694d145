package story

import (
	"context"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/slurm"
)

// crashed is the panic value of an effect at which the daemon is killed.
type crashed struct {
	at    string
	power bool
}

// cross is called for every effect of the daemon. It runs effect unless the daemon is killed before.
func (d *daemon) cross(name string, effect func() error) error {
	d.effects++
	n := d.effects
	for _, a := range d.strikes[n] {
		if !d.play.letting { // after letGo there are no more acts
			d.play.do(a)
		}
	}
	kill, dies := d.kills[n]
	if dies {
		d.play.out.Struck = append(d.play.out.Struck, n == d.began+1)
	}
	if dies && kill.Power {
		d.losePower(name, effect)
	}
	if dies && !kill.After {
		panic(crashed{at: name})
	}
	err := effect()
	if dies {
		panic(crashed{at: name})
	}
	return err
}

// Cross is called for every effect, and decides whether to run it.
type Cross func(name string, effect func() error) error

// CountSlurm returns a client that calls x for every change, and not for reads.
func CountSlurm(c slurm.Client, x Cross) slurm.Client { return slurmSeam{c, x} }

// CountMail returns a mailbox that calls x for every write.
func CountMail(m observe.Mailbox, x Cross) observe.Mailbox { return mailSeam{m, x} }

// The engine's seams with cross around every effect.
type (
	slurmSeam struct {
		slurm.Client
		cross Cross
	}
	mailSeam struct {
		observe.Mailbox
		cross Cross
	}
	journalSeam struct {
		Journal
		d *daemon
	}
)

// Signal crosses as "signal". The batch flag is not in the name: both kinds are one effect.
func (c slurmSeam) Signal(ctx context.Context, id slurm.JobID, sig string, batch bool) error {
	return c.cross("signal", func() error { return c.Client.Signal(ctx, id, sig, batch) })
}

// RequeueRunning crosses as "requeue": a kill after it leaves a stopped run with an open move.
func (c slurmSeam) RequeueRunning(ctx context.Context, id slurm.JobID) error {
	return c.cross("requeue", func() error { return c.Client.RequeueRunning(ctx, id) })
}

// RequeueFailed crosses as "revive".
func (c slurmSeam) RequeueFailed(ctx context.Context, id slurm.JobID) error {
	return c.cross("revive", func() error { return c.Client.RequeueFailed(ctx, id) })
}

// RequeueLingering crosses as "clear". It cancels and requeues, and no kill comes between the two
// here.
func (c slurmSeam) RequeueLingering(ctx context.Context, id slurm.JobID) error {
	return c.cross("clear", func() error { return c.Client.RequeueLingering(ctx, id) })
}

// Cancel crosses as "cancel".
func (c slurmSeam) Cancel(ctx context.Context, id slurm.JobID) error {
	return c.cross("cancel", func() error { return c.Client.Cancel(ctx, id) })
}

// Defer crosses as "defer": a kill before it leaves a begin time that may pass.
func (c slurmSeam) Defer(ctx context.Context, id slurm.JobID, until time.Time) error {
	return c.cross("defer", func() error { return c.Client.Defer(ctx, id, until) })
}

// Start crosses as "start", StartFirst too: to the daemon they are one effect.
func (c slurmSeam) Start(ctx context.Context, id slurm.JobID) error {
	return c.cross("start", func() error { return c.Client.Start(ctx, id) })
}

// StartFirst crosses as "start".
func (c slurmSeam) StartFirst(ctx context.Context, id slurm.JobID) error {
	return c.cross("start", func() error { return c.Client.StartFirst(ctx, id) })
}

// Update crosses as "update": all fields of one Update, in one call of Slurm.
func (c slurmSeam) Update(ctx context.Context, id slurm.JobID, u slurm.Update) error {
	return c.cross("update", func() error { return c.Client.Update(ctx, id, u) })
}

// Hold crosses as "hold".
func (c slurmSeam) Hold(ctx context.Context, id slurm.JobID) error {
	return c.cross("hold", func() error { return c.Client.Hold(ctx, id) })
}

// Release crosses as "release".
func (c slurmSeam) Release(ctx context.Context, id slurm.JobID) error {
	return c.cross("release", func() error { return c.Client.Release(ctx, id) })
}

// RequestPass crosses as "pass": it changes nothing of the job, but a daemon can die there too.
func (c slurmSeam) RequestPass(ctx context.Context, id slurm.JobID) error {
	return c.cross("pass", func() error { return c.Client.RequestPass(ctx, id) })
}

// Ask crosses as "ask": a kill after it leaves a request that the next daemon knows from its
// journal.
func (c mailSeam) Ask(token string, r checkpoint.Request) error {
	return c.cross("ask", func() error { return c.Mailbox.Ask(token, r) })
}

// Withdraw crosses as "withdraw", also where there is no request.
func (c mailSeam) Withdraw(token string) error {
	return c.cross("withdraw", func() error { return c.Mailbox.Withdraw(token) })
}

// Aim crosses as "aim".
func (c mailSeam) Aim(token string, t checkpoint.Target) error {
	return c.cross("aim", func() error { return c.Mailbox.Aim(token, t) })
}

// Forget crosses as "forget".
func (c mailSeam) Forget(token string) error {
	return c.cross("forget", func() error { return c.Mailbox.Forget(token) })
}

// write runs a write of the journal, on a disk that may return errors.
func (c journalSeam) write(name string, effect func() error) error {
	return c.d.cross(name, func() error {
		if err := c.d.refuses("store"); err != nil {
			return err
		}
		return effect()
	})
}

// Intend crosses as "intend": a kill before it loses the plan, a kill after it leaves moves to go
// on with.
func (c journalSeam) Intend(ctx context.Context, ins []elastic.Intent) (out []elastic.Intent, err error) {
	err = c.write("intend", func() error { out, err = c.Journal.Intend(ctx, ins); return err })
	return out, err
}

// Advance crosses as "advance".
func (c journalSeam) Advance(ctx context.Context, in elastic.Intent) error {
	return c.write("advance", func() error { return c.Journal.Advance(ctx, in) })
}

// Close crosses as "close".
func (c journalSeam) Close(ctx context.Context, in elastic.Intent, how elastic.Outcome, why reason.Reason, at time.Time) error {
	return c.write("close", func() error { return c.Journal.Close(ctx, in, how, why, at) })
}

// SaveJobs crosses as "savejobs", all records at once.
func (c journalSeam) SaveJobs(ctx context.Context, r []journal.JobRecord) error {
	return c.write("savejobs", func() error { return c.Journal.SaveJobs(ctx, r) })
}

// SaveSegments crosses as "savesegments".
func (c journalSeam) SaveSegments(ctx context.Context, s []journal.Segment) error {
	return c.write("savesegments", func() error { return c.Journal.SaveSegments(ctx, s) })
}

// SaveHealth crosses as "savehealth".
func (c journalSeam) SaveHealth(ctx context.Context, h elastic.Health) error {
	return c.write("savehealth", func() error { return c.Journal.SaveHealth(ctx, h) })
}

// SaveAnswers crosses as "saveanswers".
func (c journalSeam) SaveAnswers(ctx context.Context, a []journal.Answer) error {
	return c.write("saveanswers", func() error { return c.Journal.SaveAnswers(ctx, a) })
}

// SaveCredits crosses as "savecredits".
func (c journalSeam) SaveCredits(ctx context.Context, all []journal.Credit) error {
	return c.write("savecredits", func() error { return c.Journal.SaveCredits(ctx, all) })
}

// AddSamples crosses as "addsamples": the store of speeds is on the same disk as the journal.
func (c journalSeam) AddSamples(ctx context.Context, model string, s []speed.Sample) error {
	return c.write("addsamples", func() error { return c.Journal.AddSamples(ctx, model, s) })
}
