package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/space"
	"github.com/sluice-hpc/sluice/sbatch"
)

// more reads the new numbers of trials and lanes, and the new goal.
func (c *sweepCall) more(v *sweepView, s *sweep.Sweep) error {
	if c.trials != "" {
		n, err := strconv.Atoi(strings.TrimPrefix(c.trials, "+"))
		if err != nil || n < 0 {
			return fmt.Errorf("--trials %q: want a number, or +N for N more", c.trials)
		}
		if strings.HasPrefix(c.trials, "+") {
			n += s.Trials
		}
		if begun := len(v.Book.Trials); n < begun {
			return fmt.Errorf("--trials %d: sweep %d has begun %d trials already; give %d or more, or end it: sluice sweep stop %d", n, v.Number, begun, begun, v.Number)
		}
		s.Trials = n
	}
	if c.cmd.Flags().Changed("parallel") {
		if v.OwnJobs && c.parallel > v.Parallel {
			if most := c.parallelOf(v); c.parallel > most {
				return fmt.Errorf("--parallel %d: the jobs of sweep %d were submitted with a bound of %d at once, which stays; give %d or less, or submit it anew", c.parallel, v.Number, most, most)
			}
		}
		s.Parallel = c.parallel
	}
	switch {
	case c.goal == "none":
		s.Goal = nil
	case c.goal != "":
		x, err := strconv.ParseFloat(c.goal, 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("--goal %q: want a number, or none", c.goal)
		}
		s.Goal = &x
	}
	return nil
}

// parallelOf is how many jobs of a sweep may run at once at most, as it was submitted: Slurm has that bound in
// each of them.
func (c *sweepCall) parallelOf(v *sweepView) int {
	if s, err := c.restore(v); err == nil {
		return max(v.Parallel, s.request.Sweep.Parallel)
	}
	return v.Parallel
}

// paramNames are the names of parameters.
func paramNames(params []string) (names []string) {
	for _, text := range params {
		if p, err := space.ParseParameter(text); err == nil {
			names = append(names, p.Name)
		}
	}
	return names
}

// extendSpace replaces the ranges of parameters. New parameters are refused: trials that were begun
// do not have them.
func extendSpace(s *sweep.Sweep, params []string) error {
	for _, text := range params {
		p, err := space.ParseParameter(text)
		if err != nil {
			return err
		}
		found := false
		for i, old := range s.Params {
			if o, err := space.ParseParameter(old); err == nil && o.Name == p.Name {
				s.Params[i], found = text, true
			}
		}
		if !found {
			return fmt.Errorf("--param %q: the sweep has no parameter %s; it has %s", text, p.Name, strings.Join(paramNames(s.Params), ", "))
		}
	}
	return nil
}

// usable checks the sweep as sluiced will, and the values that its script writes on command lines.
func (v *sweepView) usable(s sweep.Sweep) error {
	sp, err := sbatch.CheckSweep(s)
	if err != nil {
		return err
	}
	script, err := checkpoint.ReadIn(v.Folder, checkpoint.Script, mostScript)
	if err != nil {
		return err
	}
	for _, u := range sweep.Uses(script) {
		i, known := sp.Index(u.Name)
		if !known {
			continue
		}
		for _, choice := range sp.Parameters()[i].Choices {
			if err := sweep.Plain(choice); err != nil {
				return fmt.Errorf("--param %q: the script has {%s} at line %d, column %d, and the value %q cannot stand there: %w", sp.Parameters()[i].String(), u.Name, u.Line, u.Column, choice, err)
			}
		}
	}
	return nil
}
