package control

import "time"

// LimitUsage sets how many jobs a report reads, until the function that it returns is called.
func LimitUsage(jobs int) (undo func()) {
	was := usageJobs
	usageJobs = jobs
	return func() { usageJobs = was }
}

// HurryUsage sets how long a report may take, until the function that it returns is called.
func HurryUsage(within time.Duration) (undo func()) {
	was := usageWithin
	usageWithin = within
	return func() { usageWithin = was }
}

// ReportsWaiting returns how many reports of usage wait for their turn.
func (s *Server) ReportsWaiting() int {
	s.reports.mu.Lock()
	defer s.reports.mu.Unlock()
	return s.reports.wait
}
