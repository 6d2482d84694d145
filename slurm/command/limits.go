package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/sluice-hpc/sluice/slurm"
)

var _ slurm.Limiter = (*Client)(nil)

// Limits asks slurmctld for its settings, partitions and reservations; where limits
// are enforced slurmdbd, through two sacctmgr, for associations and QOS; where some
// have a budget of minutes slurmctld for what is used of it; where there is a
// reservation, or memory is limited, one squeue for which job is in which and how it
// asks for memory; and before Slurm 24.11 one squeue for the nodes that jobs exclude.
// That is three to eight queries whatever the number of jobs.
func (c *Client) Limits(ctx context.Context) (slurm.Limits, error) {
	l := slurm.Limits{}
	var site accounting
	var err error
	for _, q := range []struct {
		program string
		args    []string
		parse   func(string) error
	}{
		{"scontrol", showConfig, func(out string) (err error) { site, err = parseAccounting(out); return }},
		{"scontrol", []string{"-a", "-o", "show", "partition"}, func(out string) (err error) { l.Partitions, err = parsePartitions(out); return }},
		{"scontrol", []string{"-a", "-o", "show", "reservation"}, func(out string) (err error) { l.Reservations, err = parseReservations(out); return }},
	} {
		if err := c.limitsFrom(ctx, q.program, q.args, q.parse); err != nil {
			return slurm.Limits{}, err
		}
	}
	if l.Enforced = site.enforced; l.Enforced {
		if err := c.accountLimits(ctx, site.cluster, &l); err != nil {
			return slurm.Limits{}, err
		}
	}
	if err := c.access(ctx, site, &l); err != nil {
		return slurm.Limits{}, err
	}
	l.Safe, l.Billing = site.safe, site.billing
	site.tracks(l.Partitions)
	if !site.memory {
		forgetMemory(&l)
	}
	if err := c.jobLimits(ctx, &l); err != nil {
		return slurm.Limits{}, err
	}
	if site.silent {
		if l.Excluded, err = c.excluded(ctx); err != nil {
			return slurm.Limits{}, err
		}
	}
	return l, nil
}

// jobLimits asks for what only each job's record tells, if anything depends on it.
func (c *Client) jobLimits(ctx context.Context, l *slurm.Limits) error {
	memory := limitsMemory(l)
	if len(l.Reservations) == 0 && !memory {
		return nil
	}
	d := newDelimiter()
	err := c.limitsFrom(ctx, "squeue", []string{"-h", "-a", "-O", d.format(jobLimitFields[:])},
		func(out string) (err error) { l.Reserved, l.Memory, err = parseJobLimits(out, d); return })
	if !memory {
		l.Memory = nil
	}
	return err
}

func (c *Client) associations(ctx context.Context, cluster string) (list []slurm.Association, err error) {
	err = c.limitsFrom(ctx, "sacctmgr", []string{"-n", "-P", "show", "assoc", "cluster=" + cluster, "format=" + strings.Join(associationFields[:], ",")},
		func(out string) (err error) { list, err = parseAssociations(out); return })
	return list, err
}

func (c *Client) accountLimits(ctx context.Context, cluster string, l *slurm.Limits) error {
	var err error
	if l.Associations, err = c.associations(ctx, cluster); err != nil {
		return err
	}
	err = c.limitsFrom(ctx, "sacctmgr", []string{"-n", "-P", "show", "qos", "format=" + strings.Join(qosFields[:], ",")},
		func(out string) (err error) { l.QOS, err = parseQOS(out); return })
	if err != nil || !budgeted(l) {
		return err
	}
	return c.limitsFrom(ctx, "scontrol", []string{"-o", "show", "assoc_mgr", "flags=assoc,qos"},
		func(out string) error { return parseUsage(out, cluster, l) })
}

// limitsFrom runs one query and hands its answer to parse.
func (c *Client) limitsFrom(ctx context.Context, program string, args []string, parse func(string) error) error {
	op := program + " show"
	out, err := c.read(ctx, op, 0, program, args)
	if err != nil {
		return err
	}
	if err := parse(out.stdout); err != nil {
		return &slurm.Error{Op: op, Err: slurm.ErrGarbage, Words: clean(err.Error()), Hint: "run it by hand: " + program + " " + strings.Join(args, " ")}
	}
	return nil
}

// accounting is what the settings say about limits.
type accounting struct {
	cluster        string
	enforced, safe bool
	associations   bool // are looked at, with or without their limits
	memory         bool // is given out: else no limit on it ever binds
	below          bool // a partition's lists of accounts are of those below them, too
	silent         bool // the bulk query does not tell which nodes jobs exclude
	tracked        []string
	billing        slurm.BillingRule
}

// parseAccounting reads what "scontrol show config" printed.
func parseAccounting(out string) (a accounting, err error) {
	s, _ := ParseSettings(out)
	a.cluster = s["ClusterName"]
	for word := range strings.SplitSeq(strings.ToLower(s["AccountingStorageEnforce"]), ",") {
		a.safe = a.safe || word == "safe"
		a.enforced = a.enforced || word == "limits" || word == "safe" || word == "all"
		a.associations = a.associations || word != "" && word != "none"
	}
	a.tracked, a.billing = strings.Split(strings.ToLower(s["AccountingStorageTRES"]), ","), billingRule(s["PriorityFlags"])
	a.memory = strings.Contains(strings.ToUpper(s["SelectTypeParameters"]), "MEMORY")
	if a.cluster == "" {
		return a, fmt.Errorf("no ClusterName")
	}
	v, ok := parseVersion(out)
	if !ok {
		return a, fmt.Errorf("no SLURM_VERSION")
	}
	a.below = v.AtLeast(22, 6) // 22.05 has them not, 24.11 has; in between: rather let a job try
	a.silent = !v.AtLeast(24, 11)
	return a, nil
}
