package slurm

import "fmt"

// Rights is what an account may do to other users' jobs.
type Rights struct {
	Account   string
	SlurmUser string
	Database  bool   // there is slurmdbd, which keeps admin levels
	Level     string // None, Operator or Administrator; "" = slurmdbd does not know the account
}

// Owns reports whether the account is SlurmUser or root.
func (r Rights) Owns() bool { return r.Account == r.SlurmUser || r.Account == "root" }

// Missing says why the account may not change other users' jobs, and what to type; "" if
// it may.
func (r Rights) Missing() (text, do string) {
	switch {
	case r.Owns(), r.Level == "Operator", r.Level == "Administrator":
		return "", ""
	case !r.Database:
		return fmt.Sprintf("%s may not change other users' jobs: without slurmdbd only root and %s may", r.Account, r.SlurmUser),
			fmt.Sprintf("systemctl edit sluiced (User=%s), and set [remote] user in sluice.toml; or each user runs 'sluiced --user'", r.SlurmUser)
	case r.Level == "":
		return r.Account + " is not a Slurm operator and may not change other users' jobs",
			fmt.Sprintf("sacctmgr -i add user %s account=root adminlevel=operator", r.Account)
	}
	return r.Account + " is not a Slurm operator and may not change other users' jobs",
		fmt.Sprintf("sacctmgr -i modify user %s set adminlevel=operator", r.Account)
}
