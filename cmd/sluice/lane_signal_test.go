package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
)

// TestCheckpointSignal: --checkpoint-signal reaches the program of a trial with each request of its lane, also where one process
// trains all trials, and only once for each request. HUP, which would end a process that does not listen, ends nothing.
func TestCheckpointSignal(t *testing.T) {
	for _, warm := range []bool{true, false} {
		t.Run(fmt.Sprint("warm ", warm), func(t *testing.T) {
			b := newWarmBench(t, warm, func(s *sweep.Sweep) {
				s.Params, s.Trials, s.Parallel, s.Epochs = []string{"x=choice:1"}, 1, 1, 400
				s.Run = append(s.Run, "--checkpoint-signal=HUP")
			})
			listens := "import os, signal\nsignal.signal(signal.SIGHUP, lambda *_: open(os.environ['LOG'] + '.signals', 'a').write('x'))\n"
			program := listens + trialProgram
			if warm {
				program = listens + warmProgram
			}
			b.must(os.WriteFile(filepath.Join(b.dir, "trial.py"), []byte(program), 0o644))
			signals := func() int {
				text, _ := os.ReadFile(filepath.Join(b.dir, "log.signals"))
				return len(text)
			}
			b.slurm([]int{101}, nil)
			b.starts()
			first := b.lane(101, 0, "EPOCHS=400", "PAUSE=0.05")
			reports := func(n int) *sweepView {
				return b.until("reports", func(v *sweepView) bool { return len(v.Book.Trials) == 1 && len(v.Book.Trials[0].Curve) > n })
			}
			reports(1)
			b.must(first.Process.Signal(syscall.SIGHUP)) // as sluiced sends it to the job
			v := reports(len(reports(1).Book.Trials[0].Curve) + 10)
			before := signals()
			if trial := v.Book.Trials[0]; trial.State != book.Running || before == 0 {
				t.Fatalf("after the signal to the job, of which the program got %d: %+v", before, trial)
			}
			b.asksToSave(101)
			v = b.until("the end of the run", func(v *sweepView) bool { return v.Book.Trials[0].State != book.Running })
			if got := signals() - before; got != 1 {
				t.Errorf("the program got %d signals with the request, want 1", got)
			}
			if trial := v.Book.Trials[0]; trial.State != book.Waiting || trial.Checkpoint == "" {
				t.Errorf("%+v", trial)
			}
			b.must(first.Process.Kill())
			first.Wait()
		})
	}
}
