package eligible

import (
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
)

// depart sets which nodes running jobs should leave: drained nodes, and nodes on which a
// maintenance reservation begins soon, unless the job is in that reservation. A node gives one
// departure; maintenance counts before a drain, because it has a date. What a job then does is the
// policy's (decision 33).
func (l *Look) depart(s *elastic.Snapshot) {
	drained := map[string]elastic.Departure{}
	for _, n := range l.Nodes {
		if n.Is("DRAIN") || n.Is("DRAINING") || n.Is("DRAINED") {
			drained[n.Name] = elastic.Departure{Node: n.Name, Cause: elastic.Draining, Name: n.Reason}
		}
	}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		own, known := l.Own[j.ID]
		if !known || j.Phase != elastic.Running {
			continue
		}
		for _, share := range j.Place {
			if d, found := l.maintained(own, share.Node, s.Now); found {
				j.Departures = append(j.Departures, d)
			} else if d, found := drained[share.Node]; found {
				j.Departures = append(j.Departures, d)
			}
		}
	}
}

// maintained returns the maintenance for which the job should leave the node now. A job whose time
// limit ends before it begins may stay. It leaves from Lead before the beginning on, and still while
// the maintenance lasts: a job that could not move before is asked again. A job without a time limit
// never ends before.
func (l *Look) maintained(own Job, node string, now time.Time) (elastic.Departure, bool) {
	left := own.Slurm.TimeLeft
	for _, r := range l.Site.Reservations {
		ahead := r.Start.Sub(now)
		switch {
		case !r.Maint || r.Name == l.Site.Reserved[own.Slurm.ID] || !now.Before(r.End) || !slices.Contains(r.Nodes, node):
		case left > 0 && left <= ahead, ahead > own.Lead:
		default:
			return elastic.Departure{Node: node, Cause: elastic.Maintenance, Name: r.Name, At: r.Start}, true
		}
	}
	return elastic.Departure{}, false
}
