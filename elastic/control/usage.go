package control

import (
	"context"
	"net/url"
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
	now, end, err := s.lookBack(q)
	if err != nil {
		return nil, err
	}
	by, in, err := usageAsked(q, end)
	if err != nil {
		return nil, err
	}
	const less = "ask for less with --since and --until"
	book, read := usage.NewBook(by, in), 0
	wanted := func(j journal.JobRecord) bool { return j.Submitted.Before(in.To) && q.seesJobsOf(j.Owner.UID) }
	err = s.inTurn(q, less, func(ctx context.Context) error {
		return s.service.Past(ctx, in.From, wanted, func(j journal.JobRecord, runs []journal.Segment) error {
			if read++; read > usageJobs {
				return wire.Fail(wire.BadRequest, less, "more than %d jobs in that time", usageJobs)
			}
			book.Add(j, runs)
			return nil
		})
	})
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
	in.From, in.To, err = readRange(asked, "since", "until", "--", end)
	return by, in, err
}

// readRange reads a range of time from two values of a request, from and to. It ends at end at the latest; so
// does one without to. Hints name the values as a client does, with a prefix.
func readRange(asked url.Values, from, to, prefix string, end time.Time) (begins, ends time.Time, err error) {
	at := func(name string) (time.Time, error) {
		t, err := time.Parse(time.RFC3339, asked.Get(name))
		if err != nil {
			return t, wire.Fail(wire.BadRequest, "", "%s %.40q: want a time as in RFC 3339", name, asked.Get(name))
		}
		return t, nil
	}
	if begins, err = at(from); err != nil {
		return begins, end, err
	}
	ends = end
	if asked.Get(to) != "" {
		named, err := at(to)
		if err != nil {
			return begins, end, err
		}
		if named.Before(end) {
			ends = named
		}
	}
	switch length := ends.Sub(begins); {
	case length <= 0:
		err = wire.Fail(wire.BadRequest, "name an earlier "+prefix+from, "nothing was between %s and %s", begins.Format(time.RFC3339), ends.Format(time.RFC3339))
	case length > usageRange:
		err = wire.Fail(wire.BadRequest, "name a later "+prefix+from+", or an earlier "+prefix+to, "a range has at most %d days", int(usageRange/(24*time.Hour)))
	}
	return begins, ends, err
}

// lookBack returns the time, and when a range that names no end ends: while Slurm does not answer, at the last look.
func (s *Server) lookBack(q request) (now, end time.Time, err error) {
	r, err := s.published()
	if err != nil {
		return now, end, err
	}
	now = q.options.Now()
	if end = now; r.Blind != "" { // as in a job's history
		end = r.At
	}
	return now, end, nil
}

// inTurn reads the store once it is the caller's turn, for at most usageWithin. less is what to type after that.
func (s *Server) inTurn(q request, less string, read func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(q.Context(), usageWithin)
	defer cancel()
	if err := s.reports.take(ctx, strconv.FormatUint(uint64(q.caller.UID), 10)); err != nil {
		if ctx.Err() != nil {
			return wire.Fail(wire.Unavailable, "try again in a minute", "other reports are being made")
		}
		return err
	}
	defer s.reports.give()
	err := read(ctx)
	if ctx.Err() != nil {
		return wire.Fail(wire.Unavailable, less, "the answer was not ready within %v", usageWithin)
	}
	return err
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
