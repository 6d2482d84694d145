package sbatch

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/elastic"
)

func TestAdopt(t *testing.T) {
	s := mustScript(t, `#!/bin/sh
#SLUICE --steps=300 --checkpoint-glob='out-%j/checkpoint-*' --checkpoint-marker=trainer_state.json --checkpoint-still=30
#SLUICE --progress-regex='(?P<step>\d+)/(?P<total>\d+)'
`)
	r, err := Merge(CommandLine{}, nil, s)
	want := Adopt{Glob: "out-%j/checkpoint-*", Marker: "trainer_state.json", Still: 30e9, Progress: `(?P<step>\d+)/(?P<total>\d+)`}
	if err != nil || r.Adopt != want || !r.Spec.Habit {
		t.Errorf("%+v, habit %v, %v", r.Adopt, r.Spec.Habit, err)
	}
	// As in a shell: a backslash is doubled within double quotes and not within
	// single ones. sbatch reads its own lines otherwise.
	for line, want := range map[string]string{
		`#SLUICE --progress-regex='(?P<epoch>\d+)'`:   `(?P<epoch>\d+)`,
		`#SLUICE --progress-regex="(?P<epoch>\\d+)"`:  `(?P<epoch>\d+)`,
		`#SLUICE --progress-regex=(?P<epoch>[0-9.]+)`: `(?P<epoch>[0-9.]+)`,
	} {
		if r, err := Merge(CommandLine{}, nil, mustScript(t, "#!/bin/sh\n"+line+"\n")); err != nil || r.Adopt.Progress != want {
			t.Errorf("%s: %q, %v", line, r.Adopt.Progress, err)
		}
	}
	if r, err := Merge(CommandLine{}, nil, mustScript(t, "#!/bin/sh\n")); err != nil || r.Spec.Habit {
		t.Errorf("habit %v, %v", r.Spec.Habit, err)
	}
}

func FuzzParseGlob(f *testing.F) {
	for _, seed := range []string{"out/checkpoint-*", "/a/b[0-9]", "..", "a/../b", "[", `\`, "$X", "~", "", "a//b", "%j"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, v string) {
		got, err := parseGlob(v)
		if err == nil && (got != v || slices.Contains(strings.Split(v, "/"), "..") || strings.HasSuffix(v, "/")) {
			t.Fatalf("%q was accepted as %q", v, got)
		}
	})
}

func FuzzParseProgress(f *testing.F) {
	for _, seed := range []string{`(?P<step>\d+)`, `(?P<epoch>[`, `(?P<loss>x)`, strings.Repeat("(", 500), `(?P<step>a{1000}{1000})`, ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, v string) {
		got, err := parseProgress(v, elastic.Steps)
		if err != nil {
			return
		}
		if got != v || !slices.Contains(regexp.MustCompile(v).SubexpNames(), "step") {
			t.Fatalf("%q was accepted as %q", v, got)
		}
	})
}
