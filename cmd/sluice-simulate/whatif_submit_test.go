package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
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

// TestWhatifSubmit asks a canned daemon about a sweep: what it would get, and who ends later.
func TestWhatifSubmit(t *testing.T) {
	dir := t.TempDir()
	socket, script, job := filepath.Join(dir, "sock"), filepath.Join(dir, "sweep.sh"), filepath.Join(dir, "job.sh")
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
	for path, text := range map[string]string{conf: "[paths]\nsocket = \"" + socket + "\"\n", script: sweepScript, job: "#!/bin/bash\n#SLUICE --min-gpus=1\ntrue\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("SLUICE_CONF", conf)
	t.Setenv("SLUICE_ADDRESS", "")
	ask := func(args ...string) (string, string, int) {
		var out, errs bytes.Buffer
		code := terminal.Run(newCommand(), append([]string{"whatif"}, args...), &out, &errs)
		return out.String(), errs.String(), code
	}
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
	jobs := filepath.Join(dir, "jobs.sh")
	if err := os.WriteFile(jobs, []byte(strings.Replace(sweepScript, "--min-gpus=1", "--trial=job", 1)), 0o600); err != nil {
		t.Fatal(err)
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
