package engine

import (
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/eligible"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// noteObstacle notes that Slurm would not start a job that was released, whatever its size
// and nodes, and which jobs may have what it lacks.
func (st *State) noteObstacle(in elastic.Intent, said string, now time.Time) {
	js := st.byID[in.Job]
	if js == nil {
		return
	}
	js.placing.refused.Obstacle = js.placing.refused.Obstacle.AndNoNodes(nil, reason.SlurmSaid{Text: said}, now)
	js.placing.asked, js.placing.holders = eligible.AskedOf(&js.shown.slurm, js.rec.Partition), eligible.Holders(st.seen.jobs, js.shown.slurm, said)
	st.Tell(now, in.Job, "problem", fmt.Sprintf("Slurm does not start it (%s); its GPUs are for others, and the next try is not before %s, unless that changes", said, js.placing.refused.ObstacleAgain().Format(time.TimeOnly)))
}
