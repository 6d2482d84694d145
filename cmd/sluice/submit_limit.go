package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/sbatch"
	"github.com/sluice-hpc/sluice/slurm"
)

// limitsLimit bounds how long submit waits for the partitions' limits. If they are not
// available the job is submitted, and sluiced reports why it waits.
const limitsLimit = 5 * time.Second

// startable refuses a job that would never start: one that requests more time than any of
// its partitions allows, or a size that none of them has. Slurm is queried if the job has
// a time limit, or needs more than a single GPU of any type; its QOS only if the limit is
// too long.
func (s *submission) startable(ctx context.Context) error {
	limit, limited := s.request.TimeLimit()
	sized := s.request.Spec.Min > 1 || len(s.request.Spec.Types) > 0
	if !limited && !sized {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, limitsLimit)
	defer stop()
	client, err := slurmFor(s.site)
	if err != nil {
		return nil
	}
	inventory := sync.OnceValues(func() ([]slurm.Node, error) { return client.Nodes(ctx) })
	if sized {
		go inventory() // while the partitions are queried: the user waits for both
	}
	partitions, err := client.Partitions(ctx)
	if err != nil {
		return nil
	}
	if sized {
		if inventory, err := inventory(); err == nil {
			if wrong := tooMany(s.request.Spec, s.request.LeastFrom(), usedPartitions(s.request.Partitions, partitions), inventory); wrong != nil {
				return wrong
			}
			s.job.Nodes = nodesFor(s.request.Spec, usedPartitions(s.request.Partitions, partitions), inventory)
		}
	}
	if !limited {
		return nil
	}
	wrong := tooLong(limit, s.request.Partitions, partitions, cmp.Or(s.request.OnTimeout, s.site.Checkpoint.OnTimeout) == "requeue")
	if wrong == nil {
		return nil
	}
	if lifts, err := client.LiftsTime(ctx); lifts || err != nil {
		return nil
	}
	return wrong
}

// usedPartitions is the partitions that a job names, or the default one. Slurm checks
// that they exist.
func usedPartitions(names []string, partitions []slurm.Partition) []string {
	if len(names) > 0 {
		return names
	}
	for _, p := range partitions {
		if p.Default {
			return []string{p.Name}
		}
	}
	return nil
}

// tooLong is the refusal of a time limit that none of the job's partitions (or the
// default one) allows, with what to type; again: the job continues after its limit. It is
// nil if one allows it, or its limit is unknown.
func tooLong(limit sbatch.Limit, names []string, partitions []slurm.Partition, again bool) error {
	var most time.Duration
	var said []string
	for _, p := range partitions {
		if len(names) == 0 && !p.Default || len(names) > 0 && !slices.Contains(names, p.Name) {
			continue
		}
		if p.MaxTime == 0 || limit.Most > 0 && limit.Most <= p.MaxTime {
			return nil
		}
		said = append(said, fmt.Sprintf("%s of partition %s", slurmLimit(p.MaxTime), p.Name))
		most = max(most, p.MaxTime)
	}
	if len(said) < max(1, len(names)) {
		return nil
	}
	do := "give --time=" + slurmLimit(most) + " or less"
	if again {
		do += "; at its limit it saves, waits again and continues"
	}
	return fmt.Errorf("%s: the job would never start: that is more than MaxTime, %s; %s", limit.At, strings.Join(said, " and "), do)
}

// slurmLimit formats a time limit as sbatch reads it: 1-00:00:00, 12:00:00.
func slurmLimit(d time.Duration) string {
	rest := d % (24 * time.Hour)
	clock := fmt.Sprintf("%02d:%02d:%02d", rest/time.Hour, rest%time.Hour/time.Minute, rest%time.Minute/time.Second)
	if days := d / (24 * time.Hour); days > 0 {
		return fmt.Sprintf("%d-%s", days, clock)
	}
	return clock
}
