//go:build crash

package main

import (
	"context"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// fragile returns a journal that kills the process, as kill -9 would, at the step in the
// file named by SLUICE_CRASH: "4" right after R4 was recorded, "-4" right before. The
// file is removed first, so that it happens once.
func fragile(j journal.Journal) journal.Journal {
	if path := os.Getenv("SLUICE_CRASH"); path != "" {
		return crasher{j, path}
	}
	return j
}

type crasher struct {
	journal.Journal
	path string
}

// due reports whether a crash is requested at the step, and removes the request.
func (c crasher) due(step int) bool {
	b, err := os.ReadFile(c.path)
	if err != nil {
		return false
	}
	if n, err := strconv.Atoi(string(b)); err != nil || n != step {
		return false
	}
	return os.Remove(c.path) == nil
}

func (c crasher) at(step elastic.Step, effect func() error) error {
	if c.due(-int(step)) {
		die()
	}
	err := effect()
	if c.due(int(step)) {
		die()
	}
	return err
}

func die() {
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
	select {}
}

// Intend counts only resizes: starts have nothing to lose yet.
func (c crasher) Intend(ctx context.Context, ins []elastic.Intent) (out []elastic.Intent, err error) {
	step := elastic.Confirmed + 1
	for _, in := range ins {
		if in.Kind == elastic.Resize {
			step = elastic.Intended
		}
	}
	err = c.at(step, func() error { out, err = c.Journal.Intend(ctx, ins); return err })
	return out, err
}

// Advance counts only the steps of resizes.
func (c crasher) Advance(ctx context.Context, in elastic.Intent) error {
	if in.Kind != elastic.Resize {
		return c.Journal.Advance(ctx, in)
	}
	return c.at(in.Step, func() error { return c.Journal.Advance(ctx, in) })
}

// Close counts only the ends of resizes that were confirmed: others lose nothing.
func (c crasher) Close(ctx context.Context, in elastic.Intent, how elastic.Outcome, why reason.Reason, at time.Time) error {
	if in.Step != elastic.Confirmed || in.Kind != elastic.Resize {
		return c.Journal.Close(ctx, in, how, why, at)
	}
	return c.at(in.Step, func() error { return c.Journal.Close(ctx, in, how, why, at) })
}
