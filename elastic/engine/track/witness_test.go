package track

import (
	"slices"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// TestASurprisingSpeedWaits: a job runs for the first time on 2 GPUs, where a unit takes 40 s. Its
// lines are read every 30 s, so that the clock says little of the first. A first speed that is a
// tenth of what its time on 1 GPU leads to expect is not used, and later ones are.
func TestASurprisingSpeedWaits(t *testing.T) {
	for name, c := range map[string]struct {
		before []float64 // seconds per unit measured earlier, on 1 GPU
		claims []float64 // of the lines now
		want   []float64 // what is kept of them
	}{
		"first a tenth":                  {[]float64{80}, []float64{4, 40, 40}, []float64{40, 40}},
		"true":                           {[]float64{80}, []float64{40, 40, 40}, []float64{40, 40, 40}},
		"true, with a false one earlier": {[]float64{8}, []float64{40, 40, 40}, []float64{40, 40, 40}},
		"first a tenth, with nothing else to go by": {nil, []float64{4, 40, 40}, []float64{4, 40, 40}},
	} {
		t.Run(name, func(t *testing.T) {
			e, _, _ := flooded(map[string]uint32{"j": 1}, func(string) int { return 0 })
			js := e.Ordered()[0]
			now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
			js.Shown.Slurm.State, js.Shown.Slurm.Start, js.Mail.Heard = slurm.Running, now.Add(-time.Hour), now
			js.Rec.Place = nodes.Placement{{Node: "n1", GPUs: 2}}
			for _, seconds := range c.before {
				e.Learnt.Keep(e.modelOf(js.Rec), speed.Sample{Shape: speed.Shape{GPUs: 1, Nodes: 1}, Seconds: seconds, Units: 1, At: now})
			}
			begin := now
			hear := func(written time.Time, line checkpoint.Progress) { // at the first look after it
				for ; now.Add(30 * time.Second).Before(written); now = now.Add(30 * time.Second) {
					e.HeardLines([]*Job{js}, []observe.Lines{{Read: true}}, now.Add(30*time.Second))
				}
				now = now.Add(30 * time.Second)
				e.HeardLines([]*Job{js}, []observe.Lines{{Read: true, Lines: []checkpoint.Progress{line}}}, now)
			}
			hear(begin, checkpoint.Progress{Event: "hello", GPUs: 2})
			for n, seconds := range c.claims {
				hear(begin.Add(time.Duration(n+1)*40*time.Second), checkpoint.Progress{Event: "progress", Done: float64(n + 1), Seconds: seconds, GPUs: 2})
			}
			var got []float64
			for _, s := range js.Learnt.fresh {
				got = append(got, s.Seconds)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("of %v, %v are kept, want %v", c.claims, got, c.want)
			}
		})
	}
}
