package slurm

import "strings"

// Slice reports whether a GPU type, as in gpu:TYPE:2, is a profile of MIG slices: 1g.5gb,
// 1c.3g.20gb, 1g.10gb+me or, with Slurm's or the driver's name of the GPU before it,
// nvidia_a100_3g.20gb. The number before "g" is the number of sevenths of the GPU, the
// one before "gb" the memory in GB.
func Slice(kind string) bool {
	for rest := strings.ToLower(kind); ; {
		before, after, found := strings.Cut(rest, "g.")
		if !found {
			return false
		}
		memory := strings.TrimLeft(after, "0123456789")
		if endsInDigit(before) && len(memory) < len(after) && strings.HasPrefix(memory, "gb") {
			return true
		}
		rest = after
	}
}

func endsInDigit(s string) bool { return s != "" && s[len(s)-1] >= '0' && s[len(s)-1] <= '9' }
