package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// trouble is one kind of fault of a cluster.
type trouble struct {
	name   string
	weight int
	make   func(*soak, context.Context, time.Time) error
}

// troubles are the possible faults, with their weights.
var troubles = []trouble{
	{"submit", 34, (*soak).submit},
	{"cancel", 6, (*soak).cancel},
	{"resize", 30, (*soak).pin},
	{"hold", 4, (*soak).hold},
	{"drain", 4, (*soak).drain},
	{"node", 7, (*soak).crashNode},
	{"restart controller", 3, (*soak).restartController},
	{"kill controller", 2, (*soak).killController},
	{"kill sluiced", 8, (*soak).killDaemon},
}

// draw chooses a fault by its weight.
func draw(rng *rand.Rand) trouble {
	sum := 0
	for _, t := range troubles {
		sum += t.weight
	}
	n := rng.IntN(sum)
	for _, t := range troubles {
		if n -= t.weight; n < 0 {
			return t
		}
	}
	return troubles[0]
}

// trouble causes one fault. A command that fails because a daemon is down is no
// violation: it is counted and ignored.
func (s *soak) trouble(ctx context.Context, now time.Time) {
	t := draw(s.rng)
	if err := t.make(s, ctx, now); err != nil && ctx.Err() == nil {
		s.count.mistakes++
		if !s.down.daemon && !s.down.controller {
			s.tell("%s: %v", t.name, err)
		}
	}
}

// repair undoes a fault later.
type repair struct {
	at time.Time
	do func(context.Context) error
}

func (s *soak) later(now time.Time, least, span time.Duration, do func(context.Context) error) {
	s.due = append(s.due, repair{now.Add(least + time.Duration(s.rng.Int64N(int64(span)))), do})
}

// repairs carries out what is due. A failure is an error: the lab cannot be repaired.
func (s *soak) repairs(ctx context.Context, now time.Time) error {
	for i := 0; i < len(s.due); {
		r := s.due[i]
		if r.at.After(now) {
			i++
			continue
		}
		s.due = slices.Delete(s.due, i, i+1)
		if err := r.do(ctx); err != nil {
			return err
		}
	}
	if !s.down.daemon && !s.Alive() {
		s.breaks("sluiced ended by itself; its last output:\n%s", s.Tail(10))
		return s.start(ctx)
	}
	return nil
}

// node is a random node.
func (s *soak) node() string {
	names := s.Lab.NodeNames()
	return names[s.rng.IntN(len(names))]
}

// drain keeps new jobs from a node for a while.
func (s *soak) drain(ctx context.Context, now time.Time) error {
	if s.down.node || s.down.controller {
		return nil
	}
	node := s.node()
	if err := s.Lab.Drain(ctx, node, "soak"); err != nil {
		return err
	}
	s.count.drains++
	s.down.node = true
	s.later(now, 5*time.Second, 20*time.Second, func(ctx context.Context) error {
		s.down.node = false
		return s.withController(ctx, func() error {
			if s.Lab.Resume(ctx, node) != nil {
				s.count.mistakes++ // a slurmctld that was killed has forgotten the drain
			}
			return ctx.Err()
		})
	})
	return nil
}

// rebooted is the minimum time for which a node is down unnoticed. Slurm notices a lost
// job on a node that comes back only if the job started more than BatchStartTimeout (60 s
// in a lab) + 10 s before; it may show a younger one as running for half an hour more.
const rebooted = 75 * time.Second

// crashNode ends a node with everything that runs there. In three of four cases it is
// then declared down, as a site's health check does; otherwise Slurm must notice.
func (s *soak) crashNode(ctx context.Context, now time.Time) error {
	if s.down.node || s.down.controller {
		return nil
	}
	node := s.node()
	if err := s.Lab.CrashNode(ctx, node); err != nil {
		return err
	}
	s.count.nodes++
	s.down.node = true
	silent, away := s.rng.IntN(4) == 0, 3*time.Second
	if silent && !s.o.Fast {
		away = rebooted
	}
	s.later(now, away, 15*time.Second, func(ctx context.Context) error {
		s.down.node = false
		return s.Lab.StartSlurmd(ctx, node)
	})
	if silent {
		return nil
	}
	return s.Lab.SetDown(ctx, node, "crashed")
}

// restartController ends slurmctld with SIGTERM and starts it again.
func (s *soak) restartController(ctx context.Context, now time.Time) error {
	return s.endController(ctx, now, s.Lab.StopController)
}

// killController kills slurmctld, which loses what it had not saved. It may forget a job
// that it has just accepted, and give its number to the next; that is Slurm's behaviour,
// so nothing is submitted shortly before.
func (s *soak) killController(ctx context.Context, now time.Time) error {
	if now.Sub(s.asked) < 8*time.Second {
		return nil
	}
	return s.endController(ctx, now, s.Lab.KillController)
}

func (s *soak) endController(ctx context.Context, now time.Time, end func(context.Context) error) error {
	if s.down.controller {
		return nil
	}
	if err := end(ctx); err != nil {
		return err
	}
	s.count.controllers++
	s.down.controller = true
	s.later(now, time.Second, 10*time.Second, s.startController)
	return nil
}

func (s *soak) startController(ctx context.Context) error {
	s.down.controller = false
	return s.Lab.StartController(ctx)
}

// withController runs what needs slurmctld, which may be down deliberately.
func (s *soak) withController(ctx context.Context, do func() error) error {
	if err := s.startController(ctx); err != nil {
		return err
	}
	return do()
}

// killDaemon kills sluiced, and audits while it is down.
func (s *soak) killDaemon(ctx context.Context, now time.Time) error {
	if s.down.daemon || s.calmer {
		return nil
	}
	s.Kill()
	s.count.daemons++
	s.down.daemon = true
	s.later(now, 0, 8*time.Second, func(ctx context.Context) error {
		s.audit(ctx)
		return s.withController(ctx, func() error { return s.start(ctx) })
	})
	return nil
}

// start begins another life of sluiced.
func (s *soak) start(ctx context.Context) error {
	s.down.daemon = false
	s.life++
	return s.Start(ctx)
}

// audit compares sluiced's event log so far with Slurm's own records.
func (s *soak) audit(ctx context.Context) string {
	report, err := s.Audit(ctx)
	if err != nil {
		s.breaks("the audit could not be made: %v", err)
		return ""
	}
	for _, v := range report.Violations {
		s.breaks("%s", v)
	}
	return fmt.Sprint(report)
}
