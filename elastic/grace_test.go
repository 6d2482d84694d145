package elastic_test

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
)

// TestGraceIsBounded: no job is waited for longer than the site's maximum, whatever its spec or
// its runner says. That maximum is at least what the site gives every job.
func TestGraceIsBounded(t *testing.T) {
	const year = 365 * 24 * time.Hour
	site := elastic.Limits{Grace: 5 * time.Minute, MaxGrace: 4 * time.Hour}
	for _, tc := range []struct {
		limits elastic.Limits
		spec   elastic.Spec
		rhythm time.Duration
		want   time.Duration
	}{
		{site, elastic.Spec{}, 0, 5 * time.Minute},
		{site, elastic.Spec{Grace: time.Hour}, 0, time.Hour},
		{site, elastic.Spec{Grace: 200000 * time.Hour}, 0, 4 * time.Hour},
		{site, elastic.Spec{Habit: true}, 10 * time.Minute, 25 * time.Minute},
		{site, elastic.Spec{Habit: true}, 1e8 * time.Second, 4 * time.Hour},
		{site, elastic.Spec{}, 3 * year, 5 * time.Minute},
		{elastic.Limits{Grace: time.Hour, MaxGrace: time.Minute}, elastic.Spec{}, 0, time.Hour},
	} {
		if got := tc.limits.GraceOf(tc.spec, tc.rhythm); got != tc.want {
			t.Errorf("%+v, rhythm %v: %v, want %v", tc.spec, tc.rhythm, got, tc.want)
		}
	}
}

// TestLentGPUs: a move that waits longer than the site's grace does not keep GPUs from other
// jobs.
func TestLentGPUs(t *testing.T) {
	s := elastic.Snapshot{
		Now: noon, Limits: elastic.Limits{Grace: 5 * time.Minute},
		Nodes:   []nodes.Node{{Name: "n1", GPUs: 4, Used: 2, Usable: true}},
		Jobs:    []elastic.Job{{ID: 1, Phase: elastic.Running, Place: on("n1", 2)}, {ID: 2, Phase: elastic.Waiting}},
		Intents: []elastic.Intent{{Job: 1, Kind: elastic.Resize, Step: elastic.Asked, From: on("n1", 2), Target: on("n1", 4), AskedAt: noon.Add(-time.Hour)}},
	}
	if s.Available(on("n1", 2), s.Jobs[1]) {
		t.Error("GPUs promised to a move are free for others")
	}
	lent := s.Lent()
	if !lent.Available(on("n1", 2), s.Jobs[1]) || s.Intents[0].Target.GPUs() != 4 {
		t.Errorf("lent GPUs are not free: %v", lent.Intents)
	}
}
