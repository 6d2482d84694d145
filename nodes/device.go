package nodes

import "strconv"

// Device is one GPU as its driver reports it, or one MIG slice of one.
type Device struct {
	Index int    `json:"index"`          // the driver's index
	UUID  string `json:"uuid,omitempty"` // the GPU's, or the slice's
	Name  string `json:"name,omitempty"`
	MIG   bool   `json:"mig,omitempty"` // a slice: it has no utilisation of its own
	// Utilisation is the share of time with work on the GPU, 0 to 1, mean of the last
	// minutes; negative = unknown.
	Utilisation float64 `json:"utilisation"`
	MemoryUsed  int64   `json:"memory_used,omitempty"` // bytes
	Memory      int64   `json:"memory,omitempty"`      // bytes
	Watts       float64 `json:"watts,omitempty"`
	// Uncorrected counts memory errors that could not be corrected since the
	// driver was loaded.
	Uncorrected uint64 `json:"uncorrected,omitempty"`
	XIDs        []int  `json:"xids,omitempty"` // critical errors seen during this run, newest last
	// Unfit is the reason for which this GPU should run no job; "" = it is healthy.
	Unfit string `json:"unfit,omitempty"`
}

// ShortUUID is the beginning of the UUID, "GPU-1a2b3c4d": enough to identify a GPU on a
// node.
func (g Device) ShortUUID() string { return g.UUID[:min(len(g.UUID), 12)] }

// Key identifies a whole GPU on its node, for all jobs: indices differ if each job sees
// only its own GPUs.
func (g Device) Key() string {
	if g.UUID == "" || g.MIG { // a slice is as healthy as its GPU
		return strconv.Itoa(g.Index)
	}
	return g.ShortUUID()
}

// Label names it for users: "GPU 3 (GPU-1a2b3c4d)".
func (g Device) Label() string {
	label := "GPU " + strconv.Itoa(g.Index)
	if key := g.Key(); key != strconv.Itoa(g.Index) {
		label += " (" + key + ")"
	}
	return label
}
