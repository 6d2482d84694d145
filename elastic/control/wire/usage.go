package wire

import "time"

// Usage is what jobs used in a time range, one row for each account, user or model.
type Usage struct {
	Version int       `json:"version"`
	At      time.Time `json:"at"`
	By      string    `json:"by"`   // "account", "user" or "model"
	From    time.Time `json:"from"` // in the range
	To      time.Time `json:"to"`   // not in the range; at most the time of the answer
	// Kept is since when ended jobs are stored: what ended before is missing. Absent = not known.
	Kept time.Time `json:"kept_since,omitzero"`
	// Own: the rows have only the caller's own jobs, since this site keeps jobs private.
	Own   bool       `json:"own_jobs_only,omitempty"`
	Rows  []UsageRow `json:"rows"` // the most GPU-hours first
	Total UsageRow   `json:"total"`
	// Others are all rows beyond the limit of 1,000 together, and Further their number.
	Others  *UsageRow `json:"others,omitempty"`
	Further int       `json:"others_rows,omitempty"`
}

// UsageRow is one row of a Usage. etc/doc/report.md says how each figure is computed.
type UsageRow struct {
	// Name is of the account, user or model; "(none)" if Slurm has no accounts or the jobs no
	// model, "-" for jobs of a sluiced that did not store accounts, "" for a total.
	Name    string `json:"name"`
	Ended   int    `json:"jobs_ended"`
	Running int    `json:"jobs_running"` // at the end of the range
	Waiting int    `json:"jobs_waiting"` // at the end of the range

	GPUHours float64 `json:"gpu_hours"`
	Beyond   float64 `json:"gpu_hours_beyond_minimum"` // of these, on GPUs beyond the jobs' minimums

	FirstRuns   int     `json:"jobs_first_run"` // that ran first in the range; the waits are theirs
	WaitMedian  float64 `json:"wait_median_seconds"`
	WaitLongest float64 `json:"wait_longest_seconds"`

	Moves     int     `json:"moves"`
	DeadHours float64 `json:"dead_gpu_hours"` // held in moves while the job did not train
	LostHours float64 `json:"lost_job_hours"` // by which moves delayed their jobs

	Promised int `json:"deadlines_promised"` // admitted, and met or missed in the range
	Kept     int `json:"deadlines_kept"`
}
