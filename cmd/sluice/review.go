package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"
)

// difference returns how a file changes, as diff -u does; "" = not at all. old is nil where there is no file.
func difference(path string, old, now []byte) string {
	before := path
	if old == nil {
		before = os.DevNull
	}
	_, text, _ := strings.Cut(string(diff.Diff(before, old, path, now)), "\n") // without the line "diff old new"
	var b strings.Builder
	h := &harmless{out: &b}      // it keeps tabs, which diffs are full of
	_, _ = h.Write([]byte(text)) // a Builder takes everything
	return b.String()
}

// errNotAsked is the answer where no user can be asked.
var errNotAsked = errors.New("no terminal to ask on")

// agreed asks whether to write what was shown. Where standard input or output is no terminal it does not
// ask, and returns errNotAsked.
func agreed(cmd *cobra.Command) (bool, error) {
	if !isTerminal(cmd.OutOrStdout()) || !isTerminal(os.Stdin) {
		return false, errNotAsked
	}
	fmt.Fprint(cmd.ErrOrStderr(), "sluice: write this? [y/N] ")
	return isYes(os.Stdin), nil
}

// isYes reads an answer of one line.
func isYes(r io.Reader) bool {
	answer, _ := bufio.NewReader(io.LimitReader(r, 80)).ReadString('\n')
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}
