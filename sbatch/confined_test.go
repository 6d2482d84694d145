package sbatch

import (
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	aToken  = "0123456789abcdef0123456789abcdef"
	bySetup = "--config=/c --fence=/v/j/fence.json --token=" + aToken + " --output=/v/j/log --chdir=/v/j --for=ada"
)

// merged is the request of a command line, an environment and a script.
func merged(t *testing.T, args string, env []string, script string) Request {
	t.Helper()
	c, err := ParseCommandLine(strings.Fields(args))
	if err != nil {
		t.Fatal(err)
	}
	s, err := ParseScript(c.Script, []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Merge(c, env, s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestForwarded: what sluice-vaultd is given means in its environment what it means here, and the client's own options are not in it.
func TestForwarded(t *testing.T) {
	env := []string{"SBATCH_ACCOUNT=bio", "SBATCH_QOS=low", "SBATCH_PARTITION=gpu", "SLUICE_MAX_GPUS=8", "SLUICE_PROFILE=2,4", "SLUICE_EPOCHS=5", "SBATCH_WAIT=1", "SLUICE_ALLOW_UNEVEN=yes"}
	r := merged(t, "--data=mammo --code=src --config=/c --parsable -Q --wait -qhigh --steps 90 -t 60 --hold train.py a b", env, "#!/bin/sh\n#SLUICE --min-gpus=2\n#SBATCH -p cpu\ntrue\n")
	want := "--job-name=train.py --account=bio --partition=gpu --allow-uneven=yes --max-gpus=8 --profile=2,4 --data=mammo -qhigh --steps 90 -t 60 --hold"
	if got := strings.Join(r.Forwarded(), " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if !slices.Equal(r.Data, []string{"mammo"}) || !slices.Equal(r.Code, []string{"src"}) || !r.Wait || !r.Quiet || !r.Parsable || r.Spec.Nodes != 1 {
		t.Errorf("%+v", r)
	}
	if r.Connected(); r.Spec.Nodes != 0 {
		t.Errorf("%d nodes where there may be several", r.Spec.Nodes)
	}
	if one := merged(t, "--data=mammo --gpus-per-node=2 --nodes=1 train.py", nil, "#!/bin/sh\ntrue\n"); one.Spec.Nodes != 1 {
		t.Errorf("%+v", one.Spec)
	} else if one.Connected(); one.Spec.Nodes != 1 {
		t.Errorf("--nodes=1: %d nodes", one.Spec.Nodes)
	}
	back := merged(t, bySetup+" "+strings.Join(r.Forwarded(), " ")+" /v/j/script", nil, "#!/bin/sh\n#SLUICE --min-gpus=2\n#SBATCH -p cpu\ntrue\n")
	if back.Spec.Min != 2 || back.Spec.Max != 8 || back.Spec.Total != 90 || !back.Hold || back.Wait || back.Quiet || !slices.Equal(back.Partitions, []string{"gpu"}) {
		t.Errorf("%+v", back)
	}
	if named := merged(t, "--data=mammo --max-gpus=1 -J mine train.py", nil, "#!/bin/sh\ntrue\n").Forwarded(); slices.Contains(named, "--job-name=train.py") {
		t.Errorf("%q", named)
	}
}

// TestServiceJob: the batch script has the fence and no line of the user's; what the script says to sbatch are arguments, before those of the command
// line; the tag names the user.
func TestServiceJob(t *testing.T) {
	const script = "#!/bin/bash\n#SBATCH -p gpu --time=10 --pars --wait\n#SBATCH --comment=\"a b\"\n# $(id)\n#SLUICE --max-gpus=4 --data=mammo\ntrue\n"
	r := merged(t, bySetup+" --time=20 --job-name=x /v/j/script 1", nil, script)
	if s := r.Service; s == nil || *s != (Service{For: "ada", Token: aToken, Fence: "/v/j/fence.json"}) || r.Wait || r.Parsable {
		t.Errorf("%+v", r)
	}
	job := Job{Token: aToken, Sluice: "/opt/sluice", Script: "/jobs/t/script", Batch: "/jobs/t/batch", Abandon: time.Hour}
	if got, want := string(r.Batch(job)), "#!/bin/sh\nexec '/opt/sluice' run '--fence=/v/j/fence.json' -- '/jobs/t/script' \"$@\"\n"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	args, err := r.Args(job)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(args, " ")
	if want := " -p gpu --time=10 --output=/v/j/log --chdir=/v/j --time=20 --job-name=x /jobs/t/batch 1"; !strings.HasSuffix(got, want) || strings.Contains(got, "--pars") {
		t.Errorf("got %s\nwant ... %s", got, want)
	}
	if !strings.Contains(got, "nodes=1 ") || !strings.Contains(got, " for=ada ") || !strings.Contains(got, " ; a b") {
		t.Errorf("the tag: %s", got)
	}
}

// TestServiceTask: a job of the service account is one task of the array that the user typed, which sluice-vaultd says; its
// tag and what 'sluice run' is told name its place.
func TestServiceTask(t *testing.T) {
	const script = "#!/bin/bash\n#SBATCH --array=0-6:2%2\n#SLUICE --max-gpus=4 --data=mammo\ntrue\n"
	for setup, want := range map[string]string{"--task=0_0 ": "0_0", "--task=101_4 ": "101_4", "": "is one job", "--task=101_3 ": "no task 3", "--task=x ": "FIRST_INDEX", "--task=7_02 ": "FIRST_INDEX"} {
		line, err := ParseCommandLine(strings.Fields(setup + bySetup + " /v/j/script"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := ParseScript("script", []byte(script))
		if err != nil {
			t.Fatal(err)
		}
		r, err := Merge(line, nil, s)
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", setup, err, want)
			}
			continue
		}
		if r.Service.Task == nil || r.Service.Task.String() != want || len(r.Array.Tasks) != 4 {
			t.Errorf("%s: %+v, %+v", setup, r.Service, r.Array)
			continue
		}
		job := Job{Token: aToken, Sluice: "/opt/sluice", Script: "/jobs/t/script", Batch: "/jobs/t/batch", Abandon: time.Hour, Of: r.Service.Task.Of, Index: r.Service.Task.Index}
		if got := string(r.Batch(job)); !strings.Contains(got, "'--array="+want+"/4:0-6:2'") {
			t.Errorf("%s: %s", setup, got)
		}
		args, err := r.Args(job)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(args, " "); strings.Contains(got, "--array") || strings.Count(got, "--output=") != 1 {
			t.Errorf("sbatch is told %s", got)
		}
	}
	line, err := ParseCommandLine(strings.Fields("--task=0_0 " + bySetup + " /v/j/script"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := ParseScript("script", []byte("#!/bin/bash\n#SLUICE --max-gpus=4 --data=mammo\ntrue\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Merge(line, nil, s); err == nil || !strings.Contains(err.Error(), "part of no array") {
		t.Errorf("a task without an array: %v", err)
	}
}

// TestChargedAsServiceSays: what a job is charged to is what sluice-vaultd says, whatever the user typed where; sbatch is told once.
func TestChargedAsServiceSays(t *testing.T) {
	const script = "#!/bin/bash\n#SBATCH -A phys -q high -p gpu\n#SLUICE --max-gpus=4 --data=mammo\ntrue\n"
	for setup, want := range map[string]string{
		"--account=bio --qos=low ": " -p gpu --output=/v/j/log --chdir=/v/j --time=20 --account=bio --qos=low /jobs/t/batch",
		"--account=bio ":           " -q high -p gpu --output=/v/j/log --chdir=/v/j --time=20 -q top --account=bio /jobs/t/batch",
		"":                         " -A phys -q high -p gpu --output=/v/j/log --chdir=/v/j --time=20 -q top --acco phys /jobs/t/batch",
	} {
		r := merged(t, setup+bySetup+" --time=20 -q top --acco phys /v/j/script", nil, script)
		args, err := r.Args(Job{Token: aToken, Sluice: "/opt/sluice", Script: "/jobs/t/script", Batch: "/jobs/t/batch", Abandon: time.Hour})
		if got := strings.Join(args, " "); err != nil || !strings.HasSuffix(got, want) || strings.Count(got, " --account=") > 1 {
			t.Errorf("%s: %v, %s\nwant ... %s", setup, err, got, want)
		}
	}
	if r := merged(t, bySetup+" -q top --max-gpus=2 /v/j/script", nil, script); r.Account != "phys" || r.QOS != "top" {
		t.Errorf("as typed: %q, %q", r.Account, r.QOS)
	}
}

// TestUncheckedIsRefused: what Slurm would check against the service account, wherever it is given.
func TestUncheckedIsRefused(t *testing.T) {
	for _, c := range []struct{ typed, env, want string }{
		{"--reservation=r", "", "--reservation=r"}, {"--wckey=w", "", "--wckey=w"}, {"--account=", "", "names none"}, {"--qos=", "", "names none"},
		{"", "SBATCH_RESERVATION=r", "unset SBATCH_RESERVATION"}, {"", "SBATCH_WCKEY=w", "unset SBATCH_WCKEY"},
	} {
		line, err := ParseCommandLine(strings.Fields("--data=mammo --max-gpus=2 " + c.typed + " train.sh"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := ParseScript("train.sh", []byte("#!/bin/sh\ntrue\n"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Merge(line, []string{c.env}, s); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s%s: %v, want %s", c.typed, c.env, err, c.want)
		}
	}
}

// TestNothingIsTakenForService: no option of the user's can take the place of sluice-vaultd's, or take one as its value.
func TestNothingIsTakenForService(t *testing.T) {
	for _, typed := range []string{"--for=bob", "--token=" + strings.Repeat("1", 32), "--fence=/tmp/f", "--output=/x", "-o/x", "-e/x", "-D/x", "--chdir /x", "--config=/x", "--export=ALL", "--export-file=/x",
		"--get-user-env", "--input=/x", "-i/x", "--user", "--wrap", "--uid=0", "--gid=0", "--bb=x", "--container=x", "--plugin=x", "--propagate", "--fe=/x", "--out=/x", "--test-only", "--array=1", "--task=0_1", "--network=x", "--prefer=x"} {
		for _, tail := range []string{"/v/j/script", "x /v/j/script"} {
			c, err := ParseCommandLine(strings.Fields(bySetup + " --max-gpus=2 " + typed + " " + tail))
			if err != nil {
				continue
			}
			s, err := ParseScript("x", []byte("#!/bin/sh\ntrue\n"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Merge(c, nil, s); err == nil {
				t.Errorf("%s %s is accepted", typed, tail)
			}
		}
	}
}
