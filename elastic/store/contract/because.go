package contract

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// because returns an All of reasons, with a time, a placement and text of Slurm.
func because() reason.Reason {
	return reason.Resizes{From: 2, To: 5, Because: reason.Join(
		reason.Rests{Moved: day, Until: day.Add(time.Minute)},
		reason.Refusal{At: nodes.Placement{{Node: "gpu1", GPUs: 4}}, Last: day, Times: 2, First: day, Because: reason.SlurmSaid{Text: "'quoted' and naïve"}},
		reason.NoMoreWithin{Limit: reason.Limit{Name: "GrpTRES=gres/gpu=2 of account phys", Users: []reason.Use{{Job: 3, User: "ada", Has: "2"}}}},
		reason.AtMaximum)}
}
