package fake

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// Reasons of pending jobs that reservations keep from starting.
const (
	waitsForReservation = "Reservation" // its own reservation has not begun
	mayBeReserved       = "ReqNodeNotAvail, May be reserved for other job"
	isReserved          = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
)

// reservationOf is the name of the reservation that the job was submitted into, or that
// SetLimits gives for it.
func (f *Fake) reservationOf(j *job) string { return cmp.Or(j.reservation, f.limits.Reserved[j.id]) }

// reservation is the job's reservation; nil if it has none, or if that has ended: such a
// job is treated as a job without one.
func (f *Fake) reservation(j *job) *slurm.Reservation {
	name := f.reservationOf(j)
	for i := range f.limits.Reservations {
		if r := &f.limits.Reservations[i]; name != "" && r.Name == name && f.now.Before(r.End) {
			return r
		}
	}
	return nil
}

// kept reports whether reservations close the node to the job: its own reservation has
// other nodes, or another one has the node at some time before the job's time limit.
func (f *Fake) kept(j *job, n *node) bool {
	if own := f.reservation(j); own != nil {
		return !slices.Contains(own.Nodes, n.Name)
	}
	limit := f.limitOf(j)
	return slices.ContainsFunc(f.limits.Reservations, func(r slurm.Reservation) bool {
		return f.now.Before(r.End) && (limit == 0 || f.now.Add(limit).After(r.Start)) && slices.Contains(r.Nodes, n.Name)
	})
}

// reserved is the reason for which reservations keep the job from starting on idle nodes;
// "" if they do not.
func (f *Fake) reserved(j *job) string {
	if len(f.limits.Reservations) == 0 {
		return ""
	}
	own := f.reservation(j)
	if own != nil && f.now.Before(own.Start) {
		return waitsForReservation
	}
	_, _, ok := f.fit(j, func(n *node) bool { return !f.kept(j, n) },
		func(n *node) int { return n.has(j.want.gpuType) }, func(n *node) int { return f.cpusOf(j, n) })
	begun := slices.ContainsFunc(f.nodes, func(n *node) bool { return f.reservedNow(n) })
	switch {
	case ok:
		return ""
	case own != nil:
		return badConstraints // as in 20.11 and 22.05; later releases use Reservation or Resources
	case len(j.want.req) == 0 && begun:
		return isReserved
	}
	return mayBeReserved
}

// reservedNow reports whether the node is in a reservation that has begun.
func (f *Fake) reservedNow(n *node) bool {
	return slices.ContainsFunc(f.limits.Reservations, func(r slurm.Reservation) bool {
		return !f.now.Before(r.Start) && f.now.Before(r.End) && slices.Contains(r.Nodes, n.Name)
	})
}

// planReservations schedules a pass when a reservation begins or ends.
func (f *Fake) planReservations() {
	for _, r := range f.limits.Reservations {
		if r.Start.After(f.now) {
			f.events.push(r.Start, f.schedule)
		}
		if r.End.After(f.now) {
			f.events.push(r.End, func() { f.closeReservation(r.Name, r.End) })
		}
	}
}

// closeReservation ends the jobs that run in a reservation at its end, unless its end was
// changed in the meantime.
func (f *Fake) closeReservation(name string, end time.Time) {
	if !slices.ContainsFunc(f.limits.Reservations, func(r slurm.Reservation) bool { return r.Name == name && r.End.Equal(end) }) {
		return
	}
	for _, j := range slices.Clone(f.jobs) {
		if j.state == slurm.Running && f.reservationOf(j) == name {
			f.timeOut(j, j.run)
		}
	}
	f.whenUp(f.schedule)
}

// enter finds the reservation that a job names.
func (f *Fake) enter(j *job) *failure {
	if j.reservation != "" && f.reservation(j) == nil {
		return fail(slurm.ErrRefused, "Batch job submission failed: Requested reservation is invalid")
	}
	return nil
}

// inReservations returns the reservation of each job that is in one, besides those set.
func (f *Fake) inReservations() map[slurm.JobID]string {
	in := maps.Clone(f.limits.Reserved)
	for _, j := range f.jobs {
		if r := f.reservation(j); r != nil && !j.state.Ended() {
			if in == nil {
				in = map[slurm.JobID]string{}
			}
			in[j.id] = r.Name
		}
	}
	return in
}
