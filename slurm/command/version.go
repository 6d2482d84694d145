package command

import (
	"context"
	"fmt"
	"strconv"

	"github.com/sluice-hpc/sluice/slurm"
)

// Version is the release of the controller, for example {22, 5, 8}.
type Version struct{ Year, Month, Micro int }

// String prints it as Slurm does: 22.05.8.
func (v Version) String() string { return fmt.Sprintf("%d.%02d.%d", v.Year, v.Month, v.Micro) }

// AtLeast reports whether the release is year.month or later.
func (v Version) AtLeast(year, month int) bool {
	return v.Year > year || v.Year == year && v.Month >= month
}

// Version returns the release of slurmctld, which may differ from that of the programs
// here. It is queried once, at the first call; a failure is not kept.
func (c *Client) Version(ctx context.Context) (Version, error) {
	c.probe.Lock()
	defer c.probe.Unlock()
	if c.version != (Version{}) {
		return c.version, nil
	}
	out, err := c.read(ctx, opConfig, 0, "scontrol", showConfig)
	if err != nil {
		return Version{}, err
	}
	v, ok := parseVersion(out.stdout)
	if !ok {
		return Version{}, &slurm.Error{Op: opConfig, Err: slurm.ErrGarbage, Words: "no SLURM_VERSION in the answer", Hint: "run it by hand and see what it prints"}
	}
	c.version = v
	return v, nil
}

var versionLine = lazily(`(?m)^SLURM_VERSION\s*=\s*(\d{1,3})\.(\d{1,2})(?:\.(\d{1,3}))?\S*[ \t]*\n`)

// parseVersion finds the release in "scontrol show config".
func parseVersion(config string) (Version, bool) {
	m := versionLine().FindStringSubmatch(config)
	if m == nil {
		return Version{}, false
	}
	year, _ := strconv.Atoi(m[1])
	month, _ := strconv.Atoi(m[2])
	micro, _ := strconv.Atoi(m[3])
	return Version{year, month, micro}, year > 0
}

// gpuPrefix is how the controller expects GPUs in TresPerNode and TresPerJob: "gpu:4" on
// 20.11, which refuses the other form, and "gres:gpu:4" from 21.08 on, where "gpu:4" is
// refused or, worse, accepted and ignored.
func (v Version) gpuPrefix() string {
	if v.AtLeast(21, 8) {
		return "gres:gpu"
	}
	return "gpu"
}
