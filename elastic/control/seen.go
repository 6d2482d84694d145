package control

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
)

// ready is an answer that is already JSON.
type ready []byte

// seen is the encoded report for callers that may see every job. It is encoded once per cycle,
// not once per reader, and shared: a thousand clients that do not read their answer cost the
// memory of one.
type seen struct {
	mu           sync.Mutex
	of           *publish.Report // compared as a pointer: a report is never changed, only replaced
	all, present ready           // with the jobs that have ended and without; nil = not asked for yet
}

// report returns the caller's view of a report, with the jobs that have ended or without.
func (s *seen) report(r *publish.Report, q request, ended bool) any {
	view := func() wire.Report {
		out := viewReport(r, q.sees)
		if !ended {
			out.Jobs = slices.DeleteFunc(out.Jobs, func(j wire.Job) bool { return j.Ended })
		}
		return out
	}
	if q.options.Private && q.options.standing(q.caller) == other {
		return view()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of != r {
		s.of, s.all, s.present = r, nil, nil
	}
	raw := &s.present
	if ended {
		raw = &s.all
	}
	if *raw == nil {
		written, err := json.Marshal(view())
		if err != nil {
			return view() // send says what it thinks of it
		}
		*raw = written
	}
	return *raw
}
