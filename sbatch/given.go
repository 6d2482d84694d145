package sbatch

// Given is an option that a file other than the script gives: a sweep's.
type Given struct {
	Option, Value string
	Line, Column  int // of the value, from 1
}

// With returns the script with the options of another file, whose name is source. They take
// precedence over the script's own, except that parameters of both count. sluice's options come by
// their names; words are sbatch's, as on a command line. All errors found are joined.
func (s Script) With(source string, given []Given, words []Given) (Script, error) {
	var errs []error
	for _, g := range given {
		at := Place{Source: source, Line: g.Line, Column: g.Column}
		o := byName(g.Option)
		if o == nil || o.is != own && o.is != shared || o.name == "user" || o.name == "config" {
			do := "sbatch's options are a list: sbatch = [\"--time=8:00:00\"]"
			if near := suggestion(g.Option, true); o == nil && near != "" {
				do = "did you mean " + near[len("--"):] + "?"
			}
			errs = append(errs, &Error{At: at, What: g.Option, Why: "this is not one of sluice's options", Do: do})
			continue
		}
		s.settings = append(s.settings, setting{option: *o, value: g.Value, given: true, at: at, valueAt: at, words: []string{"--" + g.Option + "=" + g.Value}, line: 'L'})
	}
	for _, g := range words {
		at := Place{Source: source, Line: g.Line, Column: g.Column}
		s.header = append(s.header, headerLine{"#SBATCH " + quoteWord(g.Value), g.Line, true})
		errs = append(errs, s.take([]word{{g.Value, at}}, 'B')...)
	}
	return s, join(errs)
}

// Command returns a script that runs a command line.
func Command(line string) []byte { return []byte("#!/bin/bash\n" + line + "\n") }
