package slurm

import "strings"

// Compress writes names as a host list, as "scontrol show hostlist" does: only
// neighbours that differ in the number at their end share a bracket, and the
// order is kept, so Expand(Compress(names)) is names again.
func Compress(names []string) string {
	var b strings.Builder
	for i := 0; i < len(names); {
		if i > 0 {
			b.WriteByte(',')
		}
		i += compressGroup(&b, names[i:])
	}
	return b.String()
}

// compressGroup writes the leading names that share a prefix and returns their number, at
// least one.
func compressGroup(b *strings.Builder, names []string) int {
	prefix, _ := splitNumber(names[0])
	n := 1
	for n < len(names) && sharesPrefix(names[n], prefix) {
		n++
	}
	if _, number := splitNumber(names[0]); n == 1 || number == "" {
		b.WriteString(names[0])
		return 1
	}
	b.WriteString(prefix)
	b.WriteByte('[')
	for i := 0; i < n; {
		if i > 0 {
			b.WriteByte(',')
		}
		run := runLength(names[i:n], prefix)
		b.WriteString(names[i][len(prefix):])
		if run > 1 {
			b.WriteByte('-')
			b.WriteString(names[i+run-1][len(prefix):])
		}
		i += run
	}
	b.WriteByte(']')
	return n
}

// sharesPrefix reports whether the name is exactly the prefix and a number.
func sharesPrefix(name, prefix string) bool {
	p, number := splitNumber(name)
	return number != "" && p == prefix
}

// runLength returns how many leading names count up by one in the width of the first, so
// that one range covers them.
func runLength(names []string, prefix string) int {
	first := names[0][len(prefix):]
	value, _ := hostNumber(first)
	n := 1
	for n < len(names) && names[n][len(prefix):] == padNumber(value+int64(n), len(first)) {
		n++
	}
	return n
}

// splitNumber splits the digits off the end of a name; it returns no digits if they
// exceed the largest number it can hold.
func splitNumber(name string) (prefix, number string) {
	i := len(name)
	for i > 0 && name[i-1] >= '0' && name[i-1] <= '9' {
		i--
	}
	if len(name)-i > maxDigits {
		return name, ""
	}
	return name[:i], name[i:]
}
