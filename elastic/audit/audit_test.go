package audit

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden files; read the diff before committing it")

// records are the texts of a short correct history: job 1 gives half of its GPUs to job 2.
type records map[string]string

// names of the records, as the edits below call them.
const (
	events = "sluiced.log"
	slurm  = "log/slurmctld.log"
	comp   = "log/jobcomp.log"
	conf   = "etc/slurm.conf"
	shown  = "log/jobs.txt"
)

func clean(t testing.TB) records { return kept(t, "clean", events, slurm, comp, conf, shown) }

// kept are the records in a folder of testdata.
func kept(t testing.TB, dir string, names ...string) records {
	t.Helper()
	r := records{}
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join("testdata", dir, name))
		if err != nil {
			t.Fatal(err)
		}
		r[name] = string(b)
	}
	return r
}

// check reads the records as Read does, from memory.
func (r records) check(t testing.TB, o Options) Report {
	t.Helper()
	dir := t.TempDir()
	for name, text := range r {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	e, err := Read(Site(dir), time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	return Check(e, o)
}

// forger changes records.
type forger func(t testing.TB, r records)

// swap replaces every occurrence; there must be at least one.
func swap(file, from, to string) forger {
	return func(t testing.TB, r records) {
		t.Helper()
		if !strings.Contains(r[file], from) {
			t.Fatalf("%s holds no %q", file, from)
		}
		r[file] = strings.ReplaceAll(r[file], from, to)
	}
}

// drop removes the lines that hold all the parts; there must be at least one.
func drop(file string, parts ...string) forger {
	return func(t testing.TB, r records) {
		t.Helper()
		var kept []string
		n := 0
		for line := range strings.Lines(r[file]) {
			all := true
			for _, p := range parts {
				all = all && strings.Contains(line, p)
			}
			if all {
				n++
				continue
			}
			kept = append(kept, line)
		}
		if n == 0 {
			t.Fatalf("%s has no line with %q", file, parts)
		}
		r[file] = strings.Join(kept, "")
	}
}

// put adds lines before the first line that holds the mark.
func put(file, mark string, lines ...string) forger {
	return func(t testing.TB, r records) {
		t.Helper()
		at := strings.Index(r[file], mark)
		if at < 0 {
			t.Fatalf("%s holds no %q", file, mark)
		}
		at = strings.LastIndex(r[file][:at], "\n") + 1
		r[file] = r[file][:at] + strings.Join(lines, "\n") + "\n" + r[file][at:]
	}
}

// said returns a line of sluiced's event log about a job, with the fields that events of the
// kind have.
func said(at, kind, job, fields, text string) string {
	return `{"level":"info","event":"` + kind + `","job":` + job + `,` + fields + `,"time":"2026-11-21T` + at + `Z","message":"` + text + `"}`
}

// did returns a line of slurmctld's log.
func did(at, text string) string { return "[2026-11-21T" + at + "] " + text }

const token1, token2 = "ff20f7b485066fd43063a6ed06c15d66", "453f83ffccdbd909729ea1c67a0ea989"

// forged are records that break one invariant each, by the name of the golden file that holds
// what the audit says about them.
var forged = map[string][]forger{
	// I1
	"two-runs-at-once": {drop(slurm, "12:00:12", "deallocate_nodes: JobId=1"), drop(slurm, "Requeuing JobId=1")},
	"runs-overlap":     {swap(comp, "EndTime=2026-11-21T12:00:12", "EndTime=2026-11-21T12:00:17")},
	"token-twice":      {swap(slurm, token2, token1)},
	"incarnation-again": {swap(events, `"target":"gpu1:2","incarnation":2`, `"target":"gpu1:2","incarnation":1`),
		swap(slurm, " inc=2 ", " inc=1 ")},
	// I2
	"end-unnoticed":         {drop(events, `"ended"`, `"job":2`)},
	"end-unnoticed-cleaned": {drop(events, `"ended"`, `"job":2`), put(slurm, "_job_complete: JobId=1 WEXITSTATUS", cleanedAt("12:01:02.000", "2"))},
	"ended-runs-on":         {put(events, "R6 released", said("12:00:01.050", "ended", "1", `"state":"forgotten by Slurm"`, "forgotten by Slurm"))},
	"move-left-open":        {drop(events, `"close"`, `"job":2`)},
	"never-taken-up": {put(slurm, "12:01:00.000", did("12:00:30.000", "_slurm_rpc_submit_batch_job: JobId=3 InitPrio=0 usec=300")),
		put(shown, "JobId=1", "JobId=3 JobName=x UserId=ada(1000) JobState=PENDING Reason=JobHeldUser Comment=sluice/1 id="+token1[:31]+"0 inc=0 min=1")},
	// I3
	"stopped-unsaved":   {drop(events, "R3 checkpoint 00000001 verified")},
	"checkpoint-older":  {put(events, "R3 checkpoint 00000001", said("12:00:11.900", "step", "1", `"step":3,"checkpoint":"00000005"`, "R3 checkpoint 00000005 verified"))},
	"began-from-older":  {swap(events, `"checkpoint":"00000001","run":1,`, `"run":1,`)},
	"stopped-long-done": {put(events, `"ended","job":2`, said("12:00:50.000", "act", "1", `"act":"requeue"`, "requeue and hold job 1"))},
	"stranded-long-ago": {put(events, `"ended","job":2`, said("12:00:30.000", "stranded", "2", `"run":0`, "run 0: its script is ended"),
		said("12:00:31.000", "run", "2", `"incarnation":1,"run":1,"began":"2026-11-21T12:00:30.500Z"`, "run 1 of incarnation 1 began at 2026-11-21T12:00:30.500Z from nothing"), said("12:00:32.000", "act", "2", `"act":"requeue"`, "requeue and hold job 2"))},
	// I4
	"too-many-gpus": {swap(slurm, "gres_bit_alloc[0]:2-3 of 4", "gres_bit_alloc[0]:1-3 of 4"), wider},
	"one-gpu-twice": {swap(slurm, "gres_bit_alloc[0]:2-3 of 4", "gres_bit_alloc[0]:1-2 of 4")},
	"aims-too-high": {swap(events, `"move":"start","target":"gpu1:4"`, `"move":"start","target":"gpu1:5+gpu9:1"`)},
	"wrong-place":   {swap(events, `"job":2,"outcome":"done","on":"gpu1:2"`, `"job":2,"outcome":"done","on":"gpu2:2"`)},
	// I5
	"never-announced":   {drop(events, `"act"`, "release job 2")},
	"announced-late":    {swap(events, "12:00:12.521", "12:00:12.535")},
	"cancelled-in-move": {put(events, "R3 checkpoint 00000001", said("12:00:11.900", "act", "1", `"act":"cancel"`, "cancel job 1, a lane of a sweep that is over"))},
	"without-a-move":    {drop(events, `"open"`, "resize gpu1:4")},
	"other-incarnation": {swap(slurm, " inc=2 min=1 max=4 total=60 unit=epoch for", " inc=3 min=1 max=4 total=60 unit=epoch for")},
	"requeued-twice": {put(slurm, "Requeuing JobId=1", did("12:00:12.050", "debug2: Processing RPC: REQUEST_JOB_REQUEUE from UID=64030"),
		did("12:00:12.051", "debug:  _job_requeue_op: JobId=1 state 0x8000 reason 16 priority 0"))},
	"cancelled": {put(slurm, "12:01:00.000", did("12:00:30.000", "_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=2 uid 64030"),
		did("12:00:30.001", "job_signal: 9 of running JobId=2 successful 0x1"))},
	"signalled": {put(slurm, "12:01:00.000", did("12:00:30.000", "_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=2 uid 64030"),
		did("12:00:30.001", "job_signal: 10 of running JobId=2 successful 0x1"))},
	// I8
	"owner-of-foreign": {put(events, `"close","job":2`, service,
		said("12:00:20.000", "adopted", "2", `"owner":"bob","slurm_uid":64031`, "two.sh of bob"))},
	"owner-by-its-own-words": {put(events, `"close","job":2`, service,
		said("12:00:20.000", "adopted", "2", `"owner":"bob","slurm_uid":1000`, "two.sh of bob"))},
	"owner-without-account": {put(events, `"close","job":2`,
		said("12:00:20.000", "adopted", "2", `"owner":"bob","slurm_uid":1000`, "two.sh of bob"))},
	"foreign-job": {put(slurm, "12:01:00.000", did("12:00:30.000", "sched: _hold_job_rec: hold on JobId=7 by uid 64030"),
		did("12:00:30.001", "_slurm_rpc_update_job: complete JobId=7 uid=64030 usec=100"))},
}

// service is the line in which sluiced says which account's jobs belong to others.
const service = `{"level":"info","event":"confined","account":"sluice-data","slurm_uid":64031,"time":"2026-11-21T12:00:01.000Z","message":"jobs of sluice-data"}`

// cleanedAt returns slurmctld's line that the last node of a job's run has been cleaned up.
func cleanedAt(at, job string) string {
	return did(at, "TRACE_JOBS: cleanup_completing: JobId="+job)
}

// requeued are slurmctld's lines about a requeue of job 2 by sluiced.
var requeued = []string{did("12:00:30.010", "debug2: Processing RPC: REQUEST_JOB_REQUEUE from UID=64030"),
	did("12:00:30.011", "debug:  _job_requeue_op: JobId=2 state 0x8000 reason 16 priority 0")}

// TestServiceAccountOfTheOptions: the uid that the caller names wins over the one that sluiced logged.
func TestServiceAccountOfTheOptions(t *testing.T) {
	r := clean(t)
	swap(comp, "UserId=ada(1000)", "UserId=sluice-data(64031)")(t, r)
	put(events, `"close","job":2`, service, said("12:00:20.000", "adopted", "2", `"owner":"bob","slurm_uid":64031`, "two.sh of bob"))(t, r)
	for uid, want := range map[int64]int{0: 0, 64031: 0, 64032: 1} {
		if report := r.check(t, Options{Patience: options.Patience, Open: options.Open, Confined: uid}); len(report.Violations) != want {
			t.Errorf("uid %d: %s", uid, report)
		}
	}
}

// wider gives job 2 a third GPU.
func wider(t testing.TB, r records) {
	head, tail, found := strings.Cut(r[slurm], "job:2 flags:")
	if !found {
		t.Fatal("job 2 got nothing")
	}
	r[slurm] = head + "job:2 flags:" + strings.ReplaceAll(tail, "gres_cnt_node_alloc[0]:2", "gres_cnt_node_alloc[0]:3")
}

var options = Options{Patience: 30 * time.Second, Open: 2 * time.Minute}

func TestCleanStory(t *testing.T) {
	r := clean(t).check(t, options)
	want := Tally{Jobs: 2, Runs: 3, Changes: 11, Moves: 3, Checkpoints: 1, Starts: 3, Boots: 1, Lives: 1}
	if !r.Clean() || len(r.Notes) > 0 || r.Tally != want {
		t.Errorf("tally %+v, want %+v\n%s", r.Tally, want, r)
	}
}

// TestForged: every broken invariant is found, with its job, its time and the lines of both
// sides.
func TestForged(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(forged)) {
		t.Run(name, func(t *testing.T) {
			r := clean(t)
			for _, change := range forged[name] {
				change(t, r)
			}
			report := r.check(t, options)
			if report.Clean() {
				t.Error("nothing was found")
			}
			golden(t, name, report.String())
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; if that is meant, run with -update and read the diff. Got:\n%s", path, got)
	}
}

// TestNoFalseViolations: what only looks like a violation is not reported.
func TestNoFalseViolations(t *testing.T) {
	for name, changes := range map[string][]forger{
		"a confined job": {swap(comp, "UserId=ada(1000)", "UserId=sluice-data(64031)"), put(events, `"close","job":2`, service,
			said("12:00:20.000", "adopted", "2", `"owner":"bob","slurm_uid":64031`, "two.sh of bob"))},
		"a newer checkpoint was bad": {swap(events, `"checkpoint":"00000001","run":1,`, `"run":1,"passed":["00000001"],`)},
		"slurmctld went back to an older state": {drop(slurm, "12:00:12", "deallocate_nodes: JobId=1"), drop(slurm, "Requeuing JobId=1"),
			put(slurm, "12:00:14.200", did("12:00:13.000", "slurmctld version 22.05.8 started on cluster lab0"))},
		"a user requeued, after sluiced had asked for what was done already": {put(slurm, "12:01:00.000",
			did("12:00:28.000", "debug2: Processing RPC: REQUEST_JOB_REQUEUE from UID=64030"),
			did("12:00:30.000", "debug2: Processing RPC: REQUEST_JOB_REQUEUE from UID=1000"),
			did("12:00:30.001", "debug:  _job_requeue_op: JobId=2 state 0x8000 reason 16 priority 0"))},
		"a user requeued": {put(slurm, "12:01:00.000", did("12:00:30.000", "debug2: Processing RPC: REQUEST_JOB_REQUEUE from UID=1000"),
			did("12:00:30.001", "debug:  _job_requeue_op: JobId=2 state 0x8000 reason 16 priority 0"))},
		"sluiced died before it could tell that it opened a move": {drop(events, `"open"`, "resize gpu1:4"),
			put(events, "ask job 1", said("12:00:10.001", "taken", "1", `"move":"resize","target":"gpu1:2","incarnation":2,"step":1`, "resize gpu1:4 -> gpu1:2, incarnation 2, at R1"))},
		"a run is logged again": {put(events, `"ended","job":2`, said("12:00:40.000", "step", "1", `"step":3,"checkpoint":"00000002"`, "R3 checkpoint 00000002 verified"),
			said("12:00:41.000", "run", "1", `"incarnation":2,"checkpoint":"00000001","run":1,"began":"2026-11-21T12:00:14.400Z"`, "run 1 of incarnation 2 began at 2026-11-21T12:00:14.400Z from checkpoint 00000001"))},
		"sluiced was not there": {drop(events, `"ended","job":1`), swap(events, "12:05:00.000", "12:02:00.500")},
		"slurmctld could not be asked": {drop(events, `"ended","job":1`),
			put(events, "sluiced stops", `{"level":"warn","event":"blind","time":"2026-11-21T12:01:30.000Z","message":"no answer"}`)},
		"Slurm still cleans it away, from a node that does not answer": {drop(events, `"ended","job":2`), put(slurm, "_job_complete: JobId=1 WEXITSTATUS", cleanedAt("12:01:50.000", "1"))},
		"Slurm has cleaned it away only now":                           {drop(events, `"ended","job":2`), put(slurm, "_job_complete: JobId=1 WEXITSTATUS", cleanedAt("12:04:50.000", "2"))},
		"Slurm requeued it, and cleans it away still": {drop(events, `"ended","job":2`), swap(comp, "Name=two.sh JobState=COMPLETED", "Name=two.sh JobState=NODE_FAIL"),
			put(slurm, "_job_complete: JobId=2 done", did("12:01:00.000", "_job_complete: requeue JobId=2 per user/system request"))},
		"a job was stranded": {put(events, `"ended","job":2`, said("12:00:30.000", "stranded", "2", `"run":0`, "run 0: its script is ended"),
			said("12:00:30.001", "act", "2", `"act":"requeue"`, "requeue and hold job 2")), put(slurm, "12:01:00.000", requeued...)},
		"the store was emptied": {drop(events, `"ended","job":1`), put(events, "sluiced stops",
			`{"level":"error","event":"emptied","time":"2026-11-21T12:02:00.500Z","message":"the store /s/sluice.db was damaged (x): it is kept as y and an empty one is started; z"}`)},
		"sluiced was killed before it could tell that it closed a move": {drop(events, `"close"`, `"job":2`),
			put(events, `"ended","job":2`, `{"level":"info","event":"starts","uid":64030,"time":"2026-11-21T12:00:30.000Z","message":"sluiced starts"}`)},
		"the number was given again": {put(events, "R6 released", said("12:00:01.050", "ended", "1", `"state":"forgotten by Slurm"`, "forgotten by Slurm")),
			put(slurm, "JobId=2 InitPrio", did("12:00:01.040", "_slurm_rpc_submit_batch_job: JobId=1 InitPrio=0 usec=300"))},
		"the number was given to an ordinary job": {drop(events, `"ended","job":2`),
			put(slurm, "12:01:00.000", did("12:00:50.000", "_slurm_rpc_submit_batch_job: JobId=2 InitPrio=0 usec=300"))},
	} {
		t.Run(name, func(t *testing.T) {
			r := clean(t)
			for _, change := range changes {
				change(t, r)
			}
			if report := r.check(t, options); !report.Clean() {
				t.Errorf("%s", report)
			}
		})
	}
}

// TestReusedJobNumber: after slurmctld forgot a job and reused its number, the checkpoints of
// the old job say nothing about the new one, also if sluiced ended the old job's move later and
// never logged that it adopted the new job. Checkpoints of the same job do count.
func TestReusedJobNumber(t *testing.T) {
	at := func(s int, kind string, f Fields) Event {
		when := time.Date(2026, 11, 21, 12, 0, s, 0, time.UTC)
		return Event{Line: Line{Number: s, At: when}, Job: 1, Kind: kind, Fields: f}
	}
	began := func(s, run int, from string) Event {
		return at(s, "run", Fields{Run: run, Incarnation: 1, Began: fmt.Sprintf("2026-11-21T12:00:%02dZ", s), Checkpoint: from})
	}
	over := []Event{began(1, 1, "00000001"), at(3, "ended", Fields{State: "forgotten by Slurm"}), at(3, "close", Fields{Outcome: "ended", State: "forgotten by Slurm"})}
	for token, want := range map[string]int{"41fb60dbe63324060d659b80086ba823": 0, "": 1} { // without a token it is the same job again
		c := &check{Evidence: Evidence{Events: append(slices.Clone(over), at(5, "adopted", Fields{Token: token}), began(7, 0, ""))}}
		if c.noLostProgress(); len(c.report.Violations) != want {
			t.Errorf("%q: %v", token, c.report.Violations)
		}
	}
	// A daemon that knew the job from its store adopts no job under its number again, unless the store
	// was emptied.
	adopted := at(5, "adopted", Fields{Token: "41fb60dbe63324060d659b80086ba823"})
	for _, emptied := range []bool{false, true} {
		events := []Event{began(1, 1, "00000001")}
		if emptied {
			events = append(events, Event{Line: Line{Number: 4, At: adopted.At}, Kind: "emptied"})
		}
		c := &check{Evidence: Evidence{Events: append(events, adopted, began(7, 0, ""))}}
		if c.noLostProgress(); len(c.report.Violations) > 0 != emptied {
			t.Errorf("emptied %v: %v", emptied, c.report.Violations)
		}
	}
}

// TestEndedJobsInTheSavedState: a slurmctld that starts lists jobs that had ended, with their
// allocations. They hold no GPUs unless a step of them still runs.
func TestEndedJobsInTheSavedState(t *testing.T) {
	listed := func(job, count, bits string) []string {
		at := "12:01:10.000"
		return []string{did(at, "gres_job_state gres:gpu(7696487) type:(null)(0) job:"+job+" flags:"), did(at, "  node_cnt:1"),
			did(at, "  gres_cnt_node_alloc[0]:"+count), did(at, "  gres_bit_alloc[0]:"+bits+" of 4")}
	}
	for found, want := range map[string]bool{"": true, "Recovered JobId=2 StepId=batch": false} {
		r := clean(t)
		lines := []string{did("12:01:10.000", "slurmctld version 22.05.8 started on cluster lab0")}
		lines = append(append(lines, listed("1", "2", "0-1")...),
			did("12:01:10.000", "Recovered JobId=1 StepId=batch"), did("12:01:10.000", "Recovered JobId=1 Assoc=0"))
		lines = append(lines, listed("2", "2", "2-3")...)
		if found != "" {
			lines = append(lines, did("12:01:10.000", found))
		}
		lines = append(append(append(lines, did("12:01:10.000", "Recovered JobId=2 Assoc=0")), listed("9", "2", "2-3")...),
			did("12:01:20.000", "sched: Allocate JobId=9 NodeList=gpu1 #CPUs=1 Partition=gpu"))
		put(slurm, "12:02:00.000", lines...)(t, r)
		if report := r.check(t, options); report.Clean() != want {
			t.Errorf("%q: clean=%t, want %t\n%s", found, report.Clean(), want, report)
		}
	}
}

// TestEveryEffectNeedsItsAnnouncement: no announcement of an effect in Slurm can be missing unnoticed.
func TestEveryEffectNeedsItsAnnouncement(t *testing.T) {
	whole := clean(t)
	for line := range strings.Lines(whole[events]) {
		if !strings.Contains(line, `"act"`) || strings.Contains(line, "withdraw") || strings.Contains(line, "ask job") {
			continue
		}
		r := maps.Clone(whole)
		r[events] = strings.Replace(whole[events], line, "", 1)
		if r.check(t, options).Clean() {
			t.Errorf("not missed: %s", line)
		}
	}
}

// TestNotes: what could not be checked is reported as such, not passed.
func TestNotes(t *testing.T) {
	for want, change := range map[string]forger{
		"does not name the account":        swap(events, `"uid":64030,`, ""),
		"belongs to sluiced's own account": swap(events, `"uid":64030,`, `"uid":1000,`),
		"when GPUs were freed":             drop(slurm, "TRACE_JOBS"),
		"3 lines of sluiced's log lack":    swap(events, `"act":"withdraw",`, ""),
		"1 lines of sluiced.log":           put(events, "R5", "panic: something"),
		"1 lines of jobcomp.log":           put(comp, "JobId=2", "JobId=junk"),
	} {
		r := clean(t)
		change(t, r)
		if notes := strings.Join(r.check(t, options).Notes, "\n"); !strings.Contains(notes, want) {
			t.Errorf("no note that says %q: %q", want, notes)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := Read(Site(dir), time.UTC); err == nil || !strings.Contains(err.Error(), "sluiced.log") {
		t.Errorf("read nothing: %v", err)
	}
	p := Site(filepath.Join("testdata", "clean"))
	p.Events = p.Conf
	if _, err := Read(p, time.UTC); err == nil || !strings.Contains(err.Error(), `format = "json"`) {
		t.Errorf("read an event log that is none: %v", err)
	}
	p.Events = dir
	if _, err := Read(p, time.UTC); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("read a directory: %v", err)
	}
}
