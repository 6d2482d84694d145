package track

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
)

// A clock that was years ahead when something happened delays nothing once it is right.
func TestClockSetBack(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	ahead := now.AddDate(10, 0, 0)
	js := &Job{Placing: placing{rest: ahead, uncertainUntil: ahead}}
	js.Rec.ID, js.Rec.Moved, js.Over.noticed = 7, ahead, ahead
	js.rescue.stranded.last = ahead
	e := New(Rules{}, nil, nil)
	e.Jobs, e.ByID, e.Lost = map[string]*Job{"a": js}, Known{7: js}, lostNodes{"gpu1": ahead}
	e.accounts.next = ahead
	e.Open = []elastic.Intent{{Job: 7, Step: elastic.Requeued, Opened: ahead, RequeuedAt: ahead}}
	e.Rewind(now)
	soon := now.Add(max(settling, late))
	if e.ByID.Unsure(e.Open[0], soon) || soon.Before(js.Placing.rest) || js.rescue.stranded.last.After(now) || js.Rec.Moved.After(now) || js.Over.noticed.After(now) || e.accounts.next.After(now.Add(accountsRest)) || e.Lost["gpu1"].After(now) || e.Open[0].RequeuedAt.After(now) {
		t.Errorf("%+v, %v, %+v", js, e.Lost, e.Open)
	}
	if !js.Dirty {
		t.Error("the journal keeps what was ahead")
	}
}
