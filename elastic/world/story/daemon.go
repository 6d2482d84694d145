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

// again is how long the service manager takes to start a daemon that died.
const again = 2 * time.Second

// daemon is sluiced: it dies at effects and is started again with nothing but its
// journal, may have a wrong clock, and a second one beside it.
type daemon struct {
	play    *play
	shelf   Shelf
	journal Journal
	now     *engine.Engine // nil while it does not run
	away    time.Time      // it does not run before
	offset  time.Duration  // of its clock

	second      *engine.Engine
	secondUntil time.Time

	stood   []string               // what the journal may say when it is opened next; nil = anything
	damaged bool                   // since it was opened
	newer   time.Time              // until then the store is that of a newer version
	tunes   []func(*engine.Config) // the configuration, as it was reloaded
	reload  bool                   // once this cycle is over
	inCycle bool

	looked time.Time  // when it last saw Slurm
	unseen []interval // in which it did not, of those in which Slurm forgets what ended

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
		c.Slurm, c.Mailbox = CountSlurm(c.Slurm, d.cross), CountMail(c.Mailbox, d.cross)
	})
	return nil
}

// engine makes an engine as sluiced does.
func (d *daemon) engine(j Journal, change func(*engine.Config)) *engine.Engine {
	p, w := d.play, d.play.w
	cfg := engine.Config{
		Seams: engine.Seams{Slurm: w.Client, Limiter: w.Client, Accountant: w.Client, Journal: j, Samples: j, Mailbox: w.Mail},
		Rules: track.Rules{
			Limits: elastic.Limits{Cooldown: time.Minute, Payback: 1, Grace: time.Minute, Confirm: 2 * time.Minute, DeafAfter: 2},
			Health: elastic.HealthRules{Exclude: 10 * time.Minute, PerUser: 1},
			Price:  elastic.Price{Save: 2 * time.Second, Drain: time.Second, Start: 2 * time.Second, Load: 5 * time.Second},
			Period: p.s.Period, Transition: p.s.Transition, Backoff: time.Minute, Edge: map[string]bool{edgePool: true},
		},
		Events: p.event,
	}
	if p.s.Policy == "turns" {
		InTurns(&cfg, turn)
	} else if named, err := policy.ByName(p.s.Policy); err == nil {
		cfg.Policy = named
	} else {
		panic(err) // Play has looked
	}
	for _, tune := range d.tunes {
		tune(&cfg)
	}
	change(&cfg)
	return engine.New(cfg)
}

// dies ends the daemon; it is started again after the time given.
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
	}
	d.inCycle = false
	d.between()
	if d.now == nil { // killed
		return earlier(wake, d.away), nil
	}
	if d.second == nil {
		return next, err
	}
	return earlier(wake, next), err
}

// interval is from a moment to another.
type interval struct{ from, to time.Time }

// saw notes that the daemon saw Slurm.
func (d *daemon) saw(now time.Time) {
	if now.Sub(d.looked) >= remembered {
		d.unseen = append(d.unseen, interval{d.looked, now})
	}
	d.looked = now
}

// patience is how long, at most, sluiced waits for a stop to come before it brings back a job
// that failed of it.
const patience = 20 * time.Second

// missed reports whether Slurm forgot what ended then before the daemon could mend it.
func (d *daemon) missed(ended time.Time) bool {
	return slices.ContainsFunc(d.unseen, func(gap interval) bool {
		return gap.from.Before(ended.Add(patience)) && !gap.to.Before(ended.Add(remembered))
	})
}

// beside lets the second daemon have its cycle.
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

// errnos are what file systems say.
var errnos = []struct {
	name string
	no   syscall.Errno
}{{"ENOSPC", syscall.ENOSPC}, {"EDQUOT", syscall.EDQUOT}, {"EROFS", syscall.EROFS}, {"EIO", syscall.EIO}, {"EBUSY", syscall.EBUSY}, {"ETIMEDOUT", syscall.ETIMEDOUT}}

// usual is how many of them any file system may say.
const usual = 4

// refuses is asked before each operation on a file system.
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

// living does something in the daemon's life between two cycles, which may kill it.
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
