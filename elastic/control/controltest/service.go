package controltest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control"
	"github.com/sluice-hpc/sluice/elastic/engine"
)

// Service is a control.Service over canned values. Fields are set before use.
type Service struct {
	Last   *engine.Report // nil: no cycle yet
	Err    error          // what Plan, Direct and Segments fail with
	Refuse func(elastic.JobID, control.Change) error

	mu    sync.Mutex
	asked []string
}

// New returns a service over the canned report.
func New() *Service { return &Service{Last: Report()} }

var _ control.Service = (*Service)(nil)

// Asked returns what the service was asked to do, in order: "wake" or
// "direct 1001 41 pin to 4 GPUs" (by that uid).
func (s *Service) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.asked...)
}

func (s *Service) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, fmt.Sprintf(format, args...))
}

// Report returns Last.
func (s *Service) Report() *engine.Report { return s.Last }

// Plan returns the canned plan.
func (s *Service) Plan(context.Context) (elastic.Plan, error) { return Plan(), s.Err }

// Direct notes the order.
func (s *Service) Direct(_ context.Context, c control.Caller, job elastic.JobID, change control.Change) error {
	s.note("direct %d %d %s", c.UID, job, change)
	if s.Refuse != nil {
		return errors.Join(s.Err, s.Refuse(job, change))
	}
	return s.Err
}

// Segments returns the canned history to the job it belongs to.
func (s *Service) Segments(_ context.Context, token string) ([]engine.Segment, error) {
	if all := Segments(); token == all[0].Token {
		return all, s.Err
	}
	return nil, s.Err
}

// Wake notes the call.
func (s *Service) Wake() { s.note("wake") }
