package reason

import (
	"time"

	"github.com/sluice-hpc/sluice/nodes"
)

// What Slurm, or the state of the job, has to do with it.
type (
	// InSlurm: released; Reason is Slurm's.
	InSlurm struct {
		value
		Reason string
	}
	// NotNow: what is planned cannot be opened now.
	NotNow struct {
		value
		Because Reason
	}
	// WaitsReturn: it waits for GPUs there to be given back.
	WaitsReturn struct {
		value
		To nodes.Placement
	}
	// StartsAfter: Slurm may still stop or hold it for an earlier call.
	StartsAfter struct {
		value
		At time.Time
	}
	// LicenseBusy: a job that asks for the same licenses is between two sizes.
	LicenseBusy struct {
		value
		Job int64
	}
	// Refusal is the last of those that a job met with in a row.
	Refusal struct {
		value
		At      nodes.Placement
		Last    time.Time
		Because Reason
		Times   int
		First   time.Time
	}
	// Again is a refusal, and when it is tried again.
	Again struct {
		value
		Refusal Reason
		At      time.Time
		Job     int64
	}
	// SlurmTakes is what Slurm takes of it: a refusal.
	SlurmTakes struct {
		value
		Refusal Reason
	}
	// NotStarted: Slurm does not start it. Idle is when it is tried again if GPUs are idle,
	// where that is sooner.
	NotStarted struct {
		value
		Again Reason
		Idle  time.Time
		Job   int64
	}
	// NotMoved: it would move, and Slurm refused that.
	NotMoved struct {
		value
		Again Reason
	}
	// Begins: its begin time lies ahead.
	Begins struct {
		value
		At time.Time
	}
	// ReservationBegins: its reservation lies ahead.
	ReservationBegins struct {
		value
		Reservation string
		At          time.Time
	}
	// Obstructed: Slurm would start it on no size and no nodes; Means is what its Reason
	// means, Advice what to type to see it. Until is when it is tried again at the latest.
	Obstructed struct {
		value
		Job           int64
		Since         time.Time
		Times         int
		Reason, Means string
		Until         time.Time
		Advice        string
	}
	// FolderUnreadable: it waits, for its folder has not answered since.
	FolderUnreadable struct {
		value
		Since time.Time
	}
	// ArrayArriving: its array is being submitted.
	ArrayArriving struct {
		value
		Have, Want int
	}
	// ArrayIncomplete: the others of its array were never submitted.
	ArrayIncomplete struct {
		value
		Array      int64
		Have, Want int
		Last       time.Time
	}
	// Depends: it depends on something, as in "job 12 (afterok)".
	Depends struct {
		value
		On string
	}
	// NeverDepends: that cannot happen any more.
	NeverDepends struct {
		value
		Job int64
		On  string
	}
)
