package control_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/controltest"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// rowsOf names the rows of a page.
func rowsOf(p wire.Past) (out []string) {
	for _, j := range p.Jobs {
		out = append(out, fmt.Sprintf("job %d", j.JobID))
	}
	for _, m := range p.Moves {
		out = append(out, fmt.Sprintf("move of %d", m.JobID))
	}
	for _, d := range p.Decisions {
		out = append(out, fmt.Sprintf("decision of %d", d.JobID))
	}
	for _, c := range p.Clusters {
		out = append(out, fmt.Sprintf("%d running", c.Running))
	}
	for _, s := range p.Shares {
		out = append(out, fmt.Sprintf("%d lines", len(s.Lines)))
	}
	return out
}

// pages reads all pages of a query.
func pages(t *testing.T, c *client.Client, q client.PastQuery) (out []string, count int) {
	t.Helper()
	for {
		p, err := c.Past(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		out, count = append(out, rowsOf(p)...), count+1
		if p.Next == "" {
			return out, count
		}
		q.Cursor = p.Next
	}
}

// Every list has the same rows in pages of one row and in one page, and is filtered by job and user.
func TestPastInPages(t *testing.T) {
	c := client.Dial(serve(t, options(), controltest.New()))
	for of, want := range map[string][]string{
		wire.OfMoves:     {"move of 41", "move of 42"},
		wire.OfDecisions: {"decision of 41", "decision of 42", "decision of 41"},
		wire.OfNodes:     {"3 running", "2 running", "1 running"},
		wire.OfShares:    {"3 lines", "3 lines", "3 lines"},
	} {
		q := client.PastQuery{Of: of, From: controltest.Now.Add(-time.Hour)}
		whole, one := pages(t, c, q)
		q.Limit = 1
		single, many := pages(t, c, q)
		if !slices.Equal(whole, want) || !slices.Equal(single, want) || one != 1 || many <= len(want)-1 {
			t.Errorf("%s: %q in one page, %q in %d", of, whole, single, many)
		}
	}
	q := client.PastQuery{From: controltest.Now.Add(-24 * time.Hour)}
	whole, _ := pages(t, c, q)
	q.Limit = 2
	if single, many := pages(t, c, q); !slices.Equal(whole, single) || len(whole) != 7 || many != 4 {
		t.Errorf("jobs: %q in one page, %q in %d", whole, single, many)
	}
	for name, c2 := range map[string]struct {
		q    client.PastQuery
		want int
	}{
		"one job":                  {client.PastQuery{Job: controltest.Growing}, 1},
		"bob's":                    {client.PastQuery{User: "bob"}, 3},
		"nobody's":                 {client.PastQuery{User: "nobody"}, 0},
		"bob's moves":              {client.PastQuery{Of: wire.OfMoves, User: "bob"}, 1},
		"decisions 41, 10 minutes": {client.PastQuery{Of: wire.OfDecisions, Job: 41, From: controltest.Now.Add(-10 * time.Minute)}, 1},
		"nothing yet":              {client.PastQuery{Of: wire.OfDecisions, From: controltest.Now.Add(-time.Hour), To: controltest.Now.Add(-45 * time.Minute)}, 0},
	} {
		if c2.q.From.IsZero() {
			c2.q.From = controltest.Now.Add(-24 * time.Hour)
		}
		if got, _ := pages(t, c, c2.q); len(got) != c2.want {
			t.Errorf("%s: %q, want %d rows", name, got, c2.want)
		}
	}
}

// The costs of a move are those between its steps, and its reasons are there as codes.
func TestPastMove(t *testing.T) {
	c := client.Dial(serve(t, options(), controltest.New()))
	p, err := c.Past(t.Context(), client.PastQuery{Of: wire.OfMoves, From: controltest.Now.Add(-time.Hour), Job: controltest.Growing})
	if err != nil || len(p.Moves) != 1 {
		t.Fatal(p, err)
	}
	m := p.Moves[0]
	if m.Save != 10 || m.Stop != 5 || m.Wait != 5 || m.Start != 40 || m.Kind != "resize" || m.Outcome != "done" || m.Target.GPUs() != 4 || m.Cause == "" || m.Why.Reason == nil || m.Result == "" {
		t.Errorf("%+v", m)
	}
}

// A request that makes no sense is refused, and says what is wrong.
func TestPastIsRefused(t *testing.T) {
	path := serve(t, options(), controltest.New())
	from := "from=" + controltest.Now.Add(-time.Hour).Format("2006-01-02T15:04:05Z")
	for query, want := range map[string]string{
		"":                   "want a time as in RFC 3339",
		"from=yesterday":     "from \\\"yesterday\\\"",
		from + "&to=x":       "to \\\"x\\\"",
		from + "&of=secrets": "want jobs, moves, decisions, nodes or shares",
		from + "&job=-1":     "is not a job number",
		from + "&job=x":      "is not a job number",
		from + "&limit=0":    "want 1 to 1000",
		from + "&limit=1001": "want 1 to 1000",
		from + "&limit=many": "want 1 to 1000",
		from + "&cursor=!":   "not a cursor",
		from + "&cursor=e30": "not a cursor of this list",
		from + "&cursor=" + strings.Repeat("A", 2000): "not a cursor",
		"from=2020-01-01T00:00:00Z":                   "at most 366 days",
		"from=2100-01-01T00:00:00Z":                   "nothing was between",
		from + "&to=2026-03-01T00:00:00Z":             "nothing was between",
	} {
		status, text := as(t, -1, path, "GET", "/v1/history?"+query, "")
		if status != 400 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s, want %q", query, status, text, want)
		}
	}
}

// A forecast and a what-if of nonsense are refused.
func TestWhatIfIsRefused(t *testing.T) {
	c := client.Dial(serve(t, options(), controltest.New()))
	for name, w := range map[string]wire.WhatIf{
		"no job":      {GPUs: 2},
		"no change":   {JobID: 41},
		"two changes": {JobID: 41, GPUs: 2, Hold: true},
		"soft":        {JobID: 41, Soft: true, End: true},
		"negative":    {JobID: 41, GPUs: -1},
	} {
		if _, err := c.WhatIf(t.Context(), w); !errors.Is(err, wire.ErrBadRequest) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, w := range map[string]wire.WhatIf{
		"a size that it does not accept": {JobID: 42, GPUs: 3},
		"a deadline in the past":         {JobID: 41, Deadline: controltest.Now.Add(-time.Hour)},
		"ended":                          {JobID: int64(controltest.Finished), End: true},
	} {
		if _, err := c.WhatIf(t.Context(), w); !errors.Is(err, wire.ErrConflict) {
			t.Errorf("%s: %v", name, err)
		}
	}
	sub := wire.Submission{Name: "new", MinGPUs: 1, MaxGPUs: 2, Lanes: 3, Trials: 20, Seconds: 60}
	for name, change := range map[string]func(*wire.WhatIf){
		"beside a job":    func(w *wire.WhatIf) { w.JobID = 41 },
		"beside a change": func(w *wire.WhatIf) { w.End = true },
		"no lane":         func(w *wire.WhatIf) { w.Submit.Lanes = 0 },
		"no GPU":          func(w *wire.WhatIf) { w.Submit.MinGPUs = 0 },
		"sizes turned":    func(w *wire.WhatIf) { w.Submit.MinGPUs = 3 },
		"trials":          func(w *wire.WhatIf) { w.Submit.Trials = 1_000_000 },
		"no time":         func(w *wire.WhatIf) { w.Submit.Seconds = 0 },
	} {
		s := sub
		w := wire.WhatIf{Submit: &s}
		change(&w)
		if _, err := c.WhatIf(t.Context(), w); !errors.Is(err, wire.ErrBadRequest) {
			t.Errorf("a sweep with %s: %v", name, err)
		}
	}
	if a, err := c.WhatIf(t.Context(), wire.WhatIf{Submit: &sub}); err != nil || len(a.Jobs) != 5 || len(a.Added) != 3 || a.Added[1].Name != "new" || a.Added[1].Starts.IsZero() {
		t.Errorf("a sweep: %+v, %v", a, err)
	}
	if a, err := c.WhatIf(t.Context(), wire.WhatIf{JobID: 41, End: true}); err != nil || len(a.Jobs) != 5 || a.After <= a.Before {
		t.Errorf("%+v, %v", a, err)
	}
}
