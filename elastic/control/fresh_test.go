package control_test

import (
	"slices"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/controltest"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
)

// TestHistoryIsFresh: the row of the present run includes the progress written since the last
// cycle and the time run until now. Rows of earlier runs stay.
func TestHistoryIsFresh(t *testing.T) {
	o := options()
	now := controltest.Now.Add(20 * time.Second)
	o.Now = func() time.Time { return now }
	service := controltest.New()
	client := client.Dial(serve(t, o, service))
	r := controltest.Report()
	of := slices.IndexFunc(r.Jobs, func(jr publish.JobReport) bool { return jr.Record.ID == controltest.Growing })
	r.Jobs[of].Run = controltest.Segments()[1]
	r.Jobs[of].Run.DoneTo, r.Jobs[of].Run.Seconds = 4.25, 30
	service.Set(func(s *controltest.Service) { s.Last = r })
	h, err := client.History(t.Context(), controltest.Growing)
	if err != nil {
		t.Fatal(err)
	}
	if run := h.Segments[1]; run.DoneTo != 4.25 || run.Seconds != 30 || run.DoneFrom != 1.75 || !h.At.Equal(now) {
		t.Errorf("the present run at %s: %+v", h.At, run)
	}
	if run := h.Segments[0]; run.DoneTo != 2 {
		t.Errorf("the run before: %+v", run)
	}
	r = controltest.Report()
	r.Jobs[of].Run = controltest.Segments()[1]
	r.Jobs[of].Run.Restarts, r.Jobs[of].Run.DoneTo = 2, 9 // not in the journal yet
	service.Set(func(s *controltest.Service) { s.Last = r })
	if h, err = client.History(t.Context(), controltest.Growing); err != nil || h.Segments[1].DoneTo != 3.5 {
		t.Errorf("%v: a row of another run: %+v", err, h.Segments)
	}
}
