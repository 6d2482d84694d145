package wire

import "time"

// Shares is how the GPUs were divided by shares in the last cycle.
type Shares struct {
	Version  int       `json:"version"`
	At       time.Time `json:"at"`
	Blind    string    `json:"blind,omitempty"`
	BlindFor float64   `json:"blind_seconds,omitempty"`
	// Count says that the site's shares count; else GPUs are not divided by them, and no lines
	// are listed.
	Count bool `json:"count"`
	// Own says that the tree is that of sluice.toml ([shares.NAME]); else it is Slurm's.
	Own     bool      `json:"own,omitempty"`
	Read    time.Time `json:"read,omitzero"`     // when Slurm's tree was read; absent = never
	Problem string    `json:"problem,omitempty"` // why the tree cannot be read now
	GPUs    int       `json:"gpus"`              // that were divided; 0 = none yet
	// HoursTo is the end of the ranges of GPUHours, about a minute ago at most; absent if these could
	// not be added up, as NoHours says.
	HoursTo time.Time `json:"gpu_hours_to,omitzero"`
	NoHours string    `json:"no_gpu_hours,omitempty"`
	// Lines lists all accounts, each before what is below it, and the users that have jobs, or had
	// GPUs in the last month, and that the caller may see, each after its account.
	Lines []Share `json:"shares"`
}

// Share is one account, or one user of an account.
type Share struct {
	Account string `json:"account"`
	// User is absent for the account with all that is below it; "*" are the users of an account
	// that are not told apart (Fairshare=parent).
	User     string  `json:"user,omitempty"`
	Parent   string  `json:"parent,omitempty"` // the account above an account
	Depth    int     `json:"depth"`            // in the tree, 0 = at the top
	Shares   float64 `json:"shares"`
	Inherits bool    `json:"inherits,omitempty"` // it has none of its own (Fairshare=parent)
	Unlisted bool    `json:"unlisted,omitempty"` // the tree lacks it
	// GPUs: what it deserves now, what its jobs have, what they could use.
	Deserved int `json:"gpus_deserved"`
	Used     int `json:"gpus_used"`
	Wanted   int `json:"gpus_wanted"`
	// Of accounts: its own part of the GPUs by shares alone, what it has beyond that, and what of
	// it others of the same parent have.
	Own      float64 `json:"gpus_own,omitempty"`
	Borrowed float64 `json:"gpus_borrowed,omitempty"`
	Lent     float64 `json:"gpus_lent,omitempty"`
	// Hours are the GPU-hours of all its jobs, as in Usage. Where jobs are private, users see their own
	// only, and none of accounts.
	Hours *GPUHours `json:"gpu_hours,omitempty"`
	// FairShare is Slurm's factor, 0 to 1, by which it orders jobs; absent of accounts.
	FairShare *float64 `json:"fairshare,omitempty"`
}

// GPUHours are GPU-hours before Shares.HoursTo.
type GPUHours struct {
	Day   float64 `json:"day"`   // the last 24 hours
	Week  float64 `json:"week"`  // the last 7 days
	Month float64 `json:"month"` // the last 30 days
}

// Plus returns the sum.
func (h GPUHours) Plus(g GPUHours) GPUHours {
	return GPUHours{h.Day + g.Day, h.Week + g.Week, h.Month + g.Month}
}
