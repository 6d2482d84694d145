package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const mit = "Copyright (c) 2013 A\n\nPermission is hereby granted, free of charge, to any person\n\nTHE SOFTWARE IS PROVIDED \"AS IS\""

// TestLicenceOfAModule: a module is packaged with all its licences and notices, or not at all.
func TestLicenceOfAModule(t *testing.T) {
	const (
		notice  = "This product includes software developed at B."
		unknown = "You may use this on Sundays."
	)
	for _, c := range []struct {
		name, want, refused string
		files               map[string]string
		texts               []string
	}{
		{name: "one licence", files: map[string]string{"LICENSE": mit}, want: "MIT", texts: []string{"LICENSE"}},
		{name: "other names", files: map[string]string{"COPYING": mit}, want: "MIT", texts: []string{"COPYING"}},
		{name: "a notice goes with it", files: map[string]string{"LICENCE.md": mit, "NOTICE": notice}, want: "MIT", texts: []string{"LICENCE.md", "NOTICE"}},
		{name: "two licences", files: map[string]string{"LICENSE": mit, "LICENSE-SIL": "SIL Open Font License Version 1.1"}, want: "MIT AND OFL-1.1", texts: []string{"LICENSE", "LICENSE-SIL"}},
		{name: "of what it took over", files: map[string]string{"LICENSE": mit, "THIRD_PARTY_LICENSES/C": unknown, "in/LICENSE": notice}, want: "MIT", texts: []string{"LICENSE", "THIRD_PARTY_LICENSES/C", "in/LICENSE"}},
		{name: "not of tests", files: map[string]string{"LICENSE": mit, "testdata/LICENSE": unknown, "license.go": "package licence"}, want: "MIT", texts: []string{"LICENSE"}},
		{name: "a choice", files: map[string]string{"LICENSE": mit, "LICENSE-2": "FreeType License, which is similar to; GNU General Public License (GPL), version 2 or later"}, want: "(FTL OR GPL-2.0-or-later) AND MIT", texts: []string{"LICENSE", "LICENSE-2"}},
		{name: "none", files: map[string]string{"README": mit}, refused: "there is no licence file"},
		{name: "an empty one", files: map[string]string{"LICENSE": " \n"}, refused: "there is no licence file"},
		{name: "a notice alone", files: map[string]string{"NOTICE": notice}, refused: "there is no licence file"},
		{name: "only of a part", files: map[string]string{"in/LICENSE": mit}, refused: "there is no licence file"},
		{name: "unknown", files: map[string]string{"LICENSE": unknown}, refused: "LICENSE is no licence that is known"},
		{name: "a second, unknown", files: map[string]string{"LICENSE": mit, "LICENSE-2": unknown}, refused: "LICENSE-2 is no licence that is known"},
	} {
		dir := t.TempDir()
		for name, body := range c.files {
			os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755)
			if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		m := module{Path: "example.org/m", Version: "v1.0.0"}
		var err error
		if m.Texts, err = texts(dir, false); err != nil {
			t.Fatal(err)
		}
		err = m.judge()
		if c.refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: %q, %v, want: %s", c.name, m.Licence, err, c.refused)
			}
			continue
		}
		var names []string
		for _, x := range m.Texts {
			names = append(names, x.Name)
		}
		if err != nil || m.Licence != c.want || strings.Join(names, " ") != strings.Join(c.texts, " ") {
			t.Errorf("%s: %q of %v, %v, want %q of %v", c.name, m.Licence, names, err, c.want, c.texts)
		}
	}
}

// TestFieldsHoldTexts: no line of a licence ends the field it stands in.
func TestFieldsHoldTexts(t *testing.T) {
	p := papers{Name: "sluice", Version: "1", Own: "a\n\nb\f\r\n",
		Modules:  []module{{Path: "m", Version: "v1", Licence: "MIT", Texts: []text{{Name: "LICENSE", Body: mit}}}},
		Programs: []program{{Name: "x", Modules: []string{"m@v1"}}, {Name: "y"}}}
	for line := range strings.Lines(string(p.copyright())) {
		field, _, is := strings.Cut(line, ": ")
		if line != "\n" && line[0] != ' ' && (!is || strings.Contains(field, " ")) {
			t.Errorf("no field: %q", line)
		}
		if strings.TrimSpace(line) == "" && line != "\n" || field == "Comment" && line != "Comment: linked into usr/bin/x\n" {
			t.Errorf("%q", line)
		}
	}
	if n := strings.Count(string(p.copyright()), "\n\n"); n != 2 {
		t.Errorf("%d empty lines, want one before each of 2 stanzas", n)
	}
}

// TestNothingIsWrittenOfWhatIsNoGoProgram: a script has no list of modules.
func TestNothingIsWrittenOfWhatIsNoGoProgram(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	p := papers{Name: "sluice", Version: "1"}
	if err := p.run("../../LICENSE", dir, []string{script}); err == nil {
		t.Error("papers for a program that says nothing of its modules")
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "*")); len(found) != 1 {
		t.Errorf("left %v", found)
	}
}
