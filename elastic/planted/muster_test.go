package planted

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

// score is the result of the mutants of a room. Mutants that do not build do not count; those
// unjudged were twice ended from outside, and are not among the tried.
type score struct{ all, tried, caught, hung, survived, equivalent, unbuilt, unjudged int }

func (s score) String() string {
	return fmt.Sprintf("of=%d tried=%d caught=%d by_deadline=%d survived=%d equivalent=%d unbuilt=%d unjudged=%d",
		s.all, s.tried, s.caught, s.hung, s.survived, s.equivalent, s.unbuilt, s.unjudged)
}

// muster tries a draw of a room's mutants, as many at once as there are processors.
func muster(t *testing.T, r chamber, of choice) score {
	all, err := r.mutants()
	if err != nil {
		t.Fatal(err)
	}
	known, err := equivalents()
	if err != nil {
		t.Fatal(err)
	}
	s := score{all: len(all)}
	var drawn []mutant
	for i, m := range of.draw(all) {
		m.number = i + 1
		if known[m.Name] != "" {
			s.equivalent++
			continue
		}
		drawn = append(drawn, m)
	}
	if len(drawn) == 0 {
		return s
	}
	b, err := r.prepare(t.Context(), drawn, t.TempDir())
	if err != nil {
		t.Errorf("NOT TRIED %s: %v", r.name, err)
		return s
	}
	var mu sync.Mutex
	var wait sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, m := range drawn {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			o, err := b.all(t.Context(), m)
			if err == nil && o.verdict.outside() {
				o, err = b.all(t.Context(), m)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Errorf("NOT TRIED %s: %v", m.Name, err)
				return
			}
			s.count(m, o)
		})
	}
	wait.Wait()
	if s.unjudged > 0 {
		t.Errorf("%s: %d mutants unjudged", r.name, s.unjudged)
	}
	return s
}

// choice is which of a room's mutants are tried.
type choice struct {
	filter *regexp.Regexp // matches their names; nil: all
	seed   uint64         // of the draw
	sample int            // how many are drawn, 0 for all
}

// draw selects from those whose names match.
func (c choice) draw(all []mutant) []mutant {
	if c.filter != nil {
		all = slices.DeleteFunc(all, func(m mutant) bool { return !c.filter.MatchString(m.Name) })
	}
	rng := rand.New(rand.NewPCG(c.seed, 7))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	if c.sample > 0 {
		all = all[:min(c.sample, len(all))]
	}
	return all
}

// count adds an outcome and logs it, so that a campaign that is cut off has figures too.
func (s *score) count(m mutant, o outcome) {
	switch o.verdict {
	case unbuilt:
		s.unbuilt++
		fmt.Printf("unbuilt   line %d %s\n", m.line, m.Name)
		return
	case slain, unrun:
		s.unjudged++
		fmt.Printf("UNJUDGED  line %d %s: %s\n", m.line, m.Name, o.verdict)
		return
	case passed, idle:
		s.survived++
		fmt.Printf("SURVIVED  line %d %s\n", m.line, m.Name)
	default: // failed, panicked, broken or hung: an ordinary test run would fail
		s.caught++
		if o.verdict == hung {
			s.hung++
		}
		fmt.Printf("caught    line %d %s: %s %s\n", m.line, m.Name, o.verdict, o.test)
	}
	s.tried++
}

// bench is where the mutants of a room are tried.
type bench struct {
	chamber
	dir     string
	overlay string       // of the program that contains the mutants
	bad     map[int]bool // numbers of mutants that do not build
	looks   []look
}

// look is a test program and the time that its tests may take with a mutant.
type look struct {
	view
	program string
	limit   time.Duration
}

// patient is how often the tests must pass without a mutant BEFORE one is tried: tests that
// fail at random would seem to catch mutants.
const patient = 3

func (r chamber) prepare(ctx context.Context, all []mutant, dir string) (*bench, error) {
	b := &bench{chamber: r, dir: dir}
	if !r.python {
		var some []mutant
		for _, m := range all {
			if weavable(m) {
				some = append(some, m)
			}
		}
		var err error
		if b.overlay, b.bad, err = weaveAll(ctx, r.dir, some, dir); err != nil {
			return nil, err
		}
	}
	for i, v := range append([]view{{r.dir, r.run, r.skip}}, r.then...) {
		l := look{v, filepath.Join(dir, fmt.Sprint("tests", i)), patience}
		if !r.python {
			if text, err := l.plant().build(ctx, b.overlay, l.program); err != nil {
				return nil, errors.New(text)
			}
		}
		if err := b.clean(ctx, &l); err != nil {
			return nil, fmt.Errorf("the tests of %s without a mutant: %w", v.dir, err)
		}
		b.looks = append(b.looks, l)
	}
	return b, nil
}

// clean checks that the tests pass without a mutant, and measures how long that takes.
func (b *bench) clean(ctx context.Context, l *look) error {
	var longest time.Duration
	for range patient {
		o, err := b.try(ctx, *l, mutant{})
		if err != nil {
			return err
		}
		if o.verdict != passed {
			return errors.New(string(o.verdict) + "\n" + o.text)
		}
		longest = max(longest, o.took)
	}
	l.limit = 20*time.Second + 5*longest
	return nil
}

func (l look) plant() plant {
	return plant{Room: l.dir, Run: l.run, Skip: l.skip, Short: true, Within: l.limit}
}

// all runs the test programs on a mutant one after the other until one catches it.
func (b *bench) all(ctx context.Context, m mutant) (o outcome, err error) {
	if b.bad[m.number] {
		return outcome{verdict: unbuilt}, nil
	}
	for _, l := range b.looks {
		o, err = b.try(ctx, l, m)
		if err == nil && o.verdict == hung { // the machine may have been busy
			l.limit *= 2
			o, err = b.try(ctx, l, m)
		}
		if err != nil || o.verdict != passed && o.verdict != idle {
			return o, err
		}
	}
	return o, err
}

// try runs a test program with a mutant; without one if it has no number.
func (b *bench) try(ctx context.Context, l look, m mutant) (outcome, error) {
	switch {
	case b.python:
		return b.tryPython(ctx, l, m)
	case m.number != 0 && !weavable(m):
		return b.tryAlone(ctx, l, m)
	}
	return l.plant().run(ctx, l.program, append(environment(b.overlay), fmt.Sprintf("%s=%d", numberEnv, m.number))), nil
}

// tryAlone builds a program for one mutant.
func (b *bench) tryAlone(ctx context.Context, l look, m mutant) (outcome, error) {
	dir, err := os.MkdirTemp(b.dir, "alone")
	if err != nil {
		return outcome{}, err
	}
	defer os.RemoveAll(dir)
	_, is, err := m.change()
	if err != nil {
		return outcome{}, err
	}
	overlay, err := overlay(map[string]string{m.file: is}, dir)
	if err != nil {
		return outcome{}, err
	}
	return l.plant().try(ctx, overlay, dir), nil
}
