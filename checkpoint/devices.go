package checkpoint

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/sluice-hpc/sluice/nodes"
)

// Gauges is the folder, in the job's folder, in which each node reports on its GPUs: one
// small file per node and run, named by GaugeFile, with one Devices as JSON.
const Gauges = "gauge"

// GaugeFile is the name of a node's file in Gauges; restarts is Slurm's restart count of
// the run.
func GaugeFile(restarts int, node string) string {
	return strconv.Itoa(restarts) + "." + node + ".json"
}

const (
	maxDevices = 512 // of one node, and of one job
	maxIndex   = 4096
	maxXIDs    = 16
	maxUnfit   = 160 // bytes of a reason
	maxBytes   = 1 << 50
)

var uuidForm = form{letters + digits, letters + digits + "-/._", 1, 128}

// ParseDevices reads a node's report on the job's GPUs. Errors are *FormatError.
func ParseDevices(data []byte) (Devices, error) {
	var d Devices
	if err := decode(Gauges, data, &d); err != nil {
		return Devices{}, err
	}
	c := checker{file: Gauges, data: data}
	c.devices([]Devices{d})
	if c.err != nil {
		return Devices{}, c.err
	}
	return d.cleaned(), nil
}

// devices checks a report on a job's GPUs, node by node.
func (c *checker) devices(all []Devices) {
	c.want(len(all) <= maxNodes, "devices", fmt.Sprintf("%d nodes: at most %d", len(all), maxNodes))
	seen := make(map[string]bool, len(all))
	for _, d := range all {
		c.want(nodeForm.fits(d.Node), "node", fmt.Sprintf("%q is not a node's name", clip(d.Node, 80)))
		c.want(!seen[d.Node], "devices", fmt.Sprintf("node %s twice", clip(d.Node, 80)))
		c.moment("at", d.At)
		c.want(len(d.GPUs) <= maxDevices, "gpus", fmt.Sprintf("%d on %s: at most %d", len(d.GPUs), clip(d.Node, 80), maxDevices))
		if c.err != nil {
			return
		}
		seen[d.Node] = true
		for _, g := range d.GPUs {
			c.device(g)
		}
	}
}

func (c *checker) device(g nodes.Device) {
	c.whole("index", int64(g.Index), 0, maxIndex)
	if g.UUID != "" {
		c.match("uuid", g.UUID, uuidForm, "1 to 128 letters, digits and -/._")
	}
	c.want(g.Utilisation >= -1 && g.Utilisation <= 1, "utilisation", fmt.Sprintf("%g: want a share from 0 to 1, or -1", g.Utilisation))
	c.whole("memory", g.Memory, 0, maxBytes)
	c.whole("memory_used", g.MemoryUsed, 0, maxBytes)
	c.want(g.Watts >= 0 && g.Watts <= 1e5, "watts", fmt.Sprintf("%g: want 0 to 1e5", g.Watts))
	c.want(len(g.XIDs) <= maxXIDs, "xids", fmt.Sprintf("%d: at most %d", len(g.XIDs), maxXIDs))
	for _, x := range g.XIDs {
		c.whole("xids", int64(x), 0, math.MaxInt32)
	}
}

// cleaned returns d with every free text safe to show.
func (d Devices) cleaned() Devices {
	d.GPUs = slices.Clone(d.GPUs)
	for i := range d.GPUs {
		g := &d.GPUs[i]
		g.Name, g.Unfit = clean(g.Name, 100), clean(g.Unfit, maxUnfit)
	}
	return d
}

// detailed is the number of GPUs up to which the runner's note describes each in full.
const detailed = 48

// Fitting returns the part of d that fits into the runner's note, whose readers accept 64
// KiB. Of many GPUs only the fields that decisions need are kept; of very many only the
// first, unfit GPUs before all others.
func Fitting(all []Devices) []Devices {
	total := 0
	for _, d := range all {
		total += len(d.GPUs)
	}
	if total <= detailed {
		return all
	}
	room, unfit := maxDevices, maxUnfits
	out := make([]Devices, len(all))
	for i, d := range all {
		out[i] = Devices{Node: d.Node, At: d.At}
		for _, g := range d.GPUs {
			if g.Unfit != "" && unfit > 0 {
				out[i].GPUs = append(out[i].GPUs, nodes.Device{Index: g.Index, UUID: g.ShortUUID(), MIG: g.MIG, Utilisation: rounded(g.Utilisation), Unfit: g.Unfit})
				room, unfit = room-1, unfit-1
			}
		}
	}
	for i, d := range all {
		for _, g := range d.GPUs {
			if g.Unfit == "" && room > 0 {
				out[i].GPUs = append(out[i].GPUs, nodes.Device{Index: g.Index, UUID: g.ShortUUID(), MIG: g.MIG, Utilisation: rounded(g.Utilisation)})
				room--
			}
		}
	}
	return slices.DeleteFunc(out, func(d Devices) bool { return len(d.GPUs) == 0 })
}

// maxUnfits is how many unfit GPUs such a note lists.
const maxUnfits = 32

// rounded to 0.01 needs a third of the bytes.
func rounded(share float64) float64 { return math.Round(100*share) / 100 }

// Utilisation is the mean share of time with work on the GPUs of all nodes, 0 to 1; false
// if it is unknown for some GPU.
func Utilisation(all []Devices) (float64, bool) {
	sum, count := 0.0, 0
	for _, d := range all {
		for _, g := range d.GPUs {
			if g.Utilisation < 0 {
				return 0, false
			}
			sum += g.Utilisation
			count++
		}
	}
	if count == 0 {
		return 0, false
	}
	return sum / float64(count), true
}

// Sliced reports whether any of them is a MIG slice.
func Sliced(all []Devices) bool {
	return slices.ContainsFunc(all, func(d Devices) bool {
		return slices.ContainsFunc(d.GPUs, func(g nodes.Device) bool { return g.MIG })
	})
}
