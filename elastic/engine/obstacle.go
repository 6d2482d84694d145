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
func (e *Engine) noteObstacle(in elastic.Intent, said string, now time.Time) {
	js := e.byID[in.Job]
	if js == nil {
		return
	}
	js.refused.Obstacle = js.refused.Obstacle.AndNoNodes(nil, reason.SlurmSaid{Text: said}, now)
	js.asked, js.holders = eligible.AskedOf(&js.slurm, js.rec.Partition), eligible.Holders(e.seen.jobs, js.slurm, said)
	e.event(now, in.Job, "problem", fmt.Sprintf("Slurm does not start it (%s); its GPUs are for others, and the next try is not before %s, unless that changes", said, js.refused.ObstacleAgain().Format(time.TimeOnly)))
}
