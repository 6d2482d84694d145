package main

import (
	"fmt"
	"strings"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// sharingWords says how many trials run at once on the GPUs of a lane, and why: for each number and type of GPUs that
// its lanes have.
func (v *sweepView) sharingWords() (out []string) {
	if len(v.Sharing) == 0 {
		return []string{fmt.Sprintf("one trial, until a lane has measured whether more are faster (--per-gpu=%d): that takes 3 reports of each, and 10 s", v.PerGPU)}
	}
	for _, s := range v.Sharing {
		words := sharingOf(s)
		if len(v.Sharing) > 1 {
			of := terminal.Plural(s.GPUs, "GPU")
			if s.Type != "" {
				of += " of type " + terminal.Escape(s.Type)
			}
			words = fmt.Sprintf("of lanes with %s: %s", of, words)
		}
		out = append(out, words)
	}
	return out
}

func sharingOf(s sweep.Sharing) string {
	words := "one trial at a time"
	if s.Trials > 1 {
		words = fmt.Sprintf("%d trials at once", s.Trials)
	}
	var why []string
	for _, t := range s.Tried {
		why = append(why, fmt.Sprintf("%d at once were %.2f times as fast as one", t.Trials, t.Speed))
	}
	switch {
	case s.Memory:
		why = append(why, "a trial ran out of memory beside others")
	case s.Short:
		why = append(why, "trials ended before they were measured")
	}
	if len(why) > 0 {
		words += ": " + strings.Join(why, "; ")
	}
	if s.Job > 0 {
		words += fmt.Sprintf(" (measured by job %d)", s.Job)
	}
	return words
}
