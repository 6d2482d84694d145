package sbatch

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/elastic"
)

// adopt reads the options for a program that is not changed for sluice: how to find its
// checkpoints and its progress.
func (m *merger) adopt() {
	spec, adopt := &m.request.Spec, &m.request.Adopt
	m.value("checkpoint-glob", func(v string) (err error) { adopt.Glob, err = parseGlob(v); spec.Habit = err == nil; return err })
	m.value("checkpoint-marker", func(v string) (err error) { adopt.Marker, err = parseMarker(v); return err })
	m.value("checkpoint-still", func(v string) (err error) { adopt.Still, err = ParseDuration(v); return err })
	m.value("progress-regex", func(v string) (err error) { adopt.Progress, err = parseProgress(v, spec.Unit); return err })
	for _, name := range []string{"checkpoint-marker", "checkpoint-still"} {
		if s, given := m.chosen[name]; given && m.chosen["checkpoint-glob"].name == "" {
			m.fail(s.fail("it has no effect without --checkpoint-glob", "add --checkpoint-glob=PATTERN"))
		}
	}
}

// maxExpression bounds a pattern or an expression, in bytes.
const maxExpression = 1024

// parseGlob reads the pattern of the program's own checkpoints.
func parseGlob(v string) (string, error) {
	switch parts := strings.Split(v, "/"); {
	case len(v) > maxExpression:
		return "", fmt.Errorf("%d bytes: at most %d", len(v), maxExpression)
	case strings.Contains(v, "**"):
		return "", errors.New("** does not reach into folders here: write one * for each folder in between")
	case slices.Contains(parts, ".."):
		return "", errors.New("a checkpoint is looked for at or below the job's working directory, or where a path from / leads: leave out the ..")
	case strings.Contains(v, "$") || strings.HasPrefix(v, "~"):
		return "", errors.New("variables and ~ are not expanded here: write the path out, or give the option on the command line, where the shell expands it; %j is the job's id")
	case strings.HasSuffix(v, "/") || v == ".":
		return "", errors.New("want a pattern of names, as in out/checkpoint-*")
	}
	if _, err := path.Match(v, ""); err != nil {
		return "", errors.New("not a pattern of file names: a [ without its ], or a \\ at the end")
	}
	return v, nil
}

// parseMarker reads the name of the file that marks a checkpoint as complete.
func parseMarker(v string) (string, error) {
	if v == "" || strings.Contains(v, "/") || v == "." || v == ".." || len(v) > 255 {
		return "", errors.New("want the name of one file inside of a checkpoint, as in trainer_state.json")
	}
	return v, nil
}

// progressGroups are the groups that an expression for a program's log may have.
var progressGroups = []string{"epoch", "step", "total", "seconds", "speed"}

// parseProgress reads the expression that finds progress in a program's log. It must have
// a group for the unit in which the job counts its work.
func parseProgress(v string, unit elastic.Unit) (string, error) {
	if len(v) > maxExpression {
		return "", fmt.Errorf("%d bytes: at most %d", len(v), maxExpression)
	}
	expression, err := regexp.Compile(v)
	if err != nil {
		return "", errors.New(strings.TrimPrefix(err.Error(), "error parsing regexp: ") + " (the syntax is that of RE2)")
	}
	names := expression.SubexpNames()
	for _, name := range names {
		if name != "" && !slices.Contains(progressGroups, name) {
			return "", fmt.Errorf("the group %q means nothing here: want %s", name, strings.Join(progressGroups, ", "))
		}
	}
	want := string(elastic.Epochs)
	if unit != "" {
		want = string(unit)
	}
	if !slices.Contains(names, want) {
		return "", fmt.Errorf("the job counts its work in %ss, and no group is called %s: write (?P<%s>[0-9.]+) where the number stands", want, want, want)
	}
	return v, nil
}
