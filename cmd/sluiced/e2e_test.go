package main_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/slurm/lab"
)

// bin holds sluice and sluiced as the tests built them: with the race detector
// when the tests have it, and with the tag crash.
var bin string

func TestMain(m *testing.M) {
	if bin = os.Getenv("SLUICE_BUILT"); bin != "" { // where there is no compiler
		os.Exit(m.Run())
	}
	dir, err := os.MkdirTemp("", "sluice-e2e-bin-")
	if err != nil {
		panic(err)
	}
	bin = dir
	if err := os.Chmod(dir, 0o755); err != nil { // other accounts run them
		panic(err)
	}
	args := append([]string{"build", "-tags", "crash", "-o", dir + "/"}, raceFlag...)
	out, err := exec.Command("go", append(args, "../sluice", "../sluice-lab", "../sluice-web", "../sluice-vaultd", ".")...).CombinedOutput()
	if err != nil {
		fmt.Fprintf(os.Stderr, "building the programs: %v\n%s", err, out)
		os.Exit(1)
	}
	for _, program := range []string{"sluice", "sluice-lab", "sluice-web", "sluice-vaultd", "sluiced"} { // whatever the umask
		if err := os.Chmod(filepath.Join(dir, program), 0o755); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// quick makes the daemon look often: a test waits for what it does.
const quick = `[cycle]
period = "2s"
transition = "300ms"
[resize]
grace = "20s"
cooldown = "0s"
confirm = "40s"
save = "0s"
drain = "0s"
start = "1s"
load = "1s"
[log]
level = "debug"
format = "json"
`

// scene is one test's own site.
type scene struct {
	*site.Site
	t   *testing.T
	ctx context.Context
}

var scenes atomic.Int64

// The ordinary accounts of tests that run at the same time: each removes its own in the end.
var (
	users   = []string{"sluice-test-a", "sluice-test-b"}
	modes   = []string{"sluice-test-c", "sluice-test-d"}
	verbs   = []string{"sluice-test-e", "sluice-test-f"}
	remotes = []string{"sluice-test-g", "sluice-test-h"}
)

type setting func(*site.Config)

func withNodes(nodes, gpus int) setting {
	return func(c *site.Config) { c.Lab.Nodes, c.Lab.GPUs = nodes, gpus }
}

func withConfig(text string) setting { return func(c *site.Config) { c.Config = text } }

func withUsers(names []string) func(*site.Config) {
	return func(c *site.Config) { c.Accounts = names }
}

// play builds a site with a running sluiced for one test. Tests on a real Slurm
// are skipped, loudly, where there is none.
func play(t *testing.T, settings ...setting) *scene {
	t.Helper()
	root := os.Getenv("SLUICE_LAB_ROOT") // a tree with a Slurm, where this machine has none
	if err := lab.Missing(root); err != nil {
		t.Skipf("SKIPPED, nothing was tested on a real Slurm: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	t.Cleanup(cancel)
	c := site.Config{Bin: bin, Config: quick, Mounts: site.MountsOfEnvironment(), Lab: lab.Config{
		Dir: filepath.Join("/tmp", fmt.Sprintf("sluice-e2e-%d-%d", os.Getpid(), scenes.Add(1))), Root: root, Nodes: 3, GPUs: 4,
	}}
	for _, set := range settings {
		set(&c)
	}
	if len(c.Accounts) > 0 && os.Geteuid() != 0 {
		t.Skip("SKIPPED: needs root to make two Unix accounts")
	}
	s, err := site.Up(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	sc := &scene{Site: s, t: t, ctx: ctx}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("sluiced's log:\n%s", s.Tail(60))
			outs, _ := filepath.Glob(s.Home("") + "/*.out")
			for _, out := range outs {
				b, _ := os.ReadFile(out)
				t.Logf("%s:\n%s", filepath.Base(out), b[max(0, len(b)-2000):])
			}
		}
		clean, stop := context.WithTimeout(context.Background(), 2*time.Minute)
		defer stop()
		sc.audit(clean)
		if err := s.Down(clean); err != nil {
			t.Error(err)
		}
	})
	sc.must(s.PutLibrary())
	program, err := os.ReadFile("testdata/loop.py")
	sc.must(err)
	sc.must(site.Put(s.Path("loop.py"), program, 0o644))
	sc.must(s.Start(ctx))
	return sc
}

// needsAccounting skips a test where no lab can have slurmdbd; what says what was then not tested, with
// its verb. SLUICE_REQUIRE_LAB=1 makes that a failure.
func needsAccounting(t *testing.T, what string) {
	t.Helper()
	err := lab.MissingAccounting("")
	if err == nil {
		return
	}
	if os.Getenv("SLUICE_REQUIRE_LAB") == "1" {
		t.Fatal(err)
	}
	t.Skipf("SKIPPED, %s not tested on a real Slurm: %v", what, err)
}

// audit holds what sluiced said against Slurm's own records, once all is over.
func (s *scene) audit(ctx context.Context) {
	s.t.Helper()
	report, err := s.Audit(ctx)
	if err != nil {
		s.t.Error(err)
		return
	}
	s.t.Logf("%s", report)
	if !report.Clean() {
		s.t.Error("the audit found violations; see above")
	}
	if dir := os.Getenv("SLUICE_KEEP_RECORDS"); dir != "" {
		s.must(s.KeepRecords(filepath.Join(dir, s.t.Name())))
	}
}

func (s *scene) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// job is a training job handed in by submit.
type job struct {
	s      *scene
	id     int64
	user   string
	name   string
	epochs int
	most   int // GPUs at most, where a test counts them
}

const perEpoch = 4

// submit hands in a training loop; args go to sluice submit, program to loop.py.
func (s *scene) submit(name, user string, epochs int, args []string, program ...string) *job {
	s.t.Helper()
	j, args := s.loop(name, user, epochs, args, program...)
	id, err := s.Submit(s.ctx, user, args...)
	s.must(err)
	j.id = id
	return j
}

// loop writes a training loop's script, and returns the job that it will be and what to
// submit it with.
func (s *scene) loop(name, user string, epochs int, args []string, program ...string) (*job, []string) {
	s.t.Helper()
	j := &job{s: s, user: user, name: name, epochs: epochs}
	path := filepath.Join(s.Home(user), name+".sh")
	text := fmt.Sprintf("#!/bin/bash\nexec /usr/bin/python3 -u %s --steps-log %s --epochs %d %s\n",
		s.Path("loop.py"), j.stepsLog(), epochs, strings.Join(program, " "))
	s.must(site.Put(path, []byte(text), 0o755))
	args = append([]string{fmt.Sprintf("--epochs=%d", epochs), "--output=" + name + ".out"}, args...)
	return j, append(args, path)
}

func (j *job) stepsLog() string { return filepath.Join(j.s.Home(j.user), j.name+".steps") }

// view is sluiced's view of the job.
func (j *job) view() wire.Job {
	j.s.t.Helper()
	r, err := j.s.Control().Report(j.s.ctx)
	j.s.must(err)
	for _, v := range r.Jobs {
		if v.JobID == j.id {
			return v
		}
	}
	return wire.Job{}
}

// until waits until sluiced's view of the job satisfies the condition.
func (j *job) until(what string, ok func(wire.Job) bool) wire.Job {
	j.s.t.Helper()
	var last wire.Job
	err := site.Until(j.s.ctx, 3*time.Minute, fmt.Sprintf("job %d %s", j.id, what), func() (bool, error) {
		r, err := j.s.Control().Report(j.s.ctx)
		if err != nil {
			return false, nil // a killed daemon answers again later
		}
		for _, v := range r.Jobs {
			if v.JobID == j.id {
				last = v
				return ok(v), nil
			}
		}
		return false, nil
	})
	if err != nil {
		j.s.t.Fatalf("%v\nlast seen: %+v", err, last)
	}
	return last
}

// runsOn waits until the job runs on this many GPUs, has reported, and has no open move.
func (j *job) runsOn(gpus int) wire.Job {
	j.s.t.Helper()
	return j.until(fmt.Sprintf("to run on %d GPUs", gpus), func(v wire.Job) bool {
		return v.State == "RUNNING" && v.GPUs == gpus && v.Move == nil && v.Speaks
	})
}

// moving waits until the job has an open resize that has come to at least step.
func (j *job) moving(step int) wire.Job {
	j.s.t.Helper()
	return j.until(fmt.Sprintf("to move, R%d", step), func(v wire.Job) bool {
		return v.Move != nil && v.Move.Kind == "resize" && v.Move.Step >= step
	})
}

// ends waits for the job's end in Slurm and returns its state in Slurm. Slurm alone takes
// up to 2 min to notice the loss of a job whose node came back without it.
func (j *job) ends() string {
	j.s.t.Helper()
	var state string
	err := site.Until(j.s.ctx, 8*time.Minute, fmt.Sprintf("job %d to end", j.id), func() (bool, error) {
		state = j.field("JobState")
		switch state {
		case "PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "":
			return false, nil
		}
		return true, nil
	})
	j.s.must(err)
	return state
}

// field asks Slurm, not sluice.
func (j *job) field(name string) string {
	j.s.t.Helper()
	out, err := j.s.Run(j.s.ctx, "", "scontrol", "-o", "show", "job", fmt.Sprint(j.id))
	if err != nil {
		return "" // slurmctld may be down on purpose
	}
	for _, f := range strings.Fields(out) {
		if value, ok := strings.CutPrefix(f, name+"="); ok {
			return value
		}
	}
	return ""
}

// whole checks the job's own log: every step trained exactly once.
func (j *job) whole() site.Training {
	j.s.t.Helper()
	tr, err := site.ReadTraining(j.stepsLog(), j.epochs, perEpoch)
	j.s.must(err)
	if tr.Missing > 0 || tr.Repeated > 0 || tr.Steps != j.epochs*perEpoch {
		j.s.t.Errorf("job %d trained %d of %d steps, %d missing, %d repeated; runs on %v GPUs",
			j.id, tr.Steps, j.epochs*perEpoch, tr.Missing, tr.Repeated, tr.Worlds)
	}
	return tr
}

// completes waits for the state COMPLETED and checks the job's log.
func (j *job) completes() site.Training {
	j.s.t.Helper()
	if state := j.ends(); state != "COMPLETED" {
		j.s.t.Errorf("job %d ended as %s", j.id, state)
	}
	return j.whole()
}

// as runs a command as a user and demands that it works.
func (s *scene) as(user, name string, args ...string) string {
	s.t.Helper()
	out, err := s.Run(s.ctx, user, name, args...)
	s.must(err)
	return out
}

func (s *scene) cancel(jobs ...*job) {
	s.t.Helper()
	for _, j := range jobs {
		s.as(j.user, "scancel", fmt.Sprint(j.id))
	}
}
