package fake

import (
	"strconv"
	"strings"

	"github.com/sluice-hpc/sluice/slurm"
)

// licenses reads "lic:1,other" as a count for each license name.
func licenses(text string) map[string]int {
	out := map[string]int{}
	for _, one := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
		name, number, several := strings.Cut(one, ":")
		out[name] = 1
		if n, err := strconv.Atoi(number); several && err == nil {
			out[name] = n
		}
	}
	return out
}

// unlicensed refuses a job that requests licenses that the cluster does not have.
func (f *Fake) unlicensed(j *job) *failure {
	for name, n := range licenses(j.licenses) {
		if n < 1 || n > f.cfg.Licenses[name] {
			return fail(slurm.ErrRefused, "Batch job submission failed: Invalid license specification")
		}
	}
	return nil
}

// licensed reports whether the licenses that the job requests are free. A running job has
// its licenses already.
func (f *Fake) licensed(j *job) bool {
	for name, n := range licenses(j.licenses) {
		for _, o := range f.jobs {
			if o.state == slurm.Running {
				n += licenses(o.licenses)[name]
			}
		}
		if n > f.cfg.Licenses[name] {
			return false
		}
	}
	return true
}
