package main

import (
	"bytes"
	"fmt"
	"strings"
)

// copyright is the file in Debian's machine-readable form
// (https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/).
func (p *papers) copyright() []byte {
	var b bytes.Buffer
	b.WriteString("Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n")
	b.WriteString("Upstream-Name: sluice\nSource: https://github.com/sluice-hpc/sluice\n")
	b.WriteString("\nFiles: *\nCopyright: the sluice authors\nLicense: Apache-2.0\n")
	b.WriteString(indented(p.Own))
	for _, m := range p.Modules {
		fmt.Fprintf(&b, "\nFiles: go/%s/*\nCopyright: %s\n", m.name(), strings.Join(m.holders(), "\n "))
		// The short name is written there with "or" and "and" in lower case.
		fmt.Fprintf(&b, "License: %s\n", strings.NewReplacer(" OR ", " or ", " AND ", " and ").Replace(m.Licence))
		for _, t := range m.Texts {
			fmt.Fprintf(&b, " [%s]\n .\n%s .\n", t.Name, indented(t.Body))
		}
		fmt.Fprintf(&b, "Comment: linked into %s\n", strings.Join(p.users(m), ", "))
	}
	return b.Bytes()
}

// users are the programs into which a module is linked.
func (p *papers) users(m module) []string {
	var names []string
	for _, prog := range p.Programs {
		for _, name := range prog.Modules {
			if name == m.name() {
				names = append(names, "usr/bin/"+prog.Name)
			}
		}
	}
	return names
}

// indented is a text in the form of a continued field: each line after a space, empty
// lines as a full stop.
func indented(body string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(strings.ReplaceAll(body, "\f", "")) + "\n") {
		if line = strings.TrimRight(line, " \t\r\n"); line == "" {
			line = "."
		}
		b.WriteString(" " + line + "\n")
	}
	return b.String()
}
