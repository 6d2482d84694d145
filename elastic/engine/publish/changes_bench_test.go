package publish

import (
	"fmt"
	"testing"
)

// What it costs to compare a report of 10,000 jobs with the one before, in every cycle.
func BenchmarkChanges(b *testing.B) {
	r := reported(nil)
	one := r.Jobs[0]
	r.Jobs = nil
	for i := range 10_000 {
		one.Record.Token = fmt.Sprintf("%032d", i)
		r.Jobs = append(r.Jobs, one)
	}
	var c Changes
	for b.Loop() {
		c.Note(r)
	}
}
