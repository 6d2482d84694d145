package command

import (
	"path"
	"strconv"
	"strings"

	"github.com/sluice-hpc/sluice/slurm"
)

// pattern matches sbatch's replacement symbols in a file name: %j, %4j, %%.
var pattern = lazily(`%([0-9]{0,2})([A-Za-z%])`)

// outputFile is the job's output file. Slurm up to 22.05 reports the name that it opened.
// Later releases report the pattern as submitted, 26.05 without the folder that it is
// relative to. Symbols that depend on the node or step are kept unchanged.
func outputFile(name string, j slurm.Job) string {
	if empty(name) {
		return ""
	}
	name = pattern().ReplaceAllStringFunc(name, func(symbol string) string {
		m := pattern().FindStringSubmatch(symbol)
		switch m[2] {
		case "%":
			return "%"
		case "u":
			return j.User
		case "x":
			return j.Name
		case "j", "J", "A":
			if j.Array {
				return symbol // named after the array's own id, which is not queried
			}
			id := strconv.FormatInt(int64(j.ID), 10)
			width, _ := strconv.Atoi(m[1])
			return strings.Repeat("0", max(0, min(width, 10)-len(id))) + id
		}
		return symbol
	})
	if !path.IsAbs(name) && j.WorkDir != "" {
		name = path.Join(j.WorkDir, name)
	}
	return name
}
