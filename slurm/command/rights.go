package command

import (
	"context"
	"strings"

	"github.com/sluice-hpc/sluice/slurm"
)

// Rights asks Slurm what an account may do to other users' jobs: scontrol for the
// settings and, if there is slurmdbd, sacctmgr for the account's admin level.
func (c *Client) Rights(ctx context.Context, account string) (slurm.Rights, error) {
	s, err := c.Settings(ctx)
	r := slurm.Rights{Account: account, SlurmUser: s.SlurmUser(), Database: s.Database()}
	if err != nil || !r.Database || r.Owns() {
		return r, err
	}
	err = c.limitsFrom(ctx, "sacctmgr", []string{"-n", "-P", "show", "user", account, "format=adminlevel"}, func(out string) error {
		r.Level = strings.TrimSpace(out)
		return nil
	})
	return r, err
}
