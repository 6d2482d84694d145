package engine

import "time"

// stalled is how late a cycle is that follows one in which Slurm let a query or a change
// wait: slurmctld was being started again, or a backup was taking over. Slurm's commands
// wait for that by themselves, so that nothing fails.
const stalled = 2 * time.Second

// noteAway notes that the cycle before took long.
func (e *Engine) noteAway(now time.Time) {
	if !e.next.IsZero() && now.After(e.next.Add(stalled)) {
		e.away = now
	}
}
