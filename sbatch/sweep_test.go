package sbatch

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// sweepOf merges a script of this header and these commands.
func sweepOf(header, commands string, args ...string) (Request, error) {
	script, err := ParseScript("s.sh", []byte("#!/bin/sh\n"+header+"\n"+commands+"\n"))
	if err != nil {
		return Request{}, err
	}
	line, err := ParseCommandLine(append(args, "s.sh"))
	if err != nil {
		return Request{}, err
	}
	return Merge(line, nil, script)
}

const plainSweep = "#SLUICE --sweep=asha --metric=acc:max --trials=20 --parallel=3 --goal=0.9 --epochs=52 --seed=4\n#SLUICE --param lr=log:1e-5:1e-1 --param opt=choice:sgd,adamw"

// TestSweep: the options of a sweep, on several lines and from several sources, and the lanes made of it.
func TestSweep(t *testing.T) {
	r, err := sweepOf(plainSweep, "python3 t.py --lr {lr} --opt {opt}", "--param", "depth=int:2:8", "--trials", "40")
	if err != nil {
		t.Fatal(err)
	}
	s := r.Sweep
	if s == nil || s.Algorithm != "asha" || s.Metric.String() != "acc:max" || s.Trials != 40 || s.Parallel != 3 || *s.Goal != .9 || s.Epochs != 52 || s.Seed != 4 ||
		strings.Join(s.Params, " ") != "lr=log:1e-5:1e-1 opt=choice:sgd,adamw depth=int:2:8" {
		t.Fatalf("%+v", s)
	}
	if len(r.Array.Tasks) != 3 || r.Spec.Min != 1 || r.Spec.Max != 1 || r.Spec.Total != 0 {
		t.Errorf("its lanes: %+v, %+v", r.Array, r.Spec)
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "{depth}") {
		t.Errorf("warnings %q", r.Warnings)
	}
	if r, err := sweepOf(plainSweep+" --max-gpus=4", "t {lr} {opt}"); err != nil || r.Spec.Max != 4 {
		t.Errorf("lanes of 1 to 4 GPUs: %+v, %v", r.Spec, err)
	}
}

// TestTrialsAsJobs: a job for each trial, of any size unless one is given, as many at once as lanes would be,
// each of known length.
func TestTrialsAsJobs(t *testing.T) {
	r, err := sweepOf(plainSweep, "t {lr} {opt}", "--trial=job", "--min-gpus=2")
	if err != nil {
		t.Fatal(err)
	}
	if s := r.Sweep; !s.OwnJobs || s.Trials != 20 || s.Parallel != 3 || len(r.Array.Tasks) != 20 || r.Array.Limit != 3 || r.Spec.Min != 2 || r.Spec.Max != 0 || r.Spec.Total != 52 {
		t.Errorf("%+v, %+v, %+v", s, r.Array, r.Spec)
	}
	if r, err := sweepOf(plainSweep, "t {lr} {opt}", "--trial=lane"); err != nil || r.Sweep.OwnJobs || len(r.Array.Tasks) != 3 || r.Array.Limit != 0 || r.Spec.Total != 0 {
		t.Errorf("lanes: %+v, %v", r.Array, err)
	}
	grid := "#SLUICE --sweep=grid --metric=acc:max --trial=job --trials=100 --parallel=8 --param x=int:1:3 --param opt=choice:sgd,adamw"
	if r, err := sweepOf(grid, "t {x} {opt}"); err != nil || len(r.Array.Tasks) != 6 || r.Array.Limit != 6 {
		t.Errorf("a grid of 6 points: %+v, %v", r.Array, err)
	}
	if r, err := sweepOf(grid+" --repeats=3", "t {x} {opt}"); err != nil || len(r.Array.Tasks) != 18 || r.Array.Limit != 8 {
		t.Errorf("a grid of 6 points, each 3 times: %+v, %v", r.Array, err)
	}
}

// TestSweepRefuses: bad input names its line and column.
func TestSweepRefuses(t *testing.T) {
	for _, c := range []struct{ header, commands, want string }{
		{"#SLUICE --sweep=asha --epochs=9 --metric=a:max --param lr=log:0:1", "t {lr}", "s.sh:2:63: --param lr=log:0:1: column 8 of the value: a logarithmic range starts above 0"},
		{"#SLUICE --sweep=asha --epochs=9 --metric=a:max --param 'x=int:8:2'", "t {x}", "s.sh:2:63: --param x=int:8:2: column 7 of the value: the range from 8 to 2 is empty"},
		{"#SLUICE --sweep=asha --epochs=9 --metric=a:max --param x=int:1:2 --param x=float:0:1", "t {x}", "given twice"},
		{"#SLUICE --sweep=asha --epochs=9 --metric=a:max --param x=int:1:2 --param X=float:0:1", "t {x}", "would both be SLUICE_PARAM_X"},
		{"#SLUICE --sweep=asha --epochs=9 --metric=a:max --param x=int:1:2", "t {x} \\\n  --y {y}", "s.sh:4:7: {y}: no parameter is called y; there are x, trial, seed; for the text itself write {{y}}"},
		{"#SLUICE --sweep=asha --epochs=9 --metric=a:max --trials=1000000 --param x=int:1:2", "t {x}", "--trials=1000000: want a whole number from 1 to 10000"},
		{"#SLUICE --sweep=grid --metric=a:max --param x=float:0:1:0.00002 --param y=float:0:1:0.00002", "t {x} {y}", "points"},
		{"#SLUICE --sweep=asha --param x=int:1:2", "t {x}", "a sweep searches by a metric"},
		{"#SLUICE --sweep=asha --epochs=9 --metric=a --param x=int:1:2", "t {x}", "a:max or a:min"},
		{"#SLUICE --sweep=asha --epochs=9 --metric=a:max --goal=nan --param x=int:1:2", "t {x}", "--goal=nan: want a number"},
		{"#SLUICE --sweep=asha --epochs=9 --metric=a:max --param x=choice:a;b,c", "t {x}", `has a meaning to the shell; write "$SLUICE_PARAM_X"`},
		{"#SLUICE --sweep=asha --epochs=9 --metric=a:max", "t", "a sweep has at least one parameter"},
		{"#SLUICE --sweep=asha --metric=a:max --param x=int:1:2", "t {x}", "s.sh:2:9: --sweep=asha: asha compares trials at parts of their length: add --epochs=N"},
		{"#SLUICE --sweep=asha --epochs=1 --metric=a:max --param x=int:1:2", "t {x}", "s.sh:2:22: --epochs=1: asha compares trials within their length: give 2 or more"},
		{"#SLUICE --sweep=asha --epochs=9 --rungs=9 --metric=a:max --param x=int:1:2", "t {x}", "s.sh:2:33: --rungs=9: a trial has 9 epochs"},
		{"#SLUICE --sweep=asha --rungs=9,3 --metric=a:max --param x=int:1:2", "t {x}", "s.sh:2:22: --rungs=9,3: want at most 64 epochs"},
		{"#SLUICE --sweep=tpe --rungs=3 --metric=a:max --param x=int:1:2", "t {x}", "s.sh:2:21: --rungs=3: --sweep=tpe compares no trials at epochs: choose asha or asha+tpe"},
		{"#SLUICE --sweep=gp --trials=1001 --metric=a:max --param x=int:1:2", "t {x}", "s.sh:2:20: --trials=1001: --sweep=gp takes at most 1000"},
		{"#SLUICE --sweep=tpe --metric=a:max --param x=fixed:2", "t {x}", "no parameter has more than one value"},
		{"#SLUICE --sweep=asha+pbt --epochs=9 --metric=a:max --param x=int:1:2", "t {x}", "no search is called so"},
		{"#SLUICE --sweep=pbt --parallel=3 --metric=a:max --param x=int:1:2", "t {x}", "s.sh:2:21: --parallel=3: it is the size of pbt's population"},
		{"#SLUICE --sweep=pbt --repeats=2 --metric=a:max --param x=int:1:2", "t {x}", "s.sh:2:21: --repeats=2: pbt changes"},
		{"#SLUICE --sweep=random --keep-gb=-1 --metric=a:max --param x=int:1:2", "t {x}", "s.sh:2:24: --keep-gb=-1: want 0 to 1e9"},
		{"#SLUICE --sweep=random --metric=a:max --param x=int:1:9 --try x=2 --where x>4", "t {x}", "s.sh:2:63: --try x=2: column 1 of the value: none of 10000 points with these values satisfies all of --where"},
		{"#SLUICE --sweep=best --metric=a:max --param x=int:1:2", "t {x}", "s.sh:2:9: --sweep=best: no search is called so; there are asha, random, grid, sobol, tpe, gp, pbt, ask, and asha+tpe and the like"},
		{"#SLUICE --sweep=asha --epochs=9 --metric=a:max --param x=int:1:2 --try x=9", "t {x}", "--try x=9: column 3 of the value: 9 is not a value of"},
		{"#SLUICE --sweep=asha --epochs=9 --metric=a:max --param x=int:1:9 --where x*y<4", "t {x}", "no parameter is called y"},
		{"#SLUICE --max-gpus=2 --param x=int:1:9", "t", "this is an option of a sweep, and there is no --sweep"},
		{"#SLUICE --sweep=asha --epochs=9 --metric=a:max --param x=int:1:2 --metric-regex 'acc='", "t {x}", "want a group around the number"},
		{"#SBATCH --array=0-3\n#SLUICE --sweep=asha --epochs=9 --metric=a:max --param x=int:1:2", "t {x}", "a sweep makes its jobs itself"},
		{"#SLUICE --sweep=asha --epochs=9 --metric=a:max --param trial=int:1:2", "t {trial}", "{trial} is the number of the trial"},
		{"#SLUICE --sweep=ask --metric=a:max --param x=int:1:2", "t {x}", "the program that is asked for points is missing"},
		{"#SLUICE --sweep=tpe --metric=a:max --param x=int:1:2 --searcher='python3 s.py'", "t {x}", "only --sweep=ask asks a program"},
		{"#SLUICE --sweep=ask --metric=a:max --param x=int:1:2 --searcher=' '", "t {x}", "want a program and its arguments"},
		{"#SLUICE --sweep=ask --metric=a:max --param x=int:1:2 --searcher=\"python3 'a b\"", "t {x}", "quote"},
		{"#SLUICE --sweep=random --metric=a:max --param x=int:1:2 --trial=jobs", "t {x}", "s.sh:2:57: --trial=jobs: want job, for trials that are jobs of their own, or lane"},
		{"#SLUICE --sweep=random --metric=a:max --param x=int:1:2 --trial=job --trials=2000", "t {x}", "s.sh:2:69: --trials=2000: want at most 1000 with --trial=job, since each is a job; give fewer, or leave --trial=job out"},
		{"#SLUICE --sweep=pbt --metric=a:max --param x=int:1:2 --trial=job", "t {x}", "s.sh:2:54: --trial=job: pbt goes on in the same lanes with copies of the best trials: leave it out"},
		{"#SLUICE --sweep=random --metric=a:max --param x=int:1:2 --per-gpu=9", "t {x}", "s.sh:2:57: --per-gpu=9: want a whole number from 1 to 8"},
		{"#SLUICE --sweep=random --metric=a:max --param x=int:1:2 --per-gpu=two", "t {x}", "s.sh:2:57: --per-gpu=two: want a whole number from 1 to 8"},
		{"#SLUICE --sweep=random --metric=a:max --param x=int:1:2 --trial=job --per-gpu=2", "t {x}", "s.sh:2:69: --per-gpu=2: with --trial=job each trial has GPUs of its own: leave it out, or leave --trial=job out"},
		{"#SLUICE --sweep=pbt --metric=a:max --param x=int:1:2 --per-gpu=2", "t {x}", "s.sh:2:54: --per-gpu=2: pbt compares its members while all of them run"},
		{"#SLUICE --per-gpu=2 --max-gpus=4", "t", "this is an option of a sweep, and there is no --sweep"},
		{"#SLUICE --trial=job --max-gpus=4", "t", "this is an option of a sweep, and there is no --sweep"},
		{"#SBATCH --array=0-3\n#SLUICE --sweep=random --metric=a:max --param x=int:1:2 --trial=job", "t {x}", "a sweep makes its jobs itself"},
	} {
		if _, err := sweepOf(c.header, c.commands); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n%s\ngot  %v\nwant %s", c.header, c.commands, err, c.want)
		}
	}
}

// TestUses: {name} outside of comments is a use, and what is the shell's or doubled is none.
func TestUses(t *testing.T) {
	script := "#SLUICE --x {no}\n# {no}\nrun {lr} ${HOME} $'{a}' {{b}} {} {1} awk '{x.y}'\n"
	var got []string
	for _, u := range sweep.Uses([]byte(script)) {
		if u.Name != "" {
			got = append(got, u.Name)
		}
	}
	if strings.Join(got, " ") != "lr a x.y" {
		t.Errorf("%q", got)
	}
	out := sweep.Render([]byte(script), func(name string) (string, bool) { return "<" + name + ">", name != "a" })
	if want := "#SLUICE --x {no}\n# {no}\nrun <lr> ${HOME} $'' {b} {} {1} awk '<x.y>'\n"; string(out) != want {
		t.Errorf("%q, want %q", out, want)
	}
}

// TestUsesOfAnyScript: no script makes Uses or Render fail, and one without braces stays as it is.
func TestUsesOfAnyScript(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		script := []byte(rapid.StringMatching(`[a{}$# \n]{0,40}`).Draw(t, "script"))
		for _, u := range sweep.Uses(script) {
			if u.Line < 1 || u.Column < 1 {
				t.Fatalf("%+v", u)
			}
		}
		out := sweep.Render(script, func(string) (string, bool) { return "", false })
		if !strings.ContainsAny(string(script), "{}") && string(out) != string(script) {
			t.Fatalf("%q became %q", script, out)
		}
	})
}

// TestVariablesOfATrial: a job that is submitted within a trial is none of the sweep; outside of jobs the
// same variables are options.
func TestVariablesOfATrial(t *testing.T) {
	script, err := ParseScript("s.sh", []byte("#!/bin/sh\n#SLUICE --max-gpus=2\ntrue\n"))
	if err != nil {
		t.Fatal(err)
	}
	line, err := ParseCommandLine([]string{"s.sh"})
	if err != nil {
		t.Fatal(err)
	}
	inside := []string{"SLUICE_SWEEP=101", "SLUICE_SEED=3", "SLUICE_JOB_ID=101"}
	if r, err := Merge(line, inside, script); err != nil || r.Sweep != nil {
		t.Errorf("within a trial: %v", err)
	}
	if _, err := Merge(line, inside[:2], script); err == nil || !strings.Contains(err.Error(), "SLUICE_SWEEP") {
		t.Errorf("outside: %v", err)
	}
}
