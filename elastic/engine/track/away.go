package track

import "time"

// stalled is the delay of a cycle from which on the one before is taken to have waited for
// slurmctld, which restarted or failed over to a backup. Slurm's commands retry meanwhile, so
// that no error shows it.
const stalled = 2 * time.Second

// NoteAway notes at the start of a cycle whether it is more than stalled after due. due is the time
// for which the last cycle asked; zero before the first.
func (mo *Moments) NoteAway(due, now time.Time) {
	if !due.IsZero() && now.After(due.Add(stalled)) {
		mo.away, mo.outage = now, true
	}
}

// NoteBlind notes that Slurm does not answer.
func (mo *Moments) NoteBlind() { mo.outage = true }

// EndOutage applies the end of an outage to what slurmctld still owes to lost nodes and jobs: it could send
// no kill request meanwhile. It MUST run BEFORE Lost.Note, which forgets nodes. A rest ends settling
// after the failure, so that its rest + owed - settling is the end of what slurmctld owes: if it was
// not over before the outage, the job waits once more.
func EndOutage(st *State, now time.Time) {
	if !st.outage {
		return
	}
	st.outage = false
	for node := range st.Lost {
		st.Lost[node] = now
	}
	for _, js := range st.Jobs {
		if rest := &js.Placing.rest; !rest.IsZero() && st.Last.Now.Before(rest.Add(owed-settling)) {
			*rest = Later(*rest, now.Add(settling))
		}
	}
}

// SeenAgain notes that Slurm answers again after an outage.
func (st *State) SeenAgain(now time.Time) {
	for _, js := range st.Jobs {
		atLeast(&js.Shown.placeless, now) // the split could not be queried meanwhile
	}
	st.away = now
}
