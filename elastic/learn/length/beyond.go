package length

const (
	// tail is the share of its total work that a job is assumed to have left when it reaches
	// its declared end.
	tail = 0.01
	// slack is the share of its total work that a job may take beyond its declared end, to save
	// or to evaluate, before it counts as running past it.
	slack = 0.02
	// pull is how many more GPU-seconds a job is assumed to need for each GPU-second used
	// beyond its declared end, until that equals what it has used in all.
	pull = 10
)

// Past reports whether a job trains on past its declared end. reached is the GPU-seconds it had
// used when it got there, 0 if it has not; had is what it has used by now.
func Past(reached, had float64) bool { return reached > 0 && had > (1+slack)*reached }

// Beyond returns the work left, in units, of a job that has finished the total units it
// declared, so that its length is unknown. At its declared end it has almost nothing left; then
// a multiple of what it used beyond, at most as many GPU-seconds as it has used in all (Lindy's
// law). perUnit is the GPU-seconds per unit at its size; if it is 0, not known, the job is
// assumed to have had one constant speed.
func Beyond(total, reached, had, perUnit float64) float64 {
	if !Past(reached, had) {
		return tail * total
	}
	most := had / reached * total
	if perUnit > 0 {
		most = had / perUnit
	}
	return max(tail*total, min(most, (tail+pull*(had/reached-1-slack))*total))
}
