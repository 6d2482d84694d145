package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/slurm"
)

// memberFields are asked of sacctmgr, in the order it prints them.
var memberFields = [...]string{"User", "DefaultAccount", "Account", "Partition", "QOS", "DefaultQOS"}

// Charging asks slurmctld for its settings and partitions and, if those say that there is slurmdbd, slurmdbd for
// the associations of these users: 2 or 3 queries. The names MUST be those of users, without commas or blanks.
// Without slurmdbd the error is nil; if slurmdbd does not answer it is ErrDatabaseDown.
func (c *Client) Charging(ctx context.Context, users ...string) (slurm.Charging, error) {
	var got slurm.Charging
	cluster := ""
	err := c.limitsFrom(ctx, "scontrol", showConfig, func(out string) (err error) { got, cluster, err = parseCharging(out); return })
	if err == nil {
		err = c.limitsFrom(ctx, "scontrol", []string{"-a", "-o", "show", "partition"}, func(out string) (err error) { got.Partitions, err = parsePartitions(out); return })
	}
	if err == nil && got.Database {
		args := []string{"-n", "-P", "show", "user", "withassoc", "name=" + strings.Join(users, ","), "cluster=" + cluster, "format=" + strings.Join(memberFields[:], ",")}
		err = databaseDown(c.limitsFrom(ctx, "sacctmgr", args, func(out string) (err error) { got.Members, err = parseMembers(out); return }))
	}
	if err != nil {
		return slurm.Charging{}, err
	}
	return got, nil
}

// parseCharging reads what "scontrol show config" printed. An answer that does not say whether there is slurmdbd is
// none: it MUST NOT be taken for a site without.
func parseCharging(out string) (got slurm.Charging, cluster string, err error) {
	s, _ := ParseSettings(out)
	for _, key := range []string{"AccountingStorageType", "AccountingStorageEnforce", "ClusterName"} {
		if s[key] == "" {
			return got, "", fmt.Errorf("it does not say %s", key)
		}
	}
	got.Database = s.Database()
	for word := range strings.SplitSeq(strings.ToLower(s["AccountingStorageEnforce"]), ",") {
		got.Enforced = got.Enforced || !slices.Contains([]string{"none", "(null)", "nojobs", "nosteps"}, word)
		got.QOS = got.QOS || word == "qos" || word == "all"
	}
	return got, s["ClusterName"], nil
}

// parseMembers reads sacctmgr's lines; a user without an association in the cluster has none, or one without an account.
func parseMembers(out string) ([]slurm.Member, error) {
	if out == "" {
		return nil, nil
	}
	var list []slurm.Member
	err := sheet(out, len(memberFields), func(f []string) error {
		if f[2] == "" {
			return nil
		}
		m := slurm.Member{User: f[0], Account: f[2], Partition: f[3], Default: f[1] == f[2], DefaultQOS: f[5]}
		if f[4] != "" {
			m.QOS = strings.Split(f[4], ",")
		}
		list = append(list, m)
		return nil
	})
	return list, err
}
