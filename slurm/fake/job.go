package fake

import (
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// hold is the kind of hold that keeps a job from starting.
type hold int

const (
	notHeld hold = iota
	userHold
	adminHold
)

// want is what a job requests.
type want struct {
	minNodes, maxNodes int
	perNode, total     int // GPUs; at most one is set
	gpuType            string
	tasks              int
	perTask, perGPU    int // CPUs
	cpus               int // minimum of CPUs in all
	memPerGPU          int // megabytes; 0 = not requested in this form
	req                []string
	exclude            []string
	constraint         string
}

// gpus returns what the queue shows for a pending job.
func (w want) gpus() int {
	if w.total > 0 {
		return w.total
	}
	return w.perNode * w.minNodes
}

// job is Slurm's record of a job.
type job struct {
	id      slurm.JobID
	name    string
	user    string
	account string
	qos     string
	part    string   // the one it is in, or is tried in
	parts   []string // all that it may use
	comment string
	dir     string
	stdout  string
	// reservation is the one it was submitted into.
	reservation string
	depends     []term // those not yet satisfied
	licenses    string
	want        want
	limit       time.Duration // requested; 0 = none, or unlimited
	endless     bool          // without end
	granted     time.Duration // limit of the present run; 0 = unlimited
	// cpusWritten: an operator wrote its number of CPUs, which no limit binds then.
	cpusWritten bool

	state      slurm.State
	completing bool
	requeued   bool // shown during clean-up of the last run
	held       hold
	reason     string
	prio       int64
	requeue    bool // Requeue=1
	restarts   int

	first, submit time.Time // first and latest submit
	begin         time.Time
	start, end    time.Time
	killed        time.Time // last kill: a launch in the same second is revoked
	exitCode      int
	exitSignal    int

	ranOn   []string // nodes of its last run, once it has ended
	counted []string // nodes on which slurmctld still counts a pending job
	split   []slurm.GPUShare
	cpusOn  map[string]int
	billed  int       // since its first run, whatever its size since
	from    time.Time // when the split was set
	program Program
	run     *Run
	limitEv *event
	drainEv *event
	next    func() // carried out when COMPLETING is over
}

// view is the job as the bulk query shows it.
func (j *job) view(f *Fake) slurm.Job {
	v := slurm.Job{
		ID: j.id, Name: j.name, User: j.user, UID: f.uid(j.user), Account: j.account,
		Partition: j.part, QOS: j.qos,
		State: j.state, Completing: j.completing, Requeued: j.requeued,
		Held: j.held != notHeld || j.reason == badConstraints, Reason: j.reason,
		GPUs: j.want.gpus(), GPUType: j.want.gpuType, NodeCount: j.want.minNodes,
		ReqNodes: slices.Clone(j.want.req), ExcNodes: slices.Clone(j.want.exclude), Constraint: j.want.constraint, Licenses: j.licenses, Restarts: j.restarts,
		Submit: second(j.submit), Eligible: second(j.begin), TimeLimit: f.limitOf(j),
		WorkDir: j.dir, Comment: j.comment, StdOut: j.stdout,
	}
	if !v.Held {
		v.Priority = f.priority(j)
	}
	if j.state.Ended() && !j.completing {
		v.Nodes = slices.Clone(j.ranOn)
		v.End, v.ExitCode, v.ExitSignal = second(j.end), j.exitCode, j.exitSignal
	}
	if j.state == slurm.Pending {
		v.Dependency = dependencyText(j.depends)
		v.Partition = strings.Join(j.parts, ",")
		v.Nodes = slices.Clone(j.counted)
	}
	if len(j.split) > 0 {
		v.GPUs, v.NodeCount, v.Nodes = 0, len(j.split), nil
		for _, s := range j.split {
			v.GPUs += s.GPUs
			v.Nodes = append(v.Nodes, s.Node)
		}
		if f.limits.Enforced {
			v.Billing = f.has(j, slurm.OfBilling)
		}
	}
	if j.completing && j.state.Ended() {
		v.State = slurm.Unknown // Slurm shows COMPLETING and hides how the job ended
	}
	switch {
	case j.state != slurm.Pending || j.completing:
		v.Start = second(j.start)
	case j.begin.After(f.now):
		v.Start = second(j.begin)
	}
	if j.state == slurm.Running && j.granted > 0 {
		v.TimeLeft = max(0, j.granted-f.now.Sub(j.start)).Truncate(time.Second)
	}
	return v
}

// detail is the job as the per-job query shows it.
func (j *job) detail(f *Fake) slurm.Detail {
	d := slurm.Detail{Job: j.view(f), Requeue: j.requeue}
	d.Reason = strings.ReplaceAll(d.Reason, " ", "_") // as scontrol prints it
	if j.completing {
		return d // the split is no longer reported
	}
	for _, s := range j.split {
		s.IDs = slices.Clone(s.IDs)
		d.Split = append(d.Split, s)
	}
	return d
}

// second truncates to whole seconds, as Slurm does.
func second(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Truncate(time.Second)
}

// pendingReason is the reason that a pending job shows before the scheduler has tried it.
func (j *job) pendingReason(now time.Time) string {
	switch {
	case j.held == userHold:
		return "JobHeldUser"
	case j.held == adminHold:
		return "JobHeldAdmin"
	case j.begin.After(now):
		return "BeginTime"
	}
	return "None"
}
