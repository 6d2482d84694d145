package command

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-hpc/sluice/slurm"
)

// Job returns one job with its true split of GPUs over nodes.
//
// Two programs are asked. squeue tells everything but the split, with values
// that nobody can forge. Only scontrol tells the split, but its key=value lines
// hold the user's words unquoted: a job named "x Nodes=gpu9 GRES=gpu:4" would
// claim GPUs it does not have. So the name that squeue told is used to step over
// the name in scontrol's line, and the split is taken from what Slurm itself
// wrote right after. A job that does not run has no split, and scontrol is then
// not asked. When the job changes between the two answers both are asked once
// more.
func (c *Client) Job(ctx context.Context, id slurm.JobID) (slurm.Detail, error) {
	const op = "scontrol show job"
	var lastErr error
	for range 2 {
		d, err := c.job(ctx, op, id)
		if err != nil || len(d.Nodes) == 0 || d.State != slurm.Running && d.State != slurm.Suspended {
			return d, err
		}
		out, err := c.read(ctx, op, id, "scontrol", []string{"-d", "-o", "show", "job", idArg(id)})
		if err != nil {
			return slurm.Detail{}, err
		}
		if d.Split, lastErr = parseSplit(out.stdout, id, d.Name); lastErr == nil && agrees(d) {
			return d, nil
		}
	}
	if lastErr == nil {
		lastErr = errors.New("squeue and scontrol name different nodes")
	}
	return slurm.Detail{}, &slurm.Error{Op: op, JobID: id, Err: slurm.ErrGarbage, Words: clean(lastErr.Error()), Hint: hintRetry}
}

// job is squeue's view of one job.
func (c *Client) job(ctx context.Context, op string, id slurm.JobID) (slurm.Detail, error) {
	if id < 1 {
		return slurm.Detail{}, &slurm.Error{Op: op, JobID: id, Err: slurm.ErrNotFound, Words: "job ids begin at 1"}
	}
	details, err := c.squeue(ctx, op, id)
	if err != nil {
		return slurm.Detail{}, err
	}
	// An array's or heterogeneous job's id brings its other members too.
	for _, d := range details {
		if d.ID == id {
			return d, nil
		}
	}
	return slurm.Detail{}, &slurm.Error{Op: op, JobID: id, Err: slurm.ErrNotFound, Words: "squeue lists no such job"}
}

// agrees reports whether the split is of the nodes the job holds. A job that
// holds no GPU has its nodes in the split, with none on each.
func agrees(d slurm.Detail) bool {
	nodes := make([]string, len(d.Split))
	for i, s := range d.Split {
		nodes[i] = s.Node
	}
	slices.Sort(nodes)
	return slices.Equal(nodes, slices.Sorted(slices.Values(d.Nodes)))
}

// share matches one "Nodes=" group. Each stands for several nodes when all hold
// the same, and then the GPUs are those of one node.
var share = lazily(`^\s*Nodes=(\S+) CPU_IDs=\S* Mem=\S* GRES=(\S*)`)

// firstShare finds where the groups begin: after the last of the fields Slurm
// writes about the whole job.
var firstShare = lazily(`\s+Nodes=\S+ CPU_IDs=`)

// maxSplitIDs bounds the GPU indices of one group of nodes.
const maxSplitIDs = 1 << 20

// parseSplit reads the GPUs per node from "scontrol -d -o show job". name is the
// job's name as squeue tells it.
func parseSplit(out string, id slurm.JobID, name string) ([]slurm.GPUShare, error) {
	rest, err := afterName(out, id, name)
	if err != nil {
		return nil, err
	}
	at := firstShare().FindStringIndex(rest)
	if at == nil {
		return nil, errors.New("no Nodes= in scontrol's answer")
	}
	rest = rest[at[0]:]
	var split []slurm.GPUShare
	for {
		m := share().FindStringSubmatchIndex(rest)
		if m == nil {
			break
		}
		nodes, err := slurm.Expand(rest[m[2]:m[3]])
		if err != nil {
			return nil, err
		}
		g, err := parseGPUs(rest[m[4]:m[5]])
		if err != nil {
			return nil, err
		}
		if len(split)+len(nodes) > slurm.MaxHosts || len(nodes)*len(g.ids) > maxSplitIDs {
			return nil, errors.New("more GPUs than a job can have")
		}
		for _, n := range nodes {
			split = append(split, slurm.GPUShare{Node: n, GPUs: g.count, IDs: slices.Clone(g.ids)})
		}
		rest = rest[m[1]:]
	}
	if len(split) == 0 || !strings.Contains(rest, " MinCPUsNode=") {
		return nil, errTruncated
	}
	return split, nil
}

// afterName returns what follows the job's name in its own record.
func afterName(out string, id slurm.JobID, name string) (string, error) {
	head := regexp.MustCompile(fmt.Sprintf(`(?:^|\n)JobId=%d(?: [A-Za-z]+=\S*){0,8}? JobName=`, id))
	at := head.FindStringIndex(out)
	if at == nil {
		return "", fmt.Errorf("scontrol's answer has no job %d", id)
	}
	if name == "" {
		name = "(null)"
	}
	rest, ok := strings.CutPrefix(out[at[1]:], name)
	if !ok || !nextKey().MatchString(rest) {
		return "", errors.New("scontrol shows another job name than squeue")
	}
	return rest, nil
}

// nextKey is what Slurm writes after a job's name: the user, after the parts of a
// heterogeneous job, and since 25.11 another id.
var nextKey = lazily(`^(?: [A-Za-z]+=\S*){0,8}? UserId=`)

func idArg(id slurm.JobID) string { return strconv.FormatInt(int64(id), 10) }
