package world

import (
	"fmt"
	"math"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// Job describes one elastic job. The zero value of a field takes the default
// named beside it.
type Job struct {
	User  string       // "alice"
	Name  string       // "train"
	Spec  elastic.Spec // Token drawn from the seed; Min 1; Total 10
	Args  []string     // further sbatch options
	For   string       // the owner that its tag names; none
	Own   bool         // submitted with --user, to its user's own sluiced
	Older bool         // submitted by an older sluice, which held waiting jobs
	// Notices are the messages that its user asked for; none.
	Notices elastic.Notices
	// Limit is the Slurm time limit in whole minutes; none.
	Limit time.Duration

	Model Model         // Perfect(60 s a unit)
	Steps int           // steps a unit; saving happens between two; 20
	Save  time.Duration // from the step boundary to the commit; 2 s
	Load  time.Duration // from the first line to training; 3 s
	// Report is how many units lie between two progress lines; 1.
	Report float64
	// Every is how many units lie between checkpoints of the program's own; 0 =
	// only on request.
	Every float64

	Behaviour
}

// Behaviour is how a job misbehaves; the zero value is a correct job.
type Behaviour struct {
	Silent     bool          // never speaks: no hello, no progress, no answers
	Deaf       bool          // says hello, never answers a request
	Stuck      bool          // begins to save and never ends
	SaveError  string        // answers each request with this error
	Extra      time.Duration // added to Save: a slow file system
	Lie        float64       // claims this many times its speed; 0 = honest
	ExitAt     float64       // exits at this many units; 0 = when done
	ExitCode   int           // then, and
	OnRequest  bool          // ... or as soon as a request is seen
	ForgetLast bool          // its newest checkpoint is found invalid at the next start
	Obedient   bool          // resumes from the checkpoint in its target, however old

	// Gone is the time after which its first run disappears unnoticed by Slurm; 0 = never.
	// NeverSpoke: Slurm shows it running, but there is no runner and no status.
	Gone       time.Duration
	NeverSpoke bool

	Lingers   time.Duration              // how long its processes take to die
	Forge     func(*checkpoint.Runner)   // changes every status of its runner as it is written
	ForgeLine func(*checkpoint.Progress) // changes every line of progress
	// Liar marks a job whose reports about checkpoints are false. Check ignores work that it
	// loses because of that.
	Liar bool
}

// Model returns how many seconds a unit of work takes.
type Model func(gpus, nodes int) float64

// Perfect is a model that scales perfectly from seconds on one GPU.
func Perfect(seconds float64) Model {
	return func(gpus, _ int) float64 { return seconds / float64(gpus) }
}

// Amdahl is a model whose serial part does not scale, and which pays a tenth of
// the serial part again for each further node.
func Amdahl(seconds, serial float64) Model {
	return func(gpus, n int) float64 {
		return seconds * (serial*(1+0.1*float64(n-1)) + (1-serial)/float64(gpus))
	}
}

// Checkpoint is one the trainer committed.
type Checkpoint struct {
	Name string
	Done float64
	At   time.Time
	Bad  bool

	spoiled time.Time // when Spoil damaged it; zero = never
}

// Trainer is one job of the world and its program.
type Trainer struct {
	Job   Job // with the defaults filled in
	Token string

	w           *World
	series      Series // nil = a checkpoint is its name
	id          slurm.JobID
	checkpoints []Checkpoint
	runs        []RunRecord

	rhythm float64 // of Spec.Habit, as its runner knows it

	// Of the present run.
	run     *fake.Run
	word    checkpoint.Runner
	from    float64 // units done at since
	since   time.Time
	moving  bool      // training goes on
	serving string    // request being served
	settled string    // request that an earlier run answered
	gaveUp  string    // request that was given up at its deadline
	until   time.Time // its deadline then; a later deadline makes it valid again
	forget  func()    // cancels giving up the present request
	tick    func()    // cancels the planned next event
}

func (w *World) trainer(j Job) *Trainer {
	j.Spec.Token = orElse(j.Spec.Token, w.token())
	j.Spec.Min = orElse(j.Spec.Min, 1)
	j.Spec.Total = orElse(j.Spec.Total, 10)
	j.User = orElse(j.User, "alice")
	j.Name = orElse(j.Name, "train")
	j.Steps = orElse(j.Steps, 20)
	j.Save = orElse(j.Save, 2*time.Second)
	j.Load = orElse(j.Load, 3*time.Second)
	j.Report = orElse(j.Report, 1)
	if j.Model == nil {
		j.Model = Perfect(60)
	}
	return &Trainer{Job: j, Token: j.Spec.Token, w: w}
}

func orElse[T comparable](value, def T) T {
	var zero T
	if value == zero {
		return def
	}
	return value
}

// ID returns the job's Slurm number.
func (t *Trainer) ID() slurm.JobID { return t.id }

// Start begins a run: it finds its checkpoint, loads and trains.
func (t *Trainer) Start(r *fake.Run) {
	b := t.box()
	b.uid = r.UID
	t.run, t.serving, t.moving, t.gaveUp, t.forget = r, "", false, "", func() {}
	if t.word.Answer != nil {
		t.settled = t.word.Answer.Request
	}
	t.word = checkpoint.Runner{
		Version: checkpoint.Version, Job: int64(r.Job), Restarts: r.Restarts, State: checkpoint.Training,
		Host: r.Split[0].Node, PID: 1000 + r.Restarts, FirstLine: r.Now(),
		Rhythm: t.rhythm,
	}
	for _, s := range r.Split {
		t.word.Split = append(t.word.Split, nodes.Share{Node: s.Node, GPUs: s.GPUs})
	}
	chosen := ""
	if b.target != nil {
		t.word.Incarnation, chosen = b.target.Incarnation, b.target.Checkpoint
	}
	t.from = t.resume(chosen)
	t.since = r.Now()
	t.write()
	t.begin(r)
	r.After(t.Job.Load, func() {
		if !t.Job.Spec.Habit { // for such a program the runner writes "hello" later
			t.say("hello")
		}
		if t.word.Resumed != "" {
			t.say("resumed")
		}
		t.train()
		t.look()
		t.paces(r)
	})
}

// paces plans the lines with step times that the library writes in a measured program: five lines of
// four steps each, after five steps of warm-up.
func (t *Trainer) paces(r *fake.Run) {
	if len(t.Job.Spec.Profile) == 0 {
		return
	}
	for line := range 5 {
		r.After(seconds(float64(9+4*line)*t.pace()/float64(t.Job.Steps)), func() {
			if t.run == r && t.moving {
				t.say("pace")
			}
		})
	}
}

// resume picks the newest valid checkpoint, as the runner does, and returns its units. An Obedient
// trainer takes the chosen one even if there are newer ones.
func (t *Trainer) resume(chosen string) float64 {
	if n := len(t.checkpoints); n > 0 && t.Job.ForgetLast && !t.checkpoints[n-1].Bad {
		t.checkpoints[n-1].Bad = true
		if t.series != nil {
			t.w.fault(t.series.Spoil(t.checkpoints[n-1].Name, uint64(n)))
		}
	}
	if done, ok := t.found(); ok {
		return done
	}
	best := -1
	for i, c := range t.checkpoints {
		if c.Bad {
			t.word.Skipped = append(t.word.Skipped, c.Name+": bad checksum")
			continue
		}
		if best = i; t.Job.Obedient && c.Name == chosen {
			break
		}
	}
	if best < 0 {
		return 0
	}
	t.word.Resumed = t.checkpoints[best].Name
	return t.checkpoints[best].Done
}

// done returns the units finished by now.
func (t *Trainer) done() float64 {
	if !t.moving {
		return t.from
	}
	return math.Min(t.end(), t.from+t.run.Now().Sub(t.since).Seconds()/t.pace())
}

// end is the number of units at which the program exits.
func (t *Trainer) end() float64 {
	if t.Job.ExitAt > 0 {
		return math.Min(t.Job.ExitAt, t.Job.Spec.Total)
	}
	return t.Job.Spec.Total
}

// pace is the seconds a unit takes in this run.
func (t *Trainer) pace() float64 { return t.Job.Model(t.run.GPUs(), len(t.run.Split)) }

// train goes on from what is done and plans the next thing to say or save.
func (t *Trainer) train() {
	if t.word.Stranded {
		return // the run has disappeared
	}
	t.since, t.moving = t.run.Now(), true
	t.word.State = checkpoint.Training
	t.write()
	t.plan()
}

// pause stops training at what is done.
func (t *Trainer) pause() {
	if t.moving {
		t.settle(t.done())
		t.moving = false
	}
	if t.tick != nil {
		t.tick()
		t.tick = nil
	}
}

// settle books the work up to units done.
func (t *Trainer) settle(done float64) {
	t.worked(t.from, done)
	t.from, t.since = done, t.run.Now()
}

// plan arranges for the next boundary: a progress line, a checkpoint or the end.
func (t *Trainer) plan() {
	next := t.end()
	if b := boundary(t.from, t.Job.Report); b < next {
		next = b
	}
	if t.Job.Every > 0 {
		next = math.Min(next, boundary(t.from, t.Job.Every))
	}
	next = math.Max(next, t.from)
	t.tick = t.run.After(seconds((next-t.from)*t.pace()), func() { t.reach(next) })
}

// reach is what happens at a boundary.
func (t *Trainer) reach(done float64) {
	t.settle(done)
	switch {
	case done >= t.end():
		t.exit(t.end() < t.Job.Spec.Total || t.Job.ExitCode != 0)
	case t.Job.Every > 0 && whole(done/t.Job.Every):
		t.say("progress")
		t.pause()
		t.run.After(t.Job.Save+t.Job.Extra, func() {
			if t.word.Stranded {
				return
			}
			name := t.commit()
			if t.Job.Spec.Habit {
				t.adopted(name)
				return
			}
			t.train()
			t.look()
		})
	default:
		t.say("progress")
		t.plan()
	}
}

// boundary is the next multiple of step strictly above done.
func boundary(done, step float64) float64 {
	return (math.Floor(done/step+1e-9) + 1) * step
}

func whole(x float64) bool { return math.Abs(x-math.Round(x)) < 1e-6 }

func seconds(s float64) time.Duration { return time.Duration(math.Ceil(s * float64(time.Second))) }

// exit ends the script; early means not as asked.
func (t *Trainer) exit(early bool) {
	t.moving = false
	code := 0
	if early {
		code = t.Job.ExitCode
	} else {
		t.say("finished")
	}
	t.word.State, t.word.Exit = checkpoint.Exited, &checkpoint.Exit{Code: code, At: t.run.Now()}
	t.write()
	t.over(fake.Cause{}, code)
	t.run.Exit(code, 0)
}

// Die ends the script with the exit code at any point of its work, as if it was killed. It does
// nothing if the job does not run.
func (t *Trainer) Die(code int) {
	t.w.Slurm.Do(func(time.Time) {
		if t.run == nil {
			return
		}
		t.pause()
		t.Job.ExitCode = code
		t.exit(true)
	})
}

// Strike kills the batch script, and with it the runner, by a signal. The runner reports nothing.
func (t *Trainer) Strike(signal int) {
	t.w.Slurm.Do(func(time.Time) {
		if t.run == nil {
			return
		}
		t.pause()
		t.moving = false
		t.over(fake.Cause{}, 0)
		t.run.Exit(0, signal)
		t.run = nil
	})
}

// Linger is how long the processes take to die once Slurm stops them.
func (t *Trainer) Linger() time.Duration { return t.Job.Lingers }

// Signal makes the trainer read the request file at once, as with Spec.Signal.
func (t *Trainer) Signal(r *fake.Run, _ string, _ bool) { r.After(time.Millisecond, t.look) }

// Stop is called when Slurm ends the run. What was not committed is lost.
func (t *Trainer) Stop(r *fake.Run, why fake.Cause) {
	if t.run != r {
		return // killed before its first line
	}
	t.pause()
	t.over(why, 0)
	t.run = nil
}

// commit makes what is done durable.
func (t *Trainer) commit() string {
	name := t.nextName()
	if t.series != nil {
		t.w.fault(t.series.Commit(name))
	}
	t.checkpoints = append(t.checkpoints, Checkpoint{Name: name, Done: t.from, At: t.run.Now()})
	t.run.Log(fmt.Sprintf("committed %s done=%.4g", name, t.from))
	return name
}

func (t *Trainer) nextName() string { return fmt.Sprintf("%08d", len(t.checkpoints)+1) }
