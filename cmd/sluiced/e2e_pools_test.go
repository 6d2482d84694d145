package main_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/slurm/lab"
)

// withPools makes two main nodes, and two of an edge pool whose GPUs are half as fast.
func withPools(c *site.Config) {
	c.Lab.Nodes, c.Lab.GPUs = 4, 2
	c.Lab.GPUTypes = []string{"big", "big", "small", "small"}
	c.Lab.Partitions = []lab.Partition{{Name: "main", Nodes: []string{"gpu1", "gpu2"}}, {Name: "edge", Nodes: []string{"gpu3", "gpu4"}}}
	c.Config = quick + "[policy]\nname = \"deadline\"\n[partition.edge]\npool = \"edge\"\n"
}

// slow are the steps of a training on the edge pool's nodes.
var slow = []string{"--slow", "gpu3=2", "--slow", "gpu4=2"}

// TestPools: on a real Slurm with a main partition and an edge pool, a job whose deadline
// cannot be met on the main nodes is admitted on an edge node; when that node is drained,
// it continues elsewhere, and when an ordinary job needs the other node, the job there
// leaves it. All admitted deadlines are met.
func TestPools(t *testing.T) {
	s := play(t, withPools)
	model := "--model=net"
	for _, teach := range []struct{ partition, gpus string }{{"main", "1"}, {"main", "2"}, {"edge", "1"}} {
		j := s.submit("teach-"+teach.partition+teach.gpus, "", 3, []string{model, "--partition=" + teach.partition, "--min-gpus=" + teach.gpus, "--max-gpus=" + teach.gpus}, slow...)
		if state := j.ends(); state != "COMPLETED" {
			t.Fatalf("ended as %s", state)
		}
	}
	// Learned speeds are separate for each type of GPU.
	if out := s.as("", "sluice", "speed", "net"); !strings.Contains(out, "big") || !strings.Contains(out, "small") {
		t.Errorf("speeds of the model:\n%s", out)
	} else {
		t.Log("\n" + out)
	}
	// All main GPUs are promised: each of these needs both of a node until nearly its deadline.
	// An epoch takes 4 s on one GPU of the main nodes.
	var due []promised
	for i := range 2 {
		name := fmt.Sprintf("main%d", i+1)
		j, said := s.dated(name, 26, model, "--partition=main", "--deadline=now+80", "--min-gpus=2", "--max-gpus=2")
		due = append(due, promised{j, time.Now().Add(80 * time.Second)})
		if !strings.Contains(said, "admitted: it ends by") {
			t.Errorf("said at submit of %s: %q", name, said)
		}
		j.until("to run", func(v wire.Job) bool { return v.State == "RUNNING" && v.GPUs == 2 })
	}
	// 14 epochs at 4 s take 56 s on one GPU of the main nodes, as long on two of the edge.
	kept, said := s.datedSlow("kept", 14, model, "--partition=main,edge", "--deadline=now+150")
	due = append(due, promised{kept, time.Now().Add(150 * time.Second)})
	if !strings.Contains(said, "admitted: it ends by") {
		t.Errorf("said at submit: %q", said)
	}
	v := kept.until("to run in the edge pool", func(v wire.Job) bool { return v.State == "RUNNING" && v.Promised && onNodes(v, "gpu3", "gpu4") })
	if out := s.as("", "sluice", "explain", fmt.Sprint(kept.id)); !strings.Contains(out, "of the edge pool edge") || !strings.Contains(out, ", admitted: it ends by") {
		t.Errorf("explained as\n%s", out)
	}
	// Its node is taken away.
	kept.until("to speak", func(v wire.Job) bool { return v.Speaks })
	gone, other := v.Place[0].Node, "gpu3"
	if gone == "gpu3" {
		other = "gpu4"
	}
	s.as("", "scontrol", "update", "NodeName="+gone, "State=DRAIN", "Reason=wanted")
	kept.until("to leave "+gone, func(v wire.Job) bool { return v.State == "RUNNING" && v.GPUs > 0 && !onNodes(v, gone) })
	// The other is needed by an ordinary job: the job there leaves it.
	guest := s.submit("guest", "", 1000, []string{model, "--partition=edge", "--min-gpus=1", "--max-gpus=1"}, slow...)
	_ = guest
	out := s.as("", "sbatch", "--parsable", "--partition=edge", "--nodelist="+other, "--gres=gpu:2", "--output=/dev/null", "--wrap=sleep 5")
	ordinary := &job{s: s}
	if _, err := fmt.Sscan(out, &ordinary.id); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	if state := ordinary.ends(); state != "COMPLETED" {
		t.Errorf("the ordinary job ended as %s", state)
	}
	for _, p := range due {
		if state := p.ends(); state != "COMPLETED" {
			t.Errorf("%s ended as %s", p.name, state)
		}
		v := p.until("to be seen to have ended", func(v wire.Job) bool { return v.Ended })
		t.Logf("%s ended %s before its deadline, after %s restarts", p.name, p.by.Sub(v.EndedAt).Round(time.Second), p.field("Restarts"))
		if v.EndedAt.After(p.by) {
			t.Errorf("%s ended at %v, its deadline was %v", p.name, v.EndedAt, p.by)
		}
	}
}

// promised is a job and its deadline.
type promised struct {
	*job
	by time.Time
}

// datedSlow is dated for a training that is slow on the edge pool's nodes.
func (s *scene) datedSlow(name string, epochs int, args ...string) (*job, string) {
	s.t.Helper()
	return s.datedWith(slow, name, epochs, args...)
}

// onNodes reports whether the job is on one of the nodes.
func onNodes(v wire.Job, names ...string) bool {
	for _, share := range v.Place {
		for _, n := range names {
			if share.Node == n {
				return true
			}
		}
	}
	return false
}
