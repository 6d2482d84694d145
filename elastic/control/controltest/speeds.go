package controltest

import (
	"context"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

// Model is the model that ann trains, timed in ten shapes.
const Model = "resnet50"

// Speeds returns the throughput of ann's Model, well measured: spanning nodes makes it slower
// by a quarter, which a curve alone does not predict.
var Speeds = sync.OnceValue(func() engine.Speeds {
	store := new(journal.Memory)
	var all []speed.Sample
	for _, shape := range []speed.Shape{{GPUs: 1, Nodes: 1}, {GPUs: 2, Nodes: 1}, {GPUs: 4, Nodes: 1}, {GPUs: 6, Nodes: 1}, {GPUs: 8, Nodes: 1},
		{GPUs: 2, Nodes: 2}, {GPUs: 4, Nodes: 2}, {GPUs: 8, Nodes: 2}, {GPUs: 12, Nodes: 2}, {GPUs: 16, Nodes: 2}} {
		seconds := 100/float64(shape.GPUs) + 1
		if shape.Nodes > 1 {
			seconds *= 1.25
		}
		for i := range 3 {
			all = append(all, speed.Sample{Shape: shape, Seconds: seconds, Units: 1, At: Now.Add(-time.Duration(i+1) * time.Minute), Kind: "h100"})
		}
	}
	ctx := context.Background()
	if err := store.AddSamples(ctx, "user:1001/model:"+Model+"/epoch", all); err != nil {
		panic(err) // memory does not fail
	}
	s, err := engine.New(engine.Config{Seams: engine.Seams{Samples: store}}).Speeds(ctx, AnnUID, Model, Now)
	if err != nil {
		panic(err)
	}
	s.Settle()
	return s
})
