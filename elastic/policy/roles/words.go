package roles

import (
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// RestsUntil returns until when a job rests that moved less than a cooldown ago.
func RestsUntil(s elastic.Snapshot, j *elastic.Job) reason.Reason {
	return reason.Rests{Moved: j.Moved, Until: s.RestsUntil(j)}
}

// Unevenly reports whether Slurm would give the job this many GPUs with different numbers on
// the nodes, if the job accepted such splits.
// The inventory is used as it is: give one of empty nodes to ask about any time.
func Unevenly(inventory []nodes.Node, j *elastic.Job, want int, l elastic.Limits) bool {
	r := j.Request(l)
	r.GPUs, r.Uneven = want, true
	return len(nodes.Place(inventory, []nodes.Request{r})[0].Placement) > 0
}

// CannotStart returns why the job cannot get this many GPUs even on an empty cluster.
// Ordinary jobs count as gone. Have is the most GPUs of one partition: Slurm starts a job in one only.
func CannotStart(s *elastic.Snapshot, j *elastic.Job, want int) reason.Reason {
	empty, most := slices.Clone(s.Nodes), 0
	for i := range empty {
		empty[i] = empty[i].Empty()
	}
	for _, partition := range strings.Split(j.Partition, ",") {
		have := 0
		for _, n := range empty {
			if n.In(partition) {
				have += n.FreeOf(j.Spec.Type())
			}
		}
		most = max(most, have)
	}
	return reason.CannotStart{
		GPUs: want, Have: most, Split: want <= most, Fixed: j.AsAsked().Fixed(),
		Uneven: want <= most && !j.Spec.AllowUneven && Unevenly(empty, j, want, s.Limits),
	}
}
