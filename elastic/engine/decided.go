package engine

import "github.com/sluice-hpc/sluice/elastic"

// decided notes what a plan says of jobs.
func (st *State) decided(plan elastic.Plan) {
	for _, r := range plan.Reasons {
		if js := st.byID[r.Job]; js != nil {
			js.tells.said = r
			if r.Promised && !js.rec.Promised {
				js.rec.Promised, js.dirty = true, true
			}
		}
	}
}
