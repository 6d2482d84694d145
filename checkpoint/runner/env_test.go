package runner

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/supervise"
	"github.com/sluice-hpc/sluice/nodes"
)

var update = flag.Bool("update", false, "rewrite the golden files; read the difference before you commit it")

// given are environments of batch scripts as Slurm 22.05 made them, in testdata.
func given(t *testing.T, name string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".env"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

// TestEnvironment holds the difference that a run makes to what Slurm gave
// against its golden file.
func TestEnvironment(t *testing.T) {
	split := nodes.Placement{{Node: "gpu1", GPUs: 4}, {Node: "gpu2", GPUs: 1}}
	for name, target := range map[string]checkpoint.Target{
		"first":        {},
		"grown-even":   {Incarnation: 2, Split: nodes.Placement{{Node: "gpu1", GPUs: 2}, {Node: "gpu2", GPUs: 2}}, Largest: 12},
		"grown-uneven": {Incarnation: 3, Split: split, Largest: 12},
		"other-plan":   {Incarnation: 3, Split: nodes.Placement{{Node: "gpu1", GPUs: 3}, {Node: "gpu2", GPUs: 2}}},
		"no-plan":      {Incarnation: 3, GPUs: 5},
		"cpus":         {},
	} {
		t.Run(name, func(t *testing.T) {
			env := given(t, name)
			f := facts{
				job: 42, jobDir: "/shared/jobs/t", request: "/shared/jobs/t/request.json", checkpoints: "/shared/jobs/t/checkpoints",
				resume: "/shared/jobs/t/checkpoints/00000007", restarts: 2, incarnation: target.Incarnation,
				where: look(supervise.Vars(env), target), largest: target.Largest, unit: "epoch",
				master: "gpu1", port: 12345, runner: 4711, sluice: "/usr/bin/sluice", python: "/usr/share/sluice/python",
			}
			golden(t, name, difference(env, environment(env, f)))
		})
	}
}

func difference(before, after []string) string {
	var out []string
	for _, e := range before {
		if !slices.Contains(after, e) {
			out = append(out, "- "+e)
		}
	}
	for _, e := range after {
		if !slices.Contains(before, e) {
			out = append(out, "+ "+e)
		}
	}
	return strings.Join(out, "\n") + "\n"
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	p := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(p, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(p)
	if err != nil || string(want) != got {
		t.Errorf("%s differs (go test -update rewrites it; read the difference first), %v:\n%s", p, err, got)
	}
}

// TestOutsideOfAJob: a script that is no job of sluice's keeps what Slurm and
// the user gave it, but not what an outer job of sluice's left in it.
func TestOutsideOfAJob(t *testing.T) {
	got := environment([]string{"SLURM_NTASKS=8", "SLUICE_JOB_DIR=/outer", "SLUICE_CONF=/c", "MASTER_ADDR=outer", "A=b"},
		facts{sluice: "/usr/bin/sluice"})
	if want := []string{"SLURM_NTASKS=8", "SLUICE_CONF=/c", "A=b", "SLUICE=/usr/bin/sluice"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNoNameTwice(t *testing.T) {
	got := environment([]string{"SLUICE=/old", "SLUICE_GPUS=3", "PYTHONPATH=/mine", "SLUICE_PYTHON=/old"},
		facts{jobDir: "/j", sluice: "/new", python: "/lib", port: 1})
	seen := map[string]bool{}
	for _, e := range got {
		name, _, _ := strings.Cut(e, "=")
		if seen[name] {
			t.Errorf("%s twice in %q", name, got)
		}
		seen[name] = true
	}
	if !slices.Contains(got, "PYTHONPATH=/mine:/lib") || !slices.Contains(got, "SLUICE_GPUS=") {
		t.Errorf("%q", got)
	}
}

func TestLook(t *testing.T) {
	plan := func(shares ...nodes.Share) checkpoint.Target {
		return checkpoint.Target{Split: shares, GPUs: nodes.Placement(shares).GPUs()}
	}
	for name, c := range map[string]struct {
		hosts, here string
		target      checkpoint.Target
		want        string
		gpus        int
	}{
		"one node":                    {"gpu1", "3", checkpoint.Target{}, "gpu1:3", 3},
		"one node, other plan":        {"gpu1", "3", plan(nodes.Share{Node: "gpu1", GPUs: 4}), "gpu1:3", 3},
		"as planned":                  {"gpu[1-2]", "2", plan(nodes.Share{Node: "gpu1", GPUs: 2}, nodes.Share{Node: "gpu2", GPUs: 3}), "gpu1:2+gpu2:3", 5},
		"elsewhere":                   {"gpu[1-2]", "2", checkpoint.Target{Split: nodes.Placement{{Node: "gpu1", GPUs: 2}, {Node: "gpu3", GPUs: 3}}}, "-", 0},
		"two nodes, total known":      {"gpu[1-2]", "4", checkpoint.Target{GPUs: 5}, "gpu1:4+gpu2:1", 5},
		"three nodes, in equal parts": {"gpu[1-3]", "4", checkpoint.Target{GPUs: 12}, "gpu1:4+gpu2:4+gpu3:4", 12},
		"three nodes, total only":     {"gpu[1-3]", "4", checkpoint.Target{GPUs: 7}, "-", 0},
		"no GPU":                      {"gpu1", "", checkpoint.Target{}, "-", 0},
		"unreadable list":             {"gpu[1-", "2", checkpoint.Target{}, "-", 2},
	} {
		w := look(map[string]string{"SLURM_JOB_NODELIST": c.hosts, "SLURM_GPUS_ON_NODE": c.here}, c.target)
		if w.split.String() != c.want || w.gpus != c.gpus {
			t.Errorf("%s: %s, %d GPUs; want %s, %d", name, w.split, w.gpus, c.want, c.gpus)
		}
	}
}

// The type of the GPUs is known where the job runs on the nodes of the plan, or on any that it can get.
func TestTypeOfGPUs(t *testing.T) {
	on := func(names ...string) (out nodes.Placement) {
		for _, name := range names {
			out = append(out, nodes.Share{Node: name, GPUs: 2})
		}
		return out
	}
	for hosts, c := range map[string]struct {
		split nodes.Placement
		want  string
	}{"gpu1": {on("gpu1"), "a100"}, "gpu[1-2]": {on("gpu1", "gpu2"), "a100"}, "gpu[1-3]": {on("gpu1", "gpu2"), ""}, "gpu4": {on("gpu1"), ""}, "gpu5": {nil, "a100"}} {
		w := look(map[string]string{"SLURM_JOB_NODELIST": hosts, "SLURM_GPUS_ON_NODE": "2"}, checkpoint.Target{Split: c.split, Type: "a100"})
		if w.kind != c.want {
			t.Errorf("on %s: %q, want %q", hosts, w.kind, c.want)
		}
	}
}

func TestShebang(t *testing.T) {
	for first, want := range map[string]string{
		"#!/bin/bash":                 "/bin/bash S a b",
		"#! /usr/bin/env  python3":    "/usr/bin/env python3 S a b",
		"#!/bin/bash -e -u\r":         "/bin/bash|-e -u|S a b",
		"#!\t/bin/bash\t-e":           "/bin/bash -e S a b",
		"#!/usr/bin/perl\t":           "/usr/bin/perl S a b",
		"echo none":                   "/bin/sh S a b",
		"":                            "/bin/sh S a b",
		"#!":                          "error",
		"#!/bin/bash" + "\nexec rest": "/bin/bash S a b",
	} {
		p := filepath.Join(t.TempDir(), "script")
		os.WriteFile(p, []byte(first), 0o600)
		argv, err := commandFor(p, []string{"a", "b"})
		got := strings.ReplaceAll(strings.Join(argv, " "), p, "S")
		if err != nil {
			got = "error"
		}
		if strings.ReplaceAll(want, "|", " ") != got {
			t.Errorf("%q: %q, want %q", first, got, want)
		}
		if strings.Contains(want, "|") && len(argv) != 5 {
			t.Errorf("%q: %d words, want the interpreter's arguments as one", first, len(argv))
		}
	}
	if _, err := commandFor(filepath.Join(t.TempDir(), "none"), nil); err == nil {
		t.Error("no script: no error")
	}
}

func TestMasterAddress(t *testing.T) {
	for what, c := range map[string]struct {
		hosts []string
		host  string
		want  string
	}{
		"one node":        {[]string{"gpu1"}, "x", "127.0.0.1"},
		"no node":         {nil, "x", "127.0.0.1"},
		"resolves":        {[]string{"localhost", "b"}, "x", "localhost"},
		"host resolves":   {[]string{"no-such.invalid", "b"}, "localhost", "localhost"},
		"neither does so": {[]string{"no-such.invalid", "b"}, "nor-this.invalid", "127.0.0.1"},
	} {
		if got := masterAddress(t.Context(), c.hosts, c.host); got != c.want {
			t.Errorf("%s: %s, want %s", what, got, c.want)
		}
	}
}
