package runner_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/pythontest"
)

// pairs are a job inside of a fence and the same one outside, run in turn.
type pairs struct {
	inside  *caged
	outside *live
}

// newPairs makes both. %s in the script is the folder of the code.
func newPairs(t *testing.T, script string, software ...string) *pairs {
	t.Helper()
	steps, err := os.ReadFile("testdata/steps.py")
	must(t, err)
	c := newCaged(t, script, map[string]string{"steps.py": string(steps)})
	c.fence.Software = software
	base := t.TempDir()
	must(t, os.WriteFile(filepath.Join(base, "steps.py"), steps, 0o644))
	return &pairs{inside: c, outside: newJobIn(t, base, "cd "+base+"\n"+script)}
}

// run runs one of the two to its end and returns when it was started, and what it wrote into the file.
func (p *pairs) run(inside bool, file string) (time.Time, string) {
	l := p.outside
	if inside {
		l = p.inside.live
	}
	l.Helper()
	must(l, os.RemoveAll(filepath.Join(l.inner, file)))
	begun := time.Now()
	if inside {
		p.inside.start()
	} else {
		l.start()
	}
	select {
	case <-l.done:
	case <-time.After(5 * time.Minute):
		l.Fatal("it does not end")
	}
	l.restarts++
	text := strings.TrimSpace(slurp(filepath.Join(l.inner, file)))
	if text == "" {
		l.Fatalf("inside %v: it wrote nothing; log %s%s", inside, slurp(l.out), slurp(l.errs))
	}
	return begun, text
}

// startUp is from the start of the runner to the first line of the script, in seconds.
func (p *pairs) startUp(inside bool) float64 {
	p.outside.Helper()
	begun, text := p.run(inside, "began")
	var seconds, micro int64
	_, err := fmt.Sscanf(text, "%d.%d", &seconds, &micro)
	must(p.outside, err)
	return time.Unix(seconds, micro*1000).Sub(begun).Seconds()
}

// step is the middle one of a program's steps, in seconds of CPU.
func (p *pairs) step(inside bool) float64 {
	p.outside.Helper()
	_, text := p.run(inside, "took")
	var least, middle float64
	_, err := fmt.Sscanf(text, "%f %f", &least, &middle)
	must(p.outside, err)
	return middle / 1e9
}

// measured runs both n times in turn, and returns the middle of each.
func (p *pairs) measured(n int, one func(inside bool) float64) (inside, outside, ratio float64) {
	var in, out, ratios []float64
	for i := range n {
		first := i%2 == 0
		a, b := one(first), one(!first)
		if !first {
			a, b = b, a
		}
		in, out, ratios = append(in, a), append(out, b), append(ratios, a/b)
	}
	middle := func(all []float64) float64 { slices.Sort(all); return all[len(all)/2] }
	return middle(in), middle(out), middle(ratios)
}

// TestFenceCost measures what a fence costs beside the same job, runner and program without one: the start-up and steps of
// two kinds of program. It asserts nothing of time; SLUICE_MEASURE_FENCE=1 runs it.
func TestFenceCost(t *testing.T) {
	if os.Getenv("SLUICE_MEASURE_FENCE") == "" {
		t.Skip("only in make confined, or with SLUICE_MEASURE_FENCE=1")
	}
	t.Run("start-up", func(t *testing.T) {
		p := newPairs(t, "echo $EPOCHREALTIME >\"$SLUICE_JOB_DIR/began\"\n")
		in, out, ratio := p.measured(20, p.startUp)
		fmt.Printf("confined-startup: pairs=20 inside_ms=%.1f outside_ms=%.1f more_ms=%.1f ratio=%.2f\n", 1e3*in, 1e3*out, 1e3*(in-out), ratio) // a line of its own, for the reliability report
	})
	t.Run("loop", func(t *testing.T) {
		p := newPairs(t, "exec /usr/bin/python3 steps.py loop 100\n")
		in, out, ratio := p.measured(5, p.step)
		fmt.Printf("confined-steps-loop: pairs=5 inside_ms=%.3f outside_ms=%.3f ratio=%.3f\n", 1e3*in, 1e3*out, ratio) // a line of its own, for the reliability report
	})
	t.Run("torch", func(t *testing.T) {
		python := pythontest.Frameworks(t)
		p := newPairs(t, "export OMP_NUM_THREADS=1\nexec "+python+" steps.py torch 200\n", filepath.Dir(filepath.Dir(python)))
		in, out, ratio := p.measured(5, p.step)
		fmt.Printf("confined-steps-torch: pairs=5 inside_ms=%.3f outside_ms=%.3f ratio=%.3f\n", 1e3*in, 1e3*out, ratio) // a line of its own, for the reliability report
	})
}
