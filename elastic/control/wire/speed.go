package wire

import "time"

// Speeds is what is known of the speed of a user's jobs of one model.
type Speeds struct {
	Version int       `json:"version"`
	At      time.Time `json:"at"`
	Model   string    `json:"model"`
	User    string    `json:"user"`             // whose jobs
	Shared  bool      `json:"shared,omitempty"` // everybody's
	Unit    string    `json:"unit"`             // "epoch" or "step": what Seconds are of
	Samples int       `json:"samples"`
	Shapes  int       `json:"shapes"`        // numbers of GPUs and nodes they are of
	Enough  int       `json:"shapes_enough"` // from how many on anybody is held against the curve
	// Forms are who could answer for shapes nobody tried, the simplest first; empty as
	// long as there are too few shapes.
	Forms []SpeedForm `json:"forms"`
	// HeldWithin and HeldBeyond count the answers that the errors are of.
	HeldWithin int          `json:"held_within,omitempty"`
	HeldBeyond int          `json:"held_beyond,omitempty"`
	Measured   []SpeedShape `json:"measured"`
	Predicted  []SpeedShape `json:"predicted"` // shapes that this cluster could give
}

// SpeedForm is a way to answer for shapes nobody tried, and by how much it was off, as a
// share, where it was not told.
type SpeedForm struct {
	Name string `json:"name"`
	// Within what was measured, and beyond it; absent where nothing could be held back, or
	// the form could not be fitted.
	Within     *float64 `json:"error_within,omitempty"`
	Beyond     *float64 `json:"error_beyond,omitempty"`
	UsedWithin bool     `json:"used_within,omitempty"`
	UsedBeyond bool     `json:"used_beyond,omitempty"`
}

// SpeedShape is a place and how long a unit takes there.
type SpeedShape struct {
	GPUs    int     `json:"gpus"`
	Nodes   int     `json:"nodes"`
	Split   []int   `json:"split"` // GPUs on each node
	Kind    string  `json:"gpu_type,omitempty"`
	Beside  int     `json:"jobs_beside,omitempty"` // other jobs on these nodes
	Samples int     `json:"samples,omitempty"`
	Seconds float64 `json:"seconds_per_unit"` // measured, or what sluice goes by
	Source  string  `json:"speed_source"`     // measured, learned, fitted or prior
	// By is the form that answers; absent where the shape was measured.
	By string `json:"by,omitempty"`
	// Says is what each form says, in the order of Forms, in seconds.
	Says []float64 `json:"says,omitempty"`
}
