package control

import (
	"reflect"
	"testing"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
	"github.com/sluice-hpc/sluice/nodes"
)

// A sweep has the lanes of its user alone, whatever token another user's job gives itself; one whose
// files were not read yet is listed by its lanes; lanes that have ended are not listed.
func TestViewSweeps(t *testing.T) {
	const mine, other = "11111111111111111111111111111111", "22222222222222222222222222222222"
	lane := func(id elastic.JobID, uid uint32, sweep, token string, gpus int, ended bool) publish.JobReport {
		jr := publish.JobReport{Job: &elastic.Job{Place: nodes.Placement{{Node: "n", GPUs: gpus}}}}
		jr.Record = journal.JobRecord{Token: token, Identity: journal.Identity{ID: id, Owner: elastic.Owner{User: "u", UID: uid}, SlurmUID: uid, Name: "lane"}, Tag: elastic.Tag{Spec: elastic.Spec{Sweep: sweep}}}
		jr.Ended = ended
		return jr
	}
	r := &publish.Report{Jobs: []publish.JobReport{
		lane(13, 1, mine, "c", 1, false), lane(11, 1, mine, "a", 2, true), lane(12, 1, mine, "b", 4, false),
		lane(20, 2, mine, "d", 1, false), lane(32, 2, other, "e", 1, false), lane(31, 2, other, "f", 1, true), lane(40, 1, "", "g", 1, false),
	}}
	known := map[string]SweepReport{mine: {Sweep: wire.Sweep{Number: 11, UID: 1, State: "running", Name: "s", Metric: "acc"}, Running: map[string][]int{"b": {5, 7, 9}, "d": {6}}}}
	got := map[int64]wire.Sweep{}
	for _, s := range viewSweeps(r, known, func(uint32) bool { return true }) {
		got[s.Number] = s
	}
	if s := got[11]; len(got) != 3 || s.Name != "s" || s.GPUs != 5 || !reflect.DeepEqual(s.Lanes, []wire.SweepLane{{JobID: 12, GPUs: 4, Trial: 5, Beside: []int{7, 9}}, {JobID: 13, GPUs: 1}}) {
		t.Errorf("%+v", got)
	}
	if s := got[20]; s.Metric != "" || s.State != "waiting" || s.Name != "lane" || s.UID != 2 || s.Lanes[0].Trial != 0 {
		t.Errorf("another user's job that names the token: %+v", s)
	}
	if s := got[31]; s.State != "waiting" || len(s.Lanes) != 1 || s.Bests == nil || s.Levels == nil {
		t.Errorf("not read yet: %+v", s)
	}
	if all := viewSweeps(r, known, func(uid uint32) bool { return uid == 2 }); len(all) != 2 || all[0].UID != 2 || all[1].UID != 2 {
		t.Errorf("what user 2 sees: %+v", all)
	}
}

// What is wrong with a sweep may name its parameters: other users learn that something is.
func TestProblemsAreTheirUsers(t *testing.T) {
	all := []wire.Sweep{{UID: 1, Problem: "--param lr=log:0:1: below 0"}, {UID: 2, Problem: "--param x"}, {UID: 2}}
	hideProblems(all, 1)
	if all[0].Problem != "--param lr=log:0:1: below 0" || all[1].Problem != anothersProblem || all[2].Problem != "" {
		t.Errorf("%+v", all)
	}
}
