package workload

import "github.com/sluice-hpc/sluice/elastic/learn/speed"

// Measurement is one row of a profile: a step on a split, at a batch.
type Measurement struct {
	Split []int   // GPUs on each node
	Local int     // the batch of one GPU
	Step  float64 // seconds
	Sync  float64 // of them, spent waiting for the other GPUs
}

// Measured lists what was measured, in a fixed order: the splits, then what is known by
// the numbers of nodes and GPUs alone, which is taken to be split evenly.
func (p *Profile) Measured() []Measurement {
	var out []Measurement
	for _, at := range p.splits() {
		l := p.placements[at]
		for i, local := range l.locals {
			out = append(out, Measurement{at.split(), local, l.at[i].step, l.at[i].sync})
		}
	}
	return append(out, p.scalability...)
}

// even is a measurement of so many GPUs on so many nodes; false of fewer GPUs than nodes.
func even(s shape, local int, took times) (Measurement, bool) {
	split := speed.Shape{GPUs: s.gpus, Nodes: s.nodes}.Even()
	return Measurement{split, local, took.step, took.sync}, s.gpus >= s.nodes
}
