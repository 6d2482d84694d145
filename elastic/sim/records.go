package sim

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/elastic/audit"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// Records are what a world leaves for an audit, in the words of the real ones:
// sluiced's event log from the engine's events, slurmctld's log and the job
// completion log from the fake's own log. Virtual time may stand still while
// much happens, so each line is at least a microsecond later than the one before.
type Records struct {
	// Blind is how long slurmctld or sluiced may be away in all: moves stay open so
	// much longer.
	Blind time.Duration

	events, controller, completions strings.Builder
	last                            time.Time
	began                           map[string]time.Time // of each job's last run
	gpus                            map[string]int
}

// daemonUID is the account of the engine's client in the records; users have
// others, also in user mode, so that each one's calls can be told apart.
const daemonUID, userUID = 900, 5000

func newRecords(nodes []fake.NodeConfig) *Records {
	r := &Records{began: map[string]time.Time{}, gpus: map[string]int{}}
	for _, n := range nodes {
		r.gpus[n.Name] = n.GPUs
	}
	return r
}

// stamp is the time of the next line.
func (r *Records) stamp(at time.Time) time.Time {
	if !at.After(r.last) {
		at = r.last.Add(time.Microsecond)
	}
	r.last = at
	return at
}

// Starts notes that an engine begins its life.
func (r *Records) Starts(at time.Time) {
	r.event(at, map[string]any{"level": "info", "uid": daemonUID, "message": "sluiced starts"})
}

// Event notes what the engine said.
func (r *Records) Event(e engine.Event) {
	r.event(e.At, map[string]any{"level": "debug", "event": e.Kind, "job": e.Job, "message": e.Text})
}

func (r *Records) event(at time.Time, fields map[string]any) {
	fields["time"] = r.stamp(at).UTC().Format("2006-01-02T15:04:05.000000Z07:00")
	line, err := json.Marshal(fields)
	if err != nil {
		panic(err) // strings and numbers only
	}
	r.events.Write(append(line, '\n'))
}

// did adds a line to slurmctld's log.
func (r *Records) did(at time.Time, format string, args ...any) {
	fmt.Fprintf(&r.controller, "[%s] %s\n", r.stamp(at).UTC().Format("2006-01-02T15:04:05.000000"), fmt.Sprintf(format, args...))
}

var (
	callForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(\S+) (scontrol \w+|scancel|scancel --signal) (\d+)$`)
	})
	jobForm   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^job (\d+) (\S+)(.*)$`) })
	shareForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([^ :+]+):(\d+)`) })
)

// watch translates a line of the fake's log.
func (r *Records) watch(at time.Time, line string) {
	if m := callForm().FindStringSubmatch(line); m != nil {
		r.called(at, m[1], m[2], m[3])
		return
	}
	m := jobForm().FindStringSubmatch(line)
	if m == nil {
		return
	}
	job := m[1]
	switch word := m[2]; word {
	case "submitted":
		r.did(at, "_slurm_rpc_submit_batch_job: JobId=%s InitPrio=0 usec=1", job)
	case "runs":
		r.runs(at, job, m[3])
	case "pending":
		r.did(at, "TRACE_JOBS: deallocate_nodes: JobId=%s", job)
		r.ends(at, job, "PENDING")
	case "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "OUT_OF_MEMORY":
		r.did(at, "TRACE_JOBS: deallocate_nodes: JobId=%s", job)
		r.ends(at, job, word)
	}
}

// called is a call that was carried out.
func (r *Records) called(at time.Time, who, op, job string) {
	uid := userUID
	if who == Daemon {
		uid = daemonUID
	}
	switch op {
	case "scontrol requeue", "scontrol requeuehold":
		r.did(at, "debug2: Processing RPC: REQUEST_JOB_REQUEUE from UID=%d", uid)
		r.did(at, "debug:  _job_requeue_op: JobId=%s state 0x0 reason 0 priority 0", job)
		return
	case "scancel", "scancel --signal":
		signal := map[string]int{"scancel": 9, "scancel --signal": 10}[op]
		r.did(at, "_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=%s uid %d", job, uid)
		r.did(at, "job_signal: %d of running JobId=%s successful", signal, job)
		return
	case "scontrol hold", "scontrol uhold":
		r.did(at, "sched: _hold_job_rec: hold on JobId=%s by uid %d", job, uid)
	case "scontrol release":
		r.did(at, "sched: _release_job_rec: release hold on JobId=%s by uid %d", job, uid)
	case "scontrol update":
		r.did(at, "_update_job: setting comment to something for JobId=%s", job)
	}
	r.did(at, "_slurm_rpc_update_job: complete JobId=%s uid=%d usec=1", job, uid)
}

// runs is the start of a run.
func (r *Records) runs(at time.Time, job, place string) {
	r.began[job] = at
	r.did(at, "gres_job_state gres:gpu(7696487) type:(null)(0) job:%s flags:", job)
	var nodes []string
	split, _, _ := strings.Cut(strings.TrimPrefix(place, " on "), " restarts=")
	for i, m := range shareForm().FindAllStringSubmatch(split, -1) {
		nodes = append(nodes, m[1])
		r.did(at, "  gres_cnt_node_alloc[%d]:%s", i, m[2])
	}
	r.did(at, "sched: Allocate JobId=%s NodeList=%s #CPUs=1 Partition=gpu", job, strings.Join(nodes, ","))
}

// ends is the end of a run, or of a job that never ran.
func (r *Records) ends(at time.Time, job, state string) {
	const form = "2006-01-02T15:04:05"
	began, nodes := r.began[job], "some"
	if delete(r.began, job); began.IsZero() {
		began, nodes = at, "(null)"
	}
	fmt.Fprintf(&r.completions, "JobId=%s UserId=user(%d) GroupId=user(%d) Name=x JobState=%s Partition=gpu TimeLimit=1 StartTime=%s EndTime=%s NodeList=%s \n",
		job, userUID, userUID, state, began.UTC().Format(form), at.UTC().Format(form), nodes)
}

// Audit holds the two sides against each other.
func (r *Records) Audit() audit.Report {
	var e audit.Evidence
	var other [2][]audit.Line
	e.GPUs = r.gpus
	// Reading from memory does not fail.
	e.Events, other[0], _ = audit.ParseEvents(strings.NewReader(r.events.String()), "events")
	e.Controller, _ = audit.ParseController(strings.NewReader(r.controller.String()), "controller", time.UTC)
	e.Completions, other[1], _ = audit.ParseCompletions(strings.NewReader(r.completions.String()), "completions", time.UTC)
	for _, l := range append(other[0], other[1]...) {
		e.Notes = append(e.Notes, "not read: "+l.String())
	}
	return audit.Check(e, audit.Options{Patience: 5 * time.Minute, Open: 2*time.Hour + r.Blind})
}
