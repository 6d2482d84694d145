package command

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

var _ slurm.Accountant = (*Client)(nil)

// pastFields are the fields asked of sacct, in this order. None holds text written by a
// user, so none can contain the separator, which sacct does not let a caller choose.
var pastFields = [...]string{"JobIDRaw", "UID", "State", "ExitCode", "Submit", "Start", "End", "TimelimitRaw", "NodeList", "AllocTRES"}

const (
	opPast = "sacct"
	// pastPatience is how many times longer sacct may take than other programs: a
	// database with years of jobs needs time, and no cycle waits for the answer.
	pastPatience = 6
	// mostNumbers bounds the list of job numbers in characters: Linux takes 128 KiB in one
	// argument, and 10,000 numbers of ten digits are 110,000.
	mostNumbers = 120_000
	// maxPast bounds the runs in one answer.
	maxPast = 1 << 20
)

// Past asks sacct, after scontrol has reported that there is slurmdbd: without it sacct
// may read old accounting files. -D lists all runs of a job rather than its last one, or
// the last job's of a number that was given twice; -X leaves the steps out.
func (c *Client) Past(ctx context.Context, ids []slurm.JobID, since time.Time) ([]slurm.PastRun, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	s, err := c.Settings(ctx)
	if err != nil || !s.Database() {
		return nil, err
	}
	var all []slurm.PastRun
	for _, list := range numberLists(ids, mostNumbers) {
		args := []string{"-n", "-P", "-X", "-D", "-a", "-S", since.UTC().Format("2006-01-02T15:04:05"), "-j", list, "--format=" + strings.Join(pastFields[:], ",")}
		out, err := c.run(ctx, call{op: opPast, program: "sacct", args: args, env: c.env, patience: pastPatience})
		if err != nil {
			return nil, databaseDown(err)
		}
		runs, err := parsePast(out.stdout)
		if err != nil {
			return nil, &slurm.Error{Op: opPast, Err: slurm.ErrGarbage, Words: clean(err.Error()), Hint: "run it by hand: sacct -P -X -D -a -j JOBID"}
		}
		all = append(all, runs...)
	}
	return all, nil
}

// databaseDown says that slurmdbd does not answer, rather than slurmctld.
func databaseDown(err error) error {
	var e *slurm.Error
	if !errors.As(err, &e) || !errors.Is(e, slurm.ErrControllerDown) && !strings.Contains(strings.ToLower(e.Words), "database") {
		return err
	}
	return &slurm.Error{Op: e.Op, Err: slurm.ErrDatabaseDown, Words: e.Words, Hint: "see whether slurmdbd runs: sacctmgr show cluster"}
}

// numberLists writes the numbers as comma-separated lists of at most that many characters
// each.
func numberLists(ids []slurm.JobID, most int) (lists []string) {
	var b strings.Builder
	for _, id := range ids {
		n := strconv.FormatInt(int64(id), 10)
		if b.Len() > 0 && b.Len()+1+len(n) > most {
			lists = append(lists, b.String())
			b.Reset()
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(n)
	}
	return append(lists, b.String())
}

// parsePast reads the output of sacct. It accepts whole lines only: a truncated answer
// must not be taken for a complete one. Parts of job arrays and of heterogeneous jobs
// have numbers of their own (JobIDRaw).
func parsePast(out string) (runs []slurm.PastRun, err error) {
	if out == "" {
		return nil, nil
	}
	if !strings.HasSuffix(out, "\n") {
		return nil, errTruncated
	}
	words := pool{}
	n := 0
	for line := range strings.Lines(out) {
		if n++; n > maxPast {
			return nil, fmt.Errorf("more than %d lines", maxPast)
		}
		f := strings.Split(strings.TrimSuffix(line, "\n"), "|")
		if len(f) != len(pastFields) {
			return nil, fmt.Errorf("line %d has %d fields, not %d", n, len(f), len(pastFields))
		}
		r, err := pastRun(f, words)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		runs = append(runs, r)
	}
	return runs, nil
}

func pastRun(f []string, words pool) (r slurm.PastRun, err error) {
	id, ok := digits(f[0], 1<<40)
	if !ok || id < 1 {
		return r, fmt.Errorf("%q is not a job's number", shorten(f[0]))
	}
	uid, err := strconv.ParseUint(f[1], 10, 32)
	if err != nil {
		return r, fmt.Errorf("%q is not a user's number", shorten(f[1]))
	}
	r = slurm.PastRun{ID: slurm.JobID(id), UID: uint32(uid), State: pastState(f[2])}
	var errs [7]error
	r.ExitCode, r.ExitSignal, errs[0] = exitStatus(f[3])
	r.Submit, errs[1] = epoch(f[4])
	r.Start, errs[2] = epoch(f[5])
	r.End, errs[3] = epoch(f[6])
	if minutes, ok := digits(f[7], math.MaxInt64/int64(time.Minute)); ok { // else UNLIMITED, Partition_Limit, nothing, or more than 292 years
		r.Limit = time.Duration(minutes) * time.Minute
	}
	if !empty(f[8]) && f[8] != "None assigned" {
		r.Nodes, errs[4] = slurm.Expand(f[8])
		words.list(r.Nodes)
	}
	r.GPUs, errs[5] = pastGPUs(f[9])
	if r.Submit.IsZero() {
		errs[6] = fmt.Errorf("job %d has no time of submit", id)
	}
	return r, errors.Join(errs[:]...)
}

// pastState reads sacct's state: "CANCELLED by 1000" is CANCELLED. sacct also has state
// words for runs that a requeue or a resize ended.
func pastState(s string) slurm.State {
	word, _, _ := strings.Cut(s, " ")
	if base, ok := flagStates[word]; ok {
		return base
	}
	return slurm.Unknown
}

// pastGPUs reads the number of GPUs in "billing=1,cpu=1,gres/gpu=2,gres/gpu:a100=2,node=1".
func pastGPUs(list string) (int, error) {
	for item := range strings.SplitSeq(list, ",") {
		if n, ok := strings.CutPrefix(item, slurm.OfGPUs+"="); ok {
			return count(n)
		}
	}
	return 0, nil
}
