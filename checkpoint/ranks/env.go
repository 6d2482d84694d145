package ranks

import (
	"strings"

	"github.com/sluice-hpc/sluice/checkpoint/supervise"
)

// overlay returns env with the entries of over replacing those of the same name.
func overlay(env, over []string) []string {
	replaced := supervise.Vars(over)
	out := make([]string, 0, len(env)+len(over))
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		if _, twice := replaced[name]; !twice {
			out = append(out, entry)
		}
	}
	return append(out, over...)
}
