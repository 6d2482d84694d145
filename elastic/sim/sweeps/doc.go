// Package sweeps simulates hyper-parameter sweeps that share GPUs, on recorded learning curves:
// testbench D, tasks of LCBench with 1,000 configurations each. A policy divides the GPUs between
// the sweeps; the figures are how long sweeps take to reach a goal that no policy knows.
package sweeps
