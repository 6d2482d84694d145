package story

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/slurm/fake"
)

// Story is a scenario: everything that happens to a cluster apart from sluice's actions. The zero value
// of a field means that it does not happen.
type Story struct {
	Seed  uint64 `json:"seed"`
	Nodes int    `json:"nodes"` // each with GPUs GPUs
	GPUs  int    `json:"gpus"`
	// Edge is the number of additional nodes in an edge pool.
	Edge int `json:"edge,omitempty"`
	// Features has each node's features, separated by commas; empty = none.
	Features []string `json:"features,omitempty"`
	// Personal: sluiced serves one user, without rights over others.
	Personal bool   `json:"personal,omitempty"`
	Policy   string `json:"policy"`         // a policy's name, or "turns"
	Disk     bool   `json:"disk,omitempty"` // the journal is the store on disk, if the test has one

	// Pace of Slurm and of the daemon.
	Jitter     time.Duration `json:"jitter,omitempty"`
	Draining   time.Duration `json:"draining,omitempty"`
	Period     time.Duration `json:"period"`
	Transition time.Duration `json:"transition"`

	Jobs    []Job    `json:"jobs,omitempty"`
	Acts    []Act    `json:"acts,omitempty"`
	Faults  []string `json:"faults,omitempty"`  // of Slurm, as fake.Parse reads them
	Kills   []Kill   `json:"kills,omitempty"`   // kill -9 of the daemon at effects
	Windows []Window `json:"windows,omitempty"` // file systems that return errors
}

// Job is one elastic job: when it is submitted, and how it behaves.
type Job struct {
	At      time.Duration `json:"at"`
	User    string        `json:"user"`
	Min     int           `json:"min"`
	Max     int           `json:"max"`
	Total   float64       `json:"total"`   // epochs
	Seconds float64       `json:"seconds"` // per epoch on one GPU
	Serial  float64       `json:"serial,omitempty"`
	Save    time.Duration `json:"save"`
	Load    time.Duration `json:"load"`
	Every   float64       `json:"every,omitempty"`
	Limit   time.Duration `json:"limit,omitempty"`
	Due     time.Duration `json:"due,omitempty"` // its deadline after the submission; it need not meet it
	Signal  string        `json:"signal,omitempty"`
	Uneven  bool          `json:"uneven,omitempty"`
	Edge    bool          `json:"edge,omitempty"` // it may also use the edge pool
	// Constraint is one of constraints; "" = any node.
	Constraint string `json:"constraint,omitempty"`
	Habit      bool   `json:"habit,omitempty"`
	Manner     string `json:"manner,omitempty"` // see manners; "" = a correct job
}

// Act is an action or a fault at a time, or right before an effect of the daemon.
type Act struct {
	At     time.Duration `json:"at,omitempty"`
	Effect int           `json:"effect,omitempty"` // counted from 1, instead of At
	What   string        `json:"what"`             // see acts
	Job    int           `json:"job,omitempty"`    // which of Story.Jobs
	Node   string        `json:"node,omitempty"`
	For    time.Duration `json:"for,omitempty"`
	GPUs   int           `json:"gpus,omitempty"`
	Way    uint64        `json:"way,omitempty"` // selects a variant of the act
}

// Kill kills the daemon right before or after its n-th effect.
type Kill struct {
	Effect int  `json:"effect"`
	After  bool `json:"after,omitempty"`
	// Power: its machine loses power during the effect. What the journal wrote in it and did
	// not sync is gone or torn.
	Power bool `json:"power,omitempty"`
}

// Window is a time in which each Nth operation on a file system fails or blocks.
type Window struct {
	At    time.Duration `json:"at"`
	For   time.Duration `json:"for"`
	Where string        `json:"where"` // "store", "outbox" (writes), "jobs" (reads) or "log" (events; blocks only)
	How   string        `json:"how"`   // ENOSPC, EDQUOT, EROFS, EIO, EBUSY, ETIMEDOUT; "" = it succeeds
	Nth   int           `json:"nth"`   // 1 = every one
	// Hold is how long such an operation blocks before it returns.
	Hold time.Duration `json:"hold,omitempty"`
}

// plan returns the scenario's injected faults for the fake Slurm.
func (s Story) plan() (fake.Plan, error) {
	return fake.Parse(strings.Join(s.Faults, "; "))
}

// forgetful reports whether slurmctld loses state in this scenario.
func (s Story) forgetful() bool {
	for _, f := range s.Faults {
		if strings.Contains(f, string(fake.Forget)) {
			return true
		}
	}
	return false
}

// has reports whether the scenario has an act of that kind.
func (s Story) has(what string) bool {
	for _, a := range s.Acts {
		if a.What == what {
			return true
		}
	}
	return false
}

// Line formats the scenario in one line, for Parse.
func (s Story) Line() string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // not possible: numbers, strings and lists only
	}
	return string(b)
}

// Parse parses a scenario that Line formatted.
func Parse(line string) (Story, error) {
	var s Story
	d := json.NewDecoder(strings.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return Story{}, fmt.Errorf("story: %w", err)
	}
	if s.Nodes < 1 || s.GPUs < 1 || s.Period <= 0 || s.Transition <= 0 {
		return Story{}, fmt.Errorf("story: a cluster needs nodes, GPUs and a daemon with a pace")
	}
	if _, err := s.plan(); err != nil {
		return Story{}, fmt.Errorf("story: %w", err)
	}
	return s, nil
}

// String formats the scenario for people, one item a line.
func (s Story) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d nodes of %d GPUs and %d at the edge, policy %s, period %s/%s, disk=%t, personal=%t\n", s.Nodes, s.GPUs, s.Edge, s.Policy, s.Period, s.Transition, s.Disk, s.Personal)
	for i, j := range s.Jobs {
		fmt.Fprintf(&b, "%10s job %d of %s: %d-%d GPUs, %g epochs of %gs, saves in %s", j.At, i, j.User, j.Min, j.Max, j.Total, j.Seconds, j.Save)
		for _, more := range []struct {
			is   bool
			what string
		}{{j.Every > 0, fmt.Sprintf("every %g", j.Every)}, {j.Limit > 0, "limit " + j.Limit.String()}, {j.Due > 0, "due in " + j.Due.String()}, {j.Signal != "", j.Signal},
			{j.Uneven, "uneven"}, {j.Edge, "in the edge pool too"}, {j.Habit, "by habit"}, {j.Manner != "", j.Manner}} {
			if more.is {
				b.WriteString(", " + more.what)
			}
		}
		b.WriteByte('\n')
	}
	for _, a := range s.Acts {
		at := a.At.String()
		if a.Effect > 0 {
			at = fmt.Sprintf("effect %d", a.Effect)
		}
		fmt.Fprintf(&b, "%10s %s job=%d node=%s for=%s gpus=%d way=%d\n", at, a.What, a.Job, a.Node, a.For, a.GPUs, a.Way)
	}
	for _, w := range s.Windows {
		fmt.Fprintf(&b, "%10s %s says %s for %s, each %d, after %s.\n", w.At, w.Where, w.How, w.For, w.Nth, w.Hold)
	}
	for _, f := range s.Faults {
		fmt.Fprintf(&b, "           %s\n", f)
	}
	for _, k := range s.Kills {
		fmt.Fprintf(&b, "           killed at effect %d (after=%t, power=%t)\n", k.Effect, k.After, k.Power)
	}
	return b.String()
}
