package predict

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// TestNonNegativeIsBest: the result satisfies the Karush-Kuhn-Tucker conditions, which only the
// optimum does: no coefficient below 0, gradient 0 where one is above 0, gradient not negative
// where one is 0.
func TestNonNegativeIsBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, n := rapid.IntRange(1, 12).Draw(t, "rows"), rapid.IntRange(1, 7).Draw(t, "terms")
		number := rapid.Custom(func(t *rapid.T) float64 {
			return float64(rapid.IntRange(-20, 20).Draw(t, "number")) / 4
		})
		a := mat.NewDense(m, n, rapid.SliceOfN(number, m*n, m*n).Draw(t, "a"))
		b := rapid.SliceOfN(number, m, m).Draw(t, "b")
		x, err := nonNegative(a, b)
		if err != nil {
			t.Fatal(err)
		}
		var off, slope mat.VecDense
		off.MulVec(a, mat.NewVecDense(n, x))
		off.SubVec(&off, mat.NewVecDense(m, b))
		slope.MulVec(a.T(), &off)
		for j := range x {
			size := mat.Norm(a.ColView(j), 2) * (1 + mat.Norm(mat.NewVecDense(m, b), 2)) // size of a gradient that matters
			switch g := slope.AtVec(j) / max(1, size); {
			case x[j] < 0 || math.IsNaN(x[j]):
				t.Fatalf("x = %v", x)
			case g < -1e-4, x[j] > 0 && g > 1e-4:
				t.Fatalf("x = %v, slope %v of term %d: lower is possible", x, g, j)
			}
		}
	})
}

// TestEqualColumnsShare: two equal columns get half each.
func TestEqualColumnsShare(t *testing.T) {
	x, err := nonNegative(mat.NewDense(2, 3, []float64{1, 1, 0, 1, 1, 0}), []float64{3, 3})
	if err != nil || math.Abs(x[0]-1.5) > 1e-3 || math.Abs(x[1]-1.5) > 1e-3 || x[2] != 0 {
		t.Errorf("%v %v", x, err)
	}
}

// TestDescend: the minimum of Rosenbrock's function, whose valley is long and curved.
func TestDescend(t *testing.T) {
	x, cost := descend([]float64{-1.2, 1}, func(x []float64) (float64, []float64) {
		a, b := 1-x[0], x[1]-x[0]*x[0]
		return a*a + 100*b*b, []float64{-2*a - 400*x[0]*b, 200 * b}
	})
	if math.Abs(x[0]-1) > 1e-3 || math.Abs(x[1]-1) > 1e-3 || cost > 1e-6 {
		t.Errorf("%v at %v", cost, x)
	}
}
