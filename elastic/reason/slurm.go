package reason

import (
	"time"

	"github.com/sluice-hpc/sluice/nodes"
)

// Reasons that come from Slurm, or from the state of the job.
type (
	// InSlurm: it is released; Reason is Slurm's.
	InSlurm struct {
		value
		Reason string
	}
	// Contends: it waits in Slurm's own order at its minimum, because Job, an ordinary job of
	// lower priority, waits too.
	Contends struct {
		value
		Job int64
	}
	// NotNow: the planned move cannot be opened now.
	NotNow struct {
		value
		Because Reason
	}
	// WaitsReturn: it waits until GPUs there are given back.
	WaitsReturn struct {
		value
		To nodes.Placement
	}
	// StartsAfter: Slurm may still stop or hold it because of an earlier call.
	StartsAfter struct {
		value
		At time.Time
	}
	// LicenseBusy: a job with the same licenses is between two sizes.
	LicenseBusy struct {
		value
		Job int64
	}
	// Refusal is the last of several refusals in a row.
	Refusal struct {
		value
		At      nodes.Placement
		Last    time.Time
		Because Reason
		Times   int
		First   time.Time
	}
	// Again is a refusal, and when the job is tried again.
	Again struct {
		value
		Refusal Reason
		At      time.Time
		Job     int64
	}
	// SlurmTakes is what Slurm accepts for it: a refusal.
	SlurmTakes struct {
		value
		Refusal Reason
	}
	// NotStarted: Slurm does not start it. Idle is when it is tried again if GPUs are idle, if
	// that is earlier.
	NotStarted struct {
		value
		Again Reason
		Idle  time.Time
		Job   int64
	}
	// NotMoved: it should move, and Slurm refused that.
	NotMoved struct {
		value
		Again Reason
	}
	// Begins: its begin time is in the future.
	Begins struct {
		value
		At time.Time
	}
	// ReservationBegins: its reservation is in the future.
	ReservationBegins struct {
		value
		Reservation string
		At          time.Time
	}
	// Obstructed: Slurm would start it at no size and on no nodes; Means is the meaning of its
	// Reason, Advice what to type to see it. Until is the latest time at which it is tried
	// again.
	Obstructed struct {
		value
		Job           int64
		Since         time.Time
		Times         int
		Reason, Means string
		Until         time.Time
		Advice        string
	}
	// FolderUnreadable: it waits because its folder has not answered since this time.
	FolderUnreadable struct {
		value
		Since time.Time
	}
	// ArrayArriving: its array is being submitted.
	ArrayArriving struct {
		value
		Have, Want int
	}
	// ArrayIncomplete: the other tasks of its array were never submitted.
	ArrayIncomplete struct {
		value
		Array      int64
		Have, Want int
		Last       time.Time
	}
	// Depends: it has a dependency, such as "job 12 (afterok)".
	Depends struct {
		value
		On string
	}
	// NeverDepends: its dependency can never be fulfilled.
	NeverDepends struct {
		value
		Job int64
		On  string
	}
)
