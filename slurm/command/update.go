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

// tries is how often an update is sent that Slurm answers with ErrAgain. From 24.11 on
// slurmctld refuses many changes of a partition at random, whatever the job's state, and
// has changed nothing then: 45 % measured on 24.11.5, 62 % on 26.05.5.
const tries = 40

// fence is how far a job's start is delayed before its size is written. It must be longer
// than the call that writes the size.
const fence = 10 * time.Second

// Update writes the fields that are set on a job, in one scontrol update.
//
// A size is written to pending jobs only. On a running job Slurm takes NumNodes and
// ReqNodeList as an order to give nodes back, immediately and under the running training,
// even if it then refuses the rest of the call. A user who releases the job between our
// query and our update would lose the nodes in this way. Therefore a size is written
// behind a fence: first the start is delayed, which Slurm refuses for any job that is not
// pending (ErrWrongState) and which keeps the job from starting until the size is
// written. The fence is lifted by u.StartAfter or u.StartAt, or expires. If neither is set
// the job is looked at first: if its begin time is later than the fence, that begin time is
// the fence, so that a deferred job stays deferred. If its user changes the begin time
// between that look and the fence, the change is overwritten.
//
// Slurm may accept a size that the cluster can never provide: it does not check everything.
func (c *Client) Update(ctx context.Context, id slurm.JobID, u slurm.Update) error {
	const op = "scontrol update"
	err := checkUpdate(u)
	if err == nil && !u.StartAt.IsZero() {
		err = c.inFuture(u.StartAt)
	}
	if err != nil {
		return &slurm.Error{Op: op, JobID: id, Err: slurm.ErrRefused, Words: clean(err.Error())}
	}
	prefix := ""
	if u.GPUsPerNode > 0 || u.GPUsTotal > 0 {
		v, err := c.Version(ctx)
		if err != nil {
			return err
		}
		prefix = v.gpuPrefix()
	}
	fields := updateFields(u, prefix)
	if len(fields) == 0 {
		return nil
	}
	err = c.update(ctx, id, u, fields)
	for i := 1; i < tries && errors.Is(err, slurm.ErrAgain); i++ {
		err = c.update(ctx, id, u, fields)
	}
	return err
}

// update writes fields, behind a fence if they include a size.
func (c *Client) update(ctx context.Context, id slurm.JobID, u slurm.Update, fields []string) error {
	const op = "scontrol update"
	update := []string{"update", "JobId=" + idArg(id)}
	if resizes(u) {
		wait, err := c.fenceOf(ctx, op, id, u)
		if err != nil {
			return err
		}
		if err := c.change(ctx, op, id, "scontrol", append(update[:2:2], wait)...); err != nil {
			return err
		}
	}
	return c.change(ctx, op, id, "scontrol", append(update[:2:2], fields...)...)
}

// fenceOf is the begin time that keeps the job from starting while its size is written.
func (c *Client) fenceOf(ctx context.Context, op string, id slurm.JobID, u slurm.Update) (string, error) {
	wait := c.timeout + fence
	if u.StartAfter > 0 || !u.StartAt.IsZero() {
		return startTime(wait), nil
	}
	d, err := c.job(ctx, op, id)
	if err != nil {
		return "", err
	}
	if d.Eligible.Sub(c.now()) > wait {
		return startAt(d.Eligible), nil
	}
	return startTime(wait), nil
}

// resizes reports whether the update writes a size.
func resizes(u slurm.Update) bool {
	return len(u.Nodes) > 0 || u.AnyNodes || u.NodeCount > 0 || u.GPUsPerNode > 0 || u.GPUsTotal > 0 || u.CPUs > 0
}

// updateFields lists the key=value arguments in a fixed order. Each value is one
// element of argv, so blanks, quotes and "=" in a comment reach Slurm as they
// are.
func updateFields(u slurm.Update, gpuPrefix string) []string {
	var f []string
	if u.StartAfter > 0 {
		f = append(f, startTime(u.StartAfter))
	}
	if !u.StartAt.IsZero() {
		f = append(f, startAt(u.StartAt))
	}
	if u.Partition != "" {
		f = append(f, "Partition="+u.Partition)
	}
	nodes := u.NodeCount
	if len(u.Nodes) > 0 {
		nodes = len(u.Nodes)
	}
	if nodes > 0 {
		// n-n, not n: the minimum alone would leave a larger maximum in place.
		f = append(f, fmt.Sprintf("NumNodes=%d-%d", nodes, nodes), fmt.Sprintf("NumTasks=%d", nodes))
	}
	if u.CPUs > 0 {
		f = append(f, "NumCPUs="+strconv.Itoa(u.CPUs))
	}
	switch {
	case len(u.Nodes) > 0:
		f = append(f, "ReqNodeList="+strings.Join(u.Nodes, ","))
	case u.AnyNodes:
		f = append(f, "ReqNodeList=")
	}
	// A job that asks both per node and in total is refused or misread, so the
	// other field is cleared in the same call.
	gpu := gpuPrefix + ":"
	if u.GPUType != "" {
		gpu += u.GPUType + ":"
	}
	switch {
	case u.GPUsPerNode > 0:
		f = append(f, "TresPerNode="+gpu+strconv.Itoa(u.GPUsPerNode), "TresPerJob=")
	case u.GPUsTotal > 0:
		f = append(f, "TresPerNode=", "TresPerJob="+gpu+strconv.Itoa(u.GPUsTotal))
	}
	if u.Comment != nil {
		f = append(f, "Comment="+*u.Comment)
	}
	return f
}

// startTime is in whole seconds from now, rounded up: the new start must fall in
// a strictly later second than the last run's end, or its credential counts as
// revoked and the job fails.
func startTime(after time.Duration) string {
	return fmt.Sprintf("StartTime=now+%d", int64(math.Ceil(after.Seconds())))
}

// checkUpdate refuses values that Slurm would read as something else.
func checkUpdate(u slurm.Update) error {
	if u.GPUsPerNode > 0 && u.GPUsTotal > 0 {
		return fmt.Errorf("GPUs both per node (%d) and in total (%d)", u.GPUsPerNode, u.GPUsTotal)
	}
	if u.GPUsPerNode < 0 || u.GPUsTotal < 0 || u.CPUs < 0 || u.NodeCount < 0 || u.StartAfter < 0 {
		return fmt.Errorf("a negative number in %+v", u)
	}
	if u.StartAfter > 0 && !u.StartAt.IsZero() {
		return fmt.Errorf("a begin time both in %v and at %v", u.StartAfter, u.StartAt)
	}
	if len(u.Nodes) > 0 && (u.AnyNodes || u.NodeCount > 0 && u.NodeCount != len(u.Nodes)) {
		return fmt.Errorf("%d nodes named, and yet others wanted", len(u.Nodes))
	}
	for _, n := range u.Nodes {
		if !isWord(n) {
			return fmt.Errorf("%q is not a node name", shorten(n))
		}
	}
	for p := range strings.SplitSeq(u.Partition, ",") {
		if u.Partition != "" && !isWord(p) {
			return fmt.Errorf("%q is not a partition", shorten(p))
		}
	}
	if u.GPUType != "" && !isWord(u.GPUType) {
		return fmt.Errorf("%q is not a GPU type", shorten(u.GPUType))
	}
	if u.Comment != nil && strings.IndexByte(*u.Comment, 0) >= 0 {
		return fmt.Errorf("a zero byte in the comment")
	}
	return nil
}

// isWord reports whether s can be an element of a list without changing the list, and
// cannot be read as an option.
func isWord(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("._-", c) >= 0) {
			return false
		}
	}
	return s != "" && s[0] != '-'
}
