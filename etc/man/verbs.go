package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// verbs writes a page for sluice and one for each verb, also for those that are programs of
// their own, which sluice finds beside itself.
func (w writer) verbs(programs string) error {
	sluice := filepath.Join(programs, "sluice")
	all, err := described(sluice)
	if err != nil {
		return err
	}
	if err := w.verb(sluice, nil, "elastic GPU jobs on Slurm"); err != nil {
		return err
	}
	for _, v := range all {
		if v.name == "help" { // "sluice help VERB" is the page of the verb
			continue
		}
		if err := w.verb(sluice, []string{v.name}, v.short); err != nil {
			return err
		}
	}
	return nil
}

// verb writes the page of a verb, and those of the verbs below it.
func (w writer) verb(sluice string, path []string, short string) error {
	text, err := output(sluice, append(path, "--help")...)
	if err != nil {
		return err
	}
	name := strings.Join(append([]string{"sluice"}, path...), "-")
	if err := w.write(name, 1, page(name, short, text, w.foot)); err != nil {
		return err
	}
	if len(path) == 0 || path[0] == "completion" || !strings.Contains(text, "\nAvailable Commands:\n") {
		return nil
	}
	below, err := described(sluice, path...)
	if err != nil {
		return err
	}
	for _, v := range below {
		if err := w.verb(sluice, append(path, v.name), v.short); err != nil {
			return err
		}
	}
	return nil
}

// named is a verb with its one-line description.
type named struct{ name, short string }

// described returns the verbs below a verb, as the program completes them.
func described(sluice string, path ...string) (all []named, err error) {
	text, err := output(sluice, append(append([]string{"__complete"}, path...), "")...)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(text) {
		if name, short, is := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); is {
			all = append(all, named{name, short})
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s names no verbs", sluice)
	}
	return all, nil
}

// output runs a program that prints a text at once.
func output(program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "SLUICE_CONF=/nonexistent", "LC_ALL=C.UTF-8") // no site's words
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", program, strings.Join(args, " "), err)
	}
	return string(out), nil
}
