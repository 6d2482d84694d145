package main_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// Jobs grow only onto nodes that their constraints accept and that they do not exclude, whatever is
// idle. Alternatives in brackets are not mixed. A constraint that no node satisfies is refused by sbatch; a
// job that has one nevertheless says so, until its user changes it.
func TestConstraints(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(4, 2))
	for node, feature := range map[string]string{"gpu1": "fast", "gpu2": "fast", "gpu3": "slow", "gpu4": "slow"} {
		s.as("", "scontrol", "update", "NodeName="+node, "AvailableFeatures="+feature, "ActiveFeatures="+feature)
	}
	a := s.submit("a", "", 1000, []string{"--constraint=fast"}, "--seconds", "0.4")
	a.on(4, "gpu1", "gpu2")
	if out, err := s.Run(s.ctx, "", "sluice", "submit", "--gpus=1", "--constraint=fast&slow", "--wrap=true"); err == nil || !strings.Contains(err.Error(), "Requested node configuration is not available") {
		t.Errorf("a constraint that no node satisfies was answered %q, %v", out, err)
	}
	x := s.submit("x", "", 5, []string{"--hold", "--constraint=fast&slow"}) // which sbatch does not check if the job is held
	x.until("to be held", func(v wire.Job) bool { return v.OnHold })
	s.as("", "sluice", "release", fmt.Sprint(x.id))
	x.until("to be told why it waits", func(v wire.Job) bool {
		return strings.Contains(v.Reason, "its constraint fast&slow leaves no node of its partition")
	})
	if why := s.as("", "sluice", "explain", fmt.Sprint(x.id)); !strings.Contains(why, "its constraint fast&slow leaves no node") {
		t.Errorf("explain says:\n%s", why)
	}
	b := s.submit("b", "", 1000, []string{"--exclude=gpu1,gpu3"}, "--seconds", "0.4")
	// It starts on gpu4, the only one that is free, and a may give gpu2 back for it.
	first := b.until("to run", func(v wire.Job) bool { return v.State == "RUNNING" && v.GPUs > 0 && v.Speaks })
	if names := b.nodes(first); slices.Contains(names, "gpu1") || slices.Contains(names, "gpu3") {
		t.Errorf("b runs on %v, and excludes gpu1 and gpu3", names)
	}
	s.cancel(a)
	b.on(4, "gpu2", "gpu4")
	c := s.submit("c", "", 1000, []string{"--constraint=[fast|slow]"}, "--seconds", "0.4")
	alike := func(v wire.Job) {
		fast := func(node string) bool { return node == "gpu1" || node == "gpu2" }
		names := c.nodes(v)
		if slices.ContainsFunc(names, fast) && !slices.Equal(names, slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !fast(n) })) {
			t.Errorf("c runs on %v, which are not alike", names)
		}
	}
	// With b on gpu4 it has one node of either kind, or two once b gave gpu2 back.
	alike(c.until("to run", func(v wire.Job) bool { return v.State == "RUNNING" && v.Move == nil && v.Speaks }))
	s.cancel(b)
	alike(c.runsOn(4))

	s.as("", "scontrol", "update", fmt.Sprintf("JobId=%d", x.id), "Features=slow")
	x.completes()
	s.cancel(c)
	if out, err := s.Run(s.ctx, "", "sluice", "submit", "--constraint=fast*2", "--wrap=true"); err == nil || !strings.Contains(err.Error()+out, "column 5 of the constraint") {
		t.Errorf("a count was answered %q, %v", out, err)
	}
}

// on waits until the job runs on so many GPUs, and checks that they are on some of these
// nodes.
func (j *job) on(gpus int, nodes ...string) {
	j.s.t.Helper()
	for _, name := range j.nodes(j.runsOn(gpus)) {
		if !slices.Contains(nodes, name) {
			j.s.t.Errorf("%s runs on %s, and accepts %v", j.name, name, nodes)
		}
	}
}

func (j *job) nodes(v wire.Job) (names []string) {
	for _, share := range v.Place {
		names = append(names, share.Node)
	}
	slices.Sort(names)
	return names
}
