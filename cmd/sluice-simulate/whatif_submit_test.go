package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control"
	"github.com/sluice-hpc/sluice/elastic/control/controltest"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

const sweepScript = `#!/bin/bash
#SBATCH --job-name=find
#SLUICE --sweep=asha --metric=acc:max --trials=40 --parallel=3 --epochs=10 --min-gpus=1
#SLUICE --param lr=log:1e-5:1e-1
srun "$SLUICE" ranks -- python3 train.py --lr {lr}
`

// whatifAt serves a canned daemon, writes files beside its socket, and returns "sluice whatif".
func whatifAt(t *testing.T, dir string, files map[string]string) func(args ...string) (string, string, int) {
	t.Helper()
	socket := filepath.Join(dir, "sock")
	o := control.Options{UID: uint32(os.Getuid()), Now: func() time.Time { return controltest.Now }, Version: "1.0.0"}
	server, err := control.Listen(context.Background(), socket, o, controltest.New())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx) }()
	t.Cleanup(func() { stop(); <-done })
	conf := filepath.Join(dir, "sluice.toml")
	files[conf] = "[paths]\nsocket = \"" + socket + "\"\n"
	for path, text := range files {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("SLUICE_CONF", conf)
	t.Setenv("SLUICE_ADDRESS", "")
	return func(args ...string) (string, string, int) {
		var out, errs bytes.Buffer
		code := terminal.Run(newCommand(), append([]string{"whatif"}, args...), &out, &errs)
		return out.String(), errs.String(), code
	}
}

// TestWhatifSubmit asks a canned daemon about a sweep: what it would get, and who ends later.
func TestWhatifSubmit(t *testing.T) {
	dir := t.TempDir()
	script, job, jobs := filepath.Join(dir, "sweep.sh"), filepath.Join(dir, "job.sh"), filepath.Join(dir, "jobs.sh")
	ask := whatifAt(t, dir, map[string]string{script: sweepScript, job: "#!/bin/bash\n#SLUICE --min-gpus=1\ntrue\n", jobs: strings.Replace(sweepScript, "--min-gpus=1", "--trial=job", 1)})
	text, errs, code := ask("--submit", script, "--trial-time", "5m")
	for _, want := range []string{
		"If find were submitted now: 40 trials of 5:00 in at most 3 lanes. Nothing was submitted.\n", "first lane  at once\n",
		"lanes       3 of 3 are expected to get GPUs, the last in 2:00\n", "over        in 1:00:00, from 50:00 to 2:00:00; sooner at its goal\n", "  +1:00\n",
	} {
		if code != 0 || !strings.Contains(text, want) {
			t.Errorf("%d, %s: no %q in\n%s", code, errs, want, text)
		}
	}
	text, _, _ = ask("--submit", script, "--trial-time", "5m", "--json")
	var a wire.WhatIfAnswer
	if err := json.Unmarshal([]byte(text), &a); err != nil || a.Change.Submit == nil || a.Change.Submit.Lanes != 3 || a.Change.Submit.Seconds != 300 || len(a.Added) != 3 {
		t.Errorf("%v: %+v", err, a)
	}
	for _, c := range []struct{ args, want string }{
		{"--submit " + jobs + " --trial-time 1m", "has --trial=job"},
		{"--submit " + script, "--trial-time 5m"}, {"--submit " + job + " --trial-time 1m", "is no sweep"}, {"--submit " + script + ".no --trial-time 1m", "no such file"},
		{"--submit " + script + " --trial-time -1s", "--trial-time -1s"}, {"--submit " + script + " --sacct x --trial-time 1m", "leave one out"},
	} {
		if _, errs, code := ask(strings.Fields(c.args)...); code != 1 || !strings.Contains(errs, c.want) {
			t.Errorf("%s: %d, %q, want %q", c.args, code, errs, c.want)
		}
	}
}

// TestWhatifSubmitFiles: a sweep in a file of its own is asked about as it is submitted, and errors have their
// line and column. testdata/whatif-files.golden has all answers.
func TestWhatifSubmitFiles(t *testing.T) {
	dir := t.TempDir()
	const toml = "script = \"train.sh\"\nsweep = \"asha\"\nmetric = \"acc:max\"\ntrials = 40\nparallel = 3\nmin-gpus = 1\n[param]\nlr = \"log:1e-5:1e-1\"\n"
	const yaml = "program: train.py\nname: imported\nmethod: bayes\nrun_cap: 30\nmetric: {name: loss, goal: minimize}\nparameters:\n  lr: {min: 0.1, max: 0.9}\n"
	files := map[string]string{"train.sh": "#!/bin/bash\n#SBATCH --job-name=find\n#SLUICE --epochs=10\npython3 train.py --lr {lr}\n",
		"good.toml": toml, "good.yaml": yaml, "upper.YML": yaml, "no-script.toml": strings.Replace(toml, "train.sh", "none.sh", 1), "range.toml": strings.Replace(toml, "1e-5", "0", 1),
		"key.toml": strings.Replace(toml, "trials", "trails", 1), "torn.toml": toml + "x = ", "method.yaml": strings.Replace(yaml, "bayes", "luck", 1), "torn.yaml": "program: [", "no-sweep.toml": "command = \"true\"\nmin-gpus = 1\n"}
	at := map[string]string{}
	for name, text := range files {
		at[filepath.Join(dir, name)] = text
	}
	ask := whatifAt(t, dir, at)
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if name == "train.sh" {
			continue
		}
		out, errs, code := ask("--submit", filepath.Join(dir, name), "--trial-time", "5m")
		fmt.Fprintf(&b, "== %s: %d\n%s%s", name, code, out, strings.ReplaceAll(errs, dir+"/", ""))
	}
	golden := filepath.Join("testdata", "whatif-files.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || b.String() != string(want) {
		t.Errorf("it is %v\n%s", err, b.String())
	}
}
