package predict

import "testing"

// BenchmarkChoose measures Choose with as many observations as an engine learns from.
func BenchmarkChoose(b *testing.B) {
	all := observe(wavy, ways, 1, 2, 4, 8, 16, 32)[:40]
	for b.Loop() {
		if _, err := Choose([]Form{Curve, LeastSquares, Network}, all, nil); err != nil {
			b.Fatal(err)
		}
	}
}
