package control

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/usage"
)

// Bounds on one report of usage. The store is read in short calls between which the daemon writes,
// one report at a time, and users take turns.
const (
	usageRange = 366 * 24 * time.Hour
	usageRows  = 1000
)

// Variables for tests: how many jobs one report reads, and how long it may take, waiting for its
// turn included. That MUST be shorter than the client's own deadline.
var (
	usageJobs   = 200_000
	usageWithin = 40 * time.Second
)

// usage answers with what the jobs that the caller may see used in a time range.
func (s *Server) usage(q request) (any, error) {
	r, err := s.published()
	if err != nil {
		return nil, err
	}
	now := q.options.Now()
	end := now
	if r.Blind != "" { // as in a job's history
		end = r.At
	}
	by, in, err := usageAsked(q, end)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(q.Context(), usageWithin)
	defer cancel()
	if err := s.reports.take(ctx, strconv.FormatUint(uint64(q.caller.UID), 10)); err != nil {
		if ctx.Err() != nil {
			return nil, wire.Fail(wire.Unavailable, "try again in a minute", "other reports are being made")
		}
		return nil, err
	}
	defer s.reports.give()
	book, read := usage.NewBook(by, in), 0
	wanted := func(j journal.JobRecord) bool { return j.Submitted.Before(in.To) && q.seesJobsOf(j.UID) }
	err = s.service.Past(ctx, in.From, wanted, func(j journal.JobRecord, runs []journal.Segment) error {
		if read++; read > usageJobs {
			return wire.Fail(wire.BadRequest, "ask for less with --since and --until", "more than %d jobs in that time", usageJobs)
		}
		book.Add(j, runs)
		return nil
	})
	if ctx.Err() != nil {
		return nil, wire.Fail(wire.Unavailable, "ask for less with --since and --until", "the report was not ready within %v", usageWithin)
	}
	if err != nil {
		return nil, err
	}
	out := viewUsage(book.Report(usageRows))
	out.At, out.By, out.From, out.To = now, string(by), in.From, in.To
	out.Own = !may(verbExplain, q.options.standing(q.caller), q.options.Private)
	if q.options.Keeps > 0 {
		out.Kept = now.Add(-q.options.Keeps)
	}
	return out, nil
}

// usageAsked reads what a report is by and its range, which ends at end at the latest.
func usageAsked(q request, end time.Time) (usage.By, usage.Range, error) {
	asked := q.URL.Query()
	by, in := usage.By(asked.Get("by")), usage.Range{To: end}
	if !slices.Contains(usage.Bys, by) {
		return "", in, wire.Fail(wire.BadRequest, "--by account, user or model", "by %.40q: want account, user or model", by)
	}
	var err error
	if in.From, err = time.Parse(time.RFC3339, asked.Get("since")); err != nil {
		return "", in, wire.Fail(wire.BadRequest, "", "since %.40q: want a time as in RFC 3339", asked.Get("since"))
	}
	if text := asked.Get("until"); text != "" {
		to, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return "", in, wire.Fail(wire.BadRequest, "", "until %.40q: want a time as in RFC 3339", text)
		}
		if to.Before(end) {
			in.To = to
		}
	}
	switch length := in.To.Sub(in.From); {
	case length <= 0:
		return "", in, wire.Fail(wire.BadRequest, "name an earlier --since", "nothing was between %s and %s",
			in.From.Format(time.RFC3339), in.To.Format(time.RFC3339))
	case length > usageRange:
		return "", in, wire.Fail(wire.BadRequest, "name a later --since, or an earlier --until", "a report covers at most %d days", int(usageRange/(24*time.Hour)))
	}
	return by, in, nil
}

// seesJobsOf reports whether the caller may see the jobs of a user.
func (q request) seesJobsOf(uid uint32) bool {
	return may(verbExplain, q.options.role(q.caller, uid), q.options.Private)
}

func viewUsage(r usage.Report) wire.Usage {
	out := wire.Usage{Version: wire.Version, Rows: []wire.UsageRow{}, Total: viewUsageRow(r.Total)}
	for _, row := range r.Rows {
		out.Rows = append(out.Rows, viewUsageRow(row))
	}
	if r.Further > 0 {
		others := viewUsageRow(r.Others)
		out.Others, out.Further = &others, r.Further
	}
	return out
}

func viewUsageRow(r usage.Row) wire.UsageRow {
	hours := func(seconds float64) float64 { return finite(seconds / 3600) }
	return wire.UsageRow{Name: r.Name, Ended: r.Ended, Running: r.Running, Waiting: r.Waiting,
		GPUHours: hours(r.GPUSeconds), Beyond: hours(r.Beyond), FirstRuns: r.FirstRuns, WaitMedian: r.Median.Seconds(), WaitLongest: r.Longest.Seconds(),
		Moves: r.Moves, DeadHours: hours(r.Dead), LostHours: hours(r.Lost), Promised: r.Promised, Kept: r.Kept}
}
