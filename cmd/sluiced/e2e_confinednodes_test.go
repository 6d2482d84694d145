package main_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/checkpoint/tunneltest"
	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// spread are the accounts of TestConfinedNodes, in the order of vaulters.
var spread = []string{"sluice-test-vn", "sluice-test-on", "sluice-test-rn", "sluice-test-nn"}

// TestConfinedNodes: a confined PyTorch training grows from one node to two and shrinks to one again; its ranks meet
// through the relay. The model is that of a run without confinement.
func TestConfinedNodes(t *testing.T) {
	t.Parallel()
	python := frameworks(t, "torch")
	needsFence(t)
	tunneltest.Need(t)
	s := playConfined(t, spread, python, filepath.Dir(filepath.Dir(python)), withNodes(2, 2), func(c *site.Config) { c.Config += "network = \"relay\"\n" })
	s.furnish()
	plain := s.plainly()
	s.as(s.owner, "sluice", "data", "add", "mammo", "--path", s.data, "--readers", s.reader, "--release", "20MB/job,30MB/week")
	id, err := s.Submit(s.ctx, s.reader, s.script(s.reader))
	s.must(err)
	j := &job{s: s.scene, id: id, user: s.reader}
	number := fmt.Sprint(id)
	resized := func(gpus, nodes int) {
		s.as(s.reader, "sluice", "resize", number, "--gpus", fmt.Sprint(gpus))
		j.runsOn(gpus)
		done := j.until("to run", func(v wire.Job) bool { return v.State == "RUNNING" }).Done
		v := j.until("to train", func(v wire.Job) bool { return v.State == "RUNNING" && v.Move == nil && v.Done > done })
		if len(v.Place) != nodes {
			t.Errorf("%d GPUs are on %v, want %d nodes", gpus, v.Place, nodes)
		}
	}
	j.until("to train", func(v wire.Job) bool { return v.State == "RUNNING" && v.Move == nil && v.Done > 0 })
	resized(1, 1)
	resized(4, 2)
	resized(2, 1)
	s.as(s.reader, "sluice", "resize", number, "--gpus", "auto")
	if state := j.ends(); state != "COMPLETED" {
		t.Errorf("it ended as %s", state)
	}
	log := s.as(s.reader, "sluice", "logs", number)
	t.Logf("log:\n%s", log)
	if !strings.Contains(log, "errors on 4 GPUs") {
		t.Error("no epoch was trained on two nodes")
	}
	said, err := s.Run(s.ctx, s.reader, "sluice", "results", number, "-o", "got")
	t.Logf("results (%v):\n%s", err, said)
	model, err := os.ReadFile(filepath.Join(s.Home(s.reader), "got", "model.json"))
	if err != nil || !bytes.Equal(model, plain) {
		t.Errorf("the model is not that of a run without confinement: %v\n%.200s\n%.200s", err, model, plain)
	}
}
