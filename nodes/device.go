package nodes

import "strconv"

// Device is one GPU as its driver shows it, or one MIG slice of one.
type Device struct {
	Index int    `json:"index"`          // the driver's
	UUID  string `json:"uuid,omitempty"` // the GPU's, or the slice's
	Name  string `json:"name,omitempty"`
	MIG   bool   `json:"mig,omitempty"` // a slice: it has no utilisation of its own
	// Utilisation is the share of time with work on the GPU, from 0 to 1, mean of
	// the last minutes; negative = not known.
	Utilisation float64 `json:"utilisation"`
	MemoryUsed  int64   `json:"memory_used,omitempty"` // bytes
	Memory      int64   `json:"memory,omitempty"`      // bytes
	Watts       float64 `json:"watts,omitempty"`
	// Uncorrected counts memory errors that could not be corrected since the
	// driver was loaded.
	Uncorrected uint64 `json:"uncorrected,omitempty"`
	XIDs        []int  `json:"xids,omitempty"` // critical errors seen during this run, newest last
	// Unfit says why this GPU should run no job; "" = it is well.
	Unfit string `json:"unfit,omitempty"`
}

// ShortUUID is the beginning of the UUID, "GPU-1a2b3c4d": enough to tell the GPUs of a
// node apart.
func (g Device) ShortUUID() string { return g.UUID[:min(len(g.UUID), 12)] }

// Key is what a whole GPU is told by from the others of its node, whichever job
// speaks of it: numbers differ where each job is shown its own GPUs alone.
func (g Device) Key() string {
	if g.UUID == "" || g.MIG { // a slice is as well as its GPU
		return strconv.Itoa(g.Index)
	}
	return g.ShortUUID()
}

// Label names it for people: "GPU 3 (GPU-1a2b3c4d)".
func (g Device) Label() string {
	label := "GPU " + strconv.Itoa(g.Index)
	if key := g.Key(); key != strconv.Itoa(g.Index) {
		label += " (" + key + ")"
	}
	return label
}
