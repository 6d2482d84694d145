package engine

import (
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
)

// settleBefore is how long before a maintenance begins a job should have left, beside what
// the move itself takes.
const settleBefore = time.Minute

// depart tells running jobs which of their nodes they should leave: nodes that are drained,
// by whomever, and those on which maintenance begins soon that is not the job's own
// reservation.
func (e *Engine) depart(s *elastic.Snapshot, v view) {
	drained := map[string]elastic.Departure{}
	for _, n := range v.nodes {
		if n.Is("DRAIN") || n.Is("DRAINING") || n.Is("DRAINED") {
			drained[n.Name] = elastic.Departure{Node: n.Name, Cause: elastic.Draining, Name: n.Reason}
		}
	}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		js := e.byID[j.ID]
		if js == nil || j.Phase != elastic.Running {
			continue
		}
		for _, share := range j.Place {
			if d, found := e.maintained(js, share.Node, s.Now); found {
				j.Departures = append(j.Departures, d)
			} else if d, found := drained[share.Node]; found {
				j.Departures = append(j.Departures, d)
			}
		}
	}
}

// maintained returns the maintenance for which the job should leave the node now. A job
// that is over before it begins need not.
func (e *Engine) maintained(js *jobState, node string, now time.Time) (elastic.Departure, bool) {
	l := e.limits.Limits
	left := js.slurm.TimeLeft
	for _, r := range l.Reservations {
		ahead := r.Start.Sub(now)
		switch {
		case !r.Maint || r.Name == l.Reserved[js.slurm.ID] || !now.Before(r.End) || !slices.Contains(r.Nodes, node):
		case left > 0 && left <= ahead, ahead > e.lead(js):
		default:
			return elastic.Departure{Node: node, Cause: elastic.Maintenance, Name: r.Name, At: r.Start}, true
		}
	}
	return elastic.Departure{}, false
}

// lead is how long before a maintenance the job is asked to leave: time for the save, and
// for what is known of reservations to be read again.
func (e *Engine) lead(js *jobState) time.Duration {
	return e.margin(js) + js.rec.Price.Drain + min(limitsPeriod, limitsCycles*e.cfg.Period) + settleBefore
}
