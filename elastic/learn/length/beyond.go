package length

const (
	// tail is the part of its total that a job is taken to have left when it reaches its
	// declared end.
	tail = 0.01
	// slack is the part of its total that a job may take beyond its declared end, to save
	// or to evaluate, before that counts.
	slack = 0.02
	// pull is how many GPU-seconds more a job is taken to need for each GPU-second that
	// it used beyond its declared end, until that is as much as it has had.
	pull = 10
)

// Past reports whether a job that had used reached GPU-seconds at its declared end, 0 for
// one that is not there, and has used had by now, trains on.
func Past(reached, had float64) bool { return reached > 0 && had > (1+slack)*reached }

// Beyond is the work left, in units, of a job that has finished the total units it
// declared. Such a job is of unknown length. At its declared end it has next to nothing
// left; then a multiple of what it used beyond, up to as many GPU-seconds as it has had
// (Lindy's law). perUnit is the GPU-seconds of a unit at its size; 0 = not known, and what
// it has had then counts as if it had been equally fast throughout.
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
