package engine

import (
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
)

// The jobs of an array are submitted one by one. A submit that is killed on the way must
// leave nothing that runs and that nobody was told of, so none starts before all are there.
// That they are is what the first job's comment says, or what can be counted.

// arrivals are the arrays of which the first job says that others are to come.
type arrivals map[arrayOf]*elastic.Arrival

type arrayOf struct {
	uid uint32
	id  elastic.JobID
}

func arrayOfJob(js *jobState) arrayOf {
	return arrayOf{js.rec.UID, js.rec.Tag.Spec.Array.Of(js.rec.ID)}
}

// arriving counts the tasks of open arrays.
func (e *Engine) arriving() arrivals {
	open := arrivals{}
	for _, js := range e.byID {
		if a := js.rec.Tag.Spec.Array; a.Open && a.Job == 0 && js.rec.Ended.IsZero() && !js.disown {
			open[arrayOfJob(js)] = &elastic.Arrival{Job: js.rec.ID, Want: a.Count}
		}
	}
	if len(open) == 0 {
		return nil
	}
	for _, js := range e.byID {
		if a := open[arrayOfJob(js)]; a != nil && js.rec.Tag.Spec.Array.Is() {
			a.Have, a.Last = a.Have+1, later(a.Last, js.rec.Submitted)
		}
	}
	return open
}

// closeArrays notes of open arrays that all of their tasks are there. It outlasts them.
func (e *Engine) closeArrays() {
	for key, a := range e.arriving() {
		if js := e.byID[key.id]; a.Have >= a.Want {
			js.rec.Tag.Spec.Array.Open, js.told, js.dirty = false, true, true
		}
	}
}

// awaits is what of the job's array is still to come, as long as it has never run.
func (e *Engine) awaits(js *jobState, open func() arrivals, now time.Time) elastic.Blocked {
	if !js.rec.Tag.Spec.Array.Is() || !js.rec.FirstRun.IsZero() || js.slurm.Restarts > 0 {
		return elastic.Blocked{}
	}
	a := open()[arrayOfJob(js)]
	switch {
	case a == nil || a.Have >= a.Want:
		return elastic.Blocked{}
	case now.Sub(a.Last) < elastic.ArrayPatience:
		return elastic.Blocked{Code: elastic.Arriving, Array: *a, Until: a.Last.Add(elastic.ArrayPatience).In(now.Location())}
	}
	a.Last = a.Last.In(now.Location())
	return elastic.Blocked{Code: elastic.Incomplete, Array: *a}
}

// arrivalsOnce counts when it is first asked.
func (e *Engine) arrivalsOnce() func() arrivals { return sync.OnceValue(e.arriving) }
