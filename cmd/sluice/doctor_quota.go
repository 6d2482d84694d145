package main

import (
	"path/filepath"
	"slices"
	"strings"
)

// groupQuotas is the mount option in /proc/self/mountinfo by which the folder's file
// system enforces group quotas; "" if it does not, as far as this host can see: file
// servers have their own quotas.
func groupQuotas(mountinfo, folder string) string {
	best, found := "", ""
	for line := range strings.Lines(mountinfo) {
		// ID PARENT MAJ:MIN ROOT MOUNTPOINT OPTIONS [FIELDS...] - TYPE SOURCE SUPEROPTIONS
		mount, super, ok := strings.Cut(line, " - ")
		fields, kinds := strings.Fields(mount), strings.Fields(super)
		if !ok || len(fields) < 6 || len(kinds) < 3 {
			continue
		}
		point := filepath.Clean(unoctal.Replace(fields[4]))
		if below := point == "/" || folder == point || strings.HasPrefix(folder, point+"/"); !below || len(point) < len(best) {
			continue
		}
		best, found = point, ""
		for _, option := range strings.Split(fields[5]+","+kinds[2], ",") {
			name, _, _ := strings.Cut(option, "=")
			if slices.Contains([]string{"grpquota", "gquota", "grpjquota", "gqnoenforce", "quota_group"}, name) {
				found = option
			}
		}
	}
	return found
}

// unoctal decodes the octal escapes of mountinfo.
var unoctal = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// examineQuota warns if files that jobs keep for sluiced count for sluiced's group.
// Checkpoints belong to their users' groups.
func examineQuota(mountinfo, jobs string, owner account) []finding {
	option := groupQuotas(mountinfo, jobs)
	if option == "" {
		return nil
	}
	return []finding{warned("quota", "give group "+owner.group+" no quota there: when it is used up no user can submit or report progress",
		"%s is on a file system with group quotas (%s): scripts and progress of all jobs, some MB each, count for group %s, which sluiced reads them by; checkpoints count for their users' groups",
		jobs, option, owner.group)}
}
