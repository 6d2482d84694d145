package story

import (
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/sim"
	"github.com/sluice-hpc/sluice/nodes"
)

// manner is one way to misbehave.
type manner struct {
	name string
	is   sim.Behaviour
	// odd: the job need not complete. Whatever it does, the others must.
	odd bool
}

// manners are all ways to misbehave, those of programs first, then those of jobs
// whose words are made up.
var manners = []manner{
	{"silent", sim.Behaviour{Silent: true}, false},
	{"deaf", sim.Behaviour{Deaf: true}, false},
	{"saves for ever", sim.Behaviour{Stuck: true}, false},
	{"cannot save", sim.Behaviour{SaveError: "disk full"}, false},
	{"saves slowly", sim.Behaviour{Extra: 3 * time.Minute}, false},
	{"says it is fast", sim.Behaviour{Lie: 5}, false},
	{"says it is slow", sim.Behaviour{Lie: 0.1}, false},
	{"says it is faster than light", sim.Behaviour{Lie: 1e9}, false},
	{"tears its checkpoints", sim.Behaviour{ForgetLast: true}, false},
	{"fails", sim.Behaviour{ExitAt: 1.5, ExitCode: 1}, true},
	{"is killed", sim.Behaviour{ExitAt: 1.5, ExitCode: 137}, true},
	{"exits 0 half way", sim.Behaviour{ExitAt: 1.5}, true},
	{"exits 0 on request", sim.Behaviour{OnRequest: true}, true},
	{"exits 9 on request", sim.Behaviour{OnRequest: true, ExitCode: 9}, true},
	{"dies slowly", sim.Behaviour{Lingers: 40 * time.Second}, false},
	{"invents a checkpoint", sim.Behaviour{Liar: true, Forge: func(r *checkpoint.Runner) {
		if r.Answer != nil {
			r.Answer.Checkpoint = "00099999"
		}
	}}, true},
	{"resumed elsewhere", sim.Behaviour{Liar: true, Forge: func(r *checkpoint.Runner) { r.Resumed = "00099999" }}, true},
	{"counts other runs", sim.Behaviour{Liar: true, Forge: func(r *checkpoint.Runner) { r.Restarts += 1000 }}, true},
	{"counts other incarnations", sim.Behaviour{Liar: true, Forge: func(r *checkpoint.Runner) { r.Incarnation += 1 << 30 }}, true},
	{"speaks for another job", sim.Behaviour{Liar: true, Forge: func(r *checkpoint.Runner) { r.Job++ }}, true},
	{"is always waiting", sim.Behaviour{Liar: true, Forge: func(r *checkpoint.Runner) { r.State = checkpoint.Waiting }}, true},
	{"is always stranded", sim.Behaviour{Liar: true, Forge: func(r *checkpoint.Runner) { r.Stranded = true }}, true},
	{"has exited, it says", sim.Behaviour{Liar: true, Forge: func(r *checkpoint.Runner) {
		r.State, r.Exit = checkpoint.Exited, &checkpoint.Exit{Code: 0, At: r.Beat}
	}}, true},
	{"lives in the past", sim.Behaviour{Liar: true, Forge: func(r *checkpoint.Runner) {
		r.Beat, r.FirstLine = r.Beat.Add(-time.Hour), r.FirstLine.Add(-time.Hour)
	}}, true},
	{"lives in the future", sim.Behaviour{Liar: true, Forge: func(r *checkpoint.Runner) {
		r.Beat, r.FirstLine = r.Beat.AddDate(10, 0, 0), r.FirstLine.AddDate(10, 0, 0)
	}}, true},
	{"is elsewhere", sim.Behaviour{Liar: true, Forge: func(r *checkpoint.Runner) {
		r.Split = nodes.Placement{{Node: "gpu1", GPUs: 1000}, {Node: "nowhere", GPUs: 1}}
	}}, true},
	{"says nothing readable", sim.Behaviour{Liar: true, Forge: func(r *checkpoint.Runner) { r.State = "bored" }}, true},
	{"blames every GPU", sim.Behaviour{Liar: true, Forge: func(r *checkpoint.Runner) {
		for _, s := range r.Split {
			r.Devices = append(r.Devices, checkpoint.Devices{Node: s.Node, At: r.Beat, GPUs: []checkpoint.Device{
				{Index: 0, UUID: "GPU-" + s.Node, Utilisation: -1, Unfit: "XID 79"}}})
		}
	}}, true},
	{"has done more than all", sim.Behaviour{ForgeLine: func(l *checkpoint.Progress) { l.Done = 1e300 }}, false},
	{"has done less than nothing", sim.Behaviour{ForgeLine: func(l *checkpoint.Progress) { l.Done = -5 }}, false},
	{"has a thousand GPUs", sim.Behaviour{ForgeLine: func(l *checkpoint.Progress) { l.GPUs, l.Nodes = 1000, 100 }}, false},
	{"goes back in time", sim.Behaviour{ForgeLine: func(l *checkpoint.Progress) { l.Time -= 3e8 }}, false},
}

// behaviour is the manner of that name; "" behaves.
func behaviour(name string) manner {
	for _, m := range manners {
		if m.name == name {
			return m
		}
	}
	return manner{}
}
