package slurm

import "strings"

// LicenseNames reads what squeue and scontrol print for the licenses of a job, and
// returns their names: "matlab:2,stata@db:1" gives matlab and stata@db. "|" separates
// licenses of which one is enough.
func LicenseNames(text string) []string {
	var names []string
	for _, one := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '|' }) {
		name, _, _ := strings.Cut(one, ":")
		names = append(names, name)
	}
	return names
}
