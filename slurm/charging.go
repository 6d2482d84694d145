package slurm

// Charging is what Slurm says about the accounts that jobs of some users may be charged to.
type Charging struct {
	// Database says that there is slurmdbd. Without it a job has no account that anybody checks.
	Database bool
	// Enforced says that slurmctld takes a job only if its user has an association with the job's
	// account (AccountingStorageEnforce=associations), and QOS that the association must also allow
	// the job's QOS.
	Enforced, QOS bool
	// Members are the associations of the users asked for, in this cluster.
	Members []Member
	// Partitions are those of the cluster.
	Partitions []Partition
}

// Member is an association of a user with an account.
type Member struct {
	User, Account string
	Partition     string   // "" = any
	Default       bool     // the account is the user's default
	QOS           []string // that its jobs may have
	DefaultQOS    string   // "" = the only one of QOS, or normal
}
