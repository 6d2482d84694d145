package speed_test

import (
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

// A job reported 10 steps on 1 GPU and 10 on 4 GPUs of one node. The curve answers for every
// other shape and says where each answer comes from.
func ExampleFit() {
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	curve := speed.Fit([]speed.Sample{
		{Shape: speed.Shape{GPUs: 1, Nodes: 1}, Seconds: 2.0, Units: 10, At: now.Add(-time.Hour)},
		{Shape: speed.Shape{GPUs: 4, Nodes: 1}, Seconds: 0.6, Units: 10, At: now},
	}, now)
	for _, shape := range []speed.Shape{{GPUs: 1, Nodes: 1}, {GPUs: 2, Nodes: 1}, {GPUs: 4, Nodes: 1}, {GPUs: 8, Nodes: 2}} {
		seconds, source := curve.Seconds(shape)
		fmt.Printf("%d GPUs on %d nodes: %.2f s a step, %s\n", shape.GPUs, shape.Nodes, seconds, source)
	}
	// Output:
	// 1 GPUs on 1 nodes: 2.00 s a step, measured
	// 2 GPUs on 1 nodes: 1.06 s a step, fitted
	// 4 GPUs on 1 nodes: 0.60 s a step, measured
	// 8 GPUs on 2 nodes: 0.40 s a step, fitted
}
