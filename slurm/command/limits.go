package command

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/sluice-hpc/sluice/slurm"
)

var _ slurm.Limiter = (*Client)(nil)

// Limits asks slurmctld for its settings, partitions and reservations. If limits are
// enforced, two sacctmgr calls ask slurmdbd for associations and QOS. If any of these has
// a budget of minutes, slurmctld is asked for its usage. If there is a reservation, or
// memory is limited, one squeue asks which job is in which reservation and how it
// requests memory. Before Slurm 24.11 one squeue asks for the nodes that jobs exclude. In
// all 3 to 8 queries, whatever the number of jobs.
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
	l.Safe, l.Billing, l.Aging, l.FairShare = site.safe, site.billing, site.aging, site.fair
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

// jobLimits asks for what only each job's record holds, if any limit depends on it.
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

func (c *Client) qosLimits(ctx context.Context, l *slurm.Limits) error {
	return c.limitsFrom(ctx, "sacctmgr", []string{"-n", "-P", "show", "qos", "format=" + strings.Join(qosFields[:], ",")},
		func(out string) (err error) { l.QOS, err = parseQOS(out); return })
}

// accountLimits makes both calls at the same time: each takes tens of milliseconds, and a job's
// start may wait for them.
func (c *Client) accountLimits(ctx context.Context, cluster string, l *slurm.Limits) error {
	qos := make(chan error, 1)
	go func() { qos <- c.qosLimits(ctx, l) }()
	var err error
	l.Associations, err = c.associations(ctx, cluster)
	if err = cmp.Or(err, <-qos); err != nil || !budgeted(l) {
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

// accounting is what Slurm's settings say about limits.
type accounting struct {
	cluster        string
	enforced, safe bool
	associations   bool // associations are looked at, with or without their limits
	memory         bool // memory is allocated; else no limit on it binds
	below          bool // a partition's account lists include the accounts below them
	silent         bool // the bulk query does not report the nodes that jobs exclude
	tracked        []string
	billing        slurm.BillingRule
	aging          slurm.Aging
	fair           slurm.FairShare
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
	a.aging, a.fair = aging(s), s.FairShare()
	a.memory = strings.Contains(strings.ToUpper(s["SelectTypeParameters"]), "MEMORY")
	if a.cluster == "" {
		return a, fmt.Errorf("no ClusterName")
	}
	v, ok := parseVersion(out)
	if !ok {
		return a, fmt.Errorf("no SLURM_VERSION")
	}
	a.below = v.AtLeast(22, 6) // 22.05 does not have them, 24.11 does; for releases in between, rather let a job try
	a.silent = !v.AtLeast(24, 11)
	return a, nil
}
