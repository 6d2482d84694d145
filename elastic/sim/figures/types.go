package figures

import (
	"fmt"
	"strings"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
	"github.com/sluice-hpc/sluice/nodes"
)

// onTwoTypes ends the name of a load that runs on two types of GPU.
const onTwoTypes = " on two types"

// The two types: half of the cluster has the GPUs the workload was measured on, half
// faster ones.
const (
	measuredType = "t4"
	fasterType   = "a100"
)

// fasterBy is how many times as fast a model is on the faster type. Those of imagenet and
// deepspeech2 are of testbench B's tables (samples a second on one A100, at the largest
// of the batches up to 256, over those on one T4); those of the others are assumed: the tables have no
// other model of testbench A on both.
var fasterBy = map[string]float64{"imagenet": 2.2, "deepspeech2": 3.2, "bert": 4, "yolov3": 2, "cifar10": 1.5, "ncf": 1}

// costsShown are an hour of a GPU at its best use being worth 1.
var costsShown = &elastic.Costs{Value: 1, GPU: .1, Types: map[string]float64{fasterType: .2}}

// inventory is the trial's nodes.
func (t trial) inventory() []nodes.Node {
	out := t.cluster().inventory()
	if !strings.HasSuffix(t.load, onTwoTypes) {
		return out
	}
	for i := range out {
		if out[i].Type = measuredType; i < len(out)/2 {
			out[i].Type = fasterType
		}
	}
	return out
}

// settingOn says what testbench A's trials have in common, on one type or on two.
func settingOn(on string) string {
	types := ""
	if on == onTwoTypes {
		types = fmt.Sprintf(", half %s and half %s; on the first imagenet 2.2 and deepspeech2 3.2 times as fast, as measured, others as assumed", fasterType, measuredType)
	}
	return fmt.Sprintf("%s, every %s, restart %s%s", testbenchA, short(everyB), short(restartB), types)
}

// faster is how fast models are by type; nil where there is one.
func (t trial) faster() func(model, kind string) float64 {
	if !strings.HasSuffix(t.load, onTwoTypes) {
		return nil
	}
	return func(model, kind string) float64 {
		application, _, _ := strings.Cut(model, "-")
		if by, told := fasterBy[application]; told && kind == fasterType {
			return by
		}
		return 1
	}
}

// paid is what a simulation's runs were worth, and cost.
type paid struct{ worth, cost float64 }

func paidIn(r replay.Result) (p paid) {
	for _, j := range r.Jobs {
		p.worth += j.Worth
		p.cost += j.Cost
	}
	return p
}

// paid is the mean over the trials of a batch; zero when the bench failed.
func (x batch) paid() (p paid) {
	if !x.wait() {
		return p
	}
	for _, k := range x.tasks {
		p.worth += k.paid.worth / float64(len(x.tasks))
		p.cost += k.paid.cost / float64(len(x.tasks))
	}
	return p
}
