package network

import "testing"

func BenchmarkTrain40(b *testing.B) {
	all := wavy(1, 40)
	for b.Loop() {
		if _, err := Train(all, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTrain10(b *testing.B) {
	all := wavy(1, 10)
	for b.Loop() {
		if _, err := Train(all, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
