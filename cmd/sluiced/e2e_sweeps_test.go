package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/sweep/search"
	"github.com/sluice-hpc/sluice/elastic/sweep/space"
)

// A campaign of three users, each with a search of their own, beside two trainings.
const (
	sweepTrials = 60
	sweepEpochs = 20
	sweepPace   = .5 // emulated seconds of an epoch
	sweepMin    = 2  // GPUs of each training at least
)

// seeker is a user with a search.
type seeker struct {
	user  string
	turns float64 // of the spirals: what makes the task
	goal  float64 // accuracy on points that a trial does not train on: about the 95th percentile of the space
	log   string
}

// TestSweepsForReal: three users' sweeps of a small real PyTorch program, beside two elastic trainings,
// on a lab at its default parameters; then the same points as job arrays of plain Slurm, in the same
// order, the trainings at their minimum. It is a campaign: SLUICE_SWEEPS=1 tries it. The sweeps must reach
// their goals sooner than the arrays do on average; the array that comes first has all free GPUs, so it may
// be sooner. The times are printed.
func TestSweepsForReal(t *testing.T) {
	if os.Getenv("SLUICE_SWEEPS") == "" {
		t.Skip("a campaign: SLUICE_SWEEPS=1 tries it; TestSweep tries a small sweep")
	}
	seekers := []*seeker{{"sluice-test-ida", 1, .985, ""}, {"sluice-test-joe", 1.25, .94, ""}, {"sluice-test-kim", 1.5, .85, ""}}
	by := map[string][]time.Duration{}
	for _, how := range []string{"sweeps", "arrays"} {
		t.Run(how, func(t *testing.T) {
			var names []string
			for _, k := range seekers {
				names = append(names, k.user)
			}
			s := play(t, withNodes(2, 4), withUsers(names))
			program, err := os.ReadFile("testdata/sweep_train.py")
			s.must(err)
			s.must(site.Put(s.Path("sweep_train.py"), program, 0o644))
			if how == "sweeps" {
				by[how] = s.sweeps(seekers)
			} else {
				by[how] = s.arrays(seekers)
			}
		})
	}
	var sweeps, arrays time.Duration
	for i, k := range seekers {
		sweep, array := by["sweeps"][i], by["arrays"][i]
		t.Logf("sweeps: turns=%g goal=%g to_goal=%.1f s as an array of plain Slurm=%.1f s ratio=%.3f", k.turns, k.goal, sweep.Seconds(), array.Seconds(), sweep.Seconds()/array.Seconds())
		sweeps, arrays = sweeps+sweep, arrays+array
	}
	t.Logf("sweeps: mean ratio=%.3f", sweeps.Seconds()/arrays.Seconds())
	if sweeps >= arrays {
		t.Errorf("the sweeps reached their goals after %v on average, the arrays after %v", sweeps/3, arrays/3)
	}
}

// command is the training of a trial; params are its parameters as arguments.
func (s *scene) command(k *seeker, trial, params string) string {
	return fmt.Sprintf("/usr/bin/python3 -u %s --turns %g --epochs %d --epoch-seconds %g --log %s --trial %s %s",
		s.Path("sweep_train.py"), k.turns, sweepEpochs, sweepPace, k.log, trial, params)
}

// sweeps runs the sweeps and the trainings, all by sluice, and returns each sweep's time to its goal.
func (s *scene) sweeps(seekers []*seeker) (out []time.Duration) {
	s.t.Helper()
	var trainings []*job
	for i := range 2 {
		trainings = append(trainings, s.submit(fmt.Sprint("training", i), seekers[i].user, 1_000_000, []string{"--min-gpus=2", "--max-gpus=4"}, "--seconds", "0.4"))
	}
	for _, j := range trainings {
		j.runsOn(4)
	}
	var began []time.Time
	var numbers []string
	for i, k := range seekers {
		home := s.Home(k.user)
		k.log = filepath.Join(home, "epochs")
		script := filepath.Join(home, "sweep.sh")
		s.must(site.Put(script, []byte(fmt.Sprintf("#!/bin/bash\n#SLUICE --sweep=asha --metric=accuracy:max --goal=%g --trials=%d --parallel=8 --epochs=%d --seed=%d\n"+
			"#SLUICE --param %s\n%s\n",
			k.goal, sweepTrials, sweepEpochs, i+1, strings.Join(sweepSpace, " --param "), s.command(k, "{trial}", "--lr {lr} --width {width} --momentum {momentum}"))), 0o755))
		began = append(began, time.Now())
		numbers = append(numbers, strings.TrimSpace(s.as(k.user, "sluice", "submit", "--parsable", "-D", home, script)))
	}
	for i, k := range seekers {
		s.must(site.Until(s.ctx, 15*time.Minute, "sweep "+numbers[i]+" to end", func() (bool, error) {
			for _, j := range trainings {
				if v := j.view(); v.State == "RUNNING" && v.GPUs < sweepMin {
					s.t.Errorf("training %d runs on %d GPUs", j.id, v.GPUs)
				}
			}
			time.Sleep(time.Second)
			out, err := s.Run(s.ctx, k.user, "sluice", "sweep", "show", "--json", numbers[i])
			return err == nil && !strings.Contains(out, `"state": "running"`) && !strings.Contains(out, `"state": "waiting"`), nil
		}))
		s.t.Log(s.as(k.user, "sluice", "sweep", "show", numbers[i]))
		out = append(out, s.toGoal(k, began[i]))
	}
	for i, j := range trainings {
		s.cancel(j)
		j.ends()
		tr, err := site.ReadTraining(j.stepsLog(), 0, perEpoch)
		s.must(err)
		s.t.Logf("sweeps: training %d ran on %v GPUs, %d steps repeated", i+1, tr.Worlds, tr.Repeated)
	}
	return out
}

// arrays runs the same trainings and the same points, as users do it on plain Slurm: one array for each
// user, an element a trial, and the trainings at their minimum. It returns each array's time to the goal.
func (s *scene) arrays(seekers []*seeker) (out []time.Duration) {
	s.t.Helper()
	s.must(s.Stop())   // no sluiced
	for i := range 2 { // the trainings; all that counts here is that they hold their GPUs
		s.sbatch(seekers[i].user, "training.sh", fmt.Sprintf("#!/bin/bash\n#SBATCH --gres=gpu:%d\nexec sleep 100000\n", sweepMin))
	}
	var began []time.Time
	for i, k := range seekers {
		k.log = filepath.Join(s.Home(k.user), "epochs")
		text := fmt.Sprintf("#!/bin/bash\n#SBATCH --gres=gpu:1 --array=1-%d\ncase $SLURM_ARRAY_TASK_ID in\n", sweepTrials)
		for n, point := range s.points(i) {
			text += fmt.Sprintf("%d) exec %s --plain ;;\n", n+1, s.command(k, "$SLURM_ARRAY_TASK_ID", point))
		}
		began = append(began, time.Now())
		s.sbatch(k.user, "array.sh", text+"esac\n")
	}
	for i, k := range seekers {
		s.must(site.Until(s.ctx, 19*time.Minute, "an element of "+k.user+"'s array to reach the goal", func() (bool, error) {
			return s.toGoal(k, began[i]) > 0, nil
		}))
		out = append(out, s.toGoal(k, began[i]))
	}
	for _, k := range seekers {
		s.as(k.user, "scancel", "-u", k.user)
	}
	return out
}

// sbatch submits a script to Slurm itself.
func (s *scene) sbatch(user, name, text string) {
	s.t.Helper()
	path := filepath.Join(s.Home(user), name)
	s.must(site.Put(path, []byte(text), 0o755))
	_, err := s.Sbatch(s.ctx, user, "-D", s.Home(user), "--output=/dev/null", path)
	s.must(err)
}

// sweepSpace is what all of them search.
var sweepSpace = []string{"lr=log:1e-5:1", "width=logint:4:128", "momentum=float:0:0.99"}

// points are those of the search of user i, in their order, as arguments: asha takes them as random does.
func (s *scene) points(i int) (out []string) {
	s.t.Helper()
	all, err := space.Parse(sweepSpace, nil)
	s.must(err)
	list, err := search.Suggest(search.Problem{Space: all, Method: "random", Max: true, Seed: uint64(i + 1)}, nil, sweepTrials)
	s.must(err)
	for _, suggestion := range list {
		text := ""
		for _, setting := range suggestion.Point.Settings() {
			text += " --" + setting.Name + " " + setting.Value.Text
		}
		out = append(out, text)
	}
	return out
}

// toGoal is the time from began to the first epoch that reached the goal.
func (s *scene) toGoal(k *seeker, began time.Time) time.Duration {
	s.t.Helper()
	text, _ := os.ReadFile(k.log)
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 4 { // it is being written
			continue
		}
		at, err1 := strconv.ParseFloat(f[0], 64)
		accuracy, err2 := strconv.ParseFloat(f[3], 64)
		if err1 == nil && err2 == nil && accuracy >= k.goal {
			return time.UnixMilli(int64(at * 1000)).Sub(began)
		}
	}
	return -1
}
