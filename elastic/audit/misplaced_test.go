package audit

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// A slurmctld that is killed before it saved a job's start comes back with the run before that. The node of the
// forgotten run tells it, and has its GPUs free again, whatever restarts follow.
func TestForgottenRunHoldsNothing(t *testing.T) {
	shares := func(node string) []Share { return []Share{{Node: node, GPUs: 1}} }
	record := func(kind Kind, node string) Record {
		return Record{Kind: kind, Job: 385, Shares: shares(node), Runs: true}
	}
	boot := Record{Kind: Booted}
	var c check
	c.Controller = []Record{record(Allocated, "gpu1"), {Kind: Freed, Job: 385}, record(Allocated, "gpu2"), boot, record(Recovered, ""),
		{Kind: Misplaced, Job: 385, Shares: []Share{{Node: "gpu2"}}}, boot, record(Recovered, ""), {Kind: Submitted, Job: 9}}
	want := []string{"", "gpu1", "", "gpu2", "", "gpu2", "gpu1", "", "gpu1"}
	var got []string
	c.replay(func(_ Record, held map[int64]holding) {
		node := ""
		for _, s := range held[385].shares {
			node += s.Node
		}
		got = append(got, node)
	})
	if !slices.Equal(got, want) {
		t.Errorf("held on %q, want %q", got, want)
	}
	read, err := parseText(t, "[2026-11-28T14:51:21.437] error: Registered JobId=385 StepId=385.batch on wrong node gpu2\n")
	if err != nil || len(read) != 1 || read[0].Kind != Misplaced || read[0].Job != 385 || read[0].Shares[0].Node != "gpu2" {
		t.Errorf("%+v, %v", read, err)
	}
}

func parseText(t *testing.T, text string) ([]Record, error) {
	t.Helper()
	return ParseController(strings.NewReader(text), "slurmctld.log", time.UTC)
}
