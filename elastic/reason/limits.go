package reason

import "github.com/sluice-hpc/sluice/nodes"

// Limits of the site.
type (
	// Limit is one limit, as Slurm's tools name it, and its usage.
	Limit struct {
		value
		Name string
		// At most a few of them; More counts the others.
		Users []Use
		More  int  // number of users that are not named
		None  bool // it is not used
	}
	// Within: it would have to be within the limit to start.
	Within struct {
		value
		Limit Reason
	}
	// NoMoreWithin: the limit is why it has no more GPUs.
	NoMoreWithin struct {
		value
		Limit Reason
	}
	// AnotherWaitsWithin: a job waits that the limit lets start once this one has fewer GPUs.
	AnotherWaitsWithin struct {
		value
		Limit Reason
	}
	// Reclaimed: it has GPUs beyond its user's share, and others want theirs.
	Reclaimed struct {
		value
		Limit Reason
	}
	// Deserved: by its shares a user of an account may have this many while others want theirs. User
	// "": all users of the account together. Account "": the user has none with shares. QOS, if not "",
	// is that of the jobs meant; if it is a Scavenger, this many is what others leave.
	Deserved struct {
		value
		Account, User, QOS string
		Scavenger          bool
		GPUs               int
	}
	// RestartBeyond: if it were started again, it would exceed the limit.
	RestartBeyond struct {
		value
		Limit Reason
	}
	// FewerThan: this many GPUs are fewer than the limit requires.
	FewerThan struct {
		value
		GPUs  int
		Limit Reason
	}
	// Beyond: the place alone exceeds the limit.
	Beyond struct {
		value
		To    nodes.Placement
		Limit Reason
	}
	// BeyondShared: the place would exceed the limit together with the usage of others.
	BeyondShared struct {
		value
		To    nodes.Placement
		Limit Reason
	}
)

// Use is a job's usage of a limit, as the limit counts it.
// Has is for people: "3" for GPUs or billing, "4000M" for memory, "90 min" for minutes.
type Use struct {
	Job  int64  `json:"job"`
	User string `json:"user"`
	Has  string `json:"has"`
}
