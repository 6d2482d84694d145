package wire

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// History is one job's runs.
type History struct {
	Version  int       `json:"version"`
	At       time.Time `json:"at"`
	Job      Job       `json:"job"`
	Segments []Segment `json:"segments"`
}

// Segment is one run between two moves.
type Segment struct {
	Restarts    int             `json:"restarts"`
	Incarnation int             `json:"incarnation"`
	Place       nodes.Placement `json:"place"`
	GPUs        int             `json:"gpus"`
	Started     time.Time       `json:"started,omitzero"`
	Ended       time.Time       `json:"ended,omitzero"` // absent while it runs
	DoneFrom    float64         `json:"done_from"`
	DoneTo      float64         `json:"done_to"`
	Seconds     float64         `json:"seconds_per_unit,omitempty"`
	Cause       string          `json:"cause"`
	Why         reason.Value    `json:"why,omitzero"` // the cause as a code with arguments
	Price       Price           `json:"price"`        // resize cost paid before this run
	// Again is the work of the run before that this one repeated, and AgainSeconds the time
	// that it had taken.
	Again        float64 `json:"trained_again,omitempty"`
	AgainSeconds float64 `json:"trained_again_seconds,omitempty"`
}
