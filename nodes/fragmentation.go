package nodes

// Fragmentation returns the share of the free GPUs that lie on usable nodes which
// are partly used, 0 to 1; 0 when none are free. A cluster whose free GPUs are all
// on whole nodes has none: whatever comes finds its GPUs together.
func Fragmentation(inventory []Node) float64 {
	free, scattered := 0, 0
	for _, n := range inventory {
		free += n.Free()
		if n.Used > 0 {
			scattered += n.Free()
		}
	}
	if free == 0 {
		return 0
	}
	return float64(scattered) / float64(free)
}
