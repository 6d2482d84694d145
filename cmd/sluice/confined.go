package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/cmd/reach"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/vault/client"
	"github.com/sluice-hpc/sluice/elastic/vault/wire"
	"github.com/sluice-hpc/sluice/etc"
	"github.com/sluice-hpc/sluice/slurm"
)

// confinedJobs are the confined jobs of the caller, as sluice-vaultd knows them.
type confinedJobs struct {
	vault *client.Client
	jobs  []wire.Job
	lost  error // why they are not known
}

// confinedJobsAt asks a site's sluice-vaultd; a site without data sets has none. Ordinary jobs MUST be reached without it.
func confinedJobsAt(ctx context.Context, site etc.Config) (c confinedJobs) {
	if site.Data.Account == "" {
		return c
	}
	if c.vault, c.lost = reach.Vault(site); c.lost != nil {
		return c
	}
	ctx, cancel := context.WithTimeout(ctx, vaultLimit)
	defer cancel()
	a, err := c.vault.Do(ctx, wire.Request{Do: wire.Jobs}, nil, nil)
	if err != nil {
		c.lost = fmt.Errorf("if this is a job with --data: %w", err)
	}
	c.jobs = a.Jobs
	return c
}

// vaultLimit is how long an ordinary job waits for a sluice-vaultd that does not answer.
const vaultLimit = 5 * time.Second

// of returns the id of a job; "" if it is not a confined one of the caller. over: it has ended, and Slurm may have given
// its number to another job since.
func (c confinedJobs) of(job elastic.JobID) (id string, over bool) {
	newest := int64(0) // Slurm may use a number twice
	for _, j := range c.jobs {
		if at := j.Submitted.Unix(); elastic.JobID(j.JobID) == job && (id == "" || at > newest) {
			id, newest, over = j.ID, at, j.State == wire.StateEnded
		}
	}
	return id, over
}

// cancel cancels a job. For Slurm a confined one is the service account's.
func (c confinedJobs) cancel(ctx context.Context, user slurm.Client, job elastic.JobID) error {
	id, over := c.of(job)
	if over && user.Cancel(ctx, slurm.JobID(job)) == nil {
		return nil
	}
	if id != "" {
		_, err := c.vault.Do(ctx, wire.Request{Do: wire.Cancel, Job: id}, nil, nil)
		return err
	}
	err := user.Cancel(ctx, slurm.JobID(job))
	if err == nil || c.lost == nil {
		return err
	}
	if c.vault == nil {
		return errors.Join(err, c.lost)
	}
	// Its list of jobs took too long, or it does not answer. It knows jobs by their numbers, too.
	if _, lost := c.vault.Do(ctx, wire.Request{Do: wire.Cancel, Job: fmt.Sprint(job)}, nil, nil); lost != nil {
		return errors.Join(err, fmt.Errorf("if this is a job with --data: %w", lost))
	}
	return nil
}
