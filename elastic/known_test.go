package elastic_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
)

// A move of a kind or at a step that this sluice does not know has no effect, whatever
// becomes of its job.
func TestUnknownMovesHaveNoEffect(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	snap := elastic.Snapshot{Now: now, Nodes: []nodes.Node{{Name: "n1", GPUs: 4, Usable: true}}}
	place := nodes.Placement{{Node: "n1", GPUs: 1}}
	for _, phase := range []elastic.Phase{elastic.Running, elastic.Held, elastic.Queued, elastic.Completing, elastic.Suspended, elastic.Ended} {
		job := elastic.Job{ID: 7, Phase: phase, Place: place, Speaks: true}
		for step := elastic.Step(-1); step < 10; step++ {
			for _, kind := range append(elastic.Kinds(), "", "merge") {
				in := elastic.Intent{ID: 1, Job: 7, Kind: kind, Step: step, To: 2, From: place, Target: place, AskedAt: now, ReleasedAt: now}
				next := elastic.Advance(in, job, snap)
				if known := slices.Contains(elastic.Kinds(), kind) && slices.Contains(elastic.MoveSteps(), step); known != (in.Known() == nil) {
					t.Fatalf("%q at %d: %v", kind, step, in.Known())
				}
				if in.Known() == nil {
					continue
				}
				if !errors.Is(in.Known(), elastic.ErrUnknownMove) {
					t.Errorf("%q at %d: %v", kind, step, in.Known())
				}
				if len(next.Do) > 0 || next.Close != "" || next.Again || next.Intent.Step != step {
					t.Errorf("%q at %d, job %s: %v, closes %q, at %d: want no effect", kind, step, phase, next.Do, next.Close, next.Intent.Step)
				}
			}
		}
	}
}

// The lists hold every kind and step that the source names.
func TestEveryKindAndStepIsListed(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "intent.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	kinds, steps := 0, 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Type == nil || len(spec.Values) != 1 {
			return true
		}
		value := spec.Values[0].(*ast.BasicLit).Value
		switch spec.Type.(*ast.Ident).Name {
		case "Kind":
			kinds++
			if name, err := strconv.Unquote(value); err != nil || !slices.Contains(elastic.Kinds(), elastic.Kind(name)) {
				t.Errorf("kind %s is not in Kinds", value)
			}
		case "Step":
			steps++
			if number, err := strconv.Atoi(value); err != nil || !slices.Contains(elastic.MoveSteps(), elastic.Step(number)) {
				t.Errorf("step %s is not in MoveSteps", value)
			}
		}
		return true
	})
	if kinds != len(elastic.Kinds()) || steps != len(elastic.MoveSteps()) || kinds == 0 {
		t.Errorf("the source has %d kinds and %d steps, the lists %d and %d", kinds, steps, len(elastic.Kinds()), len(elastic.MoveSteps()))
	}
}
