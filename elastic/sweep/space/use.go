package space

import (
	"regexp"
	"strings"
)

// names matches {name}; a '$' before it makes it the shell's. The name of a match is its only
// group; the '$' is part of the match, so callers can tell.
var names = regexp.MustCompile(`\$?\{([A-Za-z_][A-Za-z0-9_.]*)\}`)

// Check refuses a text, such as a line of a job script, with a {name} that no parameter has. The
// error is an *Error. ${name} is the shell's and left alone. Braces around anything that is no
// name, as in '{ print $1 }' or {"a":1}, are left alone. The column is that of the brace.
func (s *Space) Check(text string) error {
	for _, at := range names.FindAllStringSubmatchIndex(text, -1) {
		if name := text[at[2]:at[3]]; text[at[0]] != '$' {
			if _, found := s.at[name]; !found {
				return wrong(at[0], NoSuchName, "no parameter is called %s", name).within(Use, 0, text)
			}
		}
	}
	return nil
}

// Uses lists the names in {name} of the text. A name that is there twice is listed twice; nil if
// there is none. ${name} is not listed.
func Uses(text string) []string {
	var list []string
	for _, at := range names.FindAllStringSubmatchIndex(text, -1) {
		if text[at[0]] != '$' {
			list = append(list, text[at[2]:at[3]])
		}
	}
	return list
}

// Expand replaces {name} in the arguments of a command by the point's values. An argument that
// names a parameter which the point does not have, because of its condition, is dropped, and with
// it the option before it if the argument is nothing but {name}: `--momentum {momentum}` and
// `--momentum={momentum}` disappear where there is no momentum. Names that no parameter has are
// refused. An option before it is an argument that begins with '-' and has no '='. Values are
// written as they are: the result is a list of arguments for exec, and MUST NOT be joined to a line
// of a shell. The list that is passed is not changed.
func (s *Space) Expand(arguments []string, p Point) ([]string, error) {
	var out []string
	for _, argument := range arguments {
		if err := s.Check(argument); err != nil {
			return nil, err
		}
		absent := false
		text := names.ReplaceAllStringFunc(argument, func(use string) string {
			if use[0] == '$' {
				return use
			}
			v, has := p.Get(use[1 : len(use)-1])
			absent = absent || !has
			return v.Text
		})
		if !absent {
			out = append(out, text)
			continue
		}
		if n := len(out); n > 0 && strings.HasPrefix(out[n-1], "-") && !strings.Contains(out[n-1], "=") && names.FindString(argument) == argument {
			out = out[:n-1]
		}
	}
	return out, nil
}
