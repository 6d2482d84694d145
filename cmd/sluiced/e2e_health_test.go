package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// pretended replaces sluice-nvml: the lab has no GPUs, so the driver's data comes from files named
// after the node.
const pretended = `#!/bin/bash
into=${1#--into=} node=${2#--node=}
mkdir -p "$into/gauge"
f=$into/gauge/${SLURM_RESTART_COUNT:-0}.$node.json
while [ -e %[1]s/on ]; do
  unfit=; [ -e %[1]s/$node ] && unfit="XID 79: fallen off the bus"
  gpus=; for i in 0 1; do
    gpus="$gpus,{\"index\":$i,\"uuid\":\"GPU-$node-$i\",\"utilisation\":0.25,\"unfit\":\"$unfit\"}"
  done
  echo "{\"node\":\"$node\",\"at\":\"$(date -u +%%Y-%%m-%%dT%%H:%%M:%%S.%%NZ)\",\"gpus\":[${gpus#,}]}" >"$f.new" && mv "$f.new" "$f"
  sleep 1
done
`

// withGPUs puts such a program beside sluice and returns the folder of its files.
func withGPUs(t *testing.T) (folder string, set setting) {
	t.Helper()
	folder, err := os.MkdirTemp("/tmp", "sluice-e2e-gpus-")
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	t.Cleanup(func() { os.RemoveAll(folder) })
	must(os.Chmod(folder, 0o755))
	must(site.Put(filepath.Join(folder, "on"), nil, 0o644))
	for _, name := range []string{"sluice", "sluiced"} {
		program, err := os.ReadFile(filepath.Join(bin, name))
		must(err)
		must(site.Put(filepath.Join(folder, name), program, 0o755))
	}
	must(site.Put(filepath.Join(folder, "sluice-nvml"), fmt.Appendf(nil, pretended, folder), 0o755))
	return folder, func(c *site.Config) { c.Bin = folder }
}

// TestUnfitGPUs: the state of the GPUs on both nodes of a job reaches sluiced through its runner.
// Nothing new is placed on a node with unfit GPUs until the operator trusts it; running jobs stay.
func TestUnfitGPUs(t *testing.T) {
	t.Parallel()
	folder, gpus := withGPUs(t)
	s := play(t, withNodes(2, 2), gpus)
	script := filepath.Join(s.Home(""), "both.sh")
	s.write(script, "#!/bin/bash\nexec \"$SLUICE\" ranks -- sleep 600\n")
	id, err := s.Submit(s.ctx, "", "--min-gpus=4", "--max-gpus=4", script)
	s.must(err)
	both := &job{s: s, id: id, name: "both"}
	v := both.until("to tell of the GPUs of both nodes", func(v wire.Job) bool { return v.State == "RUNNING" && v.Busy != nil })
	if *v.Busy != 0.25 || v.GPUs != 4 || len(v.Place) != 2 {
		t.Errorf("%v busy on %v", *v.Busy, v.Place)
	}
	sick, well := v.Place[1].Node, v.Place[0].Node
	s.write(filepath.Join(folder, sick), "")
	s.nodes("one left out", func(n wire.Node) bool {
		return n.Name == sick && !n.Usable && n.Health != nil && n.Health.Excluded && strings.Contains(n.Health.Why, "XID 79")
	})
	if out := s.as("", "sluice", "explain", fmt.Sprint(id)); !strings.Contains(out, "on "+sick+" is unfit: XID 79") {
		t.Errorf("shown of the job:\n%s", out)
	}
	if state := both.field("JobState"); state != "RUNNING" {
		t.Errorf("the job on it is %s", state)
	}
	s.cancel(both)
	next := s.submit("next", "", 200, []string{"--max-gpus=4"}, "--seconds", "0.5")
	if v := next.runsOn(2); v.Place[0].Node != well {
		t.Errorf("placed on %v, with %s unfit", v.Place, sick)
	}
	s.must(os.Remove(filepath.Join(folder, sick)))
	if out := s.as("", "sluice", "nodes", "--trust", sick); !strings.Contains(out, "used again") {
		t.Errorf("%s", out)
	}
	next.runsOn(4)
	s.cancel(next)
}

// nodes waits until sluiced's view of some node satisfies the condition.
func (s *scene) nodes(what string, ok func(wire.Node) bool) {
	s.t.Helper()
	var last []wire.Node
	err := site.Until(s.ctx, 90*time.Second, "nodes: "+what, func() (bool, error) {
		r, err := s.Control().Report(s.ctx)
		if err != nil {
			return false, err
		}
		for _, n := range r.Nodes {
			if ok(n) {
				return true, nil
			}
		}
		last = r.Nodes
		return false, nil
	})
	if err != nil {
		s.t.Fatalf("%v\nlast seen: %+v", err, last)
	}
}
