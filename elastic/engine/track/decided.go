package track

import "github.com/sluice-hpc/sluice/elastic"

// Decided stores the plan's reason for each job, and marks jobs that it admitted. It is called BEFORE
// the moves are recorded: an admission holds also if its move cannot be opened. An admission is never
// taken back here.
func (ro *Roster) Decided(plan elastic.Plan) {
	for _, r := range plan.Reasons {
		if js := ro.ByID[r.Job]; js != nil {
			js.Tells.Said = r
			if r.Promised && !js.Rec.Promised {
				js.Rec.Promised, js.Dirty = true, true
			}
		}
	}
}
