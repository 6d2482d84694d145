package engine

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
)

// A clock that was years ahead when something happened holds nothing up once it is right.
func TestClockSetBack(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	ahead := now.AddDate(10, 0, 0)
	js := &jobState{placing: placing{rest: ahead, unheard: ahead}}
	js.rec.ID, js.rec.Moved, js.over.noticed = 7, ahead, ahead
	js.rescue.stranded.last = ahead
	e := newState(Rules{}, nil, nil)
	e.jobs, e.byID, e.lost = map[string]*jobState{"a": js}, known{7: js}, lostNodes{"gpu1": ahead}
	e.accounts.next = ahead
	e.open = []elastic.Intent{{Job: 7, Step: elastic.Requeued, Opened: ahead, RequeuedAt: ahead}}
	e.rewind(now)
	soon := now.Add(max(settling, late))
	if e.byID.unsure(e.open[0], soon) || soon.Before(js.placing.rest) || js.rescue.stranded.last.After(now) || js.rec.Moved.After(now) || js.over.noticed.After(now) || e.accounts.next.After(now.Add(accountsRest)) || e.lost["gpu1"].After(now) || e.open[0].RequeuedAt.After(now) {
		t.Errorf("%+v, %v, %+v", js, e.lost, e.open)
	}
	if !js.dirty {
		t.Error("the journal keeps what was ahead")
	}
}
