package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-hpc/sluice/slurm"
)

// The fields asked of squeue, in the order they are printed. A release that does not know
// a field prints a warning and an empty value, with the delimiters in place.
const (
	fJobID = iota
	fArrayTask
	fHetJob
	fName
	fUser
	fUID
	fAccount
	fPartition
	fQOS
	fState
	fReason
	fDependency
	fPriority
	fNumNodes
	fMaxNodes
	fNodes
	fReqNodes
	fExcNodes
	fFeature
	fLicenses
	fTresAlloc
	fTresPerJob
	fTresPerNode
	fTresPerTask
	fNumTasks
	fRestarts
	fRequeue
	fSubmit
	fEligible
	fStart
	fEnd
	fTimeLimit
	fTimeLeft
	fTimeUsed
	fExit
	fStdOut
	fWorkDir
	fComment
	jobFieldCount
)

var jobFields = [jobFieldCount]string{
	"JobID", "ArrayTaskID", "HetJobID", "Name", "UserName", "UserID", "Account", "Partition", "QOS",
	"State", "Reason", "Dependency", "PriorityLong", "NumNodes", "MaxNodes", "NodeList", "ReqNodes", "ExcNodes", "Feature", "Licenses",
	"tres-alloc", "tres-per-job", "tres-per-node", "tres-per-task", "NumTasks", "RestartCnt", "Requeue",
	"SubmitTime", "EligibleTime", "StartTime", "EndTime", "TimeLimit", "TimeLeft", "TimeUsed",
	"exit_code", "StdOut", "WorkDir", "Comment",
}

// Jobs returns all jobs of all users and states Slurm still remembers, in the
// order of their ids: one squeue, which costs slurmctld one query for the jobs
// and a small one for the partitions whatever the number of jobs. A job whose
// record holds a value that cannot be read comes back with State Unknown.
func (c *Client) Jobs(ctx context.Context) ([]slurm.Job, error) {
	details, err := c.squeue(ctx, "squeue", 0)
	if err != nil {
		return nil, err
	}
	jobs := make([]slurm.Job, len(details))
	for i := range details {
		jobs[i] = details[i].Job
	}
	return jobs, nil
}

// squeue asks for all jobs, or for one when id is not 0.
func (c *Client) squeue(ctx context.Context, op string, id slurm.JobID) ([]slurm.Detail, error) {
	d := newDelimiter()
	args := []string{"-h", "-a", "-t", "all"}
	if id != 0 {
		args = append(args, "-j", idArg(id))
	}
	out, err := c.read(ctx, op, id, "squeue", args, "SQUEUE_FORMAT2="+d.format(jobFields[:]))
	if err != nil {
		return nil, err
	}
	details, err := parseJobs(out.stdout, d)
	if err != nil {
		return nil, &slurm.Error{Op: op, JobID: id, Err: slurm.ErrGarbage, Words: clean(err.Error()), Hint: "run squeue by hand and see what it prints"}
	}
	return details, nil
}

// parseJobs reads squeue's answer. A record whose id cannot be read is left out, because
// it can be attributed to no job; if all are such, the answer is an error.
func parseJobs(out string, d delimiter) ([]slurm.Detail, error) {
	var details []slurm.Detail
	words := pool{}
	records, err := d.split(out, int(jobFieldCount), func(r []string) {
		if detail, ok := parseJob(r); ok {
			words.ofJob(&detail)
			details = append(details, detail)
		}
	})
	if err != nil {
		return nil, err
	}
	if len(details) == 0 && records > 0 {
		return nil, fmt.Errorf("%d records, and none has a job id", records)
	}
	slices.SortStableFunc(details, func(a, b slurm.Detail) int { return cmp.Compare(a.ID, b.ID) })
	return details, nil
}

// parseJob reads one record; ok is false if it has no id. Split is left empty: only
// scontrol reports it.
func parseJob(r []string) (d slurm.Detail, ok bool) {
	id, err := jobID(r[fJobID])
	if err != nil {
		return d, false
	}
	v := reader{record: r}
	j := &d.Job
	j.ID = id
	j.Array, j.Het = !empty(r[fArrayTask]), !empty(r[fHetJob]) && r[fHetJob] != "0"
	j.Name, j.User, j.WorkDir, j.Comment = text(r[fName]), text(r[fUser]), text(r[fWorkDir]), text(r[fComment])
	j.UID = v.uid(fUID)
	j.Account, j.Partition, j.QOS = text(r[fAccount]), text(r[fPartition]), text(r[fQOS])
	j.Reason, j.Dependency = reason(r[fReason]), present(r[fDependency])
	j.Restarts = v.count(fRestarts)
	j.Submit, j.Eligible, j.Start = v.time(fSubmit), v.time(fEligible), v.time(fStart)
	j.TimeLimit, j.TimeLeft = v.duration(fTimeLimit), v.duration(fTimeLeft)
	j.Nodes, j.ReqNodes, j.ExcNodes = v.hosts(fNodes), v.hosts(fReqNodes), v.hosts(fExcNodes)
	j.Constraint, j.Licenses = present(r[fFeature]), present(r[fLicenses])

	s := readState(r[fState], v.duration(fTimeUsed), j.Start, v.time(fEnd), j.TimeLimit)
	j.State, j.Completing, j.Requeued = s.base, s.completing, s.requeued
	j.Held = !j.State.Ended() && v.zero(fPriority)
	j.Priority = v.priority(fPriority)
	v.size(j)
	if j.State != slurm.Running {
		j.TimeLeft = 0
	}
	d.Requeue = r[fRequeue] == "1"
	d.StdOut = outputFile(r[fStdOut], d.Job)
	d.ExitCode, d.ExitSignal = v.exit(fExit)
	if j.State.Ended() {
		j.End = v.time(fEnd)
	}
	if v.err != nil {
		j.State = slurm.Unknown
	}
	return d, true
}

// ofJob copies the fields of a job out of the answer; its state is one of sluice's constants.
func (p pool) ofJob(d *slurm.Detail) {
	p.all(&d.Name, &d.User, &d.Account, &d.Partition, &d.QOS, &d.Reason, &d.Dependency, &d.GPUType, &d.WorkDir, &d.Comment, &d.StdOut, &d.Constraint, &d.Licenses)
	p.list(d.Nodes)
	p.list(d.ReqNodes)
	p.list(d.ExcNodes)
}

// present returns the value, "" for one of Slurm's words for none.
func present(s string) string {
	if empty(s) {
		return ""
	}
	return s
}

// jobID reads an id; lines that something printed before it are skipped.
func jobID(s string) (slurm.JobID, error) {
	s = s[strings.LastIndexByte(s, '\n')+1:]
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q is not a job id", shorten(s))
	}
	return slurm.JobID(n), nil
}

// reason returns Slurm's reason in one form: squeue prints some with blanks where
// scontrol prints underscores.
func reason(s string) string { return strings.ReplaceAll(text(s), " ", "_") }
