package sweepfile

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/sluice-hpc/sluice/sbatch"
)

// tomlPlace is where a key's value begins in a TOML text.
type tomlPlace struct{ line, column int }

var (
	tomlTable = regexp.MustCompile(`^\s*\[\s*([A-Za-z0-9_.-]+)\s*\]`)
	tomlKey   = regexp.MustCompile(`^\s*("[^"]*"|'[^']*'|[A-Za-z0-9_.-]+)\s*=\s*`)
)

// tomlPlaces finds where keys stand: the library says so for errors only.
func tomlPlaces(text string) map[string]tomlPlace {
	at, table := map[string]tomlPlace{}, ""
	for n, line := range strings.Split(text, "\n") {
		if m := tomlTable.FindStringSubmatch(line); m != nil {
			table = m[1] + "."
			if _, is := at[m[1]]; !is {
				at[m[1]] = tomlPlace{n + 1, strings.Index(line, m[1]) + 1}
			}
			continue
		}
		if m := tomlKey.FindStringSubmatch(line); m != nil {
			column := len(m[0]) + 1
			if column <= len(line) && strings.IndexByte(`"'`, line[column-1]) >= 0 {
				column++ // the text begins after the quote
			}
			at[table+strings.Trim(m[1], `"'`)] = tomlPlace{n + 1, column}
		}
	}
	return at
}

// readTOML reads a sweep with the names of options as keys, parameters in [param], and script or
// command.
func readTOML(name, text string) (f file, err error) {
	f.name = name
	values := map[string]any{}
	meta, err := toml.Decode(text, &values)
	if err != nil {
		var at toml.ParseError
		if errors.As(err, &at) {
			return f, fmt.Errorf("%s:%d:%d: %s", name, at.Position.Line, max(1, at.Position.Col), at.Message)
		}
		return f, fmt.Errorf("%s: %w", name, err)
	}
	places := tomlPlaces(text)
	for _, key := range meta.Keys() {
		place := places[key.String()]
		fail := func(why string) error {
			return fmt.Errorf("%s:%d:%d: %s: %s", name, place.line, place.column, key, why)
		}
		if len(key) == 1 && key[0] == "param" {
			if _, table := values["param"].(map[string]any); !table {
				return f, fail("want a table: [param], with a line for each parameter")
			}
			continue
		}
		value := values[key[0]]
		if table, is := value.(map[string]any); is {
			if len(key) != 2 || key[0] != "param" {
				return f, fail("there is no such table; want [param]")
			}
			value = table[key[1]]
		}
		list, err := tomlTexts(value)
		if err != nil {
			return f, fail(err.Error())
		}
		if _, several := value.([]any); several {
			switch key[0] {
			case "rungs", "gpu-sizes", "gpu-types": // one text on a command line
				list = []string{strings.Join(list, ",")}
			case "where", "try", "sbatch": // each counts
			default:
				return f, fail("want one value, not a list")
			}
		}
		for _, text := range list {
			g := sbatch.Given{Option: key[0], Value: text, Line: place.line, Column: place.column}
			switch {
			case len(key) == 2: // the column is that of the value, without "name="
				g.Value, g.Column = key[1]+"="+text, place.column-len(key[1])-1
				f.given = append(f.given, g)
			case key[0] == "script":
				f.script = text
			case key[0] == "command":
				f.command = text
			case key[0] == "sbatch":
				f.words = append(f.words, g)
			default:
				f.given = append(f.given, g)
			}
		}
	}
	return f, f.complete()
}

// tomlTexts returns a value as texts: a number as it is typed on a command line.
func tomlTexts(value any) ([]string, error) {
	switch v := value.(type) {
	case []any:
		var out []string
		for _, one := range v {
			text, err := tomlTexts(one)
			if err != nil || len(text) != 1 {
				return nil, errors.New("want a list of texts")
			}
			out = append(out, text...)
		}
		return out, nil
	case string:
		return []string{v}, nil
	case int64, float64:
		return []string{fmt.Sprint(v)}, nil
	case bool:
		return []string{map[bool]string{true: "yes", false: "no"}[v]}, nil
	}
	return nil, errors.New("want a text or a number")
}
