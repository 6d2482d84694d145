package replay

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

func TestNoiseScattersSamples(t *testing.T) {
	job := workload.Job{Name: "a", Spec: elastic.Spec{Model: "m"}}
	shown := func(noise float64, seed uint64) []speed.Sample {
		told := newTold(Config{Info: Learned, Noise: noise, Seed: seed})
		m := told.model(job)
		for range 5 {
			told.sample(m, []int{2, 1}, "", 100, 1, begin.Add(time.Minute))
		}
		return m.samples
	}
	for _, s := range shown(0, 1) {
		if s.Seconds != 100 || s.GPUs != 3 || s.Nodes != 2 {
			t.Errorf("without noise: %+v", s)
		}
	}
	a, again, other := shown(0.1, 1), shown(0.1, 1), shown(0.1, 2)
	for i, s := range a {
		if s.Seconds == 100 || s.Seconds < 50 || s.Seconds > 200 {
			t.Errorf("sample %d is %v", i, s.Seconds)
		}
		if s != again[i] || s == other[i] {
			t.Errorf("sample %d: %v, again %v, other seed %v", i, s, again[i], other[i])
		}
	}
}
