package wire

// Rank is where a job stands among the jobs that wait, in the order in which they start.
type Rank struct {
	Place int `json:"place"` // 1 = the first
	Of    int `json:"of"`
	// Priority includes Age, the part for its age, as in Job.
	Priority int64   `json:"priority"`
	Age      int64   `json:"age_part"`
	Before   *Before `json:"before,omitempty"`
}

// Before is the job right before another in the order.
type Before struct {
	JobID    int64 `json:"job_id,omitempty"` // 0 = the caller may not see it
	Priority int64 `json:"priority"`
	Age      int64 `json:"age_part"`
}
