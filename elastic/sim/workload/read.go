package workload

import (
	"fmt"
	"slices"
	"strings"
)

// format is one kind of file that Read knows.
type format struct {
	name string
	says string // what files of it are, in one line
	read func(path, profiles string) (Workload, error)
}

var formats = []format{
	{"pollux", "CSV of the Pollux artefact; --profiles DIR holds one folder an application", needing(ReadPollux, "one folder an application, such as cifar10/placements.csv")},
	{"elasticflow", "CSV of the ElasticFlow traces; --profiles DIR holds MODEL.csv of throughputs", needing(ReadElasticFlow, "throughput tables, such as bert.csv")},
	{"philly", "cluster_job_log of the Philly traces, at the likely assumption of scaling", func(path, _ string) (Workload, error) {
		w, _, err := ReadPhilly(path, Likely)
		return w, err
	}},
	{"sacct", "output of sacct -P, at the likely assumption of scaling", func(path, _ string) (Workload, error) {
		w, _, err := ReadSacct(path, Likely)
		return w, err
	}},
	{"sluice", "JSON lines of the project's own", func(path, _ string) (Workload, error) { return ReadSluice(path) }},
}

// needing refuses to read without a directory of profiles.
func needing(read func(path, profiles string) (Workload, error), what string) func(string, string) (Workload, error) {
	return func(path, profiles string) (Workload, error) {
		if profiles == "" {
			return Workload{}, fmt.Errorf("workload: %s needs measured speeds: add --profiles DIR, a directory of %s", path, what)
		}
		return read(path, profiles)
	}
}

// Formats names the formats that Read knows, each with a line on what it is.
func Formats() (names, says []string) {
	for _, f := range formats {
		names, says = append(names, f.name), append(says, f.says)
	}
	return names, says
}

// Read reads a workload of a format, one of Formats. profiles is the directory of
// measured speeds, for the formats that need one. Recordings that know one size of
// a job only are read at the Likely assumption; see ReadSacct and ReadPhilly for
// others.
func Read(name, path, profiles string) (Workload, error) {
	i := slices.IndexFunc(formats, func(f format) bool { return f.name == name })
	if i < 0 {
		names, _ := Formats()
		return Workload{}, fmt.Errorf("workload format %q: want %s", cut(name), strings.Join(names, ", "))
	}
	return formats[i].read(path, profiles)
}
