package say

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic/reason"
)

func (s speaker) kept(r reason.Reason) string {
	switch r := r.(type) {
	case reason.Wish:
		return wish(r)
	case reason.BadConstraint:
		return fmt.Sprintf("its %s; it stays as it is until that is changed: scontrol update JobId=... Features=...", r.Error)
	case reason.InReservation:
		return fmt.Sprintf("it is in reservation %s, which has %s", r.Reservation, r.Nodes)
	case reason.ReservationKeeps:
		return fmt.Sprintf("reservation %s keeps %s from %s to %s", r.Reservation, r.Nodes, s.day(r.From), s.day(r.To))
	case reason.Reserved:
		text := s.say(reason.Join(r.Of...))
		if r.NoLimit {
			text += ", and the job has no time limit"
		}
		return text
	case reason.OthersFirst:
		return "other nodes are tried first than " + r.Nodes + ", where Slurm would not start it"
	case reason.RunnerKilled:
		return fmt.Sprintf("its batch script was killed by signal %d", r.Signal)
	case reason.CountedStill:
		return "Slurm still counts it on " + strings.Join(r.Nodes, "+") + ", where it no longer runs"
	case reason.EndsSoon:
		return endsSoon(r)
	case reason.MoveClosed:
		return fmt.Sprintf("%s %s -> %s: %s (%s)", r.Kind, r.From, r.Target, s.say(r.Because), r.Outcome)
	case reason.SlurmSaid:
		return r.Text
	case reason.Text:
		return r.Text
	}
	return ""
}

// day returns a day and the time of day in minutes.
func (s speaker) day(t time.Time) string { return t.In(s.now.Location()).Format("2 Jan 15:04") }

func wish(r reason.Wish) string {
	var words []string
	if r.Constraint != "" {
		words = append(words, "its constraint "+r.Constraint)
	}
	if len(r.Types) > 0 {
		words = append(words, "its type of GPU, "+strings.Join(r.Types, " or ")+",")
	}
	if r.Excluded != "" {
		words = append(words, "what it excludes ("+r.Excluded+")")
	}
	text := strings.Join(words, " and ") + one(len(words), " leaves ", " leave ") + cmp.Or(r.Open, "no node of its partition")
	if r.Mixed != "" {
		text += "; GPUs of " + r.Mixed + ", with several types, are for jobs that name one: sluice submit --gpu-types=" + r.Types[0]
	}
	return text
}

func endsSoon(r reason.EndsSoon) string {
	what := "its time limit"
	if r.Reservation != "" {
		what = "the end of reservation " + r.Reservation
	}
	text := fmt.Sprintf("%s ends it in %s, so it saves", what, time.Duration(r.In*float64(time.Second)))
	if r.Again {
		text += " and waits again"
	}
	return text
}
