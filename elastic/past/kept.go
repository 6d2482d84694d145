package past

import "time"

// Bounds on what is kept.
const (
	// MostEntries is how many entries are kept, some 100 MB; the oldest go first.
	MostEntries = 300_000
	// MostBody is the longest body of an entry, in bytes; longer ones are not kept.
	MostBody = 16 << 10
	// SampleEvery is the time between two samples.
	SampleEvery = time.Minute
	// Keep is for how long everything is kept.
	Keep = 90 * 24 * time.Hour
)

// Thinning says that of samples older than Age one in each Every is kept.
type Thinning struct{ Age, Every time.Duration }

// Thinnings are applied in order: a day of minutes, a week of 10 minutes, then hours: at most 4,608
// samples of each kind.
var Thinnings = []Thinning{{24 * time.Hour, 10 * time.Minute}, {8 * 24 * time.Hour, time.Hour}}
