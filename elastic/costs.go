package elastic

// Costs are what the policy welfare weighs: what running jobs is worth to users, and
// what it costs the provider. All are in one currency, whichever.
type Costs struct {
	Value float64 // an hour of one GPU at a job's best use of it
	GPU   float64 // an hour of one GPU, of a type without a cost of its own
	// Types are GPUs' costs by type, as Slurm's GRES names it.
	Types    map[string]float64
	CPU      float64 // an hour of one CPU
	MemoryGB float64 // an hour of one GB
	// Peak is the share of a resource beyond which its use costs Surcharge times as much.
	Peak, Surcharge float64
}

// Of is what an hour of one GPU of the type costs.
func (c *Costs) Of(gpu string) float64 {
	if cost, named := c.Types[gpu]; named {
		return cost
	}
	return c.GPU
}
