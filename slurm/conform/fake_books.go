package conform

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// fakeBooks are the accounts, QOS, partitions and reservations of a fake, set in the
// words of sacctmgr and scontrol.
type fakeBooks struct {
	f      *fake.Fake
	owner  string
	limits slurm.Limits
}

func newFakeBooks(f *fake.Fake, owner string) *fakeBooks {
	return &fakeBooks{f: f, owner: owner, limits: slurm.Limits{Associations: []slurm.Association{{Account: "root"}}}}
}

func (b *fakeBooks) account(context.Context) (string, error) {
	name := fmt.Sprintf("account%d", len(b.limits.Associations))
	b.limits.Enforced = true
	b.limits.Associations = append(b.limits.Associations, slurm.Association{Account: name, Parent: "root"}, slurm.Association{Account: name, User: b.owner})
	b.f.SetLimits(b.limits)
	return name, nil
}

func (b *fakeBooks) below(context.Context) (string, string, error) {
	b.limits.Enforced = true
	b.limits.Associations = append(b.limits.Associations, slurm.Association{Account: upper, Parent: "root"},
		slurm.Association{Account: lower, Parent: upper}, slurm.Association{Account: lower, User: b.owner})
	b.f.SetLimits(b.limits)
	return upper, lower, nil
}

func (b *fakeBooks) limit(_ context.Context, account, limits string) error {
	for i := range b.limits.Associations {
		a := &b.limits.Associations[i]
		if a.Account != account || a.User != b.owner {
			continue
		}
		err := read(limits, map[string]*[]slurm.Amount{
			"GrpTRES": &a.Group, "GrpJobs": &a.Group, "MaxTRES": &a.Job, "MaxJobs": &a.Own, "GrpTRESMins": &a.Minutes.Budget,
			"GrpTRESRunMins": &a.Minutes.Group, "MaxTRESMins": &a.Minutes.Job,
		}, &a.Minutes.Wall)
		b.f.SetLimits(b.limits)
		return err
	}
	return fmt.Errorf("no account %s", account)
}

func (b *fakeBooks) qos(_ context.Context, limits string) (string, error) {
	q := slurm.QOS{Name: fmt.Sprintf("qos%d", len(b.limits.QOS)+1), AnyTime: limits == anyTime}
	if q.AnyTime {
		limits = ""
	}
	err := read(limits, map[string]*[]slurm.Amount{"GrpTRES": &q.Group, "MaxTRES": &q.Job, "MaxTRESPerUser": &q.User, "MinTRES": &q.Least}, &q.Minutes.Wall)
	b.limits.QOS = append(b.limits.QOS, q)
	b.f.SetLimits(b.limits)
	return q.Name, err
}

// anyTime is the flag of a QOS whose jobs may take longer than their partition's MaxTime.
const anyTime = "Flags=PartitionTimeLimit"

// read sets the limits named, each replacing earlier ones: "GrpTRES=gres/gpu=2,
// mem=3000 MaxWall=60".
func read(limits string, lists map[string]*[]slurm.Amount, wall *time.Duration) error {
	for _, word := range strings.Fields(limits) {
		name, value, _ := strings.Cut(word, "=")
		if name == "MaxWall" {
			minutes, err := strconv.Atoi(value)
			if *wall = time.Duration(minutes) * time.Minute; err != nil {
				return err
			}
			continue
		}
		list := lists[name]
		if list == nil {
			return fmt.Errorf("the fake knows no %s", name)
		}
		if strings.HasSuffix(name, "Jobs") {
			value = slurm.OfJobs + "=" + value
		}
		for _, item := range strings.Split(value, ",") {
			of, number, _ := strings.Cut(item, "=")
			n, err := strconv.Atoi(number)
			if err != nil {
				return err
			}
			put(list, slurm.Amount{Of: of, N: n})
		}
	}
	return nil
}

// put replaces the amount of the resource, or adds it.
func put(list *[]slurm.Amount, a slurm.Amount) {
	out := make([]slurm.Amount, 0, len(*list)+1) // not the limits of the fake itself
	for _, old := range *list {
		if old.Of != a.Of {
			out = append(out, old)
		}
	}
	*list = append(out, a)
}
