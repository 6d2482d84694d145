package client

import "testing"

func TestVersionOf(t *testing.T) {
	for answer, want := range map[string]int{
		`{"version":2,"at":"2026-01-01T00:00:00Z"}`: 2,
		`{"version":2}`:                      2,
		`{"at":1,"version":3,"jobs":[]}`:     3,
		`{"at":"a,b","version":3}`:           3,
		`{"code":{"version":9},"version":1}`: 1,
		`{"code":{"version":9},"jobs":[]}`:   0,
		`[1,2]`:                              0,
		`{`:                                  0,
		``:                                   0,
	} {
		if got := versionOf([]byte(answer)); got != want {
			t.Errorf("%s: %d, want %d", answer, got, want)
		}
	}
}
