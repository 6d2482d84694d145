package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/sluice-hpc/sluice/slurm"
)

var _ slurm.Limiter = (*Client)(nil)

// Limits asks slurmctld for its settings, partitions and reservations; where limits
// are enforced slurmdbd, through two sacctmgr, for associations and QOS; and where
// there is a reservation one squeue tells whose jobs are in it. That is three to six
// queries whatever the number of jobs.
func (c *Client) Limits(ctx context.Context) (slurm.Limits, error) {
	l := slurm.Limits{}
	var site accounting
	for _, q := range []struct {
		program string
		args    []string
		parse   func(string) error
	}{
		{"scontrol", []string{"show", "config"}, func(out string) (err error) { site, err = parseAccounting(out); return }},
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
	if len(l.Reservations) == 0 {
		return l, nil
	}
	d := newDelimiter()
	err := c.limitsFrom(ctx, "squeue", []string{"-h", "-a", "-O", d.format([]string{"JobID", "Reservation"})},
		func(out string) (err error) { l.Reserved, err = parseReserved(out, d); return })
	return l, err
}

func (c *Client) accountLimits(ctx context.Context, cluster string, l *slurm.Limits) error {
	err := c.limitsFrom(ctx, "sacctmgr", []string{"-n", "-P", "show", "assoc", "cluster=" + cluster, "format=" + strings.Join(associationFields[:], ",")},
		func(out string) (err error) { l.Associations, err = parseAssociations(out); return })
	if err != nil {
		return err
	}
	return c.limitsFrom(ctx, "sacctmgr", []string{"-n", "-P", "show", "qos", "format=" + strings.Join(qosFields[:], ",")},
		func(out string) (err error) { l.QOS, err = parseQOS(out); return })
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
	cluster  string
	enforced bool
}

// parseAccounting reads "Key = value" lines of scontrol show config.
func parseAccounting(out string) (a accounting, err error) {
	for line := range strings.Lines(out) {
		key, value, _ := strings.Cut(line, "=")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(key) {
		case "ClusterName":
			a.cluster = value
		case "AccountingStorageEnforce":
			for _, word := range strings.Split(strings.ToLower(value), ",") {
				a.enforced = a.enforced || word == "limits" || word == "safe" || word == "all"
			}
		}
	}
	if a.cluster == "" {
		return a, fmt.Errorf("no ClusterName")
	}
	return a, nil
}

// parseReserved reads which jobs are in which reservation.
func parseReserved(out string, d delimiter) (map[slurm.JobID]string, error) {
	records, err := d.split(out, 2)
	if err != nil {
		return nil, err
	}
	in := map[slurm.JobID]string{}
	for _, r := range records {
		id, err := jobID(r[0])
		if err == nil && !empty(r[1]) {
			in[id] = r[1]
		}
	}
	return in, nil
}
