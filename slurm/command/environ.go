package command

import (
	"slices"
	"strings"
)

// Variables with these prefixes change what a Slurm program asks, which controller it
// asks or what code it loads: a filter, a format, another cluster, a preloaded library. A
// call must not depend on them, so they are never passed on.
var smuggled = []string{"SBATCH_", "SQUEUE_", "SINFO_", "SCONTROL_", "SCANCEL_", "SACCTMGR_", "SACCT_", "LD_",
	"SLURM_CONF", "SLURM_CLUSTERS", "SLURM_TIME_FORMAT", "SLURM_DEBUG"}

// queryEnv builds the environment of every call but sbatch's. Locale and time zone are
// fixed so that texts and times are the same on every machine; times are asked for as
// seconds since 1970, which do not depend on a time zone.
func queryEnv(conf, extra []string) []string {
	env := []string{"PATH=/usr/bin:/bin", "LANG=C", "LC_ALL=C", "TZ=UTC", "SLURM_TIME_FORMAT=%s"}
	env = append(env, conf...)
	for _, kv := range extra {
		if name, _, ok := strings.Cut(kv, "="); ok && !isSmuggled(name) && !isFixed(name) {
			env = append(env, kv)
		}
	}
	return env
}

// confEnv returns SLURM_CONF from the configuration, else from the environment in which
// sluice was started: one process speaks to one cluster.
func confEnv(configured, inherited string) []string {
	switch {
	case configured != "":
		return []string{"SLURM_CONF=" + configured}
	case inherited != "":
		return []string{"SLURM_CONF=" + inherited}
	}
	return nil
}

func isSmuggled(name string) bool {
	return slices.ContainsFunc(smuggled, func(p string) bool { return strings.HasPrefix(name, p) })
}

func isFixed(name string) bool {
	return slices.Contains([]string{"PATH", "LANG", "LC_ALL", "TZ"}, name)
}

// submitEnv is sbatch's environment: the user's own, unchanged, because SBATCH_* options
// and the variables that the job inherits are set by the user. Only the cluster is added
// if the user's environment does not name one.
func submitEnv(user, conf []string) []string {
	for _, kv := range user {
		if strings.HasPrefix(kv, "SLURM_CONF=") {
			return user
		}
	}
	return join(user, conf)
}

// join returns a new slice, so that concurrent calls share no backing array.
func join(a, b []string) []string { return slices.Concat(a, b) }
