package main

import (
	"bytes"
	"context"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/slurm/lab"
	"github.com/sluice-hpc/sluice/slurm/lab/labtest"
)

// runLab runs one "sluice lab" command and returns its standard output.
func runLab(args ...string) (string, error) {
	var out bytes.Buffer
	c := newLabCommand()
	c.SetArgs(args)
	c.SetOut(&out)
	c.SilenceErrors, c.SilenceUsage = true, true
	err := c.ExecuteContext(context.Background())
	return out.String(), err
}

func TestLabCommands(t *testing.T) {
	if err := lab.Missing(""); err != nil {
		t.Skipf("NOT TESTED on a real Slurm: %v", err)
	}
	dir := filepath.Join(labtest.Dir(t), "lab")
	if _, err := runLab("status", "--dir", dir); err == nil || !strings.Contains(err.Error(), "sluice lab up") {
		t.Errorf("status without a lab: %v", err)
	}
	out, err := runLab("up", "--dir", dir, "--nodes", "1", "--gpus", "2", "--partition", "main", "--set", "MinJobAge=60")
	if err != nil {
		t.Fatal(err)
	}
	defer runLab("down", "--dir", dir) // if something below fails
	if !strings.Contains(out, "1 nodes x 2 GPUs is up") || !strings.Contains(out, "sluice lab env --dir "+dir) {
		t.Errorf("up printed:\n%s", out)
	}
	if !strings.Contains(out, "to start sluiced on it: ") || !strings.Contains(out, "sluiced --config "+dir+"/sluice.toml") {
		t.Errorf("up does not say how to start sluiced:\n%s", out)
	}
	if out, err = runLab("env", "--dir", dir); err != nil || !strings.Contains(out, "export SLURM_CONF='"+dir+"/etc/slurm.conf'\n") || !strings.Contains(out, "export SLUICE_CONF='"+dir+"/sluice.toml'\n") {
		t.Errorf("env: %v\n%s", err, out)
	}
	if out, err = runLab("status", "--dir", dir); err != nil || !strings.Contains(out, "idle   gpu:2") {
		t.Errorf("status: %v\n%s", err, out)
	}
	if out, err = runLab("status", "--json", "--dir", dir); err != nil || !strings.Contains(out, `"state": "idle"`) {
		t.Errorf("status --json: %v\n%s", err, out)
	}
	if _, err = runLab("down", "--keep", "--dir", dir); err != nil {
		t.Error(err)
	}
	if _, err = runLab("status", "--dir", dir); err == nil || !strings.Contains(err.Error(), "does not run") {
		t.Errorf("status of a stopped lab: %v", err)
	}
	if _, err = runLab("down", "--dir", dir); err != nil {
		t.Error(err)
	}
	if _, err = runLab("down", "--dir", dir); err == nil {
		t.Error("down of no lab succeeded")
	}
}

func TestParsePartitions(t *testing.T) {
	got, err := parsePartitions([]string{"main=gpu1,gpu2", "all"})
	want := []lab.Partition{{Name: "main", Nodes: []string{"gpu1", "gpu2"}}, {Name: "all"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "=gpu1", "main="} {
		if _, err := parsePartitions([]string{bad}); err == nil {
			t.Errorf("%q accepted", bad)
		}
	}
}

// What was mistyped is named, and what was meant.
func TestLabSuggests(t *testing.T) {
	var out, errs bytes.Buffer
	code := terminal.Run(newCommand(), []string{"lab", "upp"}, &out, &errs)
	if want := "sluice: error: unknown command \"upp\"; did you mean 'sluice lab up'?\n"; code != 1 || errs.String() != want {
		t.Errorf("%d: %q, want %q", code, errs.String(), want)
	}
}
