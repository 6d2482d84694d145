package command

import (
	"context"
	"strings"

	"github.com/sluice-hpc/sluice/slurm"
)

// Rights asks Slurm what an account may do to others' jobs: scontrol for its settings and,
// where there is slurmdbd, sacctmgr for the account's level.
func (c *Client) Rights(ctx context.Context, account string) (slurm.Rights, error) {
	r := slurm.Rights{Account: account}
	err := c.limitsFrom(ctx, "scontrol", []string{"show", "config"}, func(out string) error {
		for line := range strings.Lines(out) {
			key, value, _ := strings.Cut(line, "=")
			switch strings.TrimSpace(key) {
			case "SlurmUser":
				r.SlurmUser, _, _ = strings.Cut(strings.TrimSpace(value), "(")
			case "AccountingStorageType":
				r.Database = strings.TrimSpace(value) == "accounting_storage/slurmdbd"
			}
		}
		return nil
	})
	if err != nil || !r.Database || r.Owns() {
		return r, err
	}
	err = c.limitsFrom(ctx, "sacctmgr", []string{"-n", "-P", "show", "user", account, "format=adminlevel"}, func(out string) error {
		r.Level = strings.TrimSpace(out)
		return nil
	})
	return r, err
}
