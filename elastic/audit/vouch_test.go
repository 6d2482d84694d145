package audit

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// inJobcomp returns a record of the job completion log.
func inJobcomp(job, user, name, state, start, end, nodes, dir string) string {
	return "JobId=" + job + " UserId=" + user + " GroupId=" + user + " Name=" + name + " JobState=" + state + " Partition=gpu TimeLimit=60 StartTime=2026-11-21T" + start +
		" EndTime=2026-11-21T" + end + " NodeList=" + nodes + " NodeCnt=1 ProcCnt=1 WorkDir=" + dir +
		" ReservationName= Tres=cpu=1 Account= QOS= WcKey= Cluster=unknown SubmitTime=2026-11-21T12:00:00 EligibleTime=2026-11-21T12:00:01 DerivedExitCode=0:0 ExitCode=0:0 "
}

const (
	ada    = "ada(1000)"
	daemon = "slurm(64030)"
)

// stranger9 is job 9 of a hostile user, cancelled before it ran, with this name.
func stranger9(name string) forger {
	return func(t testing.TB, r records) {
		put(comp, "JobId=1", inJobcomp("9", "eve(1001)", name, "CANCELLED", "12:00:30", "12:00:30", "(null)", "/home/eve"))(t, r)
	}
}

// whole returns a job name that turns the record of a hostile user into three, of which the
// user chooses the second.
func whole(forged string) string {
	mine := inJobcomp("9", "eve(1001)", "a", "CANCELLED", "12:00:30", "12:00:30", "(null)", "/home/eve")
	return strings.TrimPrefix(mine, "JobId=9 UserId=eve(1001) GroupId=eve(1001) Name=") + "\n" + forged + "\nJobId=9 UserId=eve(1001) GroupId=eve(1001) Name=b"
}

// hostile are names that forge records of other jobs in the job completion log, and what the
// audit says about them.
var hostile = map[string]struct {
	name, note string
}{
	"a line break":                              {"a\nb", ""},
	"a field":                                   {"a JobState=FAILED", ""},
	"fields of its own":                         {"a" + strings.TrimPrefix(inJobcomp("9", "", "", "COMPLETED", "12:00:02", "12:00:30", "gpu1", "/x"), "JobId=9 UserId= GroupId= Name="), ""},
	"the head of a job that runs":               {"a\nJobId=1 UserId=" + ada + " GroupId=" + ada + " Name=x", "1 records in jobcomp.log contradict slurmctld's log"},
	"the head of sluiced's own":                 {"a\nJobId=2 UserId=" + daemon + " GroupId=" + daemon + " Name=x", "1 records in jobcomp.log contradict slurmctld's log"},
	"a record of a job that runs":               {"a\n" + inJobcomp("1", ada, "x", "FAILED", "12:00:02", "12:00:05", "gpu1", "/"), "1 records in jobcomp.log contradict"},
	"a whole record of a job that runs":         {whole(inJobcomp("1", ada, "x", "CANCELLED", "12:00:02", "12:00:05", "gpu1", "/")), "1 records in jobcomp.log contradict"},
	"a complete record of a job that never ran": {whole(inJobcomp("1", ada, "x", "CANCELLED", "12:00:40", "12:00:40", "(null)", "/")), "1 records in jobcomp.log contradict"},
	"a whole record on other nodes":             {whole(inJobcomp("1", ada, "x", "CANCELLED", "12:00:02", "12:00:12", "gpu2", "/")), "1 records in jobcomp.log contradict"},
	"a run that overlaps":                       {whole(inJobcomp("1", ada, "x", "PENDING", "12:00:07", "12:00:20", "gpu1", "/")), "1 records in jobcomp.log contradict"},
	"what was, of another user":                 {whole(inJobcomp("1", daemon, "x", "PENDING", "12:00:02", "12:00:12", "gpu1", "/")), "when jobs [1] ended cannot be determined"},
	"what was, with another end":                {whole(inJobcomp("2", ada, "x", "PENDING", "12:00:14", "12:00:58", "gpu1", "/")), "when jobs [2] ended cannot be determined"},
	"a record of a job that was not there":      {whole(inJobcomp("77", ada, "x", "COMPLETED", "12:00:02", "12:00:12", "gpu1", "/")), "1 records in jobcomp.log contradict"},
	"a record without an end":                   {"a\nJobId=5 UserId=" + ada, ""},
	"an end, and a second name":                 {strings.TrimPrefix(inJobcomp("9", "", "a", "FAILED", "12:00:10", "12:00:10", "(null)", "/"), "JobId=9 UserId= GroupId= Name=") + "\nfoo", ""},
	"more heads than are read":                  {"a" + strings.Repeat("\nJobId=1 UserId="+ada+" GroupId="+ada+" Name=x", 3*maxReadings), "lines of jobcomp.log cannot be read"},
	"more fields than are read":                 {"a" + strings.Repeat(strings.TrimPrefix(inJobcomp("9", "", "", "FAILED", "12:00:02", "12:00:30", "gpu1", "/x"), "JobId=9 UserId= GroupId= Name="), 2*maxReadings), "1 lines of jobcomp.log cannot be read"},
	"more bytes than are read":                  {"a\n" + strings.Repeat("x", maxRecord), ""},
	"controls that a terminal would act on":     {"a\x1b[31m\r\x00b", ""},
}

// TestHostileNames: whatever name a job has, it causes no false report, and real violations are
// still found.
func TestHostileNames(t *testing.T) {
	cancelled := put(slurm, "12:01:00.000", did("12:00:20.000", "_slurm_rpc_submit_batch_job: JobId=9 InitPrio=0 usec=300"),
		did("12:00:30.100", "_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=9 uid 1001"), did("12:00:30.101", "job_signal: 9 of pending JobId=9 successful"))
	for name, h := range hostile {
		t.Run(name, func(t *testing.T) {
			r := clean(t)
			cancelled(t, r)
			stranger9(h.name)(t, r)
			report := r.check(t, options)
			if !report.Clean() {
				t.Errorf("accused: %s", report)
			}
			if notes := strings.Join(report.Notes, "\n"); h.note != "" && !strings.Contains(notes, h.note) || h.note == "" && strings.Contains(notes, "jobs [") {
				t.Errorf("noted %q, want %q", notes, h.note)
			}
			for _, broken := range []string{"token-twice", "never-announced", "end-unnoticed", "wrong-place"} {
				r := clean(t)
				for _, change := range append(forged[broken], cancelled, stranger9(h.name)) {
					change(t, r)
				}
				if report := r.check(t, options); report.Clean() && !strings.Contains(strings.Join(report.Notes, ""), "cannot be determined") {
					t.Errorf("%s passed unseen: %s", broken, report)
				}
			}
		})
	}
}

// TestJobWithAHostileName: a job with a hostile name is checked like any other.
func TestJobWithAHostileName(t *testing.T) {
	for name, h := range hostile {
		rename := func(t testing.TB, r records) { swap(comp, "Name=two.sh", "Name="+h.name)(t, r) }
		if strings.Contains(h.note, "cannot") {
			continue
		}
		r := clean(t)
		rename(t, r)
		if report := r.check(t, options); !report.Clean() {
			t.Errorf("%s: accused: %s", name, report)
		}
		for _, change := range forged["end-unnoticed"] {
			change(t, r)
		}
		report := r.check(t, options)
		if notes := strings.Join(report.Notes, "\n"); report.Clean() && !strings.Contains(notes, "jobcomp.log") {
			t.Errorf("%s: its end passed unseen, and nothing is said: %s", name, report)
		}
	}
}

// TestRequeuedWhenItHadEnded: slurmctld writes two records of such a run.
func TestRequeuedWhenItHadEnded(t *testing.T) {
	r := clean(t)
	put(comp, "JobId=2", inJobcomp("1", ada, "one.sh", "FAILED", "12:00:02", "12:00:12", "gpu1", "/home/ada"))(t, r)
	lines := strings.SplitAfter(r[comp], "\n")
	lines[0], lines[1] = lines[1], lines[0]
	r[comp] = strings.Join(lines, "")
	if report := r.check(t, options); !report.Clean() || len(report.Notes) > 0 {
		t.Errorf("%s", report)
	}
}

// TestLogThatBeginsLate: nothing is known of the time before the log, and plausible records of
// it are trusted.
func TestLogThatBeginsLate(t *testing.T) {
	r := clean(t)
	_, late, _ := strings.Cut(r[slurm], "[2026-11-21T12:00:13")
	r[slurm] = late
	if late == "" {
		_, late, _ = strings.Cut(clean(t)[slurm], "\n[2026-11-21T12:01:00.000]")
		r[slurm] = "[2026-11-21T12:01:00.000]" + late
	}
	if notes := strings.Join(r.check(t, options).Notes, "\n"); strings.Contains(notes, "jobcomp") {
		t.Errorf("%s", notes)
	}
	if n := len(mustComplete(t, r[comp])); n != 3 {
		t.Errorf("%d completions", n)
	}
}

func mustComplete(t testing.TB, text string) []Completion {
	t.Helper()
	all, other, err := ParseCompletions(strings.NewReader(text), "c", time.UTC)
	if err != nil || len(other) > 0 {
		t.Fatalf("%v, %v", other, err)
	}
	return all
}

// TestTruncatedRecord: Slurm writes at most 1024 bytes of a record and appends the next on the
// same line.
func TestTruncatedRecord(t *testing.T) {
	r := clean(t)
	long := inJobcomp("9", "eve(1001)", strings.Repeat("n", 800), "CANCELLED", "12:00:30", "12:00:30", "(null)", "/home/eve")[:1024]
	at := strings.Index(r[comp], "JobId=2")
	r[comp] = r[comp][:at] + long + r[comp][at:] + long
	var got []int64
	for _, c := range mustComplete(t, r[comp]) {
		got = append(got, c.Job)
	}
	for _, change := range forged["end-unnoticed"] {
		change(t, r)
	}
	if report := r.check(t, options); report.Clean() || !slices.Contains(got, 2) || !slices.Contains(got, 9) {
		t.Errorf("read %v: %s", got, report)
	}
}
