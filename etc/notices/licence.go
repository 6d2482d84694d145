package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// text is a file of a module that must be included.
type text struct {
	Name    string // path within the module
	Body    string
	Licence string // its SPDX identifier; empty if it is no licence, or an unknown one
}

var (
	licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|unlicense)([-._].*)?$|[-.]licen[cs]e(\.(md|txt))?$`)
	noticeFile  = regexp.MustCompile(`(?i)^(notice|patents)(\.(md|txt))?$`)
	licenceDir  = regexp.MustCompile(`(?i)(^|_)licen[cs]es$`)
	codeFile    = regexp.MustCompile(`(?i)\.(go|s|c|h|py|sh)$`)
)

// known identifies licences by phrases that no other contains; the first match counts. An
// unlisted licence stops the build: a person must read it first.
var known = []struct {
	name  string
	words []string
}{
	{"FTL OR GPL-2.0-or-later", []string{"FreeType License, which is similar to", "GNU General Public License (GPL), version 2 or later"}},
	{"FTL", []string{"The FreeType Project LICENSE"}},
	{"GPL-2.0-only", []string{"GNU GENERAL PUBLIC LICENSE", "Version 2, June 1991"}},
	{"Apache-2.0", []string{"Apache License", "Version 2.0, January 2004"}},
	{"OFL-1.1", []string{"SIL Open Font License", "Version 1.1"}},
	{"CC-BY-4.0", []string{"Creative Commons Attribution 4.0 International"}},
	{"BSL-1.0", []string{"Boost Software License - Version 1.0"}},
	{"MIT", []string{"Permission is hereby granted, free of charge", "THE SOFTWARE IS PROVIDED \"AS IS\""}},
	{"ISC", []string{"Permission to use, copy, modify, and/or distribute this software"}},
	{"BSD-3-Clause", []string{"Redistribution and use in source and binary forms", "endorse or promote products"}},
	{"BSD-2-Clause", []string{"Redistribution and use in source and binary forms", "THIS SOFTWARE IS PROVIDED BY"}},
}

// identify returns the licence of a text; "" if unknown.
func identify(body string) string {
	flat := strings.ToLower(strings.Join(strings.Fields(body), " "))
	for _, k := range known {
		if !slices.ContainsFunc(k.words, func(w string) bool { return !strings.Contains(flat, strings.ToLower(w)) }) {
			return k.name
		}
	}
	return ""
}

// read finds the module and its texts, and names its licence.
func (m *module) read() error {
	if err := m.locate(); err != nil {
		return err
	}
	var err error
	if m.Texts, err = texts(m.Dir, m.Path == standard); err != nil {
		return err
	}
	return m.judge()
}

// judge returns the module's licence: the combination of the files beside its go.mod.
func (m *module) judge() error {
	var names []string
	for _, t := range m.Texts {
		switch {
		case strings.Contains(t.Name, "/") || noticeFile.MatchString(t.Name):
			continue
		case t.Licence == "":
			return fmt.Errorf("%s is no licence that is known; read it, then add it to the table in etc/notices", t.Name)
		}
		name := t.Licence
		if strings.Contains(name, " OR ") {
			name = "(" + name + ")"
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return errors.New("there is no licence file in the module; it cannot be packaged")
	}
	slices.Sort(names)
	m.Licence = strings.Join(slices.Compact(names), " AND ")
	return nil
}

// texts reads the licences and notices below a folder, each text once; those of tests are
// left out, since tests are not linked. If flat is set only the folder itself is read.
func texts(dir string, flat bool) ([]text, error) {
	var all []text
	seen := map[string]bool{}
	take := func(path, name string) error {
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		body := strings.ToValidUTF8(strings.ReplaceAll(string(raw), "\r\n", "\n"), "\uFFFD")
		if strings.TrimSpace(body) == "" || seen[body] {
			return nil
		}
		seen[body] = true
		all = append(all, text{Name: name, Body: body, Licence: identify(body)})
		return nil
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		switch {
		case d.IsDir() && name != "." && (flat || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.Type().IsRegular() && !codeFile.MatchString(name) &&
			(licenceFile.MatchString(d.Name()) || noticeFile.MatchString(d.Name()) || licenceDir.MatchString(filepath.Base(filepath.Dir(name)))):
			return take(path, filepath.ToSlash(name))
		}
		return nil
	})
	// Those of the module itself come first.
	slices.SortStableFunc(all, func(a, b text) int { return strings.Count(a.Name, "/") - strings.Count(b.Name, "/") })
	return all, err
}

// holders are the lines of the texts that name the copyright holders.
func (m module) holders() []string {
	var lines []string
	for _, t := range m.Texts {
		for line := range strings.Lines(t.Body) {
			line = strings.TrimSpace(line)
			if owner.MatchString(line) && !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	if len(lines) == 0 {
		lines = []string{"see the texts below"}
	}
	return lines
}

var owner = regexp.MustCompile(`(?i)^(digitized data |portions )?copyright\s+(©|\(c\)|[12][0-9]{3})`)
