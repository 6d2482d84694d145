package control

import (
	"encoding/json"
	"sync"

	"github.com/sluice-hpc/sluice/elastic/engine"
)

// ready is an answer that is already JSON.
type ready []byte

// seen is the encoded report for callers that may see every job. It is encoded once per cycle,
// not once per reader, and shared: a thousand clients that do not read their answer cost the
// memory of one.
type seen struct {
	mu  sync.Mutex
	of  *engine.Report
	raw ready
}

// report returns the caller's view of a report.
func (s *seen) report(r *engine.Report, q request) any {
	if q.options.Private && q.options.standing(q.caller) == other {
		return viewReport(r, q.sees)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of != r {
		raw, err := json.Marshal(viewReport(r, q.sees))
		if err != nil {
			return viewReport(r, q.sees) // send reports the error
		}
		s.of, s.raw = r, raw
	}
	return s.raw
}
