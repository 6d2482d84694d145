package control

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
	"github.com/sluice-hpc/sluice/elastic/feed"
	"github.com/sluice-hpc/sluice/elastic/forecast"
	"github.com/sluice-hpc/sluice/elastic/past"
	"github.com/sluice-hpc/sluice/elastic/sweep/digest"
	"github.com/sluice-hpc/sluice/nodes"
)

// one is a daemon with one job, of uid 7.
type one struct{ orders, seen, woken int }

func (o *one) Report() *publish.Report {
	rec := journal.JobRecord{Identity: journal.Identity{ID: 41, Owner: elastic.Owner{User: "ann", UID: 7}, SlurmUID: 7}, Tag: elastic.Tag{Spec: elastic.Spec{Min: 1, Sweep: strings.Repeat("5", 32)}}}
	return &publish.Report{At: time.Unix(int64(o.woken), 0), Jobs: []publish.JobReport{{Record: rec, Job: &elastic.Job{}}}, Nodes: []nodes.Node{{Name: "gpu1"}}}
}
func (o *one) Plan(context.Context) (engine.Forecast, error) { return engine.Forecast{}, nil }
func (o *one) Past(context.Context, time.Time, func(journal.JobRecord) bool, func(journal.JobRecord, []journal.Segment) error) error {
	return nil
}
func (o *one) Segments(context.Context, string) ([]journal.Segment, error) { return nil, nil }
func (o *one) Speeds(_ context.Context, uid uint32, _ string) (engine.Speeds, error) {
	if uid != 8 {
		o.seen++
	}
	return engine.Speeds{Count: 1}, nil
}
func (*one) Refresh(context.Context) {}

func (*one) Meet(context.Context, elastic.JobID) {}

func (o *one) Wake() { o.woken++ } // a cycle takes no time
func (o *one) Trust(context.Context, Caller, string) error {
	o.orders++
	return nil
}
func (o *one) Direct(_ context.Context, _ Caller, _ elastic.JobID, c wire.Change) error {
	o.orders++
	return c.Validate()
}

func (o *one) Page(context.Context, time.Time, journal.Position, int, func(journal.JobRecord) bool, func(journal.JobRecord, []journal.Segment) error) (journal.Position, bool, error) {
	return journal.Position{}, false, nil
}
func (o *one) Entries(context.Context, past.Query) ([]past.Entry, error)  { return nil, nil }
func (o *one) Samples(context.Context, past.Query) ([]past.Sample, error) { return nil, nil }
func (o *one) Forecast(context.Context) (forecast.Projection, error) {
	return forecast.Projection{Jobs: []forecast.Job{{ID: 41}}}, nil
}
func (o *one) WhatIf(_ context.Context, _ Caller, change wire.WhatIf) (before, after forecast.Projection, err error) {
	if change.Submit == nil {
		o.orders++ // another's job: not even tried
	}
	return before, after, nil
}
func (o *one) Deadline(context.Context, Caller, elastic.JobID, wire.Change) (*elastic.JobReason, error) {
	o.orders++
	return nil, nil
}
func (o *one) Sweeps() map[string]SweepReport { return nil }
func (o *one) SweepTrials(context.Context, string, uint32, digest.Query) (digest.Digest, error) {
	o.seen++
	return digest.Digest{}, nil
}
func (o *one) Events() *feed.Feed { return feed.New("x") }

// Any request gets a JSON answer, never makes the server fail, and never orders anything about
// a job of another user.
func FuzzRequest(f *testing.F) {
	f.Add("GET", "/v1/report", "")
	f.Add("POST", "/v1/jobs/41/direct", `{"order":"pin","gpus":2}`)
	f.Add("POST", "/v1/nodes/gpu1/trust", "")
	f.Add("GET", "/v1/speed?model=resnet50&uid=8", "")
	f.Add("GET", "/v1/usage?by=user&since=2026-03-01T00:00:00Z&until=2026-03-02T00:00:00Z", "")
	f.Add("POST", "/v1/event", `{"kind":"end","job_id":41}`)
	f.Add("GET", "/v1/jobs/-1/explain", "{")
	f.Add("GET", "/v1/history?from=2026-01-01T00:00:00Z&of=jobs&job=41&user=ann&limit=5&cursor=e30", "")
	f.Add("GET", "/v1/events?after=x-0", "")
	f.Add("GET", "/v1/forecast", "")
	f.Add("GET", "/v1/sweeps", "")
	f.Add("GET", "/v1/sweeps/41?sort=best&from=0", "")
	f.Add("POST", "/v1/forecast", `{"job_id":41,"gpus":2}`)
	f.Add("POST", "/v1/jobs/41/direct", `{"order":"deadline","deadline":"2026-01-02T00:00:00Z"}`)
	service := &one{}
	s := newServer(service)
	// The clock stands still, so that only the first few unknown jobs are waited for.
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s.reads.burst = 1 << 40 // else no request would pass after the first 200
	if err := s.Configure(Options{UID: 500, Private: true, Now: func() time.Time { return now }}); err != nil {
		f.Fatal(err)
	}
	routes := s.routes()
	stranger := context.WithValue(f.Context(), visitKey{}, &visit{caller: Caller{UID: 8}, work: func(bool) {}})
	f.Fuzz(func(t *testing.T, method, url, body string) {
		r, err := http.NewRequestWithContext(stranger, method, "http://sluiced/"+strings.TrimPrefix(url, "/"), strings.NewReader(body))
		if err != nil {
			t.Skip()
		}
		w := httptest.NewRecorder()
		routes.ServeHTTP(w, r)
		redirect := w.Code == http.StatusTemporaryRedirect || w.Code == http.StatusMovedPermanently
		if w.Code >= 500 || !redirect && r.Method != http.MethodConnect && !json.Valid(w.Body.Bytes()) {
			t.Fatalf("%s %s: %d %s", method, url, w.Code, w.Body)
		}
		if service.seen > 0 {
			t.Fatalf("%s %s: the speeds, or the trials, of another's jobs", method, url)
		}
		if service.orders > 0 {
			t.Fatalf("%s %s %s: an order about another's job, or a node", method, url, body)
		}
	})
}
