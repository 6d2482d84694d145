package control

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
	"github.com/sluice-hpc/sluice/elastic/usage"
)

// GPU-hours are added up at most once in keepHours, and at most one part in hoursPart of the time is
// spent on it, however many jobs a month has and however often clients ask.
const (
	keepHours = time.Minute
	hoursPart = 20
)

// hours are the GPU-hours that were added up last, of all users.
type hours struct {
	mu     sync.Mutex
	at     time.Time     // when that was done
	kept   time.Duration // for how long it is answered with
	recent *usage.Recent // nil: it failed; not changed
	whyNot string
}

// fresh returns what was added up lately; ok is false if that has to be done.
func (h *hours) fresh(now time.Time) (recent *usage.Recent, whyNot string, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	since := now.Sub(h.at)
	if h.at.IsZero() || since < 0 || since >= h.kept { // a clock may be set back
		return nil, "", false
	}
	return h.recent, h.whyNot, true
}

func (h *hours) keep(now time.Time, took time.Duration, recent *usage.Recent, whyNot string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at, h.kept, h.recent, h.whyNot = now, max(keepHours, hoursPart*took), recent, whyNot
}

// lately returns the GPU-hours of all users before end, or why they cannot be told now. It reads the
// store as reports of usage do, and takes turns with them.
func (s *Server) lately(q request, end time.Time) (*usage.Recent, string) {
	if recent, whyNot, ok := s.hours.fresh(q.options.Now()); ok {
		return recent, whyNot
	}
	ctx, cancel := context.WithTimeout(q.Context(), usageWithin)
	defer cancel()
	if err := s.reports.take(ctx, strconv.FormatUint(uint64(q.caller.UID), 10)); err != nil {
		return nil, "other reports are being made; try again in a minute"
	}
	defer s.reports.give()
	begun := q.options.Now()
	if recent, whyNot, ok := s.hours.fresh(begun); ok { // the one before this one did it
		return recent, whyNot
	}
	recent, err := s.addUp(ctx, end)
	switch now := q.options.Now(); {
	case q.Context().Err() != nil: // the client has gone
		return nil, ""
	case err != nil:
		s.hours.keep(now, now.Sub(begun), nil, whyNoHours(ctx, err))
	default:
		s.hours.keep(now, now.Sub(begun), recent, "")
	}
	recent, whyNot, _ := s.hours.fresh(q.options.Now())
	return recent, whyNot
}

// errTooMany ends a reading of more than usageJobs jobs.
var errTooMany = errors.New("too many jobs")

func (s *Server) addUp(ctx context.Context, end time.Time) (*usage.Recent, error) {
	recent, read := usage.NewRecent(end), 0
	ran := func(j journal.JobRecord) bool { return !j.FirstRun.IsZero() && j.FirstRun.Before(end) }
	err := s.service.Past(ctx, recent.Since(), ran, func(j journal.JobRecord, runs []journal.Segment) error {
		if read++; read > usageJobs {
			return errTooMany
		}
		recent.Add(j, runs)
		return nil
	})
	return recent, err
}

// whyNoHours says why GPU-hours could not be added up.
func whyNoHours(ctx context.Context, err error) string {
	switch {
	case errors.Is(err, errTooMany):
		return "more than " + strconv.Itoa(usageJobs) + " jobs in the last 30 days; 'sluice report' has shorter ranges"
	case ctx.Err() != nil:
		return "they were not added up within " + usageWithin.String() + "; 'sluice report' has shorter ranges"
	}
	return err.Error()
}

// lineHours is what each user of the shares used.
type lineHours map[publish.Member]wire.GPUHours

// perLine adds up GPU-hours by the lines that users count in.
func perLine(r *publish.Report, recent *usage.Recent) lineHours {
	out := lineHours{}
	if recent == nil {
		return out
	}
	for m, seconds := range recent.Of {
		line := r.Member(m.Account, m.User)
		out[line] = out[line].Plus(wire.GPUHours{Day: finite(seconds[0] / 3600), Week: finite(seconds[1] / 3600), Month: finite(seconds[2] / 3600)})
	}
	return out
}

// accounts returns the sums of accounts with all that is below them, by the parents of the accounts.
func (l lineHours) accounts(parents map[string]string) map[string]wire.GPUHours {
	out := map[string]wire.GPUHours{}
	for m, h := range l {
		for name, up := m.Account, true; up; name, up = parents[name], parents[name] != "" {
			out[name] = out[name].Plus(h)
		}
	}
	return out
}
