package knapsack

// Reducing returns a Solver whose Expand reduces small problems too.
func Reducing() *Solver { return &Solver{reduces: true} }
