package control

import (
	"encoding/json"
	"sync"

	"github.com/sluice-hpc/sluice/elastic/engine/publish"
)

// ready is an answer that is JSON already.
type ready []byte

// seen is the report as callers are sent it who see every job. It is written
// once a cycle, not once a reader, and all readers share it: a thousand who do
// not read what they asked for cost the memory of one.
type seen struct {
	mu  sync.Mutex
	of  *publish.Report
	raw ready
}

// report returns the caller's view of a report.
func (s *seen) report(r *publish.Report, q request) any {
	if q.options.Private && q.options.standing(q.caller) == other {
		return viewReport(r, q.sees)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of != r {
		raw, err := json.Marshal(viewReport(r, q.sees))
		if err != nil {
			return viewReport(r, q.sees) // send says what it thinks of it
		}
		s.of, s.raw = r, raw
	}
	return s.raw
}
