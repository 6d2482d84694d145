package story

import (
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/nodes"
)

// manner is one way to misbehave.
type manner struct {
	name string
	is   world.Behaviour
	// odd: the job need not complete. All others must, whatever it does.
	odd bool
}

// manners are all ways to misbehave: first those of programs, then those of jobs with false reports.
var manners = []manner{
	{"silent", world.Behaviour{Silent: true}, false},
	{"deaf", world.Behaviour{Deaf: true}, false},
	{"saves for ever", world.Behaviour{Stuck: true}, false},
	{"cannot save", world.Behaviour{SaveError: "disk full"}, false},
	{"saves slowly", world.Behaviour{Extra: 3 * time.Minute}, false},
	{"says it is fast", world.Behaviour{Lie: 5}, false},
	{"says it is slow", world.Behaviour{Lie: 0.1}, false},
	{"says it is faster than light", world.Behaviour{Lie: 1e9}, false},
	{"tears its checkpoints", world.Behaviour{ForgetLast: true}, false},
	{"fails", world.Behaviour{ExitAt: 1.5, ExitCode: 1}, true},
	{"is killed", world.Behaviour{ExitAt: 1.5, ExitCode: 137}, true},
	{"exits 0 half way", world.Behaviour{ExitAt: 1.5}, true},
	{"exits 0 on request", world.Behaviour{OnRequest: true}, true},
	{"exits 9 on request", world.Behaviour{OnRequest: true, ExitCode: 9}, true},
	{"dies slowly", world.Behaviour{Lingers: 40 * time.Second}, false},
	{"invents a checkpoint", world.Behaviour{Liar: true, Forge: func(r *checkpoint.Runner) {
		if r.Answer != nil {
			r.Answer.Checkpoint = "00099999"
		}
	}}, true},
	{"resumed elsewhere", world.Behaviour{Liar: true, Forge: func(r *checkpoint.Runner) { r.Resumed = "00099999" }}, true},
	{"counts other runs", world.Behaviour{Liar: true, Forge: func(r *checkpoint.Runner) { r.Restarts += 1000 }}, true},
	{"counts other incarnations", world.Behaviour{Liar: true, Forge: func(r *checkpoint.Runner) { r.Incarnation += 1 << 30 }}, true},
	{"speaks for another job", world.Behaviour{Liar: true, Forge: func(r *checkpoint.Runner) { r.Job++ }}, true},
	{"is always waiting", world.Behaviour{Liar: true, Forge: func(r *checkpoint.Runner) { r.State = checkpoint.Waiting }}, true},
	{"is always stranded", world.Behaviour{Liar: true, Forge: func(r *checkpoint.Runner) { r.Stranded = true }}, true},
	{"has exited, it says", world.Behaviour{Liar: true, Forge: func(r *checkpoint.Runner) {
		r.State, r.Exit = checkpoint.Exited, &checkpoint.Exit{Code: 0, At: r.Beat}
	}}, true},
	{"lives in the past", world.Behaviour{Liar: true, Forge: func(r *checkpoint.Runner) {
		r.Beat, r.FirstLine = r.Beat.Add(-time.Hour), r.FirstLine.Add(-time.Hour)
	}}, true},
	{"lives in the future", world.Behaviour{Liar: true, Forge: func(r *checkpoint.Runner) {
		r.Beat, r.FirstLine = r.Beat.AddDate(10, 0, 0), r.FirstLine.AddDate(10, 0, 0)
	}}, true},
	{"is elsewhere", world.Behaviour{Liar: true, Forge: func(r *checkpoint.Runner) {
		r.Split = nodes.Placement{{Node: "gpu1", GPUs: 1000}, {Node: "nowhere", GPUs: 1}}
	}}, true},
	{"says nothing readable", world.Behaviour{Liar: true, Forge: func(r *checkpoint.Runner) { r.State = "bored" }}, true},
	{"blames every GPU", world.Behaviour{Liar: true, Forge: func(r *checkpoint.Runner) {
		for _, s := range r.Split {
			r.Devices = append(r.Devices, checkpoint.Devices{Node: s.Node, At: r.Beat, GPUs: []nodes.Device{
				{Index: 0, UUID: "GPU-" + s.Node, Utilisation: -1, Unfit: "XID 79"}}})
		}
	}}, true},
	{"has done more than all", world.Behaviour{ForgeLine: func(l *checkpoint.Progress) { l.Done = 1e300 }}, false},
	{"has done less than nothing", world.Behaviour{ForgeLine: func(l *checkpoint.Progress) { l.Done = -5 }}, false},
	{"has a thousand GPUs", world.Behaviour{ForgeLine: func(l *checkpoint.Progress) { l.GPUs, l.Nodes = 1000, 100 }}, false},
	{"goes back in time", world.Behaviour{ForgeLine: func(l *checkpoint.Progress) { l.Time -= 3e8 }}, false},
}

// behaviour returns the manner of that name; "" = a correct job.
func behaviour(name string) manner {
	for _, m := range manners {
		if m.name == name {
			return m
		}
	}
	return manner{}
}
