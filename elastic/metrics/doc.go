// Package metrics is what sluiced measures of itself, as OpenMetrics: what Slurm's own metrics do not
// know. METRICS.md lists every metric.
//
// The daemon reports what happened: Fold adds up events and reports of cycles, the other methods count
// single calls. A scrape reads only what was stored then, so that it never waits for a cycle, and a
// cycle never waits for a scrape. The number of series is bounded: see Options.
package metrics
