package control

// LimitUsage sets how many jobs a report reads, until the function that it returns is called.
func LimitUsage(jobs int) (undo func()) {
	was := usageJobs
	usageJobs = jobs
	return func() { usageJobs = was }
}
