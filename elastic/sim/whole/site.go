package whole

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/track"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/slurm"
)

// site is a simulated cluster with its daemon.
type site struct {
	cfg     Config
	w       *world.World
	engine  *engine.Engine
	journal *journal.Memory
	begin   time.Time
	jobs    []job                 // in order of submit
	byID    map[elastic.JobID]int // into jobs
	known   map[workload.Speeds]*speed.Curve

	live      int           // submitted and not completed
	limit     time.Duration // when patience ends
	woken     bool          // the daemon was notified of an event
	trouble   error         // what ended the simulation early
	rounds    int
	abandoned int
	spread    struct{ sum, n float64 }
	decisions []time.Duration
	parks     map[elastic.JobID][]time.Time // when each job was parked
}

// job is one job of the workload and its program.
type job struct {
	workload.Job
	trainer *world.Trainer
	price   elastic.Price // of a move, truly
}

func newSite(cfg Config) (*site, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	cluster, err := cfg.cluster()
	if err != nil {
		return nil, err
	}
	s := &site{
		cfg: cfg, limit: patience, byID: map[elastic.JobID]int{},
		known: map[workload.Speeds]*speed.Curve{}, parks: map[elastic.JobID][]time.Time{},
	}
	cluster.Watch = s.watch
	s.w = world.New(world.Config{Fake: cluster})
	s.begin, s.journal = s.w.Now(), &journal.Memory{}
	s.engine = engine.New(engine.Config{
		Seams:  engine.Seams{Slurm: s.w.Client, Mailbox: s.w.Mail, Journal: s.journal, Samples: s.journal},
		Policy: s.policy(), Events: s.event,
		Rules: track.Rules{
			Limits: cfg.Limits, Price: cfg.Price, Period: cfg.Interval, Transition: cfg.Transition, Backoff: backoff,
			ShareSpeeds: true, Proven: true,
		},
	})
	return s, nil
}

// arrival is the next job of a workload.
type arrival struct {
	job  workload.Job
	done bool
	more func() (workload.Job, bool)
	last time.Duration // submit of the job before
}

func pull(w workload.Workload) (*arrival, func()) {
	more, stop := iter.Pull(w.Jobs)
	a := &arrival{more: more}
	a.step()
	return a, stop
}

func (a *arrival) step() {
	a.last = a.job.Submit
	job, ok := a.more()
	a.job, a.done = job, !ok
}

// arrivals submits what has come by now and wakes the daemon for it.
func (s *site) arrivals(next *arrival) error {
	for !next.done && !s.begin.Add(next.job.Submit).After(s.w.Now()) {
		if next.job.Submit < next.last {
			return fmt.Errorf("job %d (%s) of the workload comes before the one listed ahead of it", len(s.jobs), next.job.Name)
		}
		if err := s.submit(next.job); err != nil {
			return fmt.Errorf("job %d (%s) of the workload: %w", len(s.jobs), next.job.Name, err)
		}
		next.step()
	}
	return nil
}

func (s *site) submit(j workload.Job) error {
	least, err := s.check(j)
	if err != nil {
		return err
	}
	index, times := len(s.jobs), s.cfg.of(j)
	t := s.w.SubmitSplit(world.Job{
		User: j.User, Name: j.Name, Spec: j.Spec,
		Steps: int(max(1, math.Ceil(least/times.Step.Seconds()))), Report: report(j, least),
		Save: some(times.Save), Load: some(times.Load),
	}, func(split []int) float64 {
		seconds := j.Speeds.Seconds(split)
		if !(seconds > 0) || math.IsInf(seconds, 0) {
			s.trouble = cmp.Or(s.trouble, fmt.Errorf("job %d (%s) runs on %v, where its speed is %v s a unit; its sizes should exclude that", index, j.Name, split, seconds))
			return never
		}
		return seconds
	})
	s.byID[elastic.JobID(t.ID())] = index
	s.jobs = append(s.jobs, job{j, t, s.cfg.price(times)})
	needs := time.Duration(j.Spec.Total*least*float64(time.Second)) + s.cfg.price(times).Total() + s.cfg.Interval
	s.limit = min(forever, max(s.limit, j.Submit+patience)+slack*needs)
	s.woken, s.live = true, s.live+1
	return nil
}

const (
	never = 1e8 // seconds a unit, where a job cannot run
	// A simulation is given up when, after the last submit, patience and slack times
	// as long have passed as all jobs would take one after the other.
	patience = time.Hour
	slack    = 10
	forever  = 100 * 365 * 24 * time.Hour
)

// check refuses a job that Slurm, the daemon or the arithmetic could not take. It
// returns the time of a unit on the job's minimum, packed.
func (s *site) check(j workload.Job) (least float64, err error) {
	spec := j.Spec
	spec.Token = strings.Repeat("0", 32)
	switch err := spec.Validate(); {
	case err != nil:
		return 0, err
	case !(spec.Total > 0):
		return 0, fmt.Errorf("it has no work: total %v", spec.Total)
	}
	left := spec.Min
	var split []int
	for _, n := range s.cfg.Nodes {
		if take := min(left, n.GPUs); take > 0 {
			split, left = append(split, take), left-take
		}
	}
	if left > 0 {
		return 0, fmt.Errorf("its minimum of %d GPUs is more than the cluster has", spec.Min)
	}
	least = j.Speeds.Seconds(split)
	if !(least > 0) || least*spec.Total > longest {
		return 0, fmt.Errorf("a unit takes it %v s on its minimum of %d GPUs; want it above 0 and the whole job below %g s", least, spec.Min, longest)
	}
	return least, nil
}

// longest is the length of a job, in seconds, up to which durations are safe.
const longest = 1e7

// report is how many units lie between two progress lines: one, as the library
// suggests, unless units are so short that a program would not report each.
func report(j workload.Job, seconds float64) float64 {
	const often = 1.0 // seconds
	return max(1, math.Ceil(often/seconds))
}

// watch is called for every event of the simulated Slurm, with its lock held.
func (s *site) watch(_ time.Time, line string) {
	f := strings.Fields(line) // "job 7 COMPLETED"
	if len(f) == 3 && f[0] == "job" && slurm.State(f[2]).Ended() {
		s.woken = s.woken || s.cfg.Hook
		if slurm.State(f[2]) == slurm.Completed {
			s.live--
			if s.cfg.Progress != nil {
				s.cfg.Progress(len(s.jobs) - s.live)
			}
		}
	}
}

// policy is the policy to simulate, with the information that the configuration gives it.
func (s *site) policy() policy.Policy {
	p := s.cfg.Policy
	inner := p.Allocate
	p.Allocate = func(snap elastic.Snapshot) elastic.Allocation {
		snap.Jobs = slices.Clone(snap.Jobs)
		for i := range snap.Jobs {
			s.tell(&snap.Jobs[i])
		}
		if s.cfg.Timer == nil {
			return inner(snap)
		}
		started := s.cfg.Timer()
		a := inner(snap)
		s.decisions = append(s.decisions, s.cfg.Timer()-started)
		return a
	}
	return p
}

// tell adds to a job what its user would know, and under an oracle the truth.
func (s *site) tell(j *elastic.Job) {
	index, ok := s.byID[j.ID]
	if !ok {
		return
	}
	own := s.jobs[index]
	j.Asked = own.Asked
	if s.cfg.Info != replay.Oracle {
		return
	}
	j.Done = own.trainer.Done()
	if j.Price.Measured == 0 {
		j.Price = own.price
	}
	curve, ok := s.known[own.Speeds]
	if !ok {
		curve = speed.Known(own.Speeds.Seconds)
		s.known[own.Speeds] = curve
	}
	j.Curve = curve
}
