package share

// Lend returns, for accounts as Tree.Accounts lists them, what each has beyond its own part of the
// capacity, and what others of the same parent have of its own part. had is what each has with what
// is below it. An account that has no shares of its own neither borrows nor lends.
//
// accounts MUST be in that order, parents first, and had MUST be as long; capacity and all results are GPUs.
// What is lent is at most what siblings borrow: of 10 GPUs and equal shares, 7 for phys and 2 for bio are 2
// borrowed by phys, and 2 lent by bio, whose third one is idle.
func Lend(accounts []Account, capacity float64, had []float64) (borrowed, lent []float64) {
	type sums struct{ above, below float64 }
	index := make(map[string]int, len(accounts))
	up := make([]int, len(accounts)) // the parent with shares of its own; -1 = none
	of := map[int]sums{}
	borrowed, lent = make([]float64, len(accounts)), make([]float64, len(accounts))
	for i, a := range accounts {
		index[a.Name], up[i] = i, -1
		if a.Parent != "" {
			if up[i] = index[a.Parent]; accounts[up[i]].Passes {
				up[i] = up[up[i]]
			}
		}
		if a.Passes {
			continue
		}
		s, over := of[up[i]], had[i]-a.Own*capacity
		s.above, s.below = s.above+max(0, over), s.below+max(0, -over)
		of[up[i]] = s
	}
	for i, a := range accounts {
		switch over := had[i] - a.Own*capacity; {
		case a.Passes:
		case over > 0:
			borrowed[i] = over
		case over < 0:
			s := of[up[i]]
			lent[i] = -over * min(1, s.above/s.below)
		}
	}
	return borrowed, lent
}
