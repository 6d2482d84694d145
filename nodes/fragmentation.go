package nodes

// Fragmentation returns the share of the free GPUs that are on partly used usable nodes,
// 0 to 1; 0 when none are free. It is 0 if all free GPUs are on whole nodes.
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
