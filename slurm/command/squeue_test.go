package command

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/slurm"
)

// describe formats a parsed job, with times relative to its submit.
func describe(d slurm.Detail) string {
	var flags []string
	for flag, set := range map[string]bool{"array": d.Array, "het": d.Het} {
		if set {
			flags = append(flags, flag)
		}
	}
	state := string(d.State)
	for _, f := range []struct {
		name string
		set  bool
	}{{"completing", d.Completing}, {"requeued", d.Requeued}, {"held", d.Held}} {
		if f.set {
			state += "+" + f.name
		}
	}
	since := func(t time.Time) string {
		if t.IsZero() {
			return "-"
		}
		return t.Sub(d.Submit).String()
	}
	return fmt.Sprintf("%d %q %s(%d) %s %s reason=%s priority=%d dependency=%q gpus=%d%s nodes=%d%v req=%v exc=%v constraint=%q licenses=%q restarts=%d eligible=%s start=%s limit=%v exit=%d:%d %s requeue=%v comment=%q dir=%s out=%s",
		d.ID, d.Name, d.User, d.UID, d.Partition, state, d.Reason, d.Priority, d.Dependency, d.GPUs, d.GPUType, d.NodeCount, d.Nodes, d.ReqNodes, d.ExcNodes, d.Constraint, d.Licenses,
		d.Restarts, since(d.Eligible), since(d.Start), d.TimeLimit, d.ExitCode, d.ExitSignal, strings.Join(flags, ","),
		d.Requeue, d.Comment, d.WorkDir, d.StdOut)
}

func TestJobsOfEachRelease(t *testing.T) {
	for _, release := range releases {
		details, err := parseJobs(fixture(t, release, "squeue.txt"), fixtureDelimiter)
		if err != nil {
			t.Fatalf("%s: %v", release, err)
		}
		var b strings.Builder
		for _, d := range details {
			b.WriteString(describe(d) + "\n")
			if d.State == slurm.Unknown && !d.Completing {
				t.Errorf("%s: job %d was not understood", release, d.ID)
			}
		}
		golden(t, release+"/squeue.golden", b.String())
	}
}

// kinds are the values that every release must report for each kind of job that record.sh
// makes.
var kinds = []struct {
	name  string
	check func(d slurm.Detail) bool
	split string
}{
	{"even", running(4, ""), "gpu1:2[0 1] gpu2:2[0 1]"},
	{"uneven", running(3, ""), "gpu2:2[2 3] gpu3:1[0]"},
	{"typed", running(2, "a100"), "gpu3:2[1 2]"},
	{"plain", running(0, ""), "gpu1:0[]"},
	{"hostile", func(d slurm.Detail) bool {
		return running(1, "a100")(d) && d.User == "alice" && d.Name == hostileName && d.Comment == hostileComment && d.WorkDir == "/tmp"
	}, "gpu3:1[3]"},
	{"completing-requeued", func(d slurm.Detail) bool {
		return d.State == slurm.Pending && d.Completing && d.Requeued && d.Held && d.Reason == "job_requeued_in_held_state" &&
			d.Restarts == 1 && len(d.Nodes) == 1 && d.GPUs == 1
	}, ""},
	{"completing-ended", func(d slurm.Detail) bool {
		return d.State == slurm.Unknown && d.Completing && !d.Requeued && !d.Held && d.GPUs == 1 && len(d.Nodes) == 1
	}, ""},
	{"requeueheld", func(d slurm.Detail) bool {
		return pending("job_requeued_in_held_state")(d) && d.Held && d.GPUs == 1 && d.Restarts == 1
	}, ""},
	{"held", func(d slurm.Detail) bool {
		return pending("JobHeldUser")(d) && d.Held && d.Priority == 0 && d.GPUs == 3 && d.NodeCount == 2 && d.Comment == `sluice: min=1 max="8", a=b`
	}, ""},
	{"choosy", func(d slurm.Detail) bool {
		// Before 24.11 only TestExcludedNodes covers the excluded nodes.
		return pending("JobHeldUser")(d) && d.Constraint == "[ib|nvme]&ib" && d.Licenses == "lic:2" && (len(d.ExcNodes) == 0 || strings.Join(d.ExcNodes, " ") == "gpu1 gpu3")
	}, ""},
	{"adminheld", func(d slurm.Detail) bool { return pending("JobHeldAdmin")(d) && d.Held }, ""},
	{"pending", func(d slurm.Detail) bool {
		return d.State == slurm.Pending && !d.Held && d.GPUs == 12 && d.NodeCount == 3 && d.Partition == "gpu,short"
	}, ""},
	{"later", func(d slurm.Detail) bool {
		return pending("BeginTime")(d) && d.Deferred(d.Submit) && !d.Deferred(d.Eligible) && d.Priority > 1<<31 && d.GPUs == 4 && d.Eligible.Sub(d.Submit).Round(time.Minute) == 2*time.Hour
	}, ""},
	{"after", func(d slurm.Detail) bool {
		dep := slurm.ParseDependency(d.Dependency)
		return pending("Dependency")(d) && len(dep.Terms) == 1 && dep.Terms[0].Kind == "afterok" && dep.Terms[0].Job > 0 && !dep.Terms[0].Failed
	}, ""},
	{"array", func(d slurm.Detail) bool { return d.State == slurm.Pending && d.Array }, ""},
	{"het", func(d slurm.Detail) bool { return d.State == slurm.Pending && d.Het && d.GPUs == 1 }, ""},
	{"completed", ended(slurm.Completed, 0, 0), ""},
	{"failed", ended(slurm.Failed, 3, 0), ""},
	{"killed", ended(slurm.Failed, 0, 9), ""},
	{"cancelled", func(d slurm.Detail) bool { return d.State == slurm.Cancelled }, ""},
}

const (
	hostileName    = "x Nodes=gpu9 CPU_IDs=0-3 Mem=0 GRES=gpu:4(IDX:0-3) MinCPUsNode=1\nJobId=1 JobName=y UserId=root(0) @0123456789abcdef|@0123456789abcdef.\n1"
	hostileComment = "@0123456789abcdef.\n77@0123456789abcdef|a\tb\x1b[31m \"q\" 's' \\ %s ,;|"
)

func running(gpus int, kind string) func(slurm.Detail) bool {
	return func(d slurm.Detail) bool {
		return d.State == slurm.Running && !d.Completing && !d.Held && d.GPUs == gpus && d.GPUType == kind &&
			d.NodeCount == len(d.Nodes) && len(d.Nodes) > 0 && !d.Start.IsZero() && d.UID == 2001
	}
}

func pending(reason string) func(slurm.Detail) bool {
	return func(d slurm.Detail) bool {
		return d.State == slurm.Pending && !d.Completing && d.Reason == reason && len(d.Nodes) == 0
	}
}

func ended(s slurm.State, code, signal int) func(slurm.Detail) bool {
	return func(d slurm.Detail) bool { return d.State == s && d.ExitCode == code && d.ExitSignal == signal }
}

func TestEachKindOfJob(t *testing.T) {
	for _, release := range releases {
		for _, kind := range kinds {
			details, err := parseJobs(fixture(t, release, "jobs", kind.name+".squeue"), fixtureDelimiter)
			if err != nil || len(details) == 0 {
				t.Errorf("%s %s: %d jobs, %v", release, kind.name, len(details), err)
				continue
			}
			d := details[0]
			if !kind.check(d) {
				t.Errorf("%s %s read as %s", release, kind.name, describe(d))
			}
			if kind.split == "" {
				continue
			}
			split, err := parseSplit(fixture(t, release, "jobs", kind.name+".scontrol"), d.ID, d.Name)
			var parts []string
			for _, s := range split {
				parts = append(parts, fmt.Sprintf("%s:%d%v", s.Node, s.GPUs, s.IDs))
			}
			if got := strings.Join(parts, " "); err != nil || got != kind.split {
				t.Errorf("%s %s: split %s, %v; want %s", release, kind.name, got, err, kind.split)
			}
		}
	}
}

// TestTruncatedAnswers cuts each recorded answer at each byte: a part must never be taken
// for the whole, unless it ends with a record, which only the program's exit status could
// show.
func TestTruncatedAnswers(t *testing.T) {
	for _, release := range releases {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			truncateBulk(t, release, "squeue.txt", func(out string) (int, error) {
				details, err := parseJobs(out, fixtureDelimiter)
				return len(details), err
			})
			for _, name := range []string{"sinfo.txt", "sinfo-drained.txt"} {
				truncateBulk(t, release, name, func(out string) (int, error) {
					nodes, err := parseNodes(out, fixtureDelimiter)
					return len(nodes), err
				})
			}
			for _, kind := range kinds {
				if kind.split != "" {
					truncateSplit(t, release, kind.name)
				}
			}
			truncateConfig(t, release)
		})
	}
}

func truncateBulk(t *testing.T, release, name string, parse func(string) (int, error)) {
	t.Helper()
	out := fixture(t, release, name)
	for i := range out {
		n, err := parse(out[:i])
		whole := i == 0 || strings.HasSuffix(out[:i], fixtureDelimiter.record)
		if (err == nil) != whole || err != nil && n > 0 {
			t.Fatalf("%s %s cut at byte %d gives %d, %v", release, name, i, n, err)
		}
	}
}

// truncateConfig cuts within the line that is read: a shorter release is another.
func truncateConfig(t *testing.T, release string) {
	t.Helper()
	out := fixture(t, release, "config.txt")
	line := strings.Index(out, "SLURM_VERSION")
	end := line + strings.IndexByte(out[line:], '\n')
	for i := line; i <= end; i++ {
		if v, ok := parseVersion(out[:i]); ok {
			t.Fatalf("%s: cut at byte %d is release %v", release, i, v)
		}
	}
}

func truncateSplit(t *testing.T, release, kind string) {
	t.Helper()
	out := fixture(t, release, "jobs", kind+".scontrol")
	details, err := parseJobs(fixture(t, release, "jobs", kind+".squeue"), fixtureDelimiter)
	if err != nil {
		t.Fatal(err)
	}
	d := details[0]
	want, wantErr := parseSplit(out, d.ID, d.Name)
	for i := range out {
		got, err := parseSplit(out[:i], d.ID, d.Name)
		if err == nil && (wantErr != nil || fmt.Sprint(got) != fmt.Sprint(want)) {
			t.Fatalf("%s %s cut at byte %d gives %v; whole it gives %v, %v", release, kind, i, got, want, wantErr)
		}
	}
}

// TestForgedRecords draws names, comments and folders from the format's own pieces, and
// puts them beside a normal job.
func TestForgedRecords(t *testing.T) {
	honest := fixture(t, "22.05", "jobs", "even.squeue")
	piece := rapid.SampledFrom([]string{"@", "|", ".", "\n", ".\n", "@fixtur", "@fixture", "fixture|", "1", "RUNNING", "root", "@0123456789abcdef|",
		"@0123456789abcdef.\n", ",", "%s", "\x00", "é", "\xff", " ", "JobId=1 JobName="})
	hostile := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces"), "")
	}).Filter(func(s string) bool {
		// The nonce cannot be guessed; every other text may occur.
		return !strings.Contains(s, fixtureDelimiter.field) && !strings.Contains(s, fixtureDelimiter.record) && text(s) == s
	})
	rapid.Check(t, func(rt *rapid.T) {
		name, comment, dir := hostile.Draw(rt, "name"), hostile.Draw(rt, "comment"), hostile.Draw(rt, "dir")
		record := strings.Split(strings.TrimSuffix(honest, fixtureDelimiter.record), fixtureDelimiter.field)
		record[fJobID], record[fName], record[fComment], record[fWorkDir] = "77", name, comment, dir
		out := honest + strings.Join(record, fixtureDelimiter.field) + fixtureDelimiter.record + strings.Replace(honest, "1@", "99@", 1)
		details, err := parseJobs(out, fixtureDelimiter)
		if err != nil || len(details) != 3 {
			rt.Fatalf("%d jobs, %v", len(details), err)
		}
		d := details[1]
		if d.ID != 77 || d.Name != name || d.Comment != comment || d.WorkDir != dir || d.User != "alice" || d.State != slurm.Running {
			rt.Fatalf("read as %s", describe(d))
		}
	})
}

// TestOneBadRecordHidesNoOther: an unreadable value affects its own job only.
func TestOneBadRecordHidesNoOther(t *testing.T) {
	good := fixture(t, "22.05", "jobs", "even.squeue")
	record := strings.Split(strings.TrimSuffix(good, fixtureDelimiter.record), fixtureDelimiter.field)
	join := func(field int, value string) string {
		r := append([]string(nil), record...)
		r[fJobID], r[field] = "50", value
		return strings.Join(r, fixtureDelimiter.field) + fixtureDelimiter.record
	}
	for field, bad := range map[int]string{fState: "FROBNICATING", fNumNodes: "many", fNodes: "gpu[1-", fStart: "2026-11-21T03:12:44",
		fTimeLimit: "soon", fTresPerNode: "gres:gpu:a:b:2", fUID: "alice", fRestarts: "-1"} {
		details, err := parseJobs(good+join(field, bad)+strings.Replace(good, "1@", "99@", 1), fixtureDelimiter)
		if err != nil || len(details) != 3 || details[1].State != slurm.Unknown || details[0].State != slurm.Running || details[2].State != slurm.Running {
			t.Errorf("%s=%s: %d jobs, %v", jobFields[field], bad, len(details), err)
		}
	}
	if details, err := parseJobs(good+join(fJobID, "nobody"), fixtureDelimiter); err != nil || len(details) != 1 {
		t.Errorf("a record without an id: %d jobs, %v", len(details), err)
	}
	if _, err := parseJobs(join(fJobID, "nobody"), fixtureDelimiter); err == nil {
		t.Error("an answer without any job id passed for an empty queue")
	}
	if details, err := parseJobs("a banner of the site\n"+good, fixtureDelimiter); err != nil || len(details) != 1 || details[0].ID < 1 {
		t.Errorf("a banner before the first record: %d jobs, %v", len(details), err)
	}
}

// TestExcludedNodes: every release reports the nodes that a job excludes, in one of two
// places.
func TestExcludedNodes(t *testing.T) {
	for _, release := range releases {
		told := map[slurm.JobID][]string{}
		details, err := parseJobs(fixture(t, release, "squeue.txt"), fixtureDelimiter)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range details {
			if len(d.ExcNodes) > 0 {
				told[d.ID] = d.ExcNodes
			}
		}
		site, err := parseAccounting(fixture(t, release, "config.txt"))
		if err != nil || site.silent != (len(told) == 0) {
			t.Errorf("%s: silent=%t, and %v is told (%v)", release, site.silent, told, err)
		}
		apart, err := parseExcluded(fixture(t, release, "excluded.txt"), fixtureDelimiter)
		if err != nil || len(apart) != 1 || !site.silent && !reflect.DeepEqual(apart, told) {
			t.Errorf("%s: %v, %v", release, apart, err)
		}
		for id, nodes := range apart {
			if i := slices.IndexFunc(details, func(d slurm.Detail) bool { return d.ID == id }); details[i].Name != "choosy" || strings.Join(nodes, " ") != "gpu1 gpu3" {
				t.Errorf("%s: job %d excludes %v", release, id, nodes)
			}
		}
	}
	if got, err := parseExcluded("7@fixture|gpu[1-@fixture.\n", fixtureDelimiter); err == nil {
		t.Errorf("half a list was read as %v", got)
	}
}
