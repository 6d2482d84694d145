package resize_test

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/say"
)

// sentence returns a reason in English.
func sentence(r reason.Reason) string { return say.Reason(r, time.Time{}) }
