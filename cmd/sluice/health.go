package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/nodes"
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
			line += ", until " + when(n.Until)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// healthWord is the HEALTH column: the result of the reports against a node's GPUs.
func healthWord(n wire.Node) string {
	switch {
	case n.Health == nil:
		return "-"
	case n.Health.Excluded:
		return "unfit"
	}
	return "doubted"
}

// healthLines explain that column, one line per node.
func healthLines(nodes []wire.Node) []string {
	var lines []string
	for _, n := range nodes {
		h := n.Health
		if h == nil {
			continue
		}
		line := fmt.Sprintf("%s: %s", n.Name, h.Why)
		if len(h.Jobs) > 0 {
			line += fmt.Sprintf(" (reported by job %s)", numbers(h.Jobs))
		}
		switch {
		case !h.Excluded:
			line += ". Used nevertheless: " + h.Note
		case h.Until.IsZero():
			line += fmt.Sprintf(". No new job is placed there until a job reports it healthy; 'sluice nodes --trust %s' ends this", n.Name)
		default:
			line += fmt.Sprintf(". No new job is placed there until %s, or 'sluice nodes --trust %s'", when(h.Until), n.Name)
		}
		lines = append(lines, terminal.Escape(line)+".")
	}
	return lines
}

// numbers formats a list as 41,42.
func numbers(jobs []int64) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(jobs), " ", ","), "[]")
}

// stateWord is the STATE column: Slurm's state in lower case; other reasons unchanged.
func stateWord(n wire.Node) string {
	if n.Usable {
		return "up"
	}
	if n.State == nodes.Unfit { // the HEALTH column and the lines below have more
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
