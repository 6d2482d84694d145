package wire

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// Plan is what the next cycle would do.
type Plan struct {
	Version int       `json:"version"`
	At      time.Time `json:"at"`   // when Slurm was observed
	Next    time.Time `json:"next"` // the next cycle, for which the plan was made
	Policy  string    `json:"policy"`
	Moves   []Planned `json:"moves"`
	// Later are moves that only wait for a cooldown, as far as is known now. When is the end of
	// the cooldown.
	Later []Planned `json:"later"`
	Stays []Planned `json:"stays"`
}

// Planned is what the plan does with one job.
type Planned struct {
	JobID  int64           `json:"job_id"`
	Name   string          `json:"name"`
	User   string          `json:"user"`
	Kind   string          `json:"kind,omitempty"` // "start", "resize" or "park"; "" = stays
	From   nodes.Placement `json:"from"`
	To     nodes.Placement `json:"to"`
	When   time.Time       `json:"when,omitzero"`
	Reason string          `json:"reason"`
	Why    reason.Value    `json:"why,omitzero"` // the reason as a code with arguments
}

// Event tells the daemon that something happened, so that its next cycle starts sooner. It
// carries no facts: the daemon asks Slurm.
type Event struct {
	JobID int64  `json:"job_id,omitempty"`
	Kind  string `json:"kind"` // "submit", "cancel", "end" or another short word
}
