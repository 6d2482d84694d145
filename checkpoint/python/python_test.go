package python_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/python"
)

const token = "0123456789abcdef0123456789abcdef"

// interpreter returns the system's Python, which is the one with torch.
func interpreter(t *testing.T) string {
	t.Helper()
	for _, p := range []string{"/usr/bin/python3", "python3"} {
		if found, err := exec.LookPath(p); err == nil {
			return found
		}
	}
	t.Skip("NOT TESTED: the training library; there is no python3")
	return ""
}

func run(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, interpreter(t), args...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1"), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("python3 %s: %v\n%s", strings.Join(args, " "), err, failures(string(out)))
	}
	return string(out)
}

// failures returns what unittest prints of the tests that failed, from its first rule
// on: of hundreds that passed nothing helps. Other output is returned whole.
func failures(out string) string {
	if _, after, found := strings.Cut(out, "\n"+strings.Repeat("=", 70)+"\n"); found {
		return after
	}
	return out
}

// TestLibrary runs the library's own tests.
func TestLibrary(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED in short mode: the training library")
	}
	out := run(t, ".", nil, "-m", "unittest", "discover", "-v", "-t", ".", "-s", "tests")
	for line := range strings.Lines(out) {
		if strings.Contains(line, "skipped") || strings.HasPrefix(line, "Ran ") {
			t.Log(strings.TrimSpace(line))
		}
	}
}

// TestUnderstood: what the library writes, the runner and the daemon read.
func TestUnderstood(t *testing.T) {
	base := t.TempDir()
	lib, jobs := filepath.Join(base, "lib"), filepath.Join(base, "jobs")
	if err := python.WriteTo(lib); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(jobs, token)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	saved := filepath.Join(dir, checkpoint.Checkpoints)
	env := []string{"PYTHONPATH=" + lib, "SLUICE_JOB_DIR=" + dir, "SLUICE_JOB_ID=42", "SLUICE_RESTARTS=1", "SLUICE_NODES=2",
		"SLUICE_CHECKPOINTS=" + saved, "SLUICE_REQUEST=" + dir + "/request.json", "SLUICE_RESUME="}
	run(t, base, env, "-c", `
import sluice
sluice.should_checkpoint()
for epoch in (1, 2):
    with sluice.checkpoint(step=epoch * 10, epoch=epoch) as d:
        (d / "model.pt").write_text("weights " * 1000)
        (d / "optim").mkdir()
        (d / "optim" / "naïve name").write_bytes(b"")
    sluice.report(epoch=epoch, step=epoch * 10, metric={"val/loss": 0.25})
sluice.finished()
`)
	d, err := checkpoint.OpenDir(saved)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	c, skipped, err := checkpoint.NewSeries(d, checkpoint.Identity{Job: 42, Token: token}).Newest(t.Context())
	if err != nil || c.Name != "00000002" || len(skipped) > 0 || c.Manifest.Step != 20 || c.Manifest.Epoch != 2 || len(c.Manifest.Files) != 2 {
		t.Errorf("%+v, skipped %v, %v", c, skipped, err)
	}
	mail, err := checkpoint.NewMailbox(jobs, filepath.Join(base, "outbox"))
	if err != nil {
		t.Fatal(err)
	}
	lines, _, bad, err := mail.Progress(token, uint32(os.Getuid()), 0)
	var events []string
	for _, l := range lines {
		events = append(events, l.Event)
	}
	if got := strings.Join(events, " "); err != nil || len(bad) > 0 || got != "hello progress progress finished" || lines[2].Metric["val/loss"] != 0.25 {
		t.Errorf("%s, bad %v, %v", got, bad, err)
	}
	out := run(t, base, append(env, "SLUICE_RESUME="+filepath.Join(saved, c.Name)), "-c",
		`import sluice; r = sluice.resume(); print(r.step, r.epoch, r.gpus, (r / "model.pt").exists())`)
	if out != "20 2 1 True\n" {
		t.Errorf("resumes from %q", out)
	}
}

// TestShared: a checkpoint that shares unchanged files with an older one is valid,
// and stays so when the older one is pruned.
func TestShared(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, token)
	saved := filepath.Join(dir, checkpoint.Checkpoints)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := exec.CommandContext(t.Context(), interpreter(t), "-c", "import torch").Run(); err != nil {
		t.Skip("NOT TESTED: shared files; this python3 has no torch")
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	run(t, base, []string{"PYTHONPATH=" + here, "SLUICE_JOB_DIR=" + dir, "SLUICE_JOB_ID=42", "SLUICE_CHECKPOINTS=" + saved, "SLUICE_REQUEST=" + dir + "/request.json", "SLUICE_RESUME="}, "-c", `
import os, sluice, torch
state = {"table": torch.randn(400_000), "w": torch.zeros(400_000)}
for step in (1, 2):
    with sluice.checkpoint(step=step, background=step == 1) as folder:
        sluice.save(state, folder / "state", parts=True)
    assert sluice.wait()
    state["w"] += 1
assert os.stat(folder / "state" / "000000").st_nlink == 2
`)
	d, err := checkpoint.OpenDir(saved)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	series := checkpoint.NewSeries(d, checkpoint.Identity{Job: 42, Token: token})
	for _, name := range []string{"00000001", "00000002"} {
		if _, err := series.Verify(t.Context(), name); err != nil {
			t.Error(err)
		}
	}
	newest, _, err := series.Newest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if removed, err := series.Prune(newest, 1); err != nil || len(removed) != 1 {
		t.Errorf("pruned %v, %v", removed, err)
	}
	if c, _, err := series.Newest(t.Context()); err != nil || c.Name != "00000002" {
		t.Errorf("%s, %v", c.Name, err)
	}
}

func TestWriteTo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	for range 2 {
		if err := python.WriteTo(dir); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"sluice/__init__.py", "examples/train_ddp.py", "examples/ddp.sh"} {
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs, %v", name, err)
		}
	}
	damaged := filepath.Join(dir, "sluice", "__init__.py")
	os.WriteFile(damaged, []byte("broken"), 0o644)
	if err := python.WriteTo(dir); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(damaged); string(got) == "broken" {
		t.Error("an older copy stays")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*", ".sluice-*")); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	if err := python.WriteTo("/dev/null/x"); err == nil {
		t.Error("no error where nothing can be written")
	}
}

// TestPip installs the library as users do, from a copy of its folder and with
// no network.
func TestPip(t *testing.T) {
	if err := exec.CommandContext(t.Context(), interpreter(t), "-c", "import pip, setuptools, wheel, venv, ensurepip").Run(); err != nil {
		t.Skip("NOT TESTED: pip install; this python3 lacks pip, setuptools, wheel or venv")
	}
	base := t.TempDir()
	source, venv := filepath.Join(base, "source"), filepath.Join(base, "venv")
	if err := sourceCopy(source); err != nil {
		t.Fatal(err)
	}
	run(t, base, nil, "-m", "venv", "--system-site-packages", venv)
	pip := exec.CommandContext(t.Context(), filepath.Join(venv, "bin", "python"), "-m", "pip", "install", "-q", "--no-index", "--no-build-isolation", "--disable-pip-version-check", source)
	pip.Dir = base
	if out, err := pip.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	use := exec.CommandContext(t.Context(), filepath.Join(venv, "bin", "python"), "-c",
		`import os, sluice; d = os.path.dirname(sluice.__file__); print(d.startswith(os.environ["VENV"]), sluice.resume(), os.path.exists(d + "/py.typed"))`)
	use.Dir, use.Env = base, append(os.Environ(), "VENV="+venv, "PYTHONPATH=", "SLUICE_JOB_DIR=")
	if out, err := use.CombinedOutput(); err != nil || string(out) != "True None True\n" {
		t.Errorf("%v: %s", err, out)
	}
}

// sourceCopy copies what pip needs: building leaves files beside the source.
func sourceCopy(to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	project, err := os.ReadFile("pyproject.toml")
	if err == nil {
		err = os.WriteFile(filepath.Join(to, "pyproject.toml"), project, 0o644)
	}
	if err == nil {
		err = python.WriteTo(to)
	}
	return err
}
