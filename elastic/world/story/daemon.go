package story

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/track"
	"github.com/sluice-hpc/sluice/elastic/policy"
)

// again is how long the service manager takes to restart a daemon that died.
const again = 2 * time.Second

// daemon is sluiced. It is killed at effects and restarted with nothing but its journal; its clock may
// be wrong, and there may be a second daemon.
type daemon struct {
	play    *play
	shelf   Shelf
	journal Journal
	now     *engine.Engine // nil while it does not run
	away    time.Time      // when it starts again
	offset  time.Duration  // of its clock

	second      *engine.Engine
	secondUntil time.Time
	dates       dates // of both

	stood   []string               // acceptable contents of the journal at its next opening; nil = any
	damaged bool                   // the store was damaged since it was opened
	newer   time.Time              // until then the store is one of a newer version
	tunes   []func(*engine.Config) // the reloaded changes of the configuration
	reload  bool                   // reload after this cycle
	inCycle bool

	looked time.Time  // when it last saw Slurm
	unseen []interval // times without an observation in which Slurm may purge ended jobs

	effects int
	began   int // effects before this cycle
	kills   map[int]Kill
	strikes map[int][]Act
	refused map[int]int // operations in each window
}

func (d *daemon) birth() error {
	if err := d.refuses("store"); err != nil {
		return err
	}
	j, notices, err := d.shelf.Open(d.play.w.Now())
	if err != nil {
		return err
	}
	d.journal = j
	d.expected(notices)
	d.play.starts(notices)
	d.now = d.engine(journalSeam{j, d}, func(c *engine.Config) {
		c.Slurm, c.Mailbox = CountSlurm(datedSeam{c.Slurm, d, false}, d.cross), CountMail(c.Mailbox, d.cross)
	})
	return nil
}

// engine makes an engine with sluiced's configuration.
func (d *daemon) engine(j Journal, change func(*engine.Config)) *engine.Engine {
	p, w := d.play, d.play.w
	cfg := engine.Config{
		Seams: engine.Seams{Slurm: w.Client, Limiter: w.Client, Accountant: w.Client, Journal: j, Samples: j, Mailbox: w.Mail},
		Rules: track.Rules{
			Limits: elastic.Limits{Cooldown: time.Minute, Payback: 1, Grace: time.Minute, Confirm: 2 * time.Minute, DeafAfter: 2},
			Health: elastic.HealthRules{Exclude: 10 * time.Minute, PerUser: 1},
			Price:  elastic.Price{Save: 2 * time.Second, Drain: time.Second, Start: 2 * time.Second, Load: 5 * time.Second},
			Period: p.s.Period, Transition: p.s.Transition, Backoff: time.Minute, Parts: track.Parts{Edge: map[string]bool{edgePool: true}},
		},
		Events: p.event,
	}
	if p.s.Policy == "turns" {
		InTurns(&cfg, turn)
	} else if named, err := policy.ByName(p.s.Policy); err == nil {
		cfg.Policy = named
	} else {
		panic(err) // Play has checked the policy
	}
	for _, tune := range d.tunes {
		tune(&cfg)
	}
	change(&cfg)
	return engine.New(cfg)
}

// dies ends the daemon; it is restarted after back.
func (d *daemon) dies(killed bool, back time.Duration) {
	d.now, d.journal = nil, nil
	if err := d.shelf.Close(killed); err != nil {
		d.play.broken("F1 the journal could not be closed: %v", err)
	}
	if at := d.play.w.Now().Add(back); at.After(d.away) {
		d.away = at
	}
}

// Cycle is one cycle of the daemon, by its own clock.
func (d *daemon) Cycle(ctx context.Context, now time.Time) (wake time.Time, err error) {
	wake = now.Add(d.play.s.Period)
	if d.second != nil {
		wake = d.beside(ctx, now)
	}
	if now.Before(d.away) {
		return earlier(wake, d.away), nil
	}
	if d.now == nil {
		if err := d.birth(); err != nil {
			d.away = now.Add(again)
			d.play.note("sluiced does not start: %v", err)
			return earlier(wake, d.away), nil
		}
	}
	next := now
	d.inCycle, d.began = true, d.effects
	d.living(func() {
		next, err = d.now.Cycle(ctx, now.Add(d.offset))
		next = next.Add(-d.offset)
	})
	if err == nil && d.now != nil {
		d.saw(now)
		d.play.keepsAdopted()
	}
	d.inCycle = false
	d.between()
	if d.now == nil { // killed
		d.play.adopting = nil
		return earlier(wake, d.away), nil
	}
	if d.second == nil {
		return next, err
	}
	return earlier(wake, next), err
}

// interval is from a moment to another.
type interval struct{ from, to time.Time }

// saw records a successful observation of Slurm.
func (d *daemon) saw(now time.Time) {
	if now.Sub(d.looked) >= remembered {
		d.unseen = append(d.unseen, interval{d.looked, now})
	}
	d.looked = now
}

// patience is the longest time that sluiced waits for a stop to take effect before it requeues a job
// that failed because of it.
const patience = 20 * time.Second

// missed reports whether Slurm purged a job that ended then before the daemon could requeue it.
func (d *daemon) missed(ended time.Time) bool {
	return slices.ContainsFunc(d.unseen, func(gap interval) bool {
		return gap.from.Before(ended.Add(patience)) && !gap.to.Before(ended.Add(remembered))
	})
}

// beside runs the second daemon's cycle.
func (d *daemon) beside(ctx context.Context, now time.Time) time.Time {
	if now.After(d.secondUntil) {
		d.second = nil
		return now.Add(d.play.s.Period)
	}
	next, _ := d.second.Cycle(ctx, now)
	return next
}

// Stirred reports whether a job has answered.
func (d *daemon) Stirred() bool {
	return d.now != nil && d.now.Stirred() || d.second != nil && d.second.Stirred()
}

// errnos are the errors of file systems, by name.
var errnos = []struct {
	name string
	no   syscall.Errno
}{{"ENOSPC", syscall.ENOSPC}, {"EDQUOT", syscall.EDQUOT}, {"EROFS", syscall.EROFS}, {"EIO", syscall.EIO}, {"EBUSY", syscall.EBUSY}, {"ETIMEDOUT", syscall.ETIMEDOUT}}

// usual is the number of these errors that any file system may return.
const usual = 4

// refuses is called before each operation on a file system, and returns its injected error.
func (d *daemon) refuses(where string) error {
	now := d.play.now()
	for i, w := range d.play.s.Windows {
		if w.Where != where || now < w.At || now >= w.At+w.For {
			continue
		}
		if d.refused[i]++; d.refused[i]%max(1, w.Nth) != 0 {
			continue
		}
		if w.Hold > 0 {
			d.play.did(where + " blocks")
			d.play.w.Advance(w.Hold)
		}
		for _, e := range errnos {
			if strings.EqualFold(e.name, w.How) {
				d.play.did(where + " says " + w.How)
				return fmt.Errorf("%s: %w", where, e.no)
			}
		}
	}
	return nil
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// living runs do between two cycles of the daemon, which may be killed in it.
func (d *daemon) living(do func()) {
	defer func() {
		if r := recover(); r != nil {
			c, ok := r.(crashed)
			if !ok {
				panic(r)
			}
			d.play.did(map[bool]string{false: "kill at ", true: "power lost at "}[c.power] + c.at)
			d.dies(true, again)
			if c.power {
				d.tear()
			}
		}
	}()
	do()
}
