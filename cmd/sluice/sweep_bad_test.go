package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
	"github.com/sluice-hpc/sluice/elastic/sweep/keeper"
	"github.com/sluice-hpc/sluice/sbatch"
)

// TestBadSweeps: what people get wrong is refused by 'sluice submit' with the file, line and column, and
// nothing is left behind.
func TestBadSweeps(t *testing.T) {
	const head = "#!/bin/sh\n#SLUICE --sweep=random --metric=acc:max"
	steps := "\n#SLUICE --param a=float:0:1:0.001 --param b=float:0:1:0.001 --param c=float:0:1:0.001\nt {a} {b} {c}\n"
	for name, c := range map[string]struct{ script, want string }{
		"a parameter named twice":             {head + "\n#SLUICE --param lr=log:1e-5:1e-1\n#SLUICE --param lr=float:0:1\nt {lr}\n", "sweep.sh:4:17: --param lr=float:0:1: column 1 of the value: the parameter lr is given twice; leave one out, or give it another name"},
		"an empty range":                      {head + "\n#SLUICE --param depth=int:8:2\nt {depth}\n", "sweep.sh:3:27: --param depth=int:8:2: column 11 of the value: the range from 8 to 2 is empty; want the smaller number first: int:2:8"},
		"log of 0":                            {head + "\n#SLUICE --param lr=log:0:1\nt {lr}\n", "sweep.sh:3:24: --param lr=log:0:1: column 8 of the value: a logarithmic range starts above 0, not at 0; write log with a small number, such as 1e-6, or float:0:1"},
		"NaN in a range":                      {head + "\n#SLUICE --param lr=float:nan:1\nt {lr}\n", "sweep.sh:3:26: --param lr=float:nan:1: column 10 of the value: \"nan\" is not a number; want one such as 0.1 or 1e-5"},
		"inf in a range":                      {head + "\n#SLUICE --param lr=float:0:inf\nt {lr}\n", "sweep.sh:3:28: --param lr=float:0:inf: column 12 of the value: \"inf\" is not a number; want one such as 0.1 or 1e-5"},
		"NaN as a goal":                       {head + " --goal=nan\n#SLUICE --param lr=float:0:1\nt {lr}\n", "sweep.sh:2:41: --goal=nan: want a number, such as 0.93"},
		"10^6 trials":                         {head + " --trials=1000000\n#SLUICE --param lr=float:0:1\nt {lr}\n", "sweep.sh:2:41: --trials=1000000: want a whole number from 1 to 10000"},
		"{name} that no parameter has":        {head + "\n#SLUICE --param lr=float:0:1\npython t.py --lr {lr} \\\n  --depth {depth}\n", "sweep.sh:5:11: {depth}: no parameter is called depth; there are lr, trial, seed"},
		"a misspelled kind":                   {head + "\n#SLUICE --param lr=lgo:1e-5:1e-1\nt {lr}\n", "sweep.sh:3:20: --param lr=lgo:1e-5:1e-1: column 4 of the value: no kind of parameter is called \"lgo\"; want NAME=log:LOW:HIGH, "},
		"a misspelled choice":                 {head + "\n#SLUICE --param opt=chioce:sgd,adamw\nt {opt}\n", "sweep.sh:3:21: --param opt=chioce:sgd,adamw: column 5 of the value: no kind of parameter is called \"chioce\"; "},
		"a constraint on no parameter":        {head + "\n#SLUICE --param lr=float:0:1 --where 'depth*lr<3'\nt {lr}\n", "sweep.sh:3:39: --where depth*lr<3: column 1 of the value: no parameter is called depth; there are lr"},
		"a starting point of no parameter":    {head + "\n#SLUICE --param lr=float:0:1 --try depth=3\nt {lr}\n", "sweep.sh:3:36: --try depth=3: column 1 of the value: no parameter is called depth; there are lr"},
		"a condition on no parameter":         {head + "\n#SLUICE --param 'lr=float:0:1 if opt=sgd'\nt {lr}\n", "sweep.sh:3:34: --param lr=float:0:1 if opt=sgd: column 17 of the value: no parameter is called opt; there are lr"},
		"a constraint that nothing satisfies": {head + "\n#SLUICE --param lr=float:0:1 --where 'lr>2'\nt {lr}\n", "sweep.sh:3:39: --where lr>2: column 1 of the value: none of 10000 points drawn from the space satisfies all of --where; widen a range, or leave a constraint out"},
		"a regular expression that is none":   {head + " --metric-regex='acc=('\n#SLUICE --param lr=float:0:1\nt {lr}\n", "sweep.sh:2:41: --metric-regex=acc=(: not a regular expression: missing closing ): `acc=(`; want one such as 'acc="},
		"a grid of 10^9 points":               {strings.Replace(head, "random", "grid", 1) + steps, "sweep.sh:3:17: --param a=float:0:1:0.001: column 1 of the value: the grid has 1e+09 points, and at most 100000 are searched"},
		"a grid of 10^9 points with asha":     {strings.Replace(head, "random", "asha+grid --epochs=9", 1) + steps, "sweep.sh:3:17: --param a=float:0:1:0.001: column 1 of the value: the grid has 1e+09 points"},
	} {
		dir := t.TempDir()
		jobs := filepath.Join(dir, "jobs")
		for file, text := range map[string]string{"sweep.sh": c.script, "sluice.toml": "[paths]\njobs = \"" + jobs + "\"\noutbox = \"" + dir + "/outbox\"\nsocket = \"" + dir + "/socket\"\n"} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Mkdir(jobs, 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sluice", "submit", "--config=sluice.toml", "sweep.sh")
		var said bytes.Buffer
		cmd.Dir, cmd.Stderr = dir, &said
		if err := cmd.Run(); err == nil || !strings.HasPrefix(said.String(), "sluice: error: "+c.want) {
			t.Errorf("%s: %v\ngot  %swant %s", name, err, said.String(), c.want)
		}
		if left, err := os.ReadDir(jobs); err != nil || len(left) > 0 {
			t.Errorf("%s: left %v, %v", name, left, err)
		}
	}
}

// TestBadReports: a metric that never comes, NaN and infinity fail the trial with words that name it; one
// that is reported out of order is left out, and said; the other trials and reports are kept.
func TestBadReports(t *testing.T) {
	b := newSweepBench(t, func(s *sweep.Sweep) { s.Params, s.Parallel = []string{"x=choice:good,never,nan,inf,order"}, 1 })
	b.must(os.WriteFile(filepath.Join(b.folder(), checkpoint.Script), []byte("#!/bin/sh\nexec /usr/bin/python3 "+filepath.Join(b.dir, "trial.py")+"\n"), 0o700))
	b.must(os.WriteFile(filepath.Join(b.dir, "trial.py"), []byte(`import sluice
x = sluice.params()["x"]
for epoch, score in {"good": [(1, .5)], "never": [], "nan": [(1, .9), (2, float("nan"))], "inf": [(1, float("inf"))], "order": [(3, .1), (2, .9), (4, .2)]}[x]:
    sluice.report(epoch=epoch, score=score)
sluice.report(epoch=9, loss=1.0)
`), 0o644))
	b.slurm([]int{101}, nil)
	b.starts()
	cmd := b.lane(101, 0)
	v := b.until("the sweep to end", func(v *sweepView) bool { return v.Book.Over == book.AllTried })
	b.must(cmd.Wait())
	for _, trial := range v.Book.Trials {
		want := map[string]struct {
			state book.State
			words string
			curve []float64
		}{
			"x=good": {book.Done, "", []float64{1}}, "x=never": {book.Failed, "it ended without having reported score", nil},
			"x=nan": {book.Failed, "score is not a finite number at epoch 2", []float64{1}}, "x=inf": {book.Failed, "score is not a finite number at epoch 1", nil},
			"x=order": {book.Done, "", []float64{3, 4}},
		}[trial.Point]
		var epochs []float64
		for _, m := range trial.Curve {
			epochs = append(epochs, m.Epoch)
		}
		if trial.State != want.state || trial.Words != want.words || len(epochs) != len(want.curve) || len(epochs) > 0 && epochs[len(epochs)-1] != want.curve[len(epochs)-1] {
			t.Errorf("%s: %s %q %v, want %+v", trial.Point, trial.State, trial.Words, epochs, want)
		}
	}
}

// TestAcceptedSweepsAreKept: sluiced's keeper takes every sweep that is accepted at submission, and what
// it refuses is refused there.
func TestAcceptedSweepsAreKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := func(what string, of ...string) string { return rapid.SampledFrom(of).Draw(t, what) }
		s := sweep.Sweep{Version: 1, Token: strings.Repeat("a", 32), Metric: sweep.Metric{Name: "m"}, MaxFailures: 1,
			Algorithm: pick("search", append(sweep.Searches(), "asha+tpe", "asha+grid", "asha+pbt", "tpe+asha", "best")...),
			Trials:    rapid.SampledFrom([]int{1, 5, 1000, 1001}).Draw(t, "trials"), Parallel: rapid.IntRange(1, 6).Draw(t, "parallel"),
			Epochs: float64(rapid.SampledFrom([]int{0, 1, 2, 52}).Draw(t, "epochs")), Repeats: rapid.IntRange(0, 2).Draw(t, "repeats"),
			Reduction: rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "reduction"), Members: rapid.SampledFrom([]int{0, 3, 4}).Draw(t, "members"),
			OwnJobs: rapid.Bool().Draw(t, "own jobs"),
			Rungs:   rapid.SampledFrom([][]int{nil, nil, {3}, {3, 9}, {9, 3}}).Draw(t, "rungs"),
			Params:  []string{pick("x", "x=int:1:3", "x=fixed:2", "x=log:0:1", "x=float:0:1:0.00001", "x=choice:a,b"), pick("y", "y=fixed:1", "y=int:1:9 if x=2", "y=float:0:1:0.001", "x=int:1:2")},
		}
		if where := pick("where", "", "", "y<1", "z<1", "x>9"); where != "" {
			s.Wheres = []string{where}
		}
		if try := pick("try", "", "", "x=2", "x=7", "x=2,y=1"); try != "" {
			s.Tries = []string{try}
		}
		_, refused := sbatch.CheckSweep(s)
		if s.Validate() != nil {
			return // sweep.Parse refuses it for both
		}
		if _, err := keeper.NewPlan(s); (err == nil) != (refused == nil) {
			t.Fatalf("%+v\nsubmit %v\nkeeper %v", s, refused, err)
		}
	})
}
