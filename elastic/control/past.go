package control

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
)

// pastScan is how many rows one page looks at, at most: a page of one user's jobs on a cluster of many may
// come back with few rows, or none, and a cursor.
const pastScan = 5000

// pastAsked is a valid request for a page of history.
type pastAsked struct {
	of       string
	from, to time.Time
	job      elastic.JobID
	user     string
	limit    int
	cursor   pastCursor
}

// pastCursor is where the next page begins. A client MUST NOT look into it.
type pastCursor struct {
	Of string           `json:"of"`
	At journal.Position `json:"at,omitzero"` // of jobs
	// Of entries and samples: the time and the number of the last one.
	Nano int64 `json:"nano,omitempty"`
	ID   int64 `json:"id,omitempty"`
}

// past answers with one page of the history that the caller may see.
func (s *Server) past(q request) (any, error) {
	now, end, err := s.lookBack(q)
	if err != nil {
		return nil, err
	}
	asked, err := readPast(q, end)
	if err != nil {
		return nil, err
	}
	out := wire.Past{Version: wire.Version, At: now, Of: asked.of, From: asked.from, To: asked.to}
	out.Own = !may(verbExplain, q.options.standing(q.caller), q.options.Private)
	if q.options.Keeps > 0 {
		out.Kept = now.Add(-q.options.Keeps)
	}
	var next *pastCursor
	err = s.inTurn(q, "ask for a shorter range, or fewer rows", func(ctx context.Context) (err error) {
		next, err = s.pastPage(ctx, q, asked, &out)
		return err
	})
	if err != nil {
		return nil, err
	}
	if next != nil {
		out.Next = writeCursor(*next)
	}
	return out, nil
}

// pastPage fills the page and returns where the next begins; nil = this was the last.
func (s *Server) pastPage(ctx context.Context, q request, asked pastAsked, out *wire.Past) (*pastCursor, error) {
	switch asked.of {
	case wire.OfMoves:
		return s.pastMoves(ctx, q, asked, out)
	case wire.OfDecisions:
		return s.pastDecisions(ctx, q, asked, out)
	case wire.OfNodes:
		return s.pastNodes(ctx, asked, out)
	case wire.OfShares:
		return s.pastShares(ctx, q, asked, out)
	}
	return s.pastJobs(ctx, q, asked, out)
}

// pastJobs fills a page of jobs that were there in the range.
func (s *Server) pastJobs(ctx context.Context, q request, asked pastAsked, out *wire.Past) (*pastCursor, error) {
	out.Jobs = []wire.PastJob{}
	wanted := func(j journal.JobRecord) bool {
		return j.Submitted.Before(asked.to) && q.seesJobsOf(j.Owner.UID) && (asked.job == 0 || j.ID == asked.job) && (asked.user == "" || j.Owner.User == asked.user)
	}
	next, more, err := s.service.Page(ctx, asked.from, asked.cursor.At, pastScan, wanted, func(j journal.JobRecord, runs []journal.Segment) error {
		out.Jobs = append(out.Jobs, viewPastJob(j, runs, asked.to))
		if len(out.Jobs) == asked.limit {
			return journal.ErrPageFull
		}
		return nil
	})
	if err != nil || !more {
		return nil, err
	}
	return &pastCursor{Of: asked.of, At: next}, nil
}

func viewPastJob(j journal.JobRecord, runs []journal.Segment, now time.Time) wire.PastJob {
	spec := j.Tag.Spec
	out := wire.PastJob{JobID: int64(j.ID), Token: j.Token, Name: j.Name, User: j.Owner.User, UID: j.Owner.UID, Account: j.Account.Name, Partition: j.Partition,
		Model: spec.Model, Min: spec.Min, Max: spec.Max, Submitted: j.Submitted, FirstRun: j.FirstRun, EndedAt: j.Ended, Deadline: spec.Deadline, Soft: spec.Soft,
		Promised: j.Promised, Done: finite(j.Done), Total: finite(spec.Total), Unit: string(cmp.Or(spec.Unit, elastic.Epochs)), Runs: viewSegments(runs, now)}
	if !j.Ended.IsZero() {
		out.State, out.Ending = j.State, viewEnding(j.Ending)
	}
	return out
}

// readPast reads and checks a request. end is the end of a range that names none, or a later one.
func readPast(q request, end time.Time) (out pastAsked, err error) {
	asked := q.URL.Query()
	out = pastAsked{of: cmp.Or(asked.Get("of"), wire.OfJobs), limit: wire.PastRows, user: asked.Get("user")}
	if !slices.Contains(wire.PastKinds, out.of) {
		return out, wire.Fail(wire.BadRequest, "", "of %.40q: want jobs, moves, decisions, nodes or shares", out.of)
	}
	if out.from, out.to, err = readRange(asked, "from", "to", "", end); err != nil {
		return out, err
	}
	if text := asked.Get("job"); text != "" {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil || id < 1 {
			return out, wire.Fail(wire.BadRequest, "", "%.40q is not a job number", text)
		}
		out.job = elastic.JobID(id)
	}
	if text := asked.Get("limit"); text != "" {
		if out.limit, err = strconv.Atoi(text); err != nil || out.limit < 1 || out.limit > wire.PastRowsMost {
			return out, wire.Fail(wire.BadRequest, "", "limit %.40q: want 1 to %d", text, wire.PastRowsMost)
		}
	}
	if text := asked.Get("cursor"); text != "" {
		if out.cursor, err = readCursor(text); err != nil || out.cursor.Of != out.of {
			return out, wire.Fail(wire.BadRequest, "take it unchanged from next of the page before, with the same of", "cursor %.40q: not a cursor of this list", text)
		}
	}
	return out, nil
}

func writeCursor(c pastCursor) string {
	raw, err := json.Marshal(c)
	if err != nil {
		return "" // it has nothing that cannot be written
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

func readCursor(text string) (c pastCursor, err error) {
	if len(text) > 1024 {
		return c, strconv.ErrRange
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(raw, &c)
	}
	return c, err
}
