package controltest

import (
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/share"
	"github.com/sluice-hpc/sluice/elastic/share/claim"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// Now is when the canned report was made.
var Now = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// The users of the canned report. By convention ann is the caller.
const (
	AnnUID = 1001
	BobUID = 1002
)

// The jobs of the canned report.
const (
	Growing  elastic.JobID = 41 // ann's, 2 GPUs, asked for a checkpoint on its way to 4
	Steady   elastic.JobID = 42 // bob's, 4 GPUs on two nodes, counts steps
	Waiting  elastic.JobID = 43 // ann's, no GPU yet
	OnHold   elastic.JobID = 44 // ann's, held by her order, pinned to 2
	Deaf     elastic.JobID = 45 // bob's, has never answered a request
	Finished elastic.JobID = 40 // ann's
	Failed   elastic.JobID = 39 // bob's
)

// Report returns a fresh canned report.
func Report() *publish.Report {
	return &publish.Report{
		At: Now, Took: 180 * time.Millisecond, Next: Now.Add(30 * time.Second), Policy: "knapsack",
		Nodes: []nodes.Node{
			node("gpu1", 4, 4, true, ""),
			node("gpu2", 4, 3, true, ""),
			twoTypes("gpu3", false, "DRAIN"),
		},
		Jobs:    []publish.JobReport{growing(), steady(), waiting(), onHold(), deaf(), finished(), failed()},
		Demands: []elastic.Demand{{ID: 90, Partition: "gpu", Nodes: 1, GPUs: 2}},
		Shares:  shares(),
	}
}

// shares returns a division of 8 GPUs: bio has more than its part, of what phys lends.
func shares() publish.Shares {
	list := []slurm.Share{
		{Account: "root"}, {Account: "bio", Parent: "root", Shares: 40}, {Account: "bio", User: "bob", Parent: "bio", Shares: 1, Fair: 0.25},
		{Account: "phys", Parent: "root", Shares: 60}, {Account: "theory", Parent: "phys", Shares: 3},
		{Account: "theory", User: "ann", Parent: "theory", Shares: 2, Fair: 0.875}, {Account: "theory", User: "eve", Parent: "theory", Shares: 1, Fair: 0.5},
	}
	tree, err := share.New([]share.Association{{Account: "root", Shares: 1}, {Account: "bio", Parent: "root", Shares: 40}, {Account: "phys", Parent: "root", Shares: 60}, {Account: "theory", Parent: "phys", Shares: 3}})
	if err != nil {
		panic(err)
	}
	of := func(account, user string, deserved, wanted int, jobs ...elastic.JobID) claim.Claim {
		return claim.Claim{Want: share.Want{Account: account, User: user, GPUs: wanted}, Deserved: share.Part{Fair: float64(deserved), GPUs: deserved}, Jobs: jobs}
	}
	return publish.Shares{Count: true, Read: Now.Add(-20 * time.Second), List: list, Tree: tree, Claims: claim.Claims{Capacity: 8, Each: []claim.Claim{
		of("bio", "bob", 3, 8, Steady, Deaf), of("old", "", 0, 0), of("theory", "ann", 5, 5, Growing, Waiting, OnHold)}, Unknown: []string{"old"}}}
}

func node(name string, gpus, used int, usable bool, state string) nodes.Node {
	return nodes.Node{Name: name, Partitions: []string{"gpu"}, Type: "h100", GPUs: gpus, Used: used, Usable: usable, Why: nodes.Unusable{State: state},
		CPUs: 64, CPUsUsed: 16 * used, MemoryMB: 515_000, MemUsedMB: int64(100_000 * used)}
}

// twoTypes returns a node with GPUs of two types, of which one is used.
func twoTypes(name string, usable bool, state string) nodes.Node {
	n := node(name, 4, 1, usable, state)
	n.Type, n.Types = "h100+l4", []nodes.OfType{{Type: "h100", GPUs: 3, Used: 1}, {Type: "l4", GPUs: 1}}
	return n
}

// curve returns the curve of a job that takes this many seconds per unit on 1 GPU and scales
// well. It was measured on 1 and 2 GPUs.
func curve(seconds float64) *speed.Curve {
	sample := func(gpus, on int, s float64) speed.Sample {
		return speed.Sample{Shape: speed.Shape{GPUs: gpus, Nodes: on}, Seconds: s, Units: 1, At: Now.Add(-time.Hour)}
	}
	return speed.Fit([]speed.Sample{sample(1, 1, seconds), sample(2, 1, seconds/1.9)}, Now)
}

// accounts are Slurm's accounts of the users.
var accounts = map[string]journal.Account{"ann": {Name: "phys", Known: true}, "bob": {Known: true}}

// job returns a live job's report; the callers set the rest.
func job(id elastic.JobID, name, user string, uid uint32, phase elastic.Phase, place nodes.Placement) publish.JobReport {
	token := strings.Repeat("0", 30) + string(rune('0'+id/10)) + string(rune('0'+id%10))
	spec := elastic.Spec{Token: token, Min: 1, Max: 8, Total: 10, Unit: elastic.Epochs, Model: "resnet50"}
	state := map[elastic.Phase]string{elastic.Running: "RUNNING", elastic.Waiting: "PENDING", elastic.Queued: "PENDING"}[phase]
	price := elastic.Price{Save: 4 * time.Second, Drain: time.Second, Start: 2 * time.Second, Load: 5 * time.Second, Measured: 2}
	submitted := Now.Add(-2*time.Hour + time.Duration(id)*time.Minute)
	rec := journal.JobRecord{
		Token:    token,
		Identity: journal.Identity{ID: id, Name: name, Owner: elastic.Owner{User: user, UID: uid}, SlurmUID: uid, Partition: "gpu", Account: accounts[user]},
		Tag:      elastic.Tag{Spec: spec},
		Life:     journal.Life{Submitted: submitted, State: state},
		LastRun:  journal.LastRun{Place: place},
		Price:    price,
	}
	j := elastic.Job{ID: id, Name: name, User: user, UID: uid, Partition: "gpu", Spec: spec, Phase: phase, State: state,
		Place: place, Submitted: submitted, Price: price}
	if phase == elastic.Running {
		rec.FirstRun, rec.Restarts, rec.Tag.Incarnation, rec.Speaks = submitted.Add(time.Minute), 1, 2, true
		j.Started, j.Restarts, j.Incarnation, j.Speaks = submitted.Add(20*time.Minute), 1, 2, true
		j.Heartbeat, j.TimeLeft, j.Curve = Now.Add(-3*time.Second), 90*time.Minute, curve(60)
	}
	return publish.JobReport{Record: rec, Job: &j, Decided: publish.Decided{Target: place}}
}

// progress sets what the job has done, in both places that hold it.
func progress(jr *publish.JobReport, done float64, eta time.Duration) {
	jr.Record.Done, jr.Job.Done = done, done
	jr.ETA = Now.Add(eta)
}

func growing() publish.JobReport {
	place := nodes.Placement{{Node: "gpu1", GPUs: 2}}
	jr := job(Growing, "resnet", "ann", AnnUID, elastic.Running, place)
	progress(&jr, 3.5, 206*time.Second)
	jr.Record.Tag.Spec.Sweep, jr.Job.Spec.Sweep = Sweep, Sweep
	jr.Target = nodes.Placement{{Node: "gpu1", GPUs: 4}}
	jr.Why = reason.Resizes{From: 2, To: 4, Because: reason.RestTakes{After: 134, Before: 206}}
	jr.Intent = &elastic.Intent{ID: 7, Job: Growing, Kind: elastic.Resize, Step: elastic.Asked, To: 3, From: place, Target: jr.Target,
		Restarts: 1, Request: "7", Cause: jr.Why, Opened: Now.Add(-4 * time.Second), Moved: Now.Add(-3 * time.Second)}
	jr.Record.Moved, jr.Job.Resumed = Now.Add(-30*time.Minute), "00000003"
	jr.Last = reason.MoveClosed{Kind: "resize", From: nodes.Placement{{Node: "gpu1", GPUs: 1}}, Target: place, Outcome: "done", Because: reason.Runs{On: place}}
	return jr
}

var keepsFour = reason.Keeps{GPUs: 4, Because: reason.NextSize{Next: 8, Idle: 1}}

func steady() publish.JobReport {
	jr := job(Steady, "llama-7b-finetune", "bob", BobUID, elastic.Running, nodes.Placement{{Node: "gpu1", GPUs: 2}, {Node: "gpu2", GPUs: 2}})
	spec := &jr.Record.Tag.Spec
	spec.Min, spec.Max, spec.Sizes, spec.Total, spec.Unit, spec.Model = 2, 0, []int{2, 4, 8}, 200_000, elastic.Steps, "llama"
	jr.Job.Spec, jr.Job.Curve = *spec, curve(0.4)
	progress(&jr, 120_500, 2*time.Hour+10*time.Minute)
	jr.Why = keepsFour
	return jr
}

func waiting() publish.JobReport {
	jr := job(Waiting, "bert\x1b[31m", "ann", AnnUID, elastic.Waiting, nil)
	jr.Record.Tag.Spec.Min, jr.Job.Spec.Min = 2, 2
	jr.Record.Tag.Spec.Sweep, jr.Job.Spec.Sweep = Sweep, Sweep
	jr.Job.Reason = "JobHeldUser"
	jr.Why = reason.WaitsForRoom{GPUs: 2, All: 8, Free: []int{1}, Minimum: 1}
	return jr
}

func onHold() publish.JobReport {
	jr := job(OnHold, "vit", "ann", AnnUID, elastic.Waiting, nil)
	jr.Record.Tag.Directive = elastic.Directive{Pin: 2, Hold: true}
	jr.Record.Tag.Comment = "paper draft"
	jr.Job.Directive = jr.Record.Tag.Directive
	jr.Why = reason.HeldByUser{Job: int64(OnHold)}
	return jr
}

func deaf() publish.JobReport {
	jr := job(Deaf, "legacy", "bob", BobUID, elastic.Running, nodes.Placement{{Node: "gpu2", GPUs: 1}})
	jr.Record.Speaks, jr.Job.Speaks, jr.Record.Deaf, jr.Job.Deaf = false, false, 3, 3
	jr.Record.Tag.Spec.Total, jr.Job.Spec.Total, jr.Job.Curve = 0, 0, nil
	jr.Record.Restarts, jr.Record.Tag.Incarnation = 0, 1
	jr.Why = reason.Keeps{GPUs: 1, Because: reason.Deaf{Requests: 3}}
	jr.Problems = []string{"no heartbeat for 4m", "progress.jsonl line 12, column 3: not JSON"}
	return jr
}

func ended(jr publish.JobReport, state string, ago time.Duration, done float64) publish.JobReport {
	jr.Ended, jr.Job, jr.Target = true, &elastic.Job{}, nil
	jr.Record.State, jr.Record.Ended, jr.Record.Done, jr.Record.FirstRun = state, Now.Add(-ago), done, jr.Record.Submitted.Add(time.Minute)
	return jr
}

func finished() publish.JobReport {
	jr := job(Finished, "cifar", "ann", AnnUID, elastic.Waiting, nodes.Placement{{Node: "gpu2", GPUs: 4}})
	return ended(jr, "COMPLETED", 20*time.Minute, 10)
}

func failed() publish.JobReport {
	jr := job(Failed, "oops", "bob", BobUID, elastic.Waiting, nodes.Placement{{Node: "gpu3", GPUs: 1}})
	jr = ended(jr, "FAILED", 50*time.Minute, 0.25)
	jr.Record.Account = journal.Account{} // as an older sluiced stored it
	jr.Last = reason.MoveClosed{Kind: "start", Target: jr.Record.Place, Outcome: "ended", Because: reason.JobEnded{State: "FAILED"}}
	return jr
}

// Segments returns the canned history of Growing.
func Segments() []journal.Segment {
	token := growing().Record.Token
	price := growing().Record.Price
	return []journal.Segment{
		{Token: token, Restarts: 0, Incarnation: 1, Place: nodes.Placement{{Node: "gpu1", GPUs: 1}}, Started: Now.Add(-78 * time.Minute),
			Ended: Now.Add(-31 * time.Minute), DoneFrom: 0, DoneTo: 2, Seconds: 60, Cause: reason.StartsAtMinimum{GPUs: 1}},
		{Token: token, Restarts: 1, Incarnation: 2, Place: nodes.Placement{{Node: "gpu1", GPUs: 2}}, Started: Now.Add(-30 * time.Minute),
			DoneFrom: 1.75, DoneTo: 3.5, Seconds: 31.6, Cause: reason.Resizes{From: 1, To: 2, Because: reason.RestTakes{After: 250, Before: 480}}, Price: price},
	}
}

// Plan returns the canned plan: Waiting starts, Steady would shrink but is still resting after
// a resize, and the other jobs stay.
func Plan() engine.Forecast {
	target, less := nodes.Placement{{Node: "gpu2", GPUs: 2}}, nodes.Placement{{Node: "gpu1", GPUs: 2}}
	steady := Report().Jobs[slices.IndexFunc(Report().Jobs, func(jr publish.JobReport) bool { return jr.Record.ID == Steady })]
	return engine.Forecast{At: Now.Add(30 * time.Second), Plan: elastic.Plan{
		Open: []elastic.Intent{{Job: Waiting, Kind: elastic.Start, Step: elastic.Requeued, To: 1, Target: target, Cause: reason.StartsAtMinimum{GPUs: 2}}},
		Reasons: []elastic.JobReason{
			{Job: Growing, Why: growing().Why},
			{Job: Steady, Why: keepsFour},
			{Job: Waiting, Why: reason.StartsAtMinimum{GPUs: 2}},
			{Job: OnHold, Why: reason.HeldByUser{Job: int64(OnHold)}},
			{Job: Deaf, Why: reason.Keeps{GPUs: 1, Because: reason.Deaf{Requests: 3}}},
		},
	}, Later: []engine.Postponed{{
		Intent: elastic.Intent{Job: Steady, Kind: elastic.Resize, Step: elastic.Intended, To: 2, Target: less, Cause: reason.Resizes{From: 4, To: 2, Because: reason.JobStarts{Job: 43}}},
		From:   steady.Job.Place, Until: Now.Add(50 * time.Second),
	}}}
}
