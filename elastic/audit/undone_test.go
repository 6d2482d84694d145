package audit

import (
	"strings"
	"testing"
	"time"
)

// TestAnEndThatSlurmForgot: testdata/undone has the logs of job 72 from a soak. It completed at
// 05:07:18.160, slurmctld was killed before 05:07:19 and its successor found the job running at
// 05:07:28; sluiced saw no end and could not. If slurmctld has saved the end, or the job ends once
// more, sluiced must notice it.
func TestAnEndThatSlurmForgot(t *testing.T) {
	now := func(at, text string) string { return "[2026-11-25T" + at + "] " + text }
	const boot = "[2026-11-25T05:07:28.667] slurmctld version"
	listed := drop(slurm, "05:07:28", "Recovered JobId=72 StepId=batch")
	works := func(at string) forger {
		return put(slurm, boot, now(at, "_slurm_rpc_submit_batch_job: JobId=90 InitPrio=0 usec=300"))
	}
	again := func(at string) forger {
		return func(_ testing.TB, r records) {
			r[slurm] += now(at, "_job_complete: JobId=72 done") + "\n" + now(at, "TRACE_JOBS: cleanup_completing: JobId=72") + "\n"
		}
	}
	for name, c := range map[string]struct {
		changes []forger
		binds   bool
	}{
		"found running":                       {nil, false},
		"found as ended":                      {[]forger{listed}, true},
		"the end can have been saved, or not": {[]forger{works("05:07:25.500")}, false},
		"the end was saved for sure":          {[]forger{works("05:07:28.500")}, true},
		"it ended once more, just now":        {[]forger{again("05:07:50.000")}, false},
		"it ended once more, unnoticed":       {[]forger{again("05:07:29.000")}, true},
		"the next slurmctld found it as ended": {[]forger{func(_ testing.TB, r records) {
			r[slurm] += now("05:07:40.000", "slurmctld version 22.05.8 started on cluster lab0") + "\n" + now("05:07:40.100", "Recovered JobId=72 Assoc=0") + "\n"
		}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := kept(t, "undone", events, slurm, comp, conf)
			for _, change := range c.changes {
				change(t, r)
			}
			report := r.check(t, Options{Patience: 20 * time.Second})
			unnoticed := len(report.Violations) == 1 && report.Violations[0].Kind == Unnoticed && strings.Contains(report.String(), "I2 job 72")
			if c.binds != unnoticed || report.Clean() == c.binds {
				t.Errorf("%s", report)
			}
		})
	}
}
