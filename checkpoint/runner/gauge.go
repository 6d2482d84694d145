package runner

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/process"
	"github.com/sluice-hpc/sluice/checkpoint/supervise"
)

// gauge runs the program that reads this node's GPUs, and holds its last note and those
// of the other nodes (sluice ranks starts it there). The job does not depend on it:
// without a driver the program ends silently, and one that hangs in the driver is
// abandoned.
type gauge struct {
	child   *process.Child
	of      int       // the start of the script beside which it runs
	tries   int       // number of its starts beside it
	none    bool      // there are no GPUs to read
	next    time.Time // earliest time of its next start
	since   time.Time // time of its start, or of its last note
	look    time.Time // time of the last look at its files
	reports map[string]report
}

// report is one node's note and the time of its last change by this machine's clock:
// clocks differ between machines.
type report struct {
	devices checkpoint.Devices
	at      time.Time
}

const (
	gaugeTries = 5
	gaugePause = time.Minute // delay after the first failure; doubled after each
	// quiet is the number of beats without a new note after which a node's GPUs are
	// unknown. The program writes every third beat.
	quiet = 12
	// maxGauges bounds the files read, one per node.
	maxGauges = 4096
)

// measure reads new notes about the GPUs.
func (r *run) measure() {
	if now := r.Now(); !r.alone && r.Gauge != "" && now.Sub(r.gauge.look) >= r.Beat {
		r.gauge.look = now
		r.tend(now)
		r.listen(now)
	}
}

// tend keeps this node's program running while the script runs.
func (r *run) tend(now time.Time) {
	g := &r.gauge
	if g.of != r.starts { // the one before ended with its script
		g.child, g.of, g.tries, g.none, g.next = nil, r.starts, 0, false, time.Time{}
	}
	if g.child != nil {
		select {
		case <-g.child.Done():
			g.none = g.child.Exit().Code == 0 // it reports that by exiting with 0
			g.next = now.Add(gaugePause << (g.tries - 1))
			g.child = nil
		default:
			if now.Sub(g.since) > quiet*r.Beat {
				g.child.Signal(syscall.SIGKILL)
			}
		}
	}
	if r.child == nil || g.child != nil || g.none || g.tries >= gaugeTries || now.Before(g.next) {
		return
	}
	g.tries++
	g.since = now
	child, err := r.family.Start(supervise.Gauge(r.Gauge, r.job.jobDir, r.ownNode(), r.Env))
	if err != nil {
		g.none = true // it is not installed, or not for this machine
		return
	}
	g.child = child
}

// ownNode is Slurm's name for this node.
func (r *run) ownNode() string {
	if name := r.vars["SLURMD_NODENAME"]; name != "" {
		return name
	}
	if len(r.where.hosts) > 0 {
		return r.where.hosts[0]
	}
	return r.Host
}

// listen reads the notes of this run's nodes. Files of earlier runs, and other files, are
// ignored.
func (r *run) listen(now time.Time) {
	g := &r.gauge
	before := g.unfit()
	for _, d := range r.job.gauges(r.mine) {
		if d.Node == r.ownNode() && !d.At.Equal(g.reports[d.Node].devices.At) {
			g.since = now
		}
		g.record(d, now)
	}
	maps.DeleteFunc(g.reports, func(_ string, h report) bool { return now.Sub(h.at) > quiet*r.Beat })
	if g.unfit() != before {
		r.dirty = true // do not wait for the next heartbeat
	}
}

// mine reports whether the node is part of this run.
func (r *run) mine(node string) bool {
	return node == r.ownNode() || slices.Contains(r.where.hosts, node)
}

func (g *gauge) record(d checkpoint.Devices, now time.Time) {
	if g.reports == nil {
		g.reports = map[string]report{}
	}
	if old, known := g.reports[d.Node]; known && old.devices.At.Equal(d.At) {
		return
	}
	g.reports[d.Node] = report{d, now}
}

// unfit are the faults of all known GPUs, joined.
func (g *gauge) unfit() string {
	var b strings.Builder
	for _, node := range slices.Sorted(maps.Keys(g.reports)) {
		for _, d := range g.reports[node].devices.GPUs {
			if d.Unfit != "" {
				b.WriteString(node + " " + strconv.Itoa(d.Index) + " " + d.Unfit + "\n")
			}
		}
	}
	return b.String()
}

// devices is the part of the runner's note about them. Once the script has ended, perhaps
// because of a GPU, the last report counts.
func (r *run) devices() []checkpoint.Devices {
	if r.child == nil && r.gauge.of > 0 && !r.alone {
		r.listen(r.Now())
	}
	var all []checkpoint.Devices
	for _, node := range slices.Sorted(maps.Keys(r.gauge.reports)) {
		all = append(all, r.gauge.reports[node].devices)
	}
	return checkpoint.Fitting(all)
}

// gauges reads the notes about GPUs of the wanted nodes of this run.
func (f folders) gauges(wanted func(node string) bool) []checkpoint.Devices {
	dir, err := checkpoint.OpenDir(filepath.Join(f.jobDir, checkpoint.Gauges))
	if err != nil {
		return nil // there are no notes
	}
	defer dir.Close()
	names, err := dir.Names(maxGauges)
	if err != nil {
		return nil
	}
	var out []checkpoint.Devices
	for _, name := range names {
		node := strings.TrimSuffix(strings.TrimPrefix(name, strconv.Itoa(f.restarts)+"."), ".json")
		if name != checkpoint.GaugeFile(f.restarts, node) || !wanted(node) {
			continue
		}
		data, err := dir.Read(name, smallFile)
		if err != nil {
			continue // being replaced, or invalid
		}
		if d, err := checkpoint.ParseDevices(data); err == nil && d.Node == node {
			out = append(out, d)
		}
	}
	return out
}
