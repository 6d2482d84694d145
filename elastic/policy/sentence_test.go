package policy_test

import (
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/say"
)

// sentence returns a reason in English, at the time of the scenarios.
func sentence(r reason.Reason) string { return say.Reason(r, now) }
