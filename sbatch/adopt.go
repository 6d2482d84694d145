package sbatch

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// parseGlob reads what the program's own checkpoints are called.
func parseGlob(v string) (string, error) {
	if _, err := path.Match(v, ""); err != nil {
		return "", fmt.Errorf("not a pattern of file names: %w", err)
	}
	return v, nil
}

// parseMarker reads the name of the file that completes a checkpoint.
func parseMarker(v string) (string, error) {
	if v == "" || strings.Contains(v, "/") || v == "." || v == ".." {
		return "", fmt.Errorf("want the name of one file inside of a checkpoint")
	}
	return v, nil
}

// progressGroups are what a program's log may tell.
var progressGroups = []string{"epoch", "step", "total", "seconds", "speed"}

// parseProgress reads the expression that finds progress in a program's log.
func parseProgress(v string) (string, error) {
	expression, err := regexp.Compile(v)
	if err != nil {
		return "", err
	}
	useful := false
	for _, name := range expression.SubexpNames() {
		if name != "" && !slices.Contains(progressGroups, name) {
			return "", fmt.Errorf("the group %q means nothing here: want %s", name, strings.Join(progressGroups, ", "))
		}
		useful = useful || name == "epoch" || name == "step"
	}
	if !useful {
		return "", fmt.Errorf("it names neither a group epoch nor a group step: write (?P<epoch>[0-9.]+) where the number stands")
	}
	return v, nil
}
