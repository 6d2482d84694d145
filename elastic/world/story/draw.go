package story

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/slurm/fake"
)

// horizon is the time within which acts and faults are planned.
const horizon = 25 * time.Minute

// drawing is a scenario that is being drawn.
type drawing struct {
	*rand.Rand
	Story
}

// Draw returns the scenario of a seed.
func Draw(seed uint64) Story {
	d := &drawing{Rand: rand.New(rand.NewPCG(seed, 0x5707))}
	d.Story = Story{
		Seed: seed, Nodes: 2 + d.IntN(3), GPUs: 4, Personal: d.one(5), Disk: d.one(16),
		Policy: []string{"knapsack", "lookahead", "lookahead", "srpt", "turns"}[d.IntN(5)],
		Jitter: time.Duration(d.IntN(3)) * time.Second, Draining: time.Duration(1+d.IntN(20)) * 100 * time.Millisecond,
		Period:     []time.Duration{5 * time.Second, 15 * time.Second, 30 * time.Second, 30 * time.Second, time.Minute}[d.IntN(5)],
		Transition: []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 2 * time.Second, 5 * time.Second}[d.IntN(5)],
	}
	habit := d.one(5)
	for range 2 + d.IntN(4) {
		d.job(habit)
	}
	for range d.IntN(3) {
		d.act(Act{At: d.within(horizon), What: "ordinary", GPUs: 1 + d.IntN(4), For: time.Minute + d.within(10*time.Minute)})
	}
	d.machines()
	d.slurm()
	d.daemon()
	d.files()
	d.late()
	return d.Story
}

// one is true once in n times.
func (d *drawing) one(n int) bool { return d.IntN(n) == 0 }

func (d *drawing) within(t time.Duration) time.Duration {
	return time.Duration(d.Int64N(int64(t))).Truncate(100 * time.Millisecond)
}

func (d *drawing) act(a Act) { d.Acts = append(d.Acts, a) }

func (d *drawing) node() string { return fmt.Sprintf("gpu%d", 1+d.IntN(d.Nodes)) }

// job draws a job and what its user does to it.
func (d *drawing) job(habit bool) {
	j := Job{
		At: d.within(10 * time.Minute), User: []string{"alice", "bob"}[d.IntN(2)], Min: 1 + d.IntN(2),
		Total: float64(3 + d.IntN(16)), Seconds: float64(60 + d.IntN(240)), Serial: float64(d.IntN(30)) / 100,
		Save: time.Duration(1+d.IntN(20)) * time.Second, Load: time.Duration(1+d.IntN(20)) * time.Second,
		Uneven: d.one(2), Habit: habit,
	}
	j.Max = j.Min + d.IntN(d.Nodes*d.GPUs)
	if d.Personal {
		j.User = "alice"
	}
	if d.one(4) {
		j.Signal = "USR2"
	}
	if habit || d.one(4) {
		j.Every = float64(1 + d.IntN(3))
	}
	if d.one(6) {
		j.Limit = time.Duration(3+d.IntN(40)) * time.Minute
	}
	if d.one(3) {
		j.Manner = manners[d.IntN(len(manners))].name
	}
	d.Jobs = append(d.Jobs, j)
	for d.one(2) {
		d.meddling(len(d.Jobs) - 1)
	}
}

// meddling draws what the job's user does to it through Slurm, or Slurm by mistake.
func (d *drawing) meddling(job int) {
	what := meddlings[d.IntN(len(meddlings))]
	a := Act{What: what, Job: job, GPUs: 1 + d.IntN(3)}
	if d.one(3) && !strings.HasPrefix(what, "sluice") {
		a.Effect = 1 + d.IntN(120)
	} else {
		a.At = d.Jobs[job].At + time.Second + d.within(10*time.Minute)
	}
	d.act(a)
}

// machines draws nodes that fail, are drained and return, at times or at effects.
func (d *drawing) machines() {
	for range d.IntN(4) {
		a := Act{Node: d.node(), What: []string{"node fails", "node is drained"}[d.IntN(2)]}
		back := Act{Node: a.Node, What: "node returns"}
		if a.At = d.within(horizon); d.one(3) {
			a.Effect, a.At = 1+d.IntN(120), 0
			back.At = horizon + d.within(10*time.Minute)
		} else {
			back.At = a.At + time.Duration(1+d.IntN(3)*d.IntN(400))*time.Second
		}
		d.act(a)
		if d.Nodes > 2 && a.Node != "gpu1" && d.one(8) {
			continue // it does not return
		}
		d.act(back)
	}
}

// slurmOps are the calls that faults are drawn for.
var slurmOps = slices.Concat(fake.Ops(), fake.DeferOps())

// slurm draws faults of commands and of slurmctld.
func (d *drawing) slurm() {
	reads := []fake.Kind{fake.Garbage, fake.Empty, fake.Half, fake.Stale, fake.LostReply}
	changes := []fake.Kind{fake.LostReply, fake.LostReply, fake.LostRequest, fake.Late, fake.Refused, fake.Denied, fake.Garbage}
	for range d.IntN(20) {
		op := slurmOps[d.IntN(len(slurmOps))]
		f := fake.Fault{On: op, Nth: 1 + d.IntN(12), After: d.one(2)}
		switch {
		case d.one(8):
			f.Kind, f.For = fake.Down, d.outage()
		case op == "squeue" || strings.HasPrefix(op, "scontrol show"):
			f.Kind, f.Nth = reads[d.IntN(len(reads))], 1+d.IntN(200)
		default:
			if f.Kind = changes[d.IntN(len(changes))]; f.Kind == fake.Late {
				f.For = time.Duration(1+d.IntN(12)) * time.Second
			}
		}
		d.Faults = append(d.Faults, f.String())
	}
	for _, op := range []string{"launch", "drain"} {
		if d.one(3) {
			f := fake.Fault{On: op, Nth: 1 + d.IntN(6), Kind: fake.Slow, For: time.Duration(1+d.IntN(90)) * time.Second}
			d.Faults = append(d.Faults, f.String())
		}
	}
	if d.one(6) {
		at := time.Minute + d.within(40*time.Minute)
		f := fake.Fault{At: at, Kind: fake.Forget, For: min(at, time.Second+[]time.Duration{d.within(5 * time.Second), d.within(5 * time.Minute)}[d.IntN(2)])}
		d.Faults = append(d.Faults, f.String())
	}
}

// outage draws a duration from 1 s to two days, mostly short.
func (d *drawing) outage() time.Duration {
	longest := []time.Duration{time.Minute, time.Minute, 10 * time.Minute, 10 * time.Minute, time.Hour, 48 * time.Hour}
	return time.Second + d.within(longest[d.IntN(len(longest))])
}

// daemon draws what happens to sluiced: kills, downtime, a changed clock, an older journal, a second
// daemon.
func (d *drawing) daemon() {
	for range d.IntN(5) {
		d.Kills = append(d.Kills, Kill{Effect: 1 + d.IntN(150), After: d.one(2)})
	}
	if d.one(4) {
		d.act(Act{At: d.within(horizon), What: "daemon is stopped", For: d.outage()})
	}
	if d.one(5) {
		jumps := []time.Duration{time.Hour, -time.Hour, 3 * time.Second, -3 * time.Second, tenYears, -tenYears, 47 * time.Minute, -13 * time.Minute}
		a := Act{At: d.within(horizon), What: "clock is set", For: jumps[d.IntN(len(jumps))]}
		d.act(a)
		if d.one(2) {
			d.act(Act{At: a.At + d.within(10*time.Minute), What: "clock is set", For: -a.For})
		}
	}
	if d.one(6) {
		a := Act{At: d.within(horizon), What: "journal is copied"}
		d.act(a)
		d.act(Act{At: a.At + time.Second + d.within(10*time.Minute), What: "copy is put back"})
	}
	if d.one(12) {
		d.act(Act{At: d.within(horizon), What: "journal is lost"})
	}
	if d.one(10) {
		d.act(Act{At: d.within(horizon), What: "second daemon", For: time.Minute + d.within(10*time.Minute)})
		// If two daemons stop one job and one of the stops comes late, the job loses the
		// work in between whatever either daemon does.
		d.Faults = slices.DeleteFunc(d.Faults, func(f string) bool {
			return strings.HasPrefix(f, "scontrol requeuehold") && strings.Contains(f, ": late ")
		})
	}
}

const tenYears = 10 * 365 * 24 * time.Hour

// files draws file systems that return errors.
func (d *drawing) files() {
	for d.one(2) {
		w := Window{At: d.within(horizon), For: time.Second + d.within(10*time.Minute),
			Where: []string{"store", "outbox", "jobs"}[d.IntN(3)], How: errnos[d.IntN(usual)].name, Nth: 1 + d.IntN(2)*d.IntN(20)}
		if w.Where == "jobs" {
			w.How = "EIO"
		}
		d.Windows = append(d.Windows, w)
	}
}
