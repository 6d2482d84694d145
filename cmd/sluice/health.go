package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/nodes"
)

// idleBelow is the share of time from which down GPUs are called idle, as the daemon
// does.
const idleBelow = 0.5

// busyLine says how busy a job's GPUs are; "" where it is not known.
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

// leftOutLines says which nodes of a job's partition get nothing new, and why.
func leftOutLines(nodes []wire.LeftOut) string {
	var lines []string
	for _, n := range nodes {
		line := fmt.Sprintf("nothing new is placed on %s: %s", n.Node, n.Why)
		if !n.Until.IsZero() {
			line += ", until " + when(n.Until)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// healthWord is the HEALTH column: what is said against a node's GPUs comes to.
func healthWord(n wire.Node) string {
	switch {
	case n.Health == nil:
		return "-"
	case n.Health.Excluded:
		return "unfit"
	}
	return "doubted"
}

// healthLines explain that column, a line a node.
func healthLines(nodes []wire.Node) []string {
	var lines []string
	for _, n := range nodes {
		h := n.Health
		if h == nil {
			continue
		}
		line := fmt.Sprintf("%s: %s", n.Name, h.Why)
		if len(h.Jobs) > 0 {
			line += fmt.Sprintf(" (says job %s)", numbers(h.Jobs))
		}
		switch {
		case !h.Excluded:
			line += ". Used all the same: " + h.Note
		case h.Until.IsZero():
			line += fmt.Sprintf(". Nothing new is placed there until a job finds it well; 'sluice nodes --trust %s' ends it", n.Name)
		default:
			line += fmt.Sprintf(". Nothing new is placed there until %s, or 'sluice nodes --trust %s'", when(h.Until), n.Name)
		}
		lines = append(lines, terminal.Escape(line)+".")
	}
	return lines
}

// numbers writes 41,42.
func numbers(jobs []int64) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(jobs), " ", ","), "[]")
}

// stateWord is the STATE column: Slurm's word in lower case, its reason as it is.
func stateWord(n wire.Node) string {
	if n.Usable {
		return "up"
	}
	if n.State == nodes.Unfit { // the HEALTH column and the lines below say more
		return "left out"
	}
	text := strings.ToLower(n.State)
	switch {
	case n.Note != "":
		text += " (" + n.Note + ")"
	case !n.Until.IsZero():
		text += " (used again from " + n.Until.Format(time.TimeOnly) + ")"
	}
	return text
}
