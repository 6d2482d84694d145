package engine

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/slurm"
)

// limitsIndex is the site's limits sorted by what sets them. It serves until they are
// read again.
type limitsIndex struct {
	limits     slurm.Limits
	qos        map[string]*slurm.QOS
	partitions map[string]*slurm.Partition
	accounts   map[string]*slurm.Association // those of accounts, by name
	users      map[[3]string]*slurm.Association
	bills      map[string]elastic.Bill // what counts as billing, by partition
	ruled      map[limitedKind][]rule
}

// limitedKind is all of a job that its limits depend on.
type limitedKind struct {
	user, account, qos, partition string
	time                          time.Duration
}

func indexed(l slurm.Limits) *limitsIndex {
	x := &limitsIndex{
		limits: l, qos: map[string]*slurm.QOS{}, partitions: map[string]*slurm.Partition{}, bills: map[string]elastic.Bill{},
		accounts: map[string]*slurm.Association{}, users: map[[3]string]*slurm.Association{}, ruled: map[limitedKind][]rule{},
	}
	for i := range l.QOS {
		x.qos[l.QOS[i].Name] = &l.QOS[i]
	}
	for i, p := range l.Partitions {
		x.partitions[p.Name], x.bills[p.Name] = &l.Partitions[i], billOf(p, l.Billing)
	}
	for i := range l.Associations {
		a := &l.Associations[i]
		if a.User == "" {
			x.accounts[a.Account] = a
		} else {
			x.users[[3]string{a.Account, a.User, a.Partition}] = a
		}
	}
	return x
}
