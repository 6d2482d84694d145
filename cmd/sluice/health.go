package main

import (
	"fmt"
	"strings"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// idleBelow is the share of time below which GPUs are called idle, as in the daemon.
const idleBelow = 0.5

// busyLine is how busy a job's GPUs are; "" if unknown.
func busyLine(j wire.Job) string {
	if j.Busy == nil || j.GPUs == 0 {
		return ""
	}
	its := "its GPU is"
	if j.GPUs > 1 {
		its = fmt.Sprintf("its %d GPUs are", j.GPUs)
	}
	s := fmt.Sprintf("%s busy %.0f%% of the time", its, 100**j.Busy)
	if *j.Busy <= idleBelow {
		s += ": more of them are unlikely to help"
	}
	return s
}

// leftOutLines lists the nodes of a job's partition that get no new jobs, and the
// reasons.
func leftOutLines(nodes []wire.LeftOut) string {
	var lines []string
	for _, n := range nodes {
		line := fmt.Sprintf("no new job is placed on %s: %s", n.Node, n.Why)
		if !n.Until.IsZero() {
			line += ", until " + present.When(n.Until)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
