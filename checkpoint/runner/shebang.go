package runner

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
)

// maxShebang is how much the kernel reads of a script's first line, in bytes.
const maxShebang = 255

// commandFor returns the argv that runs a script as the kernel would: by the interpreter
// in its first line. The interpreter is started with the script as an argument, so the
// script needs no execute permission and may be on a file system mounted noexec.
func commandFor(script string, args []string) ([]string, error) {
	f, err := os.Open(script)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	line, err := bufio.NewReader(io.LimitReader(f, maxShebang+1)).ReadString('\n')
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("%s: %w", script, err)
	}
	rest, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "#!")
	if !ok {
		return append([]string{"/bin/sh", script}, args...), nil // as execvp does
	}
	interpreter, arg := strings.TrimSpace(rest), ""
	if end := strings.IndexAny(interpreter, " \t"); end >= 0 {
		interpreter, arg = interpreter[:end], interpreter[end:]
	}
	if interpreter == "" {
		return nil, fmt.Errorf("%s: the first line names no interpreter: write #!/bin/bash", script)
	}
	argv := []string{interpreter}
	if arg = strings.TrimSpace(arg); arg != "" {
		argv = append(argv, arg) // the kernel passes the rest as one argument
	}
	return append(append(argv, script), args...), nil
}
