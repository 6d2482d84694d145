package main

import (
	"slices"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/own"
)

// Answers of lanes on several types of GPUs are told apart.
func TestSharingWords(t *testing.T) {
	v := &sweepView{View: &own.View{Sharing: []sweep.Sharing{{GPUs: 1, Trials: 1}, {GPUs: 1, Type: "a100", Trials: 4}, {GPUs: 2, Type: "t4", Trials: 1, Memory: true}}}}
	want := []string{"of lanes with 1 GPU: one trial at a time", "of lanes with 1 GPU of type a100: 4 trials at once", "of lanes with 2 GPUs of type t4: one trial at a time: a trial ran out of memory beside others"}
	if got := v.sharingWords(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
