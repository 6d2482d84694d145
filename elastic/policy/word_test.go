package policy

import "github.com/sluice-hpc/sluice/elastic"

// Word returns the policy's answer before jobs are measured and moved off nodes.
func Word(p Policy, s elastic.Snapshot) elastic.Allocation { return p.start(s) }
