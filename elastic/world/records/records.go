package records

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/audit"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// Records are those of one world. The zero value keeps records; the fields MUST be set
// before the world is made.
type Records struct {
	// Blind is the longest time for which slurmctld or sluiced is down in all: moves may stay
	// open for so much longer.
	Blind time.Duration
	// Uncounted: users break comments and the store is replaced by an older one, so that the
	// last incarnation of a job may be lost.
	Uncounted bool
	// Blocked is how long one operation on a file may take at most.
	Blocked time.Duration
	// Users are the uids of users, as in the fake's Config; others have one uid in the records.
	Users map[string]uint32

	events                  [2]strings.Builder // of the daemon, and of a second one
	controller, completions strings.Builder
	last                    time.Time
	began                   map[string]time.Time // of each job's last run
	place                   map[string]string    // likewise
	gpus                    map[string]int
	uids                    map[string]uint32 // of each job's user
}

// daemonUID is the account of the engine's client in the records, and secondUID that of a second
// daemon's. Users have others, also in user mode, so that calls can be attributed.
const daemonUID, secondUID, userUID = 900, 901, 5000

// Begin is called by world.New, once.
func (r *Records) Begin(nodes []fake.NodeConfig) {
	r.began, r.place, r.gpus, r.uids = map[string]time.Time{}, map[string]string{}, map[string]int{}, map[string]uint32{}
	for _, n := range nodes {
		r.gpus[n.Name] = n.GPUs
	}
}

// stamp is the time of the next line.
func (r *Records) stamp(at time.Time) time.Time {
	if !at.After(r.last) {
		at = r.last.Add(time.Microsecond)
	}
	r.last = at
	return at
}

// Starts records the start of an engine, with the notices of its store.
func (r *Records) Starts(at time.Time, notices ...string) { r.starts(0, daemonUID, at, notices) }

// SecondStarts records the start of a second daemon beside the first.
func (r *Records) SecondStarts(at time.Time, notices ...string) { r.starts(1, secondUID, at, notices) }

func (r *Records) starts(who, uid int, at time.Time, notices []string) {
	r.event(who, at, said{Level: "info", Event: "starts", UID: uid, Message: "sluiced starts"})
	for _, n := range notices {
		r.event(who, at, said{Level: "error", Event: "emptied", Message: n})
	}
}

// Event records an event of the engine.
func (r *Records) Event(e event.Event) { r.said(0, e) }

// SecondEvent records an event of a second daemon's engine.
func (r *Records) SecondEvent(e event.Event) { r.said(1, e) }

func (r *Records) said(who int, e event.Event) {
	r.event(who, e.At, said{Level: "debug", Event: e.Kind, Job: e.Job, Message: e.Text, Fields: e.Fields})
}

// said is a line of sluiced's event log.
type said struct {
	Event   string        `json:"event,omitempty"`
	Job     elastic.JobID `json:"job"`
	Level   string        `json:"level"`
	Message string        `json:"message"`
	Time    string        `json:"time"`
	UID     int           `json:"uid,omitempty"`
	event.Fields
}

func (r *Records) event(who int, at time.Time, line said) {
	line.Time = r.stamp(at).UTC().Format("2006-01-02T15:04:05.000000Z07:00")
	raw, err := json.Marshal(line)
	if err != nil {
		panic(err) // strings and numbers only
	}
	r.events[who].Write(append(raw, '\n'))
}

// did adds a line to slurmctld's log.
func (r *Records) did(at time.Time, format string, args ...any) {
	fmt.Fprintf(&r.controller, "[%s] %s\n", r.stamp(at).UTC().Format("2006-01-02T15:04:05.000000"), fmt.Sprintf(format, args...))
}

var (
	callForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(\S+) (scontrol \w+(?: failed| pending)?|scancel|scancel --signal) (\d+)$`)
	})
	jobForm   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^job (\d+) (\S+)(.*)$`) })
	shareForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([^ :+]+):(\d+)`) })
)

// Watch translates a line of the fake's log.
func (r *Records) Watch(at time.Time, line string) {
	if line == "slurmctld forgets what it had not saved" {
		r.did(at, "slurmctld version 0 started on cluster sim")
		return
	}
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
		user, _, _ := strings.Cut(strings.TrimPrefix(m[3], " by "), ":")
		r.uids[job] = cmp.Or(r.Users[user], userUID)
		r.did(at, "_slurm_rpc_submit_batch_job: JobId=%s InitPrio=0 usec=1", job)
	case "runs":
		r.runs(at, job, m[3])
	case "recovered":
		r.recovered(at, job)
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
	switch who {
	case world.Daemon:
		uid = daemonUID
	case world.Second:
		uid = secondUID
	}
	switch op {
	case "scontrol requeuehold pending", "scontrol requeue pending": // cancels it, and brings it back
		r.did(at, "_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=%s uid %d", job, uid)
		r.did(at, "job_signal: 9 of pending JobId=%s successful", job)
		fallthrough
	case "scontrol requeue", "scontrol requeue incomplete", "scontrol requeue failed", "scontrol requeuehold", "scontrol requeuehold failed":
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
	case "scontrol update requeue":
		r.did(at, "_update_job: setting requeue to 1 for JobId=%s", job)
	case "scontrol update starttime", "scontrol update starttime now":
		r.did(at, "_update_job: setting begin to sometime for JobId=%s", job)
	case "scontrol update":
		r.did(at, "_update_job: setting comment to something for JobId=%s", job)
	}
	r.did(at, "_slurm_rpc_update_job: complete JobId=%s uid=%d usec=1", job, uid)
}

// runs records the start of a run.
func (r *Records) runs(at time.Time, job, place string) {
	r.began[job] = at
	r.place[job], _, _ = strings.Cut(strings.TrimPrefix(place, " on "), " restarts=")
	nodes := r.has(at, job)
	r.did(at, "sched: Allocate JobId=%s NodeList=%s #CPUs=1 Partition=gpu", job, strings.Join(nodes, ","))
}

// has logs the GPUs of the job's run, and returns its nodes.
func (r *Records) has(at time.Time, job string) (nodes []string) {
	r.did(at, "gres_job_state gres:gpu(7696487) type:(null)(0) job:%s flags:", job)
	for i, m := range shareForm().FindAllStringSubmatch(r.place[job], -1) {
		nodes = append(nodes, m[1])
		r.did(at, "  gres_cnt_node_alloc[%d]:%s", i, m[2])
	}
	return nodes
}

// nodes returns the nodes of the job's run.
func (r *Records) nodes(job string) string {
	var list []string
	for _, m := range shareForm().FindAllStringSubmatch(r.place[job], -1) {
		list = append(list, m[1])
	}
	return strings.Join(list, ",")
}

// recovered records a run that slurmctld recovers after it was killed.
func (r *Records) recovered(at time.Time, job string) {
	r.has(at, job)
	r.did(at, "Recovered JobId=%s StepId=batch", job)
	r.did(at, "Recovered JobId=%s Assoc=0", job)
}

// ends records the end of a run, or of a job that never ran. The job's name is chosen to look like
// other fields of the log.
func (r *Records) ends(at time.Time, job, state string) {
	const form = "2006-01-02T15:04:05"
	began, nodes := r.began[job], r.nodes(job)
	if delete(r.began, job); began.IsZero() {
		began, nodes = at, "(null)"
	}
	fmt.Fprintf(&r.completions, "JobId=%s UserId=user(%d) GroupId=user(%d) Name=x\ny JobState=FAILED JobState=%s Partition=gpu TimeLimit=1 StartTime=%s EndTime=%s NodeList=%s NodeCnt=1 ProcCnt=1 WorkDir=/ "+
		"ReservationName= Tres= Account= QOS= WcKey= Cluster=sim SubmitTime=Unknown EligibleTime=Unknown DerivedExitCode=0:0 ExitCode=0:0 \n",
		job, cmp.Or(r.uids[job], userUID), userUID, state, began.UTC().Format(form), at.UTC().Format(form), nodes)
}

// Unnoticed is the kind of a finding: I2 of the audit.
const Unnoticed = string(audit.Unnoticed)

// Findings compares both sides for each daemon, and returns the violations. Violations of I3 do not
// count for jobs that report falsely, for which liar is true.
func (r *Records) Findings(liar func(job int64) bool) (out []world.Finding) {
	report := r.report()
	for _, v := range report.Violations {
		if v.Invariant == "I3" && liar(v.Job) {
			continue // its records contain its false reports
		}
		out = append(out, world.Finding{Kind: string(v.Kind), Job: v.Job, Text: "audit: " + v.String()})
	}
	for _, n := range report.Notes {
		out = append(out, world.Finding{Text: "audit: " + n})
	}
	return out
}

// report returns the audit of all daemons' events.
func (r *Records) report() audit.Report {
	var e audit.Evidence
	e.GPUs = r.gpus
	// Reading from memory does not fail.
	e.Controller, _ = audit.ParseController(strings.NewReader(r.controller.String()), "controller", time.UTC)
	var other []audit.Line
	e.Completions, other, _ = audit.ParseCompletions(strings.NewReader(r.completions.String()), "completions", time.UTC)
	report := r.audit(0, e, other)
	if r.events[1].Len() > 0 {
		second := r.audit(1, e, nil)
		report.Violations = append(report.Violations, second.Violations...)
		report.Notes = append(report.Notes, second.Notes...)
	}
	// Two daemons on copies of a store assign incarnations independently, and overwrite each
	// other's: there an incarnation that is used twice is no violation.
	if r.Uncounted || r.events[1].Len() > 0 {
		report.Violations = slices.DeleteFunc(report.Violations, func(v audit.Violation) bool {
			return v.Kind == audit.GivenAgain
		})
	}
	return report
}

// audit compares one daemon's events with Slurm's records.
func (r *Records) audit(who int, e audit.Evidence, other []audit.Line) audit.Report {
	events, more, _ := audit.ParseEvents(strings.NewReader(r.events[who].String()), []string{"events", "events of the second"}[who])
	e.Events = events
	for _, l := range append(other, more...) {
		e.Notes = append(e.Notes, "not read: "+l.String())
	}
	return audit.Check(e, audit.Options{Patience: 5 * time.Minute, Open: 2*time.Hour + r.Blind, Window: 2*time.Minute + 4*r.Blocked})
}
