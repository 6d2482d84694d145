package track

import "time"

// stalled is how late a cycle is that follows one in which Slurm let a query or a change
// wait: slurmctld was being started again, or a backup was taking over. Slurm's commands
// wait for that by themselves, so that nothing fails.
const stalled = 2 * time.Second

// NoteAway notes that the cycle, which was due at that time, comes late.
func (mo *Moments) NoteAway(due, now time.Time) {
	if !due.IsZero() && now.After(due.Add(stalled)) {
		mo.away = now
	}
}

// SeenAgain notes that Slurm answers again after it had not.
func (st *State) SeenAgain(now time.Time) {
	for _, js := range st.Jobs {
		atLeast(&js.Shown.placeless, now) // it could not be asked
	}
	st.away = now
}
