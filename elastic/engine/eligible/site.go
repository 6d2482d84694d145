package eligible

import (
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/slurm"
)

// Site is the site's limits. The zero value means that they have not been read yet. A Site is not
// changed; Read makes a new one. Copies share one index with its cache. They belong to one goroutine.
type Site struct {
	slurm.Limits
	Known  bool // the limits were read at least once
	sorted *index
}

// Read indexes limits that were read. edge has the partitions that are edge pools. Read MUST be
// called again if edge changes. l and edge MUST NOT be changed afterwards: the index has pointers
// into l.
func Read(l slurm.Limits, edge map[string]bool) Site {
	return Site{Limits: l, Known: true, sorted: indexed(l, edge)}
}

// index is the site's limits by what sets them. It caches the limits of each kind of job in ruled,
// so that it is not safe for concurrent use.
type index struct {
	limits     slurm.Limits
	edge       map[string]bool    // partitions that are edge pools
	members    map[[2]string]bool // account and user of each association
	qos        map[string]*slurm.QOS
	partitions map[string]*slurm.Partition
	accounts   map[string]*slurm.Association // associations of accounts, by name
	users      map[[3]string]*slurm.Association
	bills      map[string]elastic.Bill // by partition
	ruled      map[limitedKind][]rule
}

// limitedKind is everything of a job on which its limits depend. If a rule comes to depend on more of
// a job, that MUST be added here: else jobs get each other's limits from the cache.
type limitedKind struct {
	user, account, qos, partition string
	time                          time.Duration
}

// indexed makes the index. An account has no user in its association; of a user's associations each
// partition has its own, and "" stands for any.
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

// Partition returns a partition's limits; known is false if there are none.
func (s Site) Partition(name string) (p slurm.Partition, known bool) {
	for i := range s.Partitions {
		if s.Partitions[i].Name == name {
			return s.Partitions[i], true
		}
	}
	return p, false
}

// blames has the prefixes of Slurm's reasons that name a limit.
var blames = []string{"Assoc", "QOS", "Max", "Partition", "Reserv", "ReqNodeNotAvail"}

// Outdated reports whether a job indicates that the limits have changed: Slurm lets it wait for a
// limit, or its account or user has no association. The caller reads the limits again sooner then
// (track.State.LimitsOld). A held job shows its hold as the reason, and says nothing of limits. A
// Site that was never read has no association to miss, but Slurm's reasons count.
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
