package wire

import "time"

// Speeds is the learned throughput of a user's jobs of one model.
type Speeds struct {
	Version int       `json:"version"`
	At      time.Time `json:"at"`
	Model   string    `json:"model"`
	User    string    `json:"user"`             // whose jobs
	Shared  bool      `json:"shared,omitempty"` // of the jobs of all users
	Unit    string    `json:"unit"`             // "epoch" or "step": the unit of Seconds
	Samples int       `json:"samples"`
	Shapes  int       `json:"shapes"`        // number of different shapes (GPUs and nodes) measured
	Enough  int       `json:"shapes_enough"` // number of shapes from which on other forms are compared with the curve
	// Forms are the forms that can predict shapes that were not measured, the simplest first;
	// empty while there are too few shapes.
	Forms []SpeedForm `json:"forms"`
	// HeldWithin and HeldBeyond count the held-back observations that the errors are of.
	HeldWithin int          `json:"held_within,omitempty"`
	HeldBeyond int          `json:"held_beyond,omitempty"`
	Measured   []SpeedShape `json:"measured"`
	Predicted  []SpeedShape `json:"predicted"` // shapes that this cluster could give
}

// SpeedForm is a form of prediction for shapes that were not measured, and its mean relative
// error on held-back observations.
type SpeedForm struct {
	Name string `json:"name"`
	// Within is the error inside the measured range, Beyond outside of it. Absent if nothing
	// could be held back or the form could not be fitted.
	Within     *float64 `json:"error_within,omitempty"`
	Beyond     *float64 `json:"error_beyond,omitempty"`
	UsedWithin bool     `json:"used_within,omitempty"`
	UsedBeyond bool     `json:"used_beyond,omitempty"`
}

// SpeedShape is a shape of allocation and the time of one unit there.
type SpeedShape struct {
	GPUs    int     `json:"gpus"`
	Nodes   int     `json:"nodes"`
	Split   []int   `json:"split"` // GPUs on each node
	Kind    string  `json:"gpu_type,omitempty"`
	Beside  int     `json:"jobs_beside,omitempty"` // number of other jobs on these nodes
	Samples int     `json:"samples,omitempty"`
	Seconds float64 `json:"seconds_per_unit"` // measured, or predicted
	Source  string  `json:"speed_source"`     // measured, learned, fitted or prior
	// By is the form of the prediction; absent if the shape was measured.
	By string `json:"by,omitempty"`
	// Says is the prediction of each form, in the order of Forms, in seconds.
	Says []float64 `json:"says,omitempty"`
}
