package length_test

import (
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic/learn/length"
)

// A user's last jobs took three times the GPU-seconds that they declared. The next one is
// expected to do the same.
func ExampleHistory_Factor() {
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	var h length.History
	for day := range 4 {
		h = h.With(length.Ended{Script: "train.sh", At: now.AddDate(0, 0, day-4), Declared: 3600, Had: 3 * 3600})
	}
	factor, jobs := h.Factor("train.sh", now)
	fmt.Printf("expected: %g times the declared work, known from %d jobs\n", factor, jobs)
	// Output:
	// expected: 3 times the declared work, known from 4 jobs
}
