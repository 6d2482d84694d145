package ranks

import "strings"

// table makes a look-up table of "NAME=value" entries.
func table(env []string) map[string]string {
	vars := make(map[string]string, len(env))
	for _, entry := range env {
		if name, value, ok := strings.Cut(entry, "="); ok {
			vars[name] = value
		}
	}
	return vars
}

// overlay returns env with the entries of over replacing those of the same name.
func overlay(env, over []string) []string {
	replaced := table(over)
	out := make([]string, 0, len(env)+len(over))
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		if _, twice := replaced[name]; !twice {
			out = append(out, entry)
		}
	}
	return append(out, over...)
}
