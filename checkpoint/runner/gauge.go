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

// gauge is the program that looks at this node's GPUs, and what it and its like on
// the other nodes (sluice ranks starts them there) wrote last. Nothing of it is
// needed: without a driver the program ends without a word, and one that hangs in
// the driver is left behind.
type gauge struct {
	child *process.Child
	of    int       // the start of the script it runs beside
	tries int       // times it was started beside it
	none  bool      // there is nothing to look at
	next  time.Time // when it may be started again
	since time.Time // when it was started, or last heard of
	look  time.Time // when its files were last looked at
	heard map[string]heard
}

// heard is one node's word and when it changed, by this machine's clock: clocks
// differ between machines.
type heard struct {
	devices checkpoint.Devices
	at      time.Time
}

const (
	gaugeTries = 5
	gaugePause = time.Minute // after the first failure; twice as long after each
	// quiet is after how many beats without a new word a node's GPUs are not known
	// any more. The program writes every third.
	quiet = 12
	// maxGauges bounds the files looked at, one a node.
	maxGauges = 4096
)

// measure takes in what is new of the GPUs.
func (r *run) measure() {
	if now := r.Now(); !r.alone && r.Gauge != "" && now.Sub(r.gauge.look) >= r.Beat {
		r.gauge.look = now
		r.tend(now)
		r.listen(now)
	}
}

// tend keeps the program of this node running while the script does.
func (r *run) tend(now time.Time) {
	g := &r.gauge
	if g.of != r.starts { // the one before ended with its script
		g.child, g.of, g.tries, g.none, g.next = nil, r.starts, 0, false, time.Time{}
	}
	if g.child != nil {
		select {
		case <-g.child.Done():
			g.none = g.child.Exit().Code == 0 // it says so by ending in peace
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
		g.none = true // it is not there, or not for this machine
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

// listen reads what the nodes of this run wrote. Files of earlier runs, and what is
// no such file, are passed over.
func (r *run) listen(now time.Time) {
	g := &r.gauge
	before := g.unfit()
	for _, d := range r.job.gauges(r.mine) {
		if d.Node == r.ownNode() && !d.At.Equal(g.heard[d.Node].devices.At) {
			g.since = now
		}
		g.hear(d, now)
	}
	maps.DeleteFunc(g.heard, func(_ string, h heard) bool { return now.Sub(h.at) > quiet*r.Beat })
	if g.unfit() != before {
		r.dirty = true // not to wait for the next sign of life
	}
}

// mine reports whether the job has the node in this run.
func (r *run) mine(node string) bool {
	return node == r.ownNode() || slices.Contains(r.where.hosts, node)
}

func (g *gauge) hear(d checkpoint.Devices, now time.Time) {
	if g.heard == nil {
		g.heard = map[string]heard{}
	}
	if old, known := g.heard[d.Node]; known && old.devices.At.Equal(d.At) {
		return
	}
	g.heard[d.Node] = heard{d, now}
}

// unfit is what is wrong with the GPUs heard of, all in one.
func (g *gauge) unfit() string {
	var b strings.Builder
	for _, node := range slices.Sorted(maps.Keys(g.heard)) {
		for _, d := range g.heard[node].devices.GPUs {
			if d.Unfit != "" {
				b.WriteString(node + " " + strconv.Itoa(d.Index) + " " + d.Unfit + "\n")
			}
		}
	}
	return b.String()
}

// devices is what the word says of them. Once the script has ended, with a GPU that
// failed it perhaps, the last thing said of it counts.
func (r *run) devices() []checkpoint.Devices {
	if r.child == nil && r.gauge.of > 0 && !r.alone {
		r.listen(r.Now())
	}
	var all []checkpoint.Devices
	for _, node := range slices.Sorted(maps.Keys(r.gauge.heard)) {
		all = append(all, r.gauge.heard[node].devices)
	}
	return checkpoint.Fitting(all)
}

// gauges reads what the nodes of this run that are wanted wrote of their GPUs.
func (f folders) gauges(wanted func(node string) bool) []checkpoint.Devices {
	dir, err := checkpoint.OpenDir(filepath.Join(f.jobDir, checkpoint.Gauges))
	if err != nil {
		return nil // nobody wrote anything
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
			continue // being replaced, or somebody's joke
		}
		if d, err := checkpoint.ParseDevices(data); err == nil && d.Node == node {
			out = append(out, d)
		}
	}
	return out
}
