package sbatch

// Typed is an option as it was typed, on the command line or in the header of the script.
type Typed struct {
	// Name is the option's full name without dashes, also where a letter or a prefix was typed. "" = which option is
	// meant depends on the release of Slurm. An option that neither sbatch nor sluice has keeps its name.
	Name    string
	Value   string
	setting setting
}

// Refuse returns the error that refuses the option, with its place.
func (t Typed) Refuse(why, do string) error { return t.setting.fail(why, do) }

// EveryOption returns all options of the script's header and of the command line, in ascending precedence,
// with those that others override. Merge looks at no other, environment variables aside.
func EveryOption(c CommandLine, s Script) []Typed {
	var all []Typed
	for _, source := range [][]setting{s.settings, c.settings} {
		for _, given := range source {
			all = append(all, Typed{given.name, given.value, given})
		}
	}
	return all
}
