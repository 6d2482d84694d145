package speed

// Source says where an answer of a Curve comes from.
type Source string

// The sources, best first.
const (
	Measured Source = "measured" // samples of this very shape
	Fitted   Source = "fitted"   // least squares over other shapes
	Prior    Source = "prior"    // nothing measured: an assumption
)

// Curve is a job's time per unit of work in every shape. See Fit.
type Curve struct {
	measured map[Shape]estimate
	form     form
}

type estimate struct{ seconds, weight float64 }

type form struct{ coefficients []float64 }
