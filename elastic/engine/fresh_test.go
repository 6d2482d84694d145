package engine

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/elastic/engine/track"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/slurm"
)

// scripted returns the answers that the test sets, and counts queries.
type scripted struct {
	limits slurm.Limits
	err    error
	asked  int
}

func (s *scripted) Limits(context.Context) (slurm.Limits, error) {
	s.asked++
	return s.limits, s.err
}

// TestMovesWaitForLimits: while limits are late no moves are opened, which is logged once. The cycle
// that gets them opens moves, unless the query has failed by then. After a failure the known
// limits apply.
func TestMovesWaitForLimits(t *testing.T) {
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	down := errors.New("slurmdbd is down")
	for name, steps := range map[string][]struct {
		at    time.Duration // since the start
		err   error
		looks bool // asked in the look, too, as when limits are a minute old
		asks  int  // questions in this cycle
		waits bool
	}{
		"at once":       {{at: 0, asks: 1}, {at: 500 * time.Millisecond}, {at: 2 * time.Second, asks: 1}},
		"once a cycle":  {{at: 0, looks: true, asks: 1}},
		"late":          {{at: 0, asks: 1}, {at: 5 * time.Second, err: observe.ErrAsking, asks: 1, waits: true}, {at: 10 * time.Second, err: observe.ErrAsking, asks: 1, waits: true}, {at: 15 * time.Second, looks: true, asks: 1}, {at: 20 * time.Second, asks: 1}},
		"late at first": {{at: 0, err: observe.ErrAsking, looks: true, asks: 1, waits: true}, {at: 5 * time.Second, looks: true, asks: 1}},
		"fails late":    {{at: 0, err: observe.ErrAsking, asks: 1, waits: true}, {at: 20 * time.Second, err: down, asks: 1}, {at: 25 * time.Second}, {at: 81 * time.Second, err: observe.ErrAsking, asks: 1}, {at: 86 * time.Second, err: observe.ErrAsking, asks: 1}, {at: 90 * time.Second, asks: 1}},
		"never comes":   {{at: 0, err: observe.ErrAsking, asks: 1, waits: true}, {at: 59 * time.Second, err: observe.ErrAsking, asks: 1, waits: true}, {at: time.Minute, err: observe.ErrAsking, asks: 1}, {at: time.Hour, err: observe.ErrAsking, asks: 1}},
		"comes too old": {{at: 0, err: observe.ErrAsking, asks: 1, waits: true}, {at: 2 * time.Minute, looks: true, asks: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			site := &scripted{}
			told := 0
			e := New(Config{Seams: Seams{Limiter: site}, Rules: track.Rules{Period: 30 * time.Second}, Events: func(ev event.Event) {
				if strings.Contains(ev.Text, "no move is opened now") {
					told++
				}
			}})
			was := false
			for i, step := range steps {
				now := start.Add(step.at)
				site.err, site.asked = step.err, 0
				before := told
				if step.looks {
					e.AskLimits(t.Context(), e.LimitsOld(nil), now)
				}
				plan := elastic.Plan{Open: []elastic.Intent{{Job: 7}}}
				e.AskLimits(t.Context(), observe.LimitsFresh, now) // first, so that nothing is decided anew
				_, plan, waits, _ := e.freshly(t.Context(), observe.Look{}, elastic.Snapshot{}, plan, now)
				if waits != step.waits || waits != (len(plan.Open) == 0) || site.asked != step.asks {
					t.Errorf("step %d: waits %v with %d moves, asked %d times; want %v, %d", i, waits, len(plan.Open), site.asked, step.waits, step.asks)
				}
				if said := told - before; said > 1 || (said == 1) != (waits && !was) {
					t.Errorf("step %d: told %d times", i, said)
				}
				was = waits
			}
		})
	}
}

// cluster is a Slurm with these nodes and no jobs.
type cluster struct {
	slurm.Client
	nodes []slurm.Node
	asked int
}

func (c *cluster) Nodes(context.Context) ([]slurm.Node, error) { c.asked++; return c.nodes, nil }

// TestOldNodesAndLimitsAreOneMoreSnapshot: a plan that opens moves is made again if nodes or limits were
// old, once for both, and not if they were fresh.
func TestOldNodesAndLimitsAreOneMoreSnapshot(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	opens := elastic.Plan{Open: []elastic.Intent{{Job: 7}}}
	for _, c := range []struct {
		name          string
		plan          elastic.Plan
		nodes, limits bool // old
		asks, decides int
	}{
		{"opens nothing", elastic.Plan{}, true, true, 0, 0},
		{"all is fresh", opens, false, false, 0, 0},
		{"old nodes", opens, true, false, 1, 1},
		{"old limits", opens, false, true, 0, 1},
		{"both", opens, true, true, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			decides := 0
			p := policy.Policy{Name: "counts", Allocate: func(elastic.Snapshot) elastic.Allocation { decides++; return elastic.Allocation{} }}
			site, there := &scripted{}, &cluster{nodes: []slurm.Node{{Name: "g1", GPUs: 4}}}
			e := New(Config{Seams: Seams{Slurm: there, Limiter: site, Samples: new(journal.Memory)}, Rules: track.Rules{Period: 30 * time.Second}, Policy: p})
			e.AskLimits(t.Context(), observe.LimitsFresh, now)
			if c.limits {
				now = now.Add(time.Minute)
				site.limits.Partitions = []slurm.Partition{{Name: "gpu", Up: true}}
			}
			_, plan, waits, err := e.freshly(t.Context(), observe.Look{Nodes: there.nodes, Old: c.nodes}, elastic.Snapshot{}, c.plan, now)
			if err != nil {
				t.Fatal(err)
			}
			if decides != c.decides || there.asked != c.asks || waits {
				t.Errorf("%d decisions, %d questions for nodes, waits %v; want %d, %d, false", decides, there.asked, waits, c.decides, c.asks)
			}
			if opens := len(plan.Open) > 0; opens != (len(c.plan.Open) > 0 && c.decides == 0) { // the policy here opens nothing
				t.Errorf("opens moves: %v", opens)
			}
		})
	}
}

// TestWhereSnapshotsAreMade: a cycle makes one snapshot, one more if open moves advanced, and one more in
// freshly if nodes or limits were too old.
func TestWhereSnapshotsAreMade(t *testing.T) {
	calls := map[string]int{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			ast.Inspect(d, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					if f, ok := call.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Snapshot" {
						calls[d.(*ast.FuncDecl).Name.Name]++
					}
				}
				return true
			})
		}
	}
	if want := map[string]int{"Cycle": 2, "freshly": 1}; !maps.Equal(calls, want) {
		t.Errorf("snapshots are made by %v, want %v", calls, want)
	}
}
