package speed

import "testing"

// TestNodesAt: the next larger measured size gives the number of nodes, in any order of points;
// sizes that were not measured have no effect.
func TestNodesAt(t *testing.T) {
	p := Profile{Points: []Point{{GPUs: 8, Nodes: 2, Seconds: 1}, {GPUs: 1, Nodes: 1, Seconds: 1}, {GPUs: 4, Nodes: 3}, {GPUs: 16, Nodes: 4, Seconds: 1}, {GPUs: 2, Seconds: 1}}}
	for gpus, want := range map[int]int{1: 1, 2: 1, 3: 2, 8: 2, 9: 4, 16: 4, 100: 4} {
		if got := p.NodesAt(gpus); got != want {
			t.Errorf("%d GPUs on %d nodes, want %d", gpus, got, want)
		}
	}
	if got := (&Profile{Points: []Point{{GPUs: 4, Nodes: 2}}}).NodesAt(4); got != 1 {
		t.Errorf("nothing measured: %d", got)
	}
	if got := (&Profile{Points: []Point{{GPUs: 8, Nodes: 8, Seconds: 1}}}).NodesAt(2); got != 2 {
		t.Errorf("more nodes than GPUs: %d", got)
	}
}
