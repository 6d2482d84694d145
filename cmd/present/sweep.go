package present

import (
	"fmt"
	"strconv"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
)

// SweepEnd says in words why a sweep is over; failures is how many trials failed.
func SweepEnd(end book.End, failures int) string {
	switch end {
	case book.NotOver:
		return "not over"
	case book.AtGoal:
		return "the goal is reached"
	case book.AllTried:
		return "all trials have ended"
	case book.Exhausted:
		return "every point of the space was tried"
	case book.Unsolvable:
		return "no point satisfies the constraints"
	case book.AllEnded:
		return "every member of the population has come to its end"
	case book.TooLong:
		return "its time is over"
	case book.TooMany:
		return terminal.Plural(failures, "trial") + " failed"
	case book.ByUser:
		return "stopped by its user"
	}
	return string(end) // of a newer sluice
}

// SweepLevel says what the level of a sweep follows from: counted trials are done, and the best results
// are gap apart on average.
func SweepLevel(counted int, gap float64) string {
	if counted == 0 {
		return "no trials are done yet"
	}
	return fmt.Sprintf("after %s the best results are %s apart on average", terminal.Plural(counted, "trial"), Metric(gap))
}

// Place says at which place a trial was paused; "" if it was not.
func Place(t *book.Trial) string {
	if t.State != book.Paused || t.Rung == 0 {
		return ""
	}
	return fmt.Sprintf("place %d of %d at epoch %d", t.Rank, t.Of, t.Rung)
}

// Metric writes the value of a metric, or an epoch, with six digits.
func Metric(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
