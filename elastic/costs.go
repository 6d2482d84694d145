package elastic

// Costs are the inputs of the policy welfare: the value of running jobs to users, and the cost
// to the provider. All are in one currency, which may be any.
type Costs struct {
	Value float64 // of one GPU-hour at a job's best use of it
	GPU   float64 // of one GPU-hour, for types without a cost in Types
	// Types are the costs of a GPU-hour by type, as Slurm's GRES names the type.
	Types    map[string]float64
	CPU      float64 // of one CPU-hour
	MemoryGB float64 // of one GB-hour of memory
	// Peak is the share of a resource, from 0 to 1, beyond which its use costs Surcharge times
	// as much.
	Peak, Surcharge float64
}

// Of returns the cost of one GPU-hour of the type.
func (c *Costs) Of(gpu string) float64 {
	if cost, named := c.Types[gpu]; named {
		return cost
	}
	return c.GPU
}
