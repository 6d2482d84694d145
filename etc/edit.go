package etc

import (
	"fmt"
	"regexp"
	"strings"
)

// Setting is a value for one key of sluice.toml.
type Setting struct {
	Section string `json:"section"`
	Key     string `json:"key"`
	Value   string `json:"value"` // as TOML
}

// String returns the setting as a message names it: [users] private = true.
func (s Setting) String() string { return fmt.Sprintf("[%s] %s = %s", s.Section, s.Key, s.Value) }

var (
	tableLine = regexp.MustCompile(`^\s*\[\s*([A-Za-z0-9_.-]+)\s*\]\s*(#.*)?$`)
	keyLine   = regexp.MustCompile(`^(\s*)([A-Za-z0-9_-]+)(\s*=\s*)("(?:[^"\\]|\\.)*"|'[^']*'|[^\s#"'\[{]+)(\s*(?:#.*)?)$`)
)

// Edited returns a configuration's text with the settings made in it. All other lines stay as
// they are, comments included: a line with the key gets the new value, else there is a new line
// below the section's head, else a new section at the end. It is an error if the text is no
// configuration, or could not be edited so, as where a key is written as part of a table.
func Edited(base Config, file, text string, settings []Setting) (string, error) {
	if _, err := parse(base, file, text); err != nil {
		return "", err
	}
	for _, s := range settings {
		next := edited(text, s)
		got, err := parse(base, file, next)
		if err != nil {
			return "", fmt.Errorf("%s: %s cannot be written into it by itself; write it yourself", file, s)
		}
		want, err := parse(base, file, fmt.Sprintf("[%s]\n%s = %s\n", s.Section, s.Key, s.Value))
		if err != nil {
			return "", err
		}
		if k, known := find(s.Section, s.Key); !known || k.get(got) != k.get(want) {
			return "", fmt.Errorf("%s: %s cannot be written into it by itself; write it yourself", file, s)
		}
		text = next
	}
	return text, nil
}

// edited makes one setting. Whether it took effect is for Edited to find out.
func edited(text string, s Setting) string {
	lines := strings.Split(text, "\n")
	section, head := "", -1
	for i, line := range lines {
		if m := tableLine.FindStringSubmatch(line); m != nil {
			section = m[1]
			if section == s.Section && head < 0 {
				head = i
			}
			continue
		}
		if m := keyLine.FindStringSubmatch(line); m != nil && section == s.Section && m[2] == s.Key {
			lines[i] = m[1] + m[2] + m[3] + s.Value + m[5]
			return strings.Join(lines, "\n")
		}
	}
	added := s.Key + " = " + s.Value
	if head >= 0 {
		return strings.Join(lines[:head+1], "\n") + "\n" + added + "\n" + strings.Join(lines[head+1:], "\n")
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if text != "" {
		text += "\n"
	}
	return text + "[" + s.Section + "]\n" + added + "\n"
}
