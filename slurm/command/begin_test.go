package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// shown makes squeue show the job of a fixture of 22.05 after the replacements, and returns
// it.
func shown(t *testing.T, kind string, replace ...string) (stubs, slurm.Job) {
	t.Helper()
	s := newStubs(t)
	text := strings.NewReplacer(replace...).Replace(fixture(t, "22.05", "jobs", kind+".squeue"))
	s.replay("squeue", "22.05", "jobs", kind+".squeue")
	s.write("squeue.out", text)
	jobs, err := parseJobs(text, fixtureDelimiter)
	if err != nil || len(jobs) != 1 {
		t.Fatalf("%s: %+v, %v", kind, jobs, err)
	}
	return s, jobs[0].Job
}

// changes are the calls that change a job, without its id.
func changes(s stubs, id slurm.JobID) string {
	calls := slices.DeleteFunc(s.calls(), func(c string) bool { return strings.HasPrefix(c, "squeue") })
	return strings.ReplaceAll(strings.Join(calls, "\n"), fmt.Sprintf(" [%d]", id), "")
}

// TestOnlyTheFailedComeBack: a requeue without "Incomplete" would also requeue a job that
// its user cancelled.
func TestOnlyTheFailedComeBack(t *testing.T) {
	for verb, do := range map[string]func(*Client, context.Context, slurm.JobID) error{"requeuehold": (*Client).Revive, "requeue": (*Client).RequeueFailed} {
		for state, want := range map[string]string{
			"FAILED": "scontrol [" + verb + "]", "CANCELLED": "", "COMPLETED": "", "TIMEOUT": "", "RUNNING": "", "PENDING": "", "NODE_FAIL": "",
		} {
			s, j := shown(t, "held", "PENDING", state)
			if string(j.State) != state {
				t.Fatalf("%s: %+v", state, j)
			}
			if err := do(s.client(Config{}), background, j.ID); err != nil {
				t.Errorf("%s: %v", state, err)
			}
			if got := changes(s, j.ID); got != want {
				t.Errorf("%s: ran %q, want %q", state, got, want)
			}
		}
	}
}

// TestOnlyWhatLingersIsCleared: only a pending job that is shown on nodes is cancelled and
// requeued; a cancelled job is requeued.
func TestOnlyWhatLingersIsCleared(t *testing.T) {
	for verb, do := range map[string]func(*Client, context.Context, slurm.JobID) error{"requeuehold": (*Client).Clear, "requeue": (*Client).RequeueLingering} {
		again := "scontrol [" + verb + "]"
		for _, k := range []struct{ state, nodes, want string }{
			{"PENDING", "gpu1", "scancel [--state=PENDING]\n" + again},
			{"PENDING", "", ""},
			{"CANCELLED", "", again},
			{"RUNNING", "gpu1", ""}, {"FAILED", "gpu1", ""}, {"COMPLETED", "gpu1", ""},
		} {
			s, j := shown(t, "held", "PENDING", k.state, "|2@fixture|2@fixture|@fixture|", "|2@fixture|2@fixture|"+k.nodes+"@fixture|")
			if string(j.State) != k.state || strings.Join(j.Nodes, "+") != k.nodes {
				t.Fatalf("%s: %+v", k.state, j)
			}
			if err := do(s.client(Config{}), background, j.ID); err != nil {
				t.Errorf("%s: %v", k.state, err)
			}
			if got := changes(s, j.ID); got != k.want {
				t.Errorf("%s on %q: ran %q, want %q", k.state, k.nodes, got, k.want)
			}
		}
		// What cannot be seen is not changed.
		s := newStubs(t)
		if err := do(s.client(Config{}), background, 7); !errors.Is(err, slurm.ErrNotFound) || changes(s, 7) != "" {
			t.Errorf("%s of a job that is not listed: %v", verb, err)
		}
	}
}

// TestDeferIsAbsolute: the begin time is written in UTC, rounded up, whatever the time zone
// of sluice and of the time are.
func TestDeferIsAbsolute(t *testing.T) {
	for _, zone := range []string{"UTC", "Asia/Kathmandu", "America/St_Johns"} {
		t.Setenv("TZ", zone)
		s := newStubs(t)
		s.set("scontrol", `echo "$TZ" >$here/zone`)
		c := s.client(Config{Env: []string{"TZ=" + zone}})
		// 02:30 occurs twice in this night in Berlin.
		at := time.Date(2032, 10, 31, 0, 30, 0, 0, time.UTC)
		for _, k := range []struct {
			at   time.Time
			want string
		}{
			{at, "2032-10-31T00:30:00"}, {at.Add(time.Hour), "2032-10-31T01:30:00"},
			{at.Add(time.Nanosecond).In(time.FixedZone("", 2*3600)), "2032-10-31T00:30:01"},
			{at.Add(time.Second - 1).Local(), "2032-10-31T00:30:01"},
		} {
			if err := c.Defer(background, 7, k.at); err != nil {
				t.Error(err)
			}
			if got := changes(s, 7); got != "scontrol [update] [JobId=7] [StartTime="+k.want+"]" {
				t.Errorf("%s: ran %q, want %s", k.at, got, k.want)
			}
			if got := s.read("zone"); got != "UTC\n" {
				t.Errorf("scontrol reads it in %q", got)
			}
		}
	}
}

// TestNoBeginTimeInThePresent: slurmctld would take a time that has passed as the present
// second, in which the last run may have been killed.
func TestNoBeginTimeInThePresent(t *testing.T) {
	s := newStubs(t)
	c := s.client(Config{})
	for _, at := range []time.Time{{}, time.Unix(0, 0), time.Now().Add(-time.Hour), time.Now(), time.Now().Add(900 * time.Millisecond)} {
		if err := c.Defer(background, 7, at); !errors.Is(err, slurm.ErrRefused) || len(s.calls()) != 0 {
			t.Errorf("until %s: %v", at, err)
		}
	}
}

func TestOnlyPendingJobsAreDeferred(t *testing.T) {
	for words, want := range map[string]error{
		"Job is no longer pending execution for job 7":      slurm.ErrWrongState,
		"Job has already finished for job 7":                slurm.ErrWrongState,
		"Invalid job id specified for job 7":                slurm.ErrNotFound,
		"Invalid user id for job 7":                         slurm.ErrPermission,
		"Socket timed out on send/recv operation for job 7": slurm.ErrUnknownOutcome,
	} {
		s := newStubs(t)
		s.set("scontrol", `echo "`+words+`" >&2; exit 1`)
		c := s.client(Config{})
		for name, err := range map[string]error{"defer": c.Defer(background, 7, time.Now().Add(time.Hour)), "start": c.Start(background, 7)} {
			if !errors.Is(err, want) {
				t.Errorf("%s: %s: %v, want %v", name, words, err, want)
			}
		}
	}
}

// TestASizeKeepsALaterBeginTime: a size that is written without a begin time is fenced by
// the job's own begin time, if that is later than the fence.
func TestASizeKeepsALaterBeginTime(t *testing.T) {
	for _, k := range []struct {
		name  string
		ahead time.Duration
		fence string // "" = the begin time
	}{
		{"deferred", 2 * time.Hour, ""}, {"soon", 14 * time.Second, "now+15"}, {"long ago", -time.Hour, "now+15"},
	} {
		begin := time.Now().Add(k.ahead).Truncate(time.Second).UTC()
		s, j := shown(t, "later", "@fixture|1795416932@fixture|", "@fixture|"+strconv.FormatInt(begin.Unix(), 10)+"@fixture|")
		if !j.Eligible.Equal(begin) {
			t.Fatalf("eligible at %s", j.Eligible)
		}
		if k.fence == "" {
			k.fence = begin.Format("2006-01-02T15:04:05")
		}
		if err := s.client(Config{Timeout: 5 * time.Second}).Update(background, j.ID, slurm.Update{CPUs: 2}); err != nil {
			t.Error(err)
		}
		id := fmt.Sprintf("scontrol [update] [JobId=%d] ", j.ID)
		if got, want := changes(s, j.ID), id+"[StartTime="+k.fence+"]\n"+id+"[NumCPUs=2]"; got != want {
			t.Errorf("%s: ran\n%s\nwant\n%s", k.name, got, want)
		}
	}
	s := newStubs(t)
	if err := s.client(Config{}).Update(background, 7, slurm.Update{CPUs: 2}); !errors.Is(err, slurm.ErrNotFound) || changes(s, 7) != "" {
		t.Errorf("a job that is not listed: %v", err)
	}
}

func TestPriorities(t *testing.T) {
	const recorded = "4294901746"
	for text, want := range map[string]int64{
		"0": 0, "1": 1, "14285": 14285, "2147483647": 1<<31 - 1, "2147483648": 1 << 31, "4294901760": 4294901760, "4294967292": 4294967292,
		"4294967294": 0, "4294967295": 0, "": 0, "N/A": 0, "(null)": 0,
	} {
		_, j := shown(t, "later", recorded, text)
		if j.Priority != want || j.Held != (text == "0") || j.State != slurm.Pending {
			t.Errorf("%q: priority %d held %t %s, want %d", text, j.Priority, j.Held, j.State, want)
		}
	}
	for _, text := range []string{"-1", "0.5", "1e3", "4294967296", "99999999999999999999", "high"} {
		if _, j := shown(t, "later", recorded, text); j.State != slurm.Unknown || j.Priority != 0 || j.Held {
			t.Errorf("%q: %+v, want a job that is left alone", text, j)
		}
	}
}
