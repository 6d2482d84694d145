package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/etc"
	"github.com/sluice-hpc/sluice/slurm/command"
)

// recorded returns the settings of a real Slurm 22.05.8.
func recorded(t *testing.T) (command.Settings, time.Time) {
	t.Helper()
	raw, err := os.ReadFile("testdata/doctor/22.05.config")
	if err != nil {
		t.Fatal(err)
	}
	return command.ParseSettings(string(raw))
}

func TestParseSettings(t *testing.T) {
	s, asOf := recorded(t)
	if want := time.Date(2026, 11, 21, 4, 43, 11, 0, time.UTC); !asOf.Equal(want) {
		t.Errorf("controller's time %v, want %v", asOf, want)
	}
	for key, want := range map[string]string{"SLURM_VERSION": "22.05.8", "SlurmUser": "slurm(64030)", "GresTypes": "gpu",
		"Prolog": "", "AuthInfo": "socket=/run/munge/munge.socket.2"} {
		if got := s.Get(key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if n, is := s.Number("KillWait"); n != 30 || !is {
		t.Errorf("KillWait %d %v", n, is)
	}
}

func FuzzParseSettings(f *testing.F) {
	f.Add("Configuration data as of 2026-11-21T04:43:11\nKillWait = 30 sec\n= x\nA=\n")
	p := patient{site: etc.Default()}
	f.Fuzz(func(t *testing.T, text string) {
		s, _ := command.ParseSettings(text)
		for _, check := range settingChecks {
			for _, f := range check(s, p) {
				if f.Text == "" || f.About == "" {
					t.Fatalf("%+v says nothing", f)
				}
			}
		}
	})
}

// said joins findings for comparison: "WARN scheduler: text".
func said(all []finding) string {
	var b strings.Builder
	for _, f := range all {
		b.WriteString(string(f.Verdict) + " " + f.About + ": " + f.Text + "\n")
		if f.Verdict != fine && f.Do == "" {
			b.WriteString("(nothing to do?)\n")
		}
	}
	return b.String()
}

func TestSettings(t *testing.T) {
	for _, c := range []struct {
		key, value string
		want       string // a line that must be there
	}{
		{"", "", "OK gpus: Slurm gives GPUs one by one (select/cons_tres)\nOK scheduler: a restart waits at most 0 s for a scheduling pass: sluiced requests it\n" +
			"OK stop: a stopped job gives its nodes back without delay\nOK scripts: no Prolog or Epilog that each resize would run\nOK preemption: off\n"},
		{"SelectType", "select/linear", "FAIL gpus: SelectType is select/linear: jobs cannot get single GPUs"},
		{"GresTypes", "(null)", "FAIL gpus: GresTypes is (null): Slurm does not manage GPUs"},
		{"GresTypes", "mps, gpu", "OK gpus"},
		{"SchedulerParameters", "(null)", "OK scheduler: a restart waits at most 3 s for a scheduling pass"},
		{"SchedulerParameters", "sched_interval=120,bf_interval=120", "OK scheduler: a restart waits at most 3 s for a scheduling pass"},
		{"SchedulerParameters", "batch_sched_delay=20", "WARN scheduler: batch_sched_delay is 20 s: each resize waits up to this long"},
		{"SchedulerParameters", "batch_sched_delay=soon", "WARN scheduler: SchedulerParameters: batch_sched_delay=soon cannot be read"},
		{"SchedulerParameters", "defer", "WARN scheduler: defer is set: a released job is not started at once"},
		{"CompleteWait", "32 sec", "WARN stop: CompleteWait is 32 s"},
		{"KillWait", "120 sec", "WARN stop: KillWait is 120 s"},
		{"Epilog", "/etc/slurm/epilog", "OK scripts: Epilog: each resize runs them"},
		{"Prolog[0]", "/etc/slurm/prolog", "OK scripts: Prolog: each resize runs them"},
		{"PreemptMode", "GANG,REQUEUE", "WARN preemption: PreemptMode is GANG,REQUEUE: Slurm may stop an elastic job before it has saved"},
		{"MessageTimeout", "60 sec", "WARN scheduler: MessageTimeout is 60 s, but sluiced ends Slurm's commands after 0:20"},
		{"MinJobAge", "10 sec", "WARN memory: MinJobAge is 10 s"},
		{"PrivateData", "accounts,jobs", "WARN privacy: PrivateData has jobs"},
	} {
		s, _ := recorded(t)
		if c.key != "" {
			s[c.key] = c.value
		}
		var all []finding
		for _, check := range settingChecks {
			all = append(all, check(s, patient{site: etc.Default()})...)
		}
		if got := said(all); !strings.Contains(got, c.want) {
			t.Errorf("%s=%s: got\n%swithout\n%s", c.key, c.value, got, c.want)
		}
	}
}

func TestRelease(t *testing.T) {
	for version, want := range map[string]verdict{"22.05.8": fine, "20.11.4": fine, "26.05.5": fine, "20.02.1": warning, "": warning} {
		if got := release(version); got.Verdict != want {
			t.Errorf("%s: %+v", version, got)
		}
	}
}

func TestClocks(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 500e6, time.UTC)
	for ahead, want := range map[time.Duration]verdict{0: fine, -2 * time.Second: fine, 5 * time.Second: failure, -time.Hour: failure} {
		if got := controllerClock(now.Add(ahead).Truncate(time.Second), now); got.Verdict != want {
			t.Errorf("%v: %+v", ahead, got)
		}
	}
	r := wire.Report{Jobs: []wire.Job{{JobID: 7, Heartbeat: now.Add(time.Minute)}, {JobID: 8, Heartbeat: now}}}
	if got := said(nodeClocks(r, now)); !strings.Contains(got, "heartbeat of job 7") || strings.Contains(got, "job 8") {
		t.Errorf("got %s", got)
	}
}

func TestLostGPUs(t *testing.T) {
	r := wire.Report{Nodes: []wire.Node{
		{Name: "gpu1", GPUs: 4}, {Name: "gpu2", GPUs: 4, Used: 2, CPUsUsed: 1}, {Name: "gpu3", GPUs: 4, Used: 3},
	}}
	if got, want := said(lostGPUs(r)), "3 GPUs of gpu3"; !strings.Contains(got, want) || strings.Contains(got, "gpu2") {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFolders(t *testing.T) {
	base := t.TempDir()
	me := ownerOf(must(os.Stat(base)))
	dir := filepath.Join(base, "jobs")
	mine, err := accountOf(me)
	if err != nil {
		t.Fatal(err)
	}
	group := mine.group
	look := func() finding { return examineFolder("jobs", dir, mine, jobsMode(false)) }
	expect := func(want verdict, text, do string) {
		t.Helper()
		if f := look(); f.Verdict != want || !strings.Contains(f.Text, text) || !strings.Contains(f.Do, do) {
			t.Errorf("got %+v, want %s %q %q", f, want, text, do)
		}
	}
	expect(failure, "does not exist", "install -d -m 3777 -o "+me+" -g "+group+" "+dir)
	if err := errors.Join(os.Mkdir(dir, 0o755), os.Chmod(dir, 0o755)); err != nil { // whatever the umask is
		t.Fatal(err)
	}
	expect(failure, "has mode 0755", "install -d -m 3777 -o "+me+" -g "+group+" "+dir)
	if err := os.Chmod(dir, 0o777|fs.ModeSticky|fs.ModeSetgid); err != nil {
		t.Fatal(err)
	}
	expect(fine, "as it should be (mode 3777)", "")
	if f := examineFolder("jobs", dir, account{name: "somebody", group: "them"}, jobsMode(false)); f.Verdict != failure || !strings.Contains(f.Type, "-o somebody -g them "+dir) {
		t.Errorf("another owner: %+v", f)
	}
	// The owner is right, and what users make there is not sluiced's to read.
	if f := examineFolder("jobs", dir, account{name: me, group: "them", gids: []string{"4000000001"}}, jobsMode(false)); f.Verdict != failure ||
		!strings.Contains(f.Text, "could not read them") || !strings.Contains(f.Type, "-g them ") {
		t.Errorf("another group: %+v", f)
	}
	if f := examineFolder("outbox", dir, mine, outboxMode(false, false)); f.Verdict != failure {
		t.Errorf("an outbox that others may write: %+v", f)
	}
	for _, c := range []struct {
		mode    fs.FileMode
		private bool
		want    verdict
	}{{0o711, true, fine}, {0o711, false, fine}, {0o755, false, fine}, {0o755, true, failure}, {0o700, true, failure}} {
		box := t.TempDir()
		if err := os.Chmod(box, c.mode); err != nil {
			t.Fatal(err)
		}
		if f := examineFolder("outbox", box, mine, outboxMode(false, c.private)); f.Verdict != c.want {
			t.Errorf("an outbox of mode %o, private=%v: %+v", c.mode, c.private, f)
		}
	}
	if f := fileServer(dir, time.Now); f.Verdict != fine {
		t.Errorf("%+v", f)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if f := fileServer(dir, func() time.Time { return time.Now().Add(time.Hour) }); f.Verdict != warning {
		t.Errorf("a clock an hour off: %+v", f)
	}
	if f := fileServer(filepath.Join(dir, "none"), time.Now); f.Verdict != failure {
		t.Errorf("no folder: %+v", f)
	}
}

func must(info fs.FileInfo, err error) fs.FileInfo {
	if err != nil {
		panic(err)
	}
	return info
}

// fakeProgram makes a shell script stand in for one of Slurm's programs.
func fakeProgram(t *testing.T, dir, name, body string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestRights(t *testing.T) {
	dir := t.TempDir()
	p := patient{site: etc.Default()}
	p.site.Slurm.Bin = dir
	look := func(user, storage string) string {
		s, _ := recorded(t)
		s["AccountingStorageType"] = storage
		return said(examineRights(context.Background(), p, s, account{name: user}))
	}
	const slurmdbd = "accounting_storage/slurmdbd"
	for _, c := range []struct{ user, storage, level, want string }{
		{"slurm", "", "", "OK rights: slurm may change all jobs"},
		{"sluice", "accounting_storage/none", "", "FAIL rights: sluice may not change other users' jobs: without slurmdbd only root and slurm may"},
		{"sluice", slurmdbd, "echo Operator", "OK rights: sluice is a Slurm operator"},
		{"sluice", slurmdbd, "echo None", "FAIL rights: sluice is not a Slurm operator and may not change other users' jobs"},
		{"sluice", slurmdbd, "exit 1", "WARN rights: cannot determine"},
		{"sluice", slurmdbd, "echo Administrator", "OK rights: sluice is a Slurm administrator"},
	} {
		fakeProgram(t, dir, "sacctmgr", c.level)
		if got := look(c.user, c.storage); !strings.HasPrefix(got, c.want) {
			t.Errorf("%+v: %s", c, got)
		}
	}
	p.user = true
	if got := look("ann", ""); !strings.HasPrefix(got, "OK rights: user mode") {
		t.Error(got)
	}
}

// A Slurm that hangs or is not there is a finding, not the end, and what hangs
// is killed with its children.
func TestSlurmInTrouble(t *testing.T) {
	dir := t.TempDir()
	p := patient{site: etc.Default(), now: time.Now}
	p.site.Slurm.Bin, p.site.Slurm.Timeout = dir, 200*time.Millisecond
	if got, _, seen := examineSlurm(t.Context(), p); seen || !strings.Contains(said(got), "FAIL slurm: scontrol show config: ") {
		t.Errorf("no program: %s", said(got))
	}
	fakeProgram(t, dir, "scontrol", "echo 'slurm_load_ctl_conf error: Unable to contact slurm controller' >&2; exit 1")
	p.site.Slurm.Timeout = 20 * time.Second
	if got, _, seen := examineSlurm(t.Context(), p); seen || !strings.Contains(said(got), "Unable to contact slurm controller") {
		t.Errorf("controller down: %s", said(got))
	}
	// In the night in which clocks are set back a local time is two moments: it is asked in UTC.
	fakeProgram(t, dir, "scontrol", "echo Configuration data as of $(date +%Y-%m-%dT%H:%M:%S); test $TZ = UTC")
	t.Setenv("TZ", "America/St_Johns")
	if got, _, seen := examineSlurm(t.Context(), p); !seen || !strings.Contains(said(got), "agrees with slurmctld's") {
		t.Errorf("clock: %s", said(got))
	}
	fakeProgram(t, dir, "scontrol", "sleep 1000 & echo $! > "+dir+"/child; wait")
	p.site.Slurm.Timeout = time.Second
	if got, _, seen := examineSlurm(t.Context(), p); seen || !strings.Contains(said(got), "no answer within") {
		t.Errorf("hangs: %s", said(got))
	}
	raw, err := os.ReadFile(dir + "/child")
	if err != nil {
		t.Fatal(err)
	}
	child := strings.TrimSpace(string(raw))
	deadline := time.Now().Add(10 * time.Second)
	for alive(child) && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	if alive(child) {
		t.Errorf("process %s lives on", child)
	}
}

// alive reports whether a process is there and no zombie.
func alive(pid string) bool {
	raw, err := os.ReadFile("/proc/" + pid + "/stat")
	return !errors.Is(err, os.ErrNotExist) && !bytes.Contains(raw, []byte(") Z "))
}

func TestPrintFindings(t *testing.T) {
	var out bytes.Buffer
	all := []finding{passed("slurm", "Slurm 22.05.8 answers"), warned("scheduler", "set it", "slow\x1b[0m"), failed("jobs", "", "none")}
	if err := printFindings(&out, all, false); err != nil {
		t.Fatal(err)
	}
	want := "OK    slurm      Slurm 22.05.8 answers\n" +
		"WARN  scheduler  slow\\x1b[0m\n                 -> set it\n" +
		"FAIL  jobs       none\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}
