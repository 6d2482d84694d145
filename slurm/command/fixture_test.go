package command

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// releases are the folders of testdata, each recorded on that Slurm.
var releases = []string{"20.11", "22.05", "24.11", "26.05"}

// fixture returns a recorded answer.
func fixture(t testing.TB, parts ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(append([]string{"testdata"}, parts...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// recorded is one command of answers.txt or silence.txt.
type recorded struct {
	name, command string
	exit          int
	answer        answer
}

// recordedAnswers reads what record.sh's answer function wrote.
func recordedAnswers(t testing.TB, parts ...string) []recorded {
	t.Helper()
	var all []recorded
	for line := range strings.Lines(fixture(t, parts...)) {
		switch {
		case strings.HasPrefix(line, "== "):
			all = append(all, recorded{name: strings.TrimSpace(line[3:])})
			continue
		case len(all) == 0:
			t.Fatalf("%v: %q before the first name", parts, line)
		}
		r := &all[len(all)-1]
		switch {
		case strings.HasPrefix(line, "$ "):
			r.command = strings.TrimSpace(line[2:])
		case strings.HasPrefix(line, "exit "):
			r.exit, _ = strconv.Atoi(strings.TrimSpace(line[5:]))
		case strings.HasPrefix(line, "out: "):
			r.answer.stdout += line[5:]
		case strings.HasPrefix(line, "err: "):
			r.answer.stderr += line[5:]
		default:
			r.answer.stderr += line
		}
	}
	return all
}
