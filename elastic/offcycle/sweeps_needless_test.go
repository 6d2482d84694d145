package offcycle_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// TestSweepsNeedless: once a sweep is over its lanes that wait are needless, and no others: not a lane that runs or has
// ended, not one of another user's job, and none while the sweep goes on or once it was extended. A daemon that
// restarts finds the same.
func TestSweepsNeedless(t *testing.T) {
	x := newSweepSite(t)
	x.sweep.Trials = 1
	x.put(filepath.Join(x.folder(), sweep.File), x.sweep)
	lane := func(letter string, job int64, uid uint32, waits, ended bool) string {
		own := x.live.Lanes[0]
		own.Lane, own.Job, own.Waits, own.Ended = strings.Repeat(letter, 32), job, waits, ended
		own.Owner, own.SlurmUID = own.Owner+uid, own.SlurmUID+uid
		x.live.Lanes = append(x.live.Lanes, own)
		return own.Lane
	}
	waits := lane("c", 8, 0, true, false)
	lane("d", 9, 0, true, true)
	lane("e", 10, 1, true, false)
	lane("f", 11, 0, false, false)
	needless := func(want ...string) {
		t.Helper()
		x.look()
		if got := x.s.Standings()[x.sweep.Token].Needless; !slices.Equal(got, want) {
			t.Errorf("needless: %q, want %q", got, want)
		}
	}
	needless()
	first, _ := x.told()
	x.writes(sweep.Event{Kind: sweep.Began, Trial: 1, Start: 1, Ask: x.ask.ID, Point: first.Point})
	needless()
	x.writes(sweep.Event{Kind: sweep.EndedAs, Trial: 1, Start: 1, How: sweep.Done})
	needless(waits)
	x.restart()
	needless(waits)
	x.sweep.Trials = 2
	x.put(filepath.Join(x.folder(), sweep.File), x.sweep)
	needless()
	x.sweep.State = sweep.Paused
	x.put(filepath.Join(x.folder(), sweep.File), x.sweep)
	needless()
}
