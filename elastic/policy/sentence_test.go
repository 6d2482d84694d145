package policy_test

import (
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/say"
)

// sentence is a reason in English, read when the scenarios are decided.
func sentence(r reason.Reason) string { return say.Reason(r, now) }
