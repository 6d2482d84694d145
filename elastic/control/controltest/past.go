package controltest

import (
	"encoding/json"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/past"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// Entries are the canned decisions and moves: two of ann's job that grows, one of each of bob's.
func Entries() []past.Entry {
	one, four := nodes.Placement{{Node: "gpu1", GPUs: 2}}, nodes.Placement{{Node: "gpu1", GPUs: 4}}
	at := func(minutes int) time.Time { return Now.Add(time.Duration(-minutes) * time.Minute) }
	decided := past.Decision{Has: 2, Target: four, Why: reason.Value{Reason: reason.DeadlinesFirst}}
	moved := past.Move{Kind: elastic.Resize, Step: elastic.Confirmed, From: one, Target: four, Cause: reason.Value{Reason: reason.UserAskedRequeue},
		Outcome: elastic.Done, Why: reason.Value{Reason: reason.Runs{On: four}}, Closed: at(19),
		Times: past.Times{Asked: at(20), Saved: at(20).Add(10 * time.Second), Pending: at(20).Add(15 * time.Second), Released: at(20).Add(20 * time.Second)}}
	return []past.Entry{
		{ID: 1, Kind: past.Decisions, At: at(30), Job: Growing, UID: AnnUID, User: "ann", Body: body(decided)},
		{ID: 2, Kind: past.Decisions, At: at(30), Job: 42, UID: BobUID, User: "bob", Body: body(past.Decision{Why: reason.Value{Reason: reason.HeldAside}})},
		{ID: 3, Kind: past.Moves, At: at(20), Job: Growing, UID: AnnUID, User: "ann", Body: body(moved)},
		{ID: 4, Kind: past.Moves, At: at(10), Job: 42, UID: BobUID, User: "bob", Body: body(moved)},
		{ID: 5, Kind: past.Decisions, At: at(5), Job: Growing, UID: AnnUID, User: "ann", Body: body(decided)},
	}
}

// Samples are the canned samples, one a minute.
func Samples() (out []past.Sample) {
	for minutes := 3; minutes > 0; minutes-- {
		at := Now.Add(time.Duration(-minutes) * time.Minute)
		out = append(out,
			past.Sample{Kind: past.Clusters, At: at, Seconds: 60, Body: body(past.Cluster{Running: minutes, Waiting: 1, Nodes: []past.Node{{Name: "gpu1", GPUs: 4, Used: 3, Elastic: 2, Free: 1}, {Name: "gpu2", GPUs: 4, State: "DRAIN"}}})},
			past.Sample{Kind: past.Shares, At: at, Seconds: 60, Body: body(past.Division{GPUs: 8, Lines: []past.Line{{Account: "phys", Deserved: 4, Used: 2}, {Account: "phys", User: "ann", Deserved: 2, Used: 2}, {Account: "phys", User: "bob", Wanted: 1}}})})
	}
	return out
}

func body(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // they are constants
	}
	return raw
}
