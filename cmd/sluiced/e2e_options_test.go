package main_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/sbatch"
	"github.com/sluice-hpc/sluice/slurm/lab"
)

// expected differ between an elastic job and an ordinary one, or between two of the same
// kind: names and times of the job, where it runs, which pass of Slurm's started it, sluice's own words, the size, and what
// the runner takes away because srun would read the size at submit from it.
var expected = strings.Fields(`JobId Command Comment AccrueTime EligibleTime EndTime LastSchedEval RunTime StartTime SubmitTime Priority Scheduler
	ReqNodeList NodeList BatchHost Restarts TRES TresPerNode TresPerJob JobState Reason AllocNode:Sid
	again cpus defer id inc max mem min script
	env:SLURM_JOB_ID env:SLURM_JOBID env:SLURM_TASK_PID env:SLURM_RESTART_COUNT env:CUDA_VISIBLE_DEVICES env:SLURM_JOB_GPUS env:SLURM_GPUS_ON_NODE
	env:SLURM_JOB_NODELIST env:SLURM_NODELIST env:SLURMD_NODENAME env:SLURM_TOPOLOGY_ADDR
	env:SLURM_NTASKS env:SLURM_NPROCS env:SLURM_NTASKS_PER_CORE env:SLURM_NTASKS_PER_SOCKET env:SLURM_CPUS_PER_GPU env:SLURM_MEM_PER_GPU`)

// ofGPUs scale with the GPUs where the CPUs are counted for each of them.
var ofGPUs = strings.Fields("NumCPUs env:SLURM_CPUS_ON_NODE env:SLURM_JOB_CPUS_PER_NODE")

// seen is what can be read back of a job: the fields that Slurm shows, "env X" for the
// variables of its script and "here X" for its surroundings.
type seen map[string]string

// readable is a job whose script writes down what an option may have changed.
type readable struct {
	s     *scene
	id    int64
	what  string
	dumps string
}

// surroundings writes that script: a file for each run, and then a training under sluice,
// or nothing without.
func (s *scene) surroundings(name, header string) string {
	s.t.Helper()
	path := s.Path("home", name+".sh")
	s.write(path, fmt.Sprintf(`#!/bin/bash
%sout=%s/$SLURM_JOB_ID.${SLURM_RESTART_COUNT:-0}
{ env | grep '^SLURM\|^OPTION_\|^CUDA_' | sed 's/^/env /'
  echo "here pwd=$(pwd)"
  for l in n u s c; do echo "here ulimit-$l=$(ulimit -S$l)"; done
  echo "here stdin=$(head -c 40)"
  echo "here args=$*"
} >$out.new
mv $out.new $out
echo "to stderr" >&2
trap 'echo "here signal=USR1" >>$out; wait' USR1
if [ -n "$SLUICE_JOB_DIR" ]; then
  while [ ! -e %s/go ]; do sleep 0.2; done # until then it stays at its first size
  /usr/bin/python3 -u %s --steps-log $out.steps --epochs 10000 --seconds 0.3 &
else
  sleep 600 &
fi
wait
`, header, s.Path("dumps"), s.Path("dumps"), s.Path("loop.py")))
	return path
}

// limited runs a command with a soft limit of its own, so that --propagate has something
// to propagate.
func (s *scene) limited(environ []string, args ...string) (int64, error) {
	ctx, cancel := context.WithTimeout(s.ctx, time.Minute)
	defer cancel()
	cmd, err := s.Command(ctx, "", "sh", append([]string{"-c", `ulimit -S -n 333; exec "$@"`, "sh"}, args...)...)
	s.must(err)
	cmd.Env = append(cmd.Env, environ...)
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("%q: %w", args, err)
	}
	return strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
}

// run waits for a run of the job and returns what can be read back then.
func (j readable) run(n int) seen {
	j.s.t.Helper()
	all := seen{}
	file := filepath.Join(j.dumps, fmt.Sprintf("%d.%d", j.id, n))
	j.s.must(site.Until(j.s.ctx, 2*time.Minute, fmt.Sprintf("run %d of %s (job %d)", n, j.what, j.id), func() (bool, error) {
		_, err := os.Stat(file)
		return err == nil, nil
	}))
	raw, err := os.ReadFile(file)
	j.s.must(err)
	out := j.s.as("", "scontrol", "-o", "show", "job", fmt.Sprint(j.id))
	for _, word := range slices.Concat(strings.Split(string(raw), "\n"), strings.Fields(out)) {
		name, value, ok := strings.Cut(word, "=")
		if _, twice := all[name]; ok && !twice {
			all[name] = strings.ReplaceAll(value, fmt.Sprint(j.id), "ID")
		}
	}
	return all
}

// unlike lists in what b differs from a, leaving out what is expected to.
func unlike(a, b seen, scales bool) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if _, is := b[name]; !is {
			b[name] = "(nothing)"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b)) {
		word := strings.ReplaceAll(name, " ", ":")
		was, is := a[name]
		if !is {
			was = "(nothing)"
		}
		if was != b[name] && !slices.Contains(expected, word) && !(scales && slices.Contains(ofGPUs, word)) && name != "here signal" {
			out = append(out, fmt.Sprintf("%s: %s, not %s", name, b[name], was))
		}
	}
	return out
}

// furnish makes the site what the options name: accounts, a QOS, features, a reservation.
func (s *scene) furnish() {
	s.t.Helper()
	s.must(errors.Join(os.Mkdir(s.Path("dumps"), 0o777), os.Chmod(s.Path("dumps"), 0o755)))
	s.must(site.Put(s.Path("variables"), []byte("OPTION_B=2\x00PATH=/usr/bin:/bin\x00"), 0o644))
	s.must(s.Lab.Enroll(s.ctx, "other", "root"))
	s.as("", "sacctmgr", "-i", "add", "qos", "quick")
	s.as("", "sacctmgr", "-i", "modify", "user", "root", "set", "qos+=quick")
	for _, node := range []string{"gpu1", "gpu3"} {
		s.as("", "scontrol", "update", "NodeName="+node, "AvailableFeatures=fast", "ActiveFeatures=fast")
	}
	s.as("", "scontrol", "create", "reservation", "ReservationName=kept", "StartTime=now", "Duration=120", "Users=root", "Nodes=gpu3")
}

// trio is what is compared: a job of sbatch's, and those of sluice's to which the same
// options were given on the command line, in the script and in the environment.
type trio struct {
	group    map[string]shown
	ordinary readable
	elastic  []readable
}

var sameSize = []string{"--parsable", "--gres=gpu:1", "--nodes=1", "--ntasks=1", "--requeue", "--open-mode=append"}

func (s *scene) handIn(number int, group map[string]shown) trio {
	s.t.Helper()
	var give, rest, vars []string
	lines := ""
	for _, name := range slices.Sorted(maps.Keys(group)) {
		row := group[name]
		words := strings.Fields(strings.ReplaceAll(row.give, "$", s.Path("dumps")))
		if name == "export-file" {
			words = []string{"--export-file=" + s.Path("variables")}
		}
		give = append(give, words...)
		lines += "#SBATCH " + strings.Join(words, " ") + "\n"
		if row.variable == "" {
			rest = append(rest, words...)
		}
		vars = append(vars, strings.Fields(strings.ReplaceAll(row.variable, "$", s.Path("dumps")))...)
	}
	script := s.surroundings("options", "")
	same := s.surroundings(fmt.Sprintf("header%d/options", number), lines)
	submit := []string{"sluice", "submit", "--parsable", "--max-gpus=2", "--comment=mine"}
	add := func(what string, environ []string, args ...string) readable {
		id, err := s.limited(environ, args...)
		s.must(err)
		return readable{s, id, fmt.Sprintf("group %d, %s", number, what), s.Path("dumps")}
	}
	return trio{
		group:    group,
		ordinary: add("sbatch", nil, slices.Concat([]string{"sbatch"}, sameSize, give, []string{script, "a", "b c"})...),
		elastic: []readable{
			add("command line", nil, slices.Concat(submit, give, []string{script, "a", "b c"})...),
			add("#SBATCH lines", nil, slices.Concat(submit, []string{same, "a", "b c"})...),
			add("environment", vars, slices.Concat(submit, rest, []string{script, "a", "b c"})...),
		},
	}
}

// shows checks that there is something to compare: each option makes a difference.
func (tr trio) shows(t *testing.T, bare, ordinary seen) {
	t.Helper()
	for name, row := range tr.group {
		for _, field := range row.in {
			if field != "here signal" && bare[field] == ordinary[field] {
				t.Errorf("--%s does not show in %s, which is %q with and without it: nothing is compared", name, field, ordinary[field])
			}
		}
	}
}

// holds compares the elastic jobs' run, the first or the one after a resize, with sbatch's.
func (tr trio) holds(t *testing.T, run int, ordinary seen) {
	t.Helper()
	_, scales := tr.group["cpus-per-gpu"]
	for _, e := range tr.elastic {
		if diff := unlike(ordinary, e.run(run), scales); len(diff) > 0 {
			t.Errorf("%s, run %d, differs from sbatch's job:\n%s", e.what, run, strings.Join(diff, "\n"))
		}
		if comment := e.s.as("", "scontrol", "-o", "show", "job", fmt.Sprint(e.id)); !strings.Contains(comment, "; mine") {
			t.Errorf("%s: the user's comment is gone: %s", e.what, comment)
		}
	}
	if _, signals := tr.group["signal"]; signals && run > 0 {
		for _, j := range append(tr.elastic, tr.ordinary) {
			run := min(1, slices.IndexFunc(tr.elastic, func(e readable) bool { return e.id == j.id })+1)
			tr.ordinary.s.must(site.Until(j.s.ctx, 90*time.Second, j.what+" to be signalled", func() (bool, error) {
				return j.run(run)["here signal"] == "USR1", nil
			}))
		}
	}
}

// TestEveryOption gives every option of sbatch's whose effect can be read back to sluice
// submit, on the command line, as #SBATCH lines and as variables, and to sbatch: all that
// Slurm shows of the jobs, and what their scripts see, is the same, at the first start and
// after a resize. What is refused leaves no job.
func TestEveryOption(t *testing.T) {
	needsAccounting(t, "options were")
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: needs root for a lab with accounts")
	}
	t.Parallel()
	s := play(t, func(c *site.Config) {
		// Jobs of the first group can run on gpu1 alone: it holds all jobs at once, those of the
		// other groups too, wherever Slurm and sluice put them.
		c.Lab.GPUs, c.Lab.CPUs, c.Lab.Accounting = 32, 96, true
		c.Lab.ExtraConf = "FirstJobId=4700001\nLicenses=tool:40\nTrackWCKey=yes\nNodeName=DEFAULT TmpDisk=1000\n"
		c.Lab.Partitions = []lab.Partition{{Name: "gpu"}, {Name: "second"}}
	})
	s.furnish()
	s.refusesAll()
	dead := s.neverDepends()
	id, err := s.limited(nil, slices.Concat([]string{"sbatch"}, sameSize, []string{s.surroundings("bare", ""), "a", "b c"})...)
	s.must(err)
	var trios []trio
	for i, group := range shownTogether {
		s.must(os.MkdirAll(s.Path("home", fmt.Sprintf("header%d", i)), 0o755))
		trios = append(trios, s.handIn(i, group))
	}
	bare := readable{s, id, "a job without options", s.Path("dumps")}.run(0)
	ordinary := make([]seen, len(trios))
	for i, tr := range trios {
		ordinary[i] = tr.ordinary.run(0)
		tr.shows(t, bare, ordinary[i])
		tr.holds(t, 0, ordinary[i])
	}
	s.must(site.Put(s.Path("dumps", "go"), nil, 0o644))
	for i, tr := range trios {
		tr.holds(t, 1, ordinary[i])
	}
	for _, j := range dead {
		if state := j.ends(); state != "CANCELLED" {
			t.Errorf("with --kill-on-invalid-dep=yes job %d ended as %s", j.id, state)
		}
	}
	s.as("", "scancel", "--user=root")
}

// neverDepends submits two jobs with impossible dependencies that Slurm is to cancel for that; the second
// one is elastic.
func (s *scene) neverDepends() []*job {
	s.t.Helper()
	failed, err := s.limited(nil, "sbatch", "--parsable", "--wrap=exit 1")
	s.must(err)
	options := []string{"--parsable", fmt.Sprintf("--dependency=afterok:%d", failed), "--kill-on-invalid-dep=yes", "--wrap=true"}
	ordinary, err := s.limited(nil, append([]string{"sbatch"}, options...)...)
	s.must(err)
	elastic, err := s.limited(nil, append([]string{"sluice", "submit", "--max-gpus=2"}, options...)...)
	s.must(err)
	return []*job{{s: s, id: ordinary}, {s: s, id: elastic}}
}

// refusesAll submits a job with each option that is refused: no job is left in Slurm, and the error says
// what to type.
func (s *scene) refusesAll() {
	s.t.Helper()
	script := s.surroundings("refused", "")
	for _, e := range sbatch.Effects() {
		if e.Does != sbatch.Refuses {
			continue
		}
		path, args := script, []string{"submit", "--max-gpus=2"}
		if typed := e.Typed(); e.Name == "deadline" {
			path = s.surroundings("deadline", "#SBATCH "+typed+"\n")
		} else {
			args = append(args, typed)
		}
		out, err := s.Run(s.ctx, "", "sluice", append(args, path)...)
		if why, _, _ := strings.Cut(e.Note, ": "); err == nil || !strings.Contains(err.Error(), "sluice: error:") || !strings.Contains(err.Error(), why) {
			s.t.Errorf("--%s is not refused: %s, %v", e.Name, out, err)
		}
	}
	if left := s.as("", "squeue", "--noheader"); left != "" {
		s.t.Errorf("what was refused left jobs:\n%s", left)
	}
}
