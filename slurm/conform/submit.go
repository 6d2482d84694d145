package conform

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

var submits = []promise{
	{"a held job stays held", 1, func(c *check) {
		id := c.held(1)
		c.stays(id, "held", func(d slurm.Detail) bool {
			return d.State == slurm.Pending && d.Held && d.Reason == "JobHeldUser" && len(d.Nodes)+len(d.Split) == 0
		})
	}},
	{"submit answers with sbatch's own line", 1, func(c *check) {
		sub := slurm.Submission{Args: []string{"--hold", "--output=/dev/null"}, Dir: "/tmp", Stdin: []byte(long)}
		id, line, err := c.Owner.Submit(c.ctx, sub)
		c.must(err)
		c.jobs = append(c.jobs, id)
		if want := fmt.Sprintf("Submitted batch job %d", id); strings.TrimSpace(line) != want {
			c.Errorf("got %q, want %q", line, want)
		}
		sub.Args = append(sub.Args, "--parsable")
		id, line, err = c.Owner.Submit(c.ctx, sub)
		c.must(err)
		c.jobs = append(c.jobs, id)
		if strings.TrimSpace(line) != fmt.Sprint(id) {
			c.Errorf("--parsable: got %q for job %d", line, id)
		}
	}},
	{"a pending job is listed as asked for", 1, func(c *check) {
		id := c.held(3, "--comment=sluice/1 x=1")
		for from, j := range map[string]slurm.Job{"list": c.listed(id), "job": c.job(id).Job} {
			if j.Name != "conform" || j.User != c.OwnerName || j.UID == 0 || j.Partition == "" || j.WorkDir != "/tmp" ||
				j.Comment != "sluice/1 x=1" || j.GPUs != 3 || j.NodeCount != 1 || j.Restarts != 0 || j.Array || j.Het ||
				fmt.Sprint(j.ReqNodes) != fmt.Sprint(c.nodes[:1]) || len(j.Nodes) != 0 || !j.Held || j.Completing {
				c.Errorf("%s: %+v", from, j)
			}
			if off := c.Now().Sub(j.Submit); off < -2*time.Second || off > time.Minute {
				c.Errorf("%s: submitted %s ago", from, off)
			}
		}
	}},
	{"a running job shows where it runs", 1, func(c *check) {
		id := c.running(long, 2)
		d := c.job(id)
		c.splitIs(d, 2)
		for from, j := range map[string]slurm.Job{"list": c.listed(id), "job": d.Job} {
			if j.GPUs != 2 || j.NodeCount != 1 || fmt.Sprint(j.Nodes) != fmt.Sprint(c.nodes[:1]) || j.Held || j.Start.IsZero() {
				c.Errorf("%s: %+v", from, j)
			}
		}
		if !d.Requeue || d.StdOut != "/dev/null" {
			c.Errorf("requeue=%t stdout=%q", d.Requeue, d.StdOut)
		}
	}},
	{"two jobs on a node hold different GPUs", 1, func(c *check) {
		a, b := c.job(c.running(long, 2)), c.job(c.running(long, 2))
		seen := map[int]bool{}
		for _, d := range []slurm.Detail{a, b} {
			for _, i := range d.Split[0].IDs {
				if seen[i] {
					c.Errorf("GPU %d is held twice: %v %v", i, a.Split, b.Split)
				}
				seen[i] = true
			}
		}
		if len(seen) != 4 {
			c.Errorf("%d GPUs of 4 are named: %v %v", len(seen), a.Split, b.Split)
		}
	}},
	{"an ended job stays listed", 1, func(c *check) {
		id := c.submit("#!/bin/sh\nexit 0\n", "--gres=gpu:1")
		c.ends(id, slurm.Completed)
		if j := c.listed(id); j.State != slurm.Completed {
			c.Errorf("listed as %s", j.State)
		}
	}},
	{"a job that can never run is refused at submit", 0, func(c *check) {
		for _, args := range [][]string{{"--gres=gpu:99"}, {"--partition=nosuch"}, {"--nodelist=nosuch"}} {
			id, _, err := c.Owner.Submit(c.ctx, slurm.Submission{Args: append(args, "--output=/dev/null"), Dir: "/tmp", Stdin: []byte(long)})
			if err == nil {
				c.jobs = append(c.jobs, id)
			}
			c.fails(args[0], err, slurm.ErrRefused)
		}
	}},
	{"a cancelled context does nothing", 1, func(c *check) {
		id := c.held(1)
		gone, cancel := context.WithCancel(c.ctx)
		cancel()
		if err := c.Owner.Release(gone, id); !errors.Is(err, context.Canceled) {
			c.Errorf("got %v, want context.Canceled", err)
		}
		if !c.job(id).Held {
			c.Error("it was released nevertheless")
		}
	}},
}
