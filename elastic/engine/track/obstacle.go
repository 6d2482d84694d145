package track

import (
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/eligible"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// NoteObstacle records that Slurm did not start a released job for a reason that does not depend
// on its size or nodes, and which jobs may hold what it lacks. said is Slurm's reason.
func (st *State) NoteObstacle(in elastic.Intent, said string, now time.Time) {
	js := st.ByID[in.Job]
	if js == nil {
		return
	}
	js.Placing.Refused.Obstacle = js.Placing.Refused.Obstacle.AndNoNodes(nil, reason.SlurmSaid{Text: said}, now)
	js.Placing.asked, js.Placing.holders = eligible.AskedOf(&js.Shown.Slurm, js.Rec.Partition), eligible.Holders(st.Seen.Jobs, js.Shown.Slurm, said)
	st.Tell(now, in.Job, "problem", fmt.Sprintf("Slurm does not start it (%s); its GPUs are for others, and the next try is not before %s, unless that changes", said, js.Placing.Refused.ObstacleAgain().Format(time.TimeOnly)))
}
