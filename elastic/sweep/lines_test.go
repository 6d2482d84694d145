package sweep

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestLines: whole lines only, each once, also where one is cut by the end of what is read at once, or is
// longer than that.
func TestLines(t *testing.T) {
	half, long := strings.Repeat("h", MaxLines*2/3), strings.Repeat("l", MaxLines+5)
	for name, x := range map[string]struct {
		text     string
		from, to int64
		want     []string
		next     int64
	}{
		"nothing":                  {"", 0, 0, nil, 0},
		"none that ends":           {"a", 0, 1, nil, 0},
		"one is being written":     {"a\nb", 0, 3, []string{"a"}, 2},
		"from an offset":           {"a\nb\n", 2, 4, []string{"b"}, 4},
		"the file was longer":      {"a\nb\n", 2, 9, []string{"b"}, 4},
		"an end in a line":         {"a\nbc\n", 0, 3, []string{"a"}, 2},
		"before the offset":        {"a\n", 2, 1, nil, 2},
		"cut by what is read":      {half + "\n" + half + "\nc\n", 0, 2*int64(len(half)) + 4, []string{half, half, "c"}, 2*int64(len(half)) + 4},
		"longer than what is read": {long + "\nc\n", 0, int64(len(long)) + 3, []string{"lllll", "c"}, int64(len(long)) + 3},
	} {
		var lines []string
		next, err := Lines(strings.NewReader(x.text), x.from, x.to, func(line []byte) { lines = append(lines, string(line)) })
		if err != nil || next != x.next || !slices.Equal(lines, x.want) {
			t.Errorf("%s: %d lines of %d, next %d of %d, %v", name, len(lines), len(x.want), next, x.next, err)
		}
	}
	if next, err := Lines(broken{}, 7, 9, nil); next != 7 || err == nil {
		t.Errorf("next %d, %v", next, err)
	}
}

type broken struct{}

func (broken) ReadAt([]byte, int64) (int, error) { return 0, errors.New("input/output error") }
