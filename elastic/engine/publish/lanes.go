package publish

import "github.com/sluice-hpc/sluice/elastic"

// Lane is a job that is a lane of a sweep, in the last report.
type Lane struct {
	Job      elastic.JobID
	Owner    uint32 // whose sweep it is
	SlurmUID uint32 // whose files it has
	Sweep    string // tokens
	Token    string
	// Waits: its last run, if there was one, is certainly over. Restarts is Slurm's count then, and
	// that of its next run.
	Ended, Waits bool
	Restarts     int
}

// Lanes returns the lanes in the last report, and whether other jobs wait for GPUs. known is false
// if Slurm did not answer lately. A report whose lanes were read does not count as taken. Lanes
// that have ended are in it too. It holds the lock while it reads, so that the memory is not given
// to a new report meanwhile: no more than O(jobs).
func (p *Board) Lanes() (lanes []Lane, waits, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.Report.Load()
	if r == nil || r.Blind != "" {
		return nil, false, false
	}
	waits = len(r.Demands) > 0
	for i := range r.Jobs {
		j := &r.Jobs[i]
		spec := &j.Record.Tag.Spec
		phase := j.Job.Phase
		if spec.Sweep == "" {
			waits = waits || !j.Ended && (phase == elastic.Waiting || phase == elastic.Queued)
			continue
		}
		lanes = append(lanes, Lane{
			Job: j.Record.ID, Owner: j.Record.Owner.UID, SlurmUID: j.Record.SlurmUID, Sweep: spec.Sweep, Token: spec.Token,
			Ended: j.Ended, Waits: phase == elastic.Waiting || phase == elastic.Queued, Restarts: j.Job.Restarts,
		})
	}
	return lanes, waits, true
}
