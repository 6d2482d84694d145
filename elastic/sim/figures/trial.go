package figures

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
	"github.com/sluice-hpc/sluice/nodes"
)

// trial is one simulation: all that its outcome depends on.
type trial struct {
	load     string  // a generator's name, or a recording's base name
	seed     uint64  // of the generator, or of the draw that scales a recording
	times    float64 // so many times the load
	policy   string
	rules    rules
	info     replay.Info
	interval time.Duration
	restart  time.Duration // what a start and every resize cost; < 0: by ElasticFlow's rule
}

// rules are what may be done with jobs and nodes.
type rules struct {
	name    string
	placing replay.Placing
	limits  elastic.Limits
}

var (
	// asPublished is what the simulators of published systems allow: any split, all
	// moves of a round in one moment, started jobs stopped, nodes shared.
	asPublished = rules{"as published", replay.Published, elastic.Limits{Preempt: true, ShareNodes: true, Placement: replay.AnySplit}}
	// slurms is what Slurm gives: whole requests, splits that are even or packed,
	// moves that can be done one after the other. Started jobs keep their minimum.
	slurms = rules{"slurm", replay.Ours, elastic.Limits{Payback: 1}}
	// installed is slurms with the defaults of the configuration file for everything else.
	installed = rules{"slurm, installed", replay.Ours, elastic.Limits{Payback: 2, Cooldown: 30 * time.Second}}
	// anySplit keeps the minimum too, on the cluster of a published simulator.
	anySplit = rules{"any split", replay.Ours, elastic.Limits{Payback: 1, ShareNodes: true, Placement: replay.AnySplit}}
)

// stopping lets started jobs be stopped whenever it helps.
func (r rules) stopping() rules {
	r.name += ", preempt"
	r.limits.Preempt = true
	return r
}

// patient bounds how long a stopped job waits.
func (r rules) patient(wait time.Duration) rules {
	r.name += fmt.Sprintf(", wait %s", short(wait))
	r.limits.Wait = wait
	return r
}

// parking lets started jobs be stopped above an overload only.
func (r rules) parking(overload float64) rules {
	r.name += fmt.Sprintf(", preempt above %g", overload)
	r.limits.Preempt, r.limits.Overload = true, overload
	return r
}

// cluster is a number of equal nodes.
type cluster struct{ nodes, gpus int }

// String is nodes x GPUs of a node, as in --cluster.
func (c cluster) String() string { return fmt.Sprintf("%dx%d", c.nodes, c.gpus) }

func (c cluster) inventory() []nodes.Node {
	out := make([]nodes.Node, c.nodes)
	for i := range out {
		out[i] = nodes.Node{Name: fmt.Sprintf("n%05d", i+1), GPUs: c.gpus, Usable: true}
	}
	return out
}

var (
	systemA    = cluster{3, 4}
	testbenchA = cluster{16, 4}
)

// recordedName begins the names of testbench A's workloads.
const recordedName = "workload-"

// wholeEpochs is set where the published simulator is followed in that too: it tells
// Optimus of whole epochs only.
func (t trial) wholeEpochs() bool {
	return t.policy == "optimus" && t.rules == asPublished && t.cluster() == testbenchA && t.info == replay.Oracle
}

// cluster is where the trial's workload belongs.
func (t trial) cluster() cluster { return clusterOf(t.load) }

func clusterOf(load string) cluster {
	if trace, known := traces[load]; known {
		return trace.cluster
	}
	if strings.HasPrefix(load, recordedName) {
		return testbenchA
	}
	return systemA
}

// short writes a duration without what is nought: 30s, 8m, 1h.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}
