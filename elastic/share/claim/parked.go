package claim

import (
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
)

// givenBack returns how many GPUs scavengers give back by being parked: as many as waiting jobs of
// others need to start, if there are so many.
// 0 while none may be parked (roles.Parkable). It is a count, without places: policy's stage for scavengers
// decides whether a job really starts on what is given back, and parks none otherwise.
func givenBack(s *elastic.Snapshot, rigid func(partitions string) bool) int {
	parkable := roles.Parkable(s)
	if parkable == nil {
		return 0
	}
	w, kept, needed := newWants(s, rigid), 0, 0
	for i := range s.Jobs {
		switch j := &s.Jobs[i]; {
		case parkable(j):
			_, least, _ := w.of(j)
			kept += least
		case !j.Scavenger && roles.Startable(s, j):
			needed += roles.LeastOf(j)
		}
	}
	return min(kept, needed)
}
