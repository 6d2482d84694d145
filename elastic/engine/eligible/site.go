package eligible

import (
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/slurm"
)

// Site is the site's limits. The zero value is that of a site whose limits could not be read
// yet. It is never changed: other limits make another one.
type Site struct {
	slurm.Limits
	Known  bool // they were read at least once
	sorted *index
}

// Read sorts limits that were read. edge names the partitions that are edge pools.
func Read(l slurm.Limits, edge map[string]bool) Site {
	return Site{Limits: l, Known: true, sorted: indexed(l, edge)}
}

// index is the site's limits sorted by what sets them. Which of them hold for a job is
// remembered in ruled from the first time on that a job of the kind asks; so one goroutine at a
// time may ask.
type index struct {
	limits     slurm.Limits
	edge       map[string]bool    // partitions that are edge pools
	members    map[[2]string]bool // accounts and users that were in the answer
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

func indexed(l slurm.Limits, edge map[string]bool) *index {
	x := &index{
		limits: l, edge: edge, members: map[[2]string]bool{}, qos: map[string]*slurm.QOS{}, partitions: map[string]*slurm.Partition{}, bills: map[string]elastic.Bill{},
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
		x.members[[2]string{a.Account, a.User}] = true
		if a.User == "" {
			x.accounts[a.Account] = a
		} else {
			x.users[[3]string{a.Account, a.User, a.Partition}] = a
		}
	}
	return x
}

// Partition is what the limits say of a partition; known is false where they do not.
func (s Site) Partition(name string) (p slurm.Partition, known bool) {
	for i := range s.Partitions {
		if s.Partitions[i].Name == name {
			return s.Partitions[i], true
		}
	}
	return p, false
}

// blames lists how Slurm's reasons begin that name a limit.
var blames = []string{"Assoc", "QOS", "Max", "Partition", "Reserv", "ReqNodeNotAvail"}

// Outdated reports whether what Slurm shows of a job speaks for limits that are not known yet:
// Slurm leaves it waiting for one, or its account or user was not in the answer.
func (s Site) Outdated(sj slurm.Job) bool {
	switch {
	case sj.State != slurm.Pending:
		return false
	case s.Enforced && !s.sorted.members[[2]string{sj.Account, sj.User}]:
		return true
	case sj.Held:
		return false
	}
	for _, head := range blames {
		if strings.HasPrefix(sj.Reason, head) {
			return true
		}
	}
	return false
}
