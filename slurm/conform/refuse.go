package conform

import (
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// states are the promises about calls that the job's state forbids.
var states = []promise{
	{"size and start are for pending jobs only", 1, func(c *check) {
		id := c.running(long, 1)
		c.fails("size", c.Owner.Update(c.ctx, id, slurm.Update{GPUsPerNode: 2}), slurm.ErrWrongState)
		c.fails("nodes", c.Owner.Update(c.ctx, id, slurm.Update{Nodes: c.nodes, GPUsPerNode: 2, CPUs: 1}), slurm.ErrWrongState)
		c.fails("start", c.Owner.Update(c.ctx, id, slurm.Update{StartAfter: time.Second}), slurm.ErrWrongState)
		if d := c.job(id); d.GPUs != 1 || !isRunning(d) {
			c.Errorf("afterwards: %s", text(d))
		}
	}},
	{"requeuehold leaves a pending job alone", 1, func(c *check) {
		id := c.held(1)
		c.must(c.Owner.RequeueHold(c.ctx, id))
		if d := c.job(id); d.Restarts != 0 || !d.Held {
			c.Errorf("afterwards: %s", text(d))
		}
	}},
	{"an ended job is not changed", 1, func(c *check) {
		id := c.submit("#!/bin/sh\nexit 0\n", "--gres=gpu:1")
		c.ends(id, slurm.Completed)
		note := "late"
		c.fails("size", c.Owner.Update(c.ctx, id, slurm.Update{GPUsPerNode: 2}), slurm.ErrWrongState)
		c.fails("comment", c.Owner.Update(c.ctx, id, slurm.Update{Comment: &note}), slurm.ErrWrongState)
		c.fails("hold", c.Owner.Hold(c.ctx, id), slurm.ErrWrongState)
		c.fails("release", c.Owner.Release(c.ctx, id), slurm.ErrWrongState)
		c.fails("cancel", c.Owner.Cancel(c.ctx, id), nil)
	}},
	{"a cancelled job ends", 1, func(c *check) {
		pending, running := c.held(1), c.running(long, 1)
		for _, id := range []slurm.JobID{pending, running} {
			c.must(c.Owner.Cancel(c.ctx, id))
			c.ends(id, slurm.Cancelled)
			c.must(c.Owner.Cancel(c.ctx, id))
		}
	}},
	{"a job cancelled between two sizes ends", 1, func(c *check) {
		id := c.running(long, 1)
		c.must(c.Operator.RequeueHold(c.ctx, id))
		c.pends(id)
		c.must(c.Owner.Cancel(c.ctx, id))
		c.ends(id, slurm.Cancelled)
		c.fails("release", c.Operator.Release(c.ctx, id), slurm.ErrWrongState)
	}},
	{"a job cancelled while completing ends", 1, func(c *check) {
		id := c.running(stubborn, 1)
		c.must(c.Operator.RequeueHold(c.ctx, id))
		c.must(c.Owner.Cancel(c.ctx, id))
		c.ends(id, slurm.Cancelled)
	}},
	{"exit codes are reported", 1, func(c *check) {
		for script, want := range map[string]slurm.Job{
			"#!/bin/sh\nexit 3\n":     {ExitCode: 3},
			"#!/bin/sh\nkill -9 $$\n": {ExitSignal: 9},
		} {
			d := c.ends(c.submit(script, "--gres=gpu:1"), slurm.Failed)
			if d.ExitCode != want.ExitCode || d.ExitSignal != want.ExitSignal {
				c.Errorf("%q: code %d signal %d", script, d.ExitCode, d.ExitSignal)
			}
		}
	}},
	{"an output file that cannot be opened ends the job", 1, func(c *check) {
		d := c.ends(c.submit("#!/bin/sh\nexit 3\n", "--gres=gpu:1", "--output=/nonexistent/x"), slurm.Failed)
		j := c.listed(d.ID)
		told := j.ExitSignal == slurm.LaunchIO
		if j.ExitCode == 1 && j.Reason == "NonZeroExitCode" { // Slurm 20.11 reports no more
			told = true
		}
		if !told || j.StdOut != "/nonexistent/x" ||
			len(j.Nodes) != 1 || j.Start.IsZero() || j.End.Before(j.Start) {
			c.Errorf("%+v", j)
		}
	}},
	{"a signal reaches the batch script", 1, func(c *check) {
		id := c.running("#!/bin/sh\ntrap 'exit 7' USR1\nsleep 600 & wait\n", 1)
		c.Step() // the shell needs a moment to set its trap
		end := c.Now().Add(c.Patience)
		for isRunning(c.job(id)) && c.Now().Before(end) {
			_ = c.Owner.Signal(c.ctx, id, "USR1", true)
			c.Step()
		}
		d := c.until(id, "ended", isOver)
		if d.State != slurm.Failed || (d.ExitCode != 7 && d.ExitSignal != 10) {
			c.Errorf("ended as %s code %d signal %d", d.State, d.ExitCode, d.ExitSignal)
		}
	}},
}

var refusals = []promise{
	{"an unknown job is not found", 0, func(c *check) {
		const none = slurm.JobID(3_999_999)
		note := "x"
		_, err := c.Owner.Job(c.ctx, none)
		c.fails("job", err, slurm.ErrNotFound)
		c.fails("update", c.Owner.Update(c.ctx, none, slurm.Update{Comment: &note}), slurm.ErrNotFound)
		c.fails("requeuehold", c.Owner.RequeueHold(c.ctx, none), slurm.ErrNotFound)
		c.fails("hold", c.Owner.Hold(c.ctx, none), slurm.ErrNotFound)
		c.fails("release", c.Owner.Release(c.ctx, none), slurm.ErrNotFound)
		c.fails("signal", c.Owner.Signal(c.ctx, none, "USR1", true), slurm.ErrNotFound)
	}},
	{"another user's job is not accessible", 1, func(c *check) {
		running, waits := c.running(long, 1), c.held(1)
		note := "mine"
		c.fails("requeuehold", c.Other.RequeueHold(c.ctx, running), slurm.ErrPermission)
		c.fails("signal", c.Other.Signal(c.ctx, running, "USR1", true), slurm.ErrPermission)
		c.fails("hold", c.Other.Hold(c.ctx, running), slurm.ErrPermission)
		for _, id := range []slurm.JobID{running, waits} {
			c.fails("update", c.Other.Update(c.ctx, id, slurm.Update{Comment: &note}), slurm.ErrPermission)
			c.fails("release", c.Other.Release(c.ctx, id), slurm.ErrPermission)
			c.fails("cancel", c.Other.Cancel(c.ctx, id), slurm.ErrPermission)
		}
		if d := c.job(running); !isRunning(d) || d.Held || d.Comment == note || d.Restarts != 0 {
			c.Errorf("the running one: %s", text(d))
		}
		if d := c.job(waits); !isPending(d) || !d.Held || d.Comment == note {
			c.Errorf("the held one: %s", text(d))
		}
		if _, err := c.Other.Job(c.ctx, running); err != nil {
			c.Errorf("looking is allowed: %v", err)
		}
	}},
	{"an unknown node is refused", 1, func(c *check) {
		id := c.held(2)
		c.fails("update", c.Owner.Update(c.ctx, id, slurm.Update{Nodes: []string{"nosuch"}, GPUsPerNode: 1}), slurm.ErrRefused)
		if d := c.job(id); d.GPUs != 2 || len(d.ReqNodes) != 1 {
			c.Errorf("afterwards: %s", text(d))
		}
	}},
	{"fewer GPUs than nodes are refused", 2, func(c *check) {
		id := c.held(1)
		c.fails("update", c.Owner.Update(c.ctx, id, slurm.Update{Nodes: c.nodes, GPUsTotal: 1}), slurm.ErrRefused)
	}},
	{"an impossible size is accepted and waits indefinitely", 1, func(c *check) {
		id := c.held(1)
		c.must(c.Owner.Update(c.ctx, id, slurm.Update{Nodes: c.nodes, GPUsPerNode: 99, StartAfter: time.Second}))
		c.must(c.Owner.Release(c.ctx, id))
		d := c.until(id, "marked impossible", func(d slurm.Detail) bool { return d.Reason == "BadConstraints" })
		if !isPending(d) || !d.Held {
			c.Errorf("%s", text(d))
		}
		// Its owner cannot release it; any update lets the scheduler try it again.
		c.fails("release", c.Owner.Release(c.ctx, id), slurm.ErrPermission)
		c.must(c.Owner.Update(c.ctx, id, slurm.Update{Nodes: c.nodes, GPUsPerNode: 2, StartAfter: time.Second}))
		c.splitIs(c.runs(id), 2)
	}},
	{"a hold on an impossible job changes nothing", 1, func(c *check) {
		// Plain uhold by the owner would leave a job that the owner can never release.
		id := c.held(1)
		c.must(c.Owner.Update(c.ctx, id, slurm.Update{Nodes: c.nodes, GPUsPerNode: 99, StartAfter: time.Second}))
		c.must(c.Owner.Release(c.ctx, id))
		c.until(id, "marked impossible", func(d slurm.Detail) bool { return d.Reason == "BadConstraints" })
		c.must(c.Owner.Hold(c.ctx, id))
		c.must(c.Owner.Update(c.ctx, id, slurm.Update{Nodes: c.nodes, GPUsPerNode: 2, StartAfter: time.Second}))
		c.splitIs(c.runs(id), 2)
	}},
	{"what does not fit now waits and starts later", 1, func(c *check) {
		first := c.running(long, 3)
		id := c.held(1)
		c.must(c.Owner.Update(c.ctx, id, slurm.Update{Nodes: c.nodes, GPUsPerNode: 2, StartAfter: time.Second}))
		c.must(c.Owner.Release(c.ctx, id))
		c.until(id, "waiting for GPUs", func(d slurm.Detail) bool { return isPending(d) && !d.Held && d.Reason == "Resources" })
		c.must(c.Owner.Cancel(c.ctx, first))
		c.splitIs(c.runs(id), 2)
	}},
}

// hostile are comments that could break a parser.
var hostile = []string{
	"", "plain", "two words", `"quoted"`, "it's", "a|b", `back\slash`, `\n`, "é ü 中", "a=b,c;d", "Comment=x JobId=1",
	"sluice/1 id=0123456789abcdef0123456789abcdef inc=3 min=1 ; user's own: 100% $HOME `id` #x", "%s%n", "(null)", "N/A",
	strings.Repeat("x", 900), "<a href='#'>&amp;</a>", "[1-3],gpu[2]", "trailing=", "--help", "*?~!^{}",
}

var comments = []promise{
	{"comments come back as written", 1, func(c *check) {
		id := c.held(1)
		for _, text := range hostile {
			c.must(c.Owner.Update(c.ctx, id, slurm.Update{Comment: &text}))
			if got := c.job(id).Comment; !sameComment(got, text) {
				c.Errorf("job: wrote %q, read %q", text, got)
			}
			if got := c.listed(id).Comment; !sameComment(got, text) {
				c.Errorf("list: wrote %q, read %q", text, got)
			}
		}
	}},
	{"comments given at submit come back as written", 1, func(c *check) {
		for _, text := range []string{`a "b" 'c' | d\e`, hostile[11]} {
			if got := c.listed(c.held(1, "--comment="+text)).Comment; got != text {
				c.Errorf("wrote %q, read %q", text, got)
			}
		}
	}},
	{"a running job's comment can be written", 1, func(c *check) {
		id := c.running(long, 1)
		text := "noted while running"
		c.must(c.Owner.Update(c.ctx, id, slurm.Update{Comment: &text}))
		if got := c.listed(id); got.Comment != text || got.State != slurm.Running {
			c.Errorf("%+v", got)
		}
	}},
	{"a comment survives a resize", 1, func(c *check) {
		id := c.running(long, 1)
		text := "before"
		c.must(c.Owner.Update(c.ctx, id, slurm.Update{Comment: &text}))
		if d := c.resize(id, slurm.Update{Nodes: c.nodes, GPUsPerNode: 2}); d.Comment != text {
			c.Errorf("read %q", d.Comment)
		}
		both := "after"
		if d := c.resize(id, slurm.Update{Nodes: c.nodes, GPUsPerNode: 1, Comment: &both}); d.Comment != both {
			c.Errorf("read %q", d.Comment)
		}
	}},
}

// sameComment accepts that Slurm prints an empty comment as "(null)" or "N/A", so a
// comment with exactly that text reads as empty.
func sameComment(got, wrote string) bool {
	return got == wrote || got == "" && (wrote == "(null)" || wrote == "N/A")
}
