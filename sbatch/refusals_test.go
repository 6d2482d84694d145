package sbatch

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew; read the diff before you commit it")

// TestRefusals reads testdata/refusals.txt: the input (one of "args:", "env:", "script:",
// several may follow each other), then "----" and the answer: one line for each error and
// warning.
func TestRefusals(t *testing.T) {
	const path = "testdata/refusals.txt"
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for i, block := range strings.Split(strings.TrimSpace(string(raw)), "\n\n") {
		if i > 0 {
			out.WriteString("\n")
		}
		given, want, _ := strings.Cut(block+"\n", "----\n")
		got := answer(given)
		out.WriteString(given + "----\n" + got)
		if !*update && got != want {
			t.Errorf("%sgot:\n%swant:\n%s", given, got, want)
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func answer(given string) string {
	var args, env []string
	script := "#!/bin/sh\n"
	for _, line := range strings.Split(strings.TrimSpace(given), "\n") {
		kind, text, _ := strings.Cut(line, ": ")
		switch kind {
		case "args":
			args = append(args, strings.Fields(text)...)
		case "env":
			env = append(env, text)
		case "script":
			script += text + "\n"
		}
	}
	c, err := ParseCommandLine(args)
	lines := errorLines(err)
	s, err := ParseScript("job.sh", []byte(script))
	lines = append(lines, errorLines(err)...)
	r, err := Merge(c, env, s)
	lines = append(lines, errorLines(err)...)
	for _, w := range r.Warnings {
		lines = append(lines, "warning: "+w)
	}
	if len(lines) == 0 {
		return "accepted\n"
	}
	return strings.Join(lines, "\n") + "\n"
}

func errorLines(err error) (lines []string) {
	for _, e := range split(err) {
		lines = append(lines, e.Error())
	}
	return lines
}
