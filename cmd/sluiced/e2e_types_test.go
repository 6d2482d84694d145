package main_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// A job that names a type of GPU runs on nodes with such alone, however idle others are,
// and its size in Slurm names the type; one that accepts several has GPUs of one. Of a
// node with both types two jobs have one each.
func TestTypesOfGPU(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(5, 2), func(c *site.Config) {
		c.Lab.GPUTypes = []string{"big", "small", "big", "small", "big:1+small:1"}
	})
	asks := func(j *job, want string) {
		t.Helper()
		if out := s.as("", "scontrol", "-o", "show", "job", fmt.Sprint(j.id)); !strings.Contains(out, want) {
			t.Errorf("Slurm shows %s\nwant %s", out, want)
		}
	}
	small := s.submit("small", "", 1000, []string{"--gpu-types=small"}, "--seconds", "0.4")
	small.on(4, "gpu2", "gpu4")
	asks(small, "gpu:small:2") // on each of two nodes
	fixed := s.submit("fixed", "", 1000, []string{"--gpus=big:2"}, "--seconds", "0.4")
	fixed.on(2, "gpu1", "gpu3")
	asks(fixed, "gpu:big:2")
	either := s.submit("either", "", 1000, []string{"--gpu-types=big,small", "--max-gpus=4"}, "--seconds", "0.4")
	either.on(2, "gpu1", "gpu3")
	var both []*job
	for _, kind := range []string{"big", "small"} {
		j := s.submit("one-"+kind, "", 1000, []string{"--gpus=" + kind + ":1"}, "--seconds", "0.4")
		j.on(1, "gpu5")
		asks(j, "gpu:"+kind+":1")
		both = append(both, j)
	}
	s.cancel(both...)
	s.cancel(fixed)
	either.on(4, "gpu1", "gpu3") // never a mix
	s.cancel(small, either)
	for _, j := range []*job{small, either} {
		j.until("to end", func(v wire.Job) bool { return v.Ended })
	}
}

// With policy welfare a program that is three times as fast on one of two types of GPU is moved there,
// wherever it was started, and never runs on both types at once, since that gives no speed of either
// type. The slower type is emulated.
func TestWelfareFindsTheFasterType(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(4, 1), func(c *site.Config) {
		c.Lab.GPUTypes = []string{"t4", "t4", "a100", "a100"}
		c.Config = quick + "[policy]\nname = \"welfare\"\n"
	})
	script := s.ddp("train", "#SLUICE --model=net --epochs=1500", "--epochs 1500 --steps-per-epoch 5 --emulate-step-seconds 0.2 --emulate-slow gpu1=3 --emulate-slow gpu2=3")
	began := time.Now()
	id, err := s.Submit(s.ctx, "", "--output=train.out", script)
	s.must(err)
	j := &job{s: s, id: id, name: "train"}
	fast := func(v wire.Job) bool {
		return v.State == "RUNNING" && v.Move == nil && v.GPUs == 2 && !onNodes(v, "gpu1", "gpu2")
	}
	j.until("to run on the faster type", func(v wire.Job) bool {
		if v.State == "RUNNING" && onNodes(v, "gpu1", "gpu2") && onNodes(v, "gpu3", "gpu4") {
			t.Fatalf("it runs on both types: %s (%s)", v.Place, v.Reason)
		}
		return fast(v)
	})
	if took := time.Since(began); took > time.Minute {
		t.Errorf("that took %s", took)
	}
	time.Sleep(15 * time.Second) // some epochs, and as many decisions
	if v := j.view(); !fast(v) {
		t.Errorf("it went on to %s: %s", v.Place, v.Reason)
	}
	out := s.as("", "sluice", "history", fmt.Sprint(id))
	t.Logf("\n%s", out)
	s.cancel(j)
}
