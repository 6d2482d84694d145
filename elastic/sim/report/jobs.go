package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"github.com/sluice-hpc/sluice/elastic/draw"
)

// jobsHead are the columns of WriteJobs.
var jobsHead = []string{"policy", "workload", "seed", "job", "arrival_s", "start_s", "end_s", "gpu_seconds_useful", "gpu_seconds_restart", "moves", "deadline_s", "account"}

// WriteJobs writes a head and one line of CSV for each job of each run. Times are seconds
// after the start of the workload, start_s is the first GPU; moves counts resizes, moves
// and stops after it. A job without a deadline, or an account, has none
// there.
func WriteJobs(w io.Writer, runs []Run) error {
	c := csv.NewWriter(w)
	if err := c.Write(jobsHead); err != nil {
		return err
	}
	for _, r := range runs {
		for _, j := range r.Jobs {
			deadline := ""
			if j.Deadline > 0 {
				deadline = seconds(j.Deadline).String()
			}
			if err := c.Write([]string{
				draw.Printable(r.Policy), draw.Printable(r.Workload), strconv.FormatUint(r.Seed, 10), draw.Printable(j.Name), seconds(j.Submit).String(), seconds(j.Start).String(),
				seconds(j.End).String(), Seconds(j.Useful).String(), Seconds(j.Restarting).String(), fmt.Sprint(j.Restarts), deadline, draw.Printable(j.Account),
			}); err != nil {
				return err
			}
		}
	}
	c.Flush()
	return c.Error()
}
