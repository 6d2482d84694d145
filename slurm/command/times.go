package command

import (
	"context"
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/slurm"
)

// Partitions asks for the partitions and their limits, in one query.
func (c *Client) Partitions(ctx context.Context) (list []slurm.Partition, err error) {
	err = c.limitsFrom(ctx, "scontrol", []string{"-a", "-o", "show", "partition"}, func(out string) (err error) {
		list, err = parsePartitions(out)
		return err
	})
	return list, err
}

// LiftsTime reports whether a job may be started that requests more time than its
// partition's MaxTime. It may if the site has a submit plugin, which can change either,
// or a QOS with the flag PartitionTimeLimit. That takes two queries. The error says if
// QOS cannot be read.
func (c *Client) LiftsTime(ctx context.Context) (bool, error) {
	s, err := c.Settings(ctx)
	if err != nil {
		return false, err
	}
	if plugin := !empty(s["JobSubmitPlugins"]); plugin || !s.Database() {
		return plugin, nil
	}
	var orders []slurm.QOS
	err = c.limitsFrom(ctx, "sacctmgr", []string{"-n", "-P", "show", "qos", "format=" + strings.Join(qosFields[:], ",")},
		func(out string) (err error) { orders, err = parseQOS(out); return })
	return slices.ContainsFunc(orders, func(q slurm.QOS) bool { return q.AnyTime }), err
}
