package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/elastic/vault/wire"
	"github.com/sluice-hpc/sluice/slurm"
)

// bill is what a user requests that decides what a job is charged to. Slurm would check it against the service
// account, which is in the accounts of many users.
type bill struct {
	user, service string
	groups        []string // of the user
	account, qos  string   // as typed; "" = not given
	partitions    []string // as typed; none = Slurm's default
}

// charge is what the job is charged to, as Slurm writes it; "" = what the user typed, if anything.
type charge struct{ account, qos string }

// settle decides what a job is charged to: an account that its user may use in each of its partitions, with a QOS that the
// user may use there. Where Slurm checks no accounts it decides as little as Slurm does. All errors are *wire.Error.
func settle(c slurm.Charging, b bill) (charge, error) {
	in := b.partitionsOf(c)
	if err := b.enters(c, in); err != nil || !c.Database {
		return charge{}, err
	}
	account := b.account
	if account == "" {
		account = usualAccount(c, b.user)
	}
	switch {
	case c.Enforced && account != "":
		return b.member(c, account, in)
	case account == "" && (c.Enforced || usualAccount(c, b.service) != ""): // Slurm would take that of the service account
		return charge{}, b.notOf(c, "you have no default account in Slurm")
	case b.account != "":
		return charge{}, nil
	}
	return charge{account: account}, nil
}

// usualAccount is the default account of a user; "" if there is none.
func usualAccount(c slurm.Charging, user string) string {
	for _, m := range c.Members {
		if m.User == user && m.Default {
			return m.Account
		}
	}
	return ""
}

// partitionsOf are the partitions of the job; one without a name if not even Slurm has a default.
func (b bill) partitionsOf(c slurm.Charging) []string {
	if named := slices.DeleteFunc(slices.Clone(b.partitions), func(p string) bool { return p == "" }); len(named) > 0 {
		return named
	}
	if i := slices.IndexFunc(c.Partitions, func(p slurm.Partition) bool { return p.Default }); i >= 0 {
		return []string{c.Partitions[i].Name}
	}
	return []string{""}
}

// enters reports why the user may not use one of the partitions: Slurm looks at the groups of the service account.
func (b bill) enters(c slurm.Charging, in []string) error {
	for _, name := range in {
		i := slices.IndexFunc(c.Partitions, func(p slurm.Partition) bool { return p.Name == name })
		if i < 0 {
			if name == "" {
				continue // sbatch will say that there is no default
			}
			return wire.Fail(wire.Refused, "'sinfo -s' lists them", "Slurm has no partition %s", name)
		}
		p := c.Partitions[i]
		if len(p.AllowGroups) > 0 && !slices.ContainsFunc(p.AllowGroups, func(g string) bool { return slices.Contains(b.groups, g) }) {
			return wire.Fail(wire.Denied, "name another one: --partition=NAME ('sinfo -s' lists them)", "the partition %s is for the groups %s, and you are in none of them",
				p.Name, strings.Join(p.AllowGroups, ", "))
		}
	}
	return nil
}

// member charges an account that the user, and the service account too, has associations with.
func (b bill) member(c slurm.Charging, account string, in []string) (charge, error) {
	own, missing := associations(c, b.user, account, in)
	if missing != "" {
		return charge{}, b.notOf(c, "you have no association with the account %s%s", account, missing)
	}
	account = own[0].Account
	proxy, missing := associations(c, b.service, account, in)
	if missing != "" {
		return charge{}, wire.Fail(wire.Conflict, fmt.Sprintf("ask your administrators for it: sacctmgr add user %s account=%s", b.service, account),
			"jobs that use data sets cannot be charged to the account %s: %s has no association with it%s", account, b.service, missing)
	}
	if !c.QOS { // Slurm takes any
		if b.qos != "" {
			return charge{account: account}, nil
		}
		return charge{account, own[0].DefaultQOS}, nil
	}
	qos := b.qos
	if qos == "" {
		qos = usualQOS(own[0])
	}
	qos, all := commonQOS(own, qos)
	switch _, ours := commonQOS(proxy, qos); {
	case qos == "" && b.qos == "":
		return charge{}, wire.Fail(wire.Denied, "name one of them: --qos=NAME", "you have no default QOS in the account %s; yours: %s", account, orNone(all))
	case qos == "":
		return charge{}, wire.Fail(wire.Denied, "name one of them: --qos=NAME", "you may not use the QOS %s in the account %s; yours: %s", b.qos, account, orNone(all))
	case !slices.Contains(ours, qos):
		return charge{}, wire.Fail(wire.Conflict, fmt.Sprintf("ask your administrators for it: sacctmgr modify user %s where account=%s set qos+=%s", b.service, account, qos),
			"jobs that use data sets cannot have the QOS %s: %s may not use it in the account %s", qos, b.service, account)
	}
	return charge{account, qos}, nil
}

// associations are those of a user with an account for each of the partitions: as in Slurm, one for that partition before
// one for any. If one is missing, the second result says for what.
func associations(c slurm.Charging, user, account string, in []string) (list []slurm.Member, missing string) {
	for _, partition := range in {
		find := func(in string) int {
			return slices.IndexFunc(c.Members, func(m slurm.Member) bool {
				return m.User == user && m.Partition == in && strings.EqualFold(m.Account, account)
			})
		}
		i := find(partition)
		if i < 0 {
			i = find("")
		}
		switch {
		case i < 0 && partition == "":
			return nil, " for all partitions"
		case i < 0:
			return nil, " in the partition " + partition
		}
		list = append(list, c.Members[i])
	}
	return list, ""
}

// usualQOS is the QOS of jobs that name none. Source: Slurm, assoc_mgr_get_default_qos_info.
func usualQOS(m slurm.Member) string {
	switch {
	case m.DefaultQOS != "":
		return m.DefaultQOS
	case len(m.QOS) == 1:
		return m.QOS[0]
	}
	return "normal"
}

// commonQOS finds a QOS among those that all associations allow, and returns these too; "" if it is none of them.
func commonQOS(list []slurm.Member, qos string) (found string, all []string) {
	for _, q := range list[0].QOS {
		if !slices.ContainsFunc(list, func(m slurm.Member) bool { return !slices.Contains(m.QOS, q) }) {
			all = append(all, q)
		}
	}
	if i := slices.IndexFunc(all, func(q string) bool { return strings.EqualFold(q, qos) }); i >= 0 {
		found = all[i]
	}
	return found, all
}

// notOf refuses a job because of its account, and says which accounts its user has.
func (b bill) notOf(c slurm.Charging, format string, args ...any) error {
	var all []string
	for _, m := range c.Members {
		switch {
		case m.User != b.user:
		case m.Partition == "":
			all = append(all, m.Account)
		default:
			all = append(all, m.Account+" (partition "+m.Partition+")")
		}
	}
	hint := "name one of them: --account=NAME"
	if len(all) == 0 {
		hint = fmt.Sprintf("ask your administrators for one: sacctmgr add user %s account=NAME; if you have one, slurmdbd hides it from %s (PrivateData)", b.user, b.service)
	}
	return wire.Fail(wire.Denied, hint, "%s; your accounts: %s", fmt.Sprintf(format, args...), orNone(all))
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
