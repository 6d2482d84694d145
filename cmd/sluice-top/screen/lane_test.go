package screen

import (
	"testing"
	"time"
)

// TestLane: a number where a size begins, if it has room; the mark of the present hides none.
func TestLane(t *testing.T) {
	from := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return from.Add(time.Duration(minutes) * time.Minute) }
	for want, all := range map[string][]stretch{
		"     |":      nil,
		"..1==|":      {{from: at(0), to: at(5)}, {from: at(2), to: at(5), gpus: 1}},
		"1====|----":  {{from: at(0), to: at(5), gpus: 1}, {from: at(5), to: at(10), gpus: 1, expected: true}},
		"1====|16--":  {{from: at(0), to: at(5), gpus: 1}, {from: at(5), to: at(10), gpus: 16, expected: true}},
		"    4|8---":  {{from: at(4), to: at(5), gpus: 4}, {from: at(5), to: at(10), gpus: 8, expected: true}},
		"    =|16--":  {{from: at(4), to: at(5), gpus: 12}, {from: at(5), to: at(10), gpus: 16, expected: true}},
		"     |2---":  {{from: at(5), to: at(6), gpus: 2}, {from: at(6), to: at(10), gpus: 2, expected: true}},
		"1==~~|~~4-":  {{from: at(0), to: at(3), gpus: 1}, {from: at(3), to: at(5), moves: true}, {from: at(5), to: at(8), moves: true, expected: true}, {from: at(8), to: at(10), gpus: 4, expected: true}},
		"1==1024====": nil,
	} {
		now := at(5)
		if want == "1==1024====" { // no present on the screen
			now, all = at(60), []stretch{{from: at(0), to: at(3), gpus: 1}, {from: at(3), to: at(11), gpus: 1024}}
		}
		if got := lane(all, from, time.Minute, len(want), now, plainMarks); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, width := range []int{-1, 0, 1} {
		lane([]stretch{{from: at(0), to: at(9), gpus: 12}}, from, 0, width, at(1), fineMarks)
	}
}
