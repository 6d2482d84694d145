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
	c.jobs, c.lost = a.Jobs, err
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
	return c.unlisted(user.Cancel(ctx, slurm.JobID(job)), job, func(id string) error {
		_, err := c.vault.Do(ctx, wire.Request{Do: wire.Cancel, Job: id}, nil, nil)
		return err
	})
}

// unlisted settles what failed with a job as with an ordinary one. If there is no list of confined jobs, it may be one of these all the
// same: sluice-vaultd, whose list may only have taken too long, is asked about it by its number.
func (c confinedJobs) unlisted(failed error, job elastic.JobID, ask func(id string) error) error {
	if failed == nil || c.lost == nil || c.vault == nil {
		return orLost(failed, c.lost)
	}
	lost := ask(fmt.Sprint(job))
	if lost == nil {
		return nil
	}
	return orLost(failed, lost)
}

// orLost is an error of a job that may be a confined one, with why that is not known.
func orLost(failed, lost error) error {
	if failed == nil || lost == nil {
		return failed
	}
	return errors.Join(failed, fmt.Errorf("if this is a job with --data: %w", lost))
}
