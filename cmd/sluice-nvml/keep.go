package main

import (
	"encoding/json"
	"os"
	"strconv"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/nodes/nvml"
)

// orphaned is how often to check whether the caller still runs.
const orphaned = time.Second

// keep reads and writes until the caller has ended. alarm ends the program unless it is
// postponed: that bounds the time of each turn.
func (o options) keep(g *nvml.Gauge, alarm *time.Timer) int {
	parent := os.Getppid()
	o.recall(g)
	var looked, wrote time.Time
	struck := false
	for os.Getppid() == parent {
		alarm.Reset(o.stuck)
		now := time.Now()
		if now.Sub(looked) >= o.look {
			looked = now
			struck = g.Look(now) || struck
		}
		if struck || now.Sub(wrote) >= o.every {
			wrote = now
			o.write(g, now) // after a temporary file system error the next turn writes again
		}
		struck = g.Await(min(o.look, orphaned))
	}
	return 0
}

// recall adopts what this program saw before it was started again in the same run: after
// the driver hung, which often follows such errors, or after the script was started
// again.
func (o options) recall(g *nvml.Gauge) {
	dir, err := o.folder()
	if err != nil {
		return
	}
	defer dir.Close()
	data, err := dir.Read(checkpoint.GaugeFile(restarts(), o.node), mostRecalled)
	if err != nil {
		return // the first of the run
	}
	if d, err := checkpoint.ParseDevices(data); err == nil {
		g.Recall(d.GPUs)
	}
}

// mostRecalled is more than this program ever writes, in bytes.
const mostRecalled = 256 << 10

// write replaces this node's file in the job's folder.
func (o options) write(g *nvml.Gauge, now time.Time) {
	data, err := json.Marshal(checkpoint.Devices{Node: o.node, At: now.UTC(), GPUs: g.Read()})
	if err != nil {
		return
	}
	dir, err := o.folder()
	if err != nil {
		return
	}
	defer dir.Close()
	_ = dir.Write(checkpoint.GaugeFile(restarts(), o.node), append(data, '\n'), 0o644)
}

// folder opens, or makes, the folder in the job's folder that all nodes write to.
func (o options) folder() (*checkpoint.Dir, error) {
	job, err := checkpoint.OpenDir(o.into)
	if err != nil {
		return nil, err
	}
	defer job.Close()
	return job.Make(checkpoint.Gauges, 0o755)
}

// restarts distinguishes the runs of a job, by Slurm's count.
func restarts() int {
	n, err := strconv.Atoi(os.Getenv("SLURM_RESTART_COUNT"))
	if err != nil {
		return 0 // not set on a job's first run
	}
	return n
}
