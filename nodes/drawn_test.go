package nodes_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/nodes"
)

var update = flag.Bool("update", false, "write the golden files anew; read the diff before you commit it")

// drawnRacks is how many clusters each golden file has.
const drawnRacks = 400

// golden compares the output with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile("testdata/"+name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	raw, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(string(raw), "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(want) || line != want[i] {
			t.Fatalf("%s, line %d: got\n%s\nread why; if it is meant: go test ./nodes -update", name, i+1, line)
		}
	}
}

// TestPlacementsAsBefore compares the nodes of some hundred random lists of requests with
// golden files. The property tests check what a placement may be; this one checks that it
// does not change.
func TestPlacementsAsBefore(t *testing.T) {
	var b strings.Builder
	world := rapid.Custom(func(t *rapid.T) string {
		var out strings.Builder
		for _, res := range nodes.Place(inventories(t), requests(t)) {
			fmt.Fprintf(&out, " %s/%d", res.Placement, res.Fits)
		}
		return out.String()
	})
	for seed := range drawnRacks {
		fmt.Fprintf(&b, "%d:%s\n", seed, world.Example(seed))
	}
	golden(t, "placements.txt", b.String())
}

// TestReservationsAsBefore compares what is reserved for random ordinary Slurm jobs, and
// the nodes and GPUs per node on which each of them starts.
func TestReservationsAsBefore(t *testing.T) {
	var b strings.Builder
	world := rapid.Custom(func(t *rapid.T) string {
		inv := inventories(t)
		var wants []nodes.Want
		for range rapid.IntRange(1, 5).Draw(t, "wants") {
			wants = append(wants, nodes.Want{
				Partition: rapid.SampledFrom([]string{"", "gpu", "fast", "gpu,fast", "none"}).Draw(t, "partition"),
				Nodes:     rapid.IntRange(0, 3).Draw(t, "on"), GPUs: rapid.IntRange(0, 9).Draw(t, "gpus"),
				Type: rapid.SampledFrom([]string{"", "", "red", "blue"}).Draw(t, "type asked for")})
		}
		after, met := nodes.Reserve(inv, wants)
		out := fmt.Sprint(met)
		for _, w := range wants {
			count, share := w.Shape(inv)
			out += fmt.Sprintf(" %dx%d", count, share)
		}
		for _, l := range nodes.Taken(inv, after) {
			out += fmt.Sprintf(" %s%s", l.Place, l.Type)
		}
		return out
	})
	for seed := range drawnRacks {
		fmt.Fprintf(&b, "%d: %s\n", seed, world.Example(seed))
	}
	golden(t, "reservations.txt", b.String())
}
