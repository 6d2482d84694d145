package conform

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

func (b *fakeBooks) partition(ctx context.Context, name string, nodes []string, settings string) error {
	b.limits.Partitions = append(b.limits.Partitions, slurm.Partition{Name: name, Up: true})
	b.f.AddPartition(name, nodes...)
	return b.setPartition(ctx, name, settings)
}

func (b *fakeBooks) setPartition(_ context.Context, name, settings string) error {
	at := slices.IndexFunc(b.limits.Partitions, func(p slurm.Partition) bool { return p.Name == name })
	if at < 0 {
		return fmt.Errorf("no partition %s", name)
	}
	b.limits.Partitions = slices.Clone(b.limits.Partitions)
	p := &b.limits.Partitions[at]
	for _, word := range strings.Fields(settings) {
		key, value, _ := strings.Cut(word, "=")
		n, err := strconv.Atoi(value)
		switch {
		case value == "UNLIMITED":
			n = 0
		case err != nil && (strings.HasPrefix(key, "Max") || strings.HasPrefix(key, "Min")):
			return err
		}
		switch key {
		case "TRESBillingWeights":
			p.Weights = nil
			for item := range strings.SplitSeq(value, ",") {
				of, number, _ := strings.Cut(item, "=")
				weight, err := strconv.ParseFloat(number, 64)
				if err != nil {
					return err
				}
				p.Weights = append(p.Weights, slurm.Weight{Of: strings.ToLower(of), N: weight})
			}
		case "State":
			b.f.SetPartitionState(name, value)
		case "AllowAccounts":
			p.AllowAccounts = listed(value)
		case "DenyAccounts":
			p.DenyAccounts = listed(value)
		case "AllowQos":
			p.AllowQOS = listed(value)
		case "QOS":
			p.QOS = value
		case "MaxTime":
			p.MaxTime = time.Duration(n) * time.Minute
		case "MaxNodes":
			p.MaxNodes = n
		case "MinNodes":
			p.MinNodes = n
		case "MaxCPUsPerNode":
			p.CPUsPerNode = n
		default:
			return fmt.Errorf("the fake knows no %s", key)
		}
	}
	b.f.SetLimits(b.limits)
	return nil
}

// listed reads the names that may use a partition.
func listed(value string) []string {
	if value == "ALL" {
		return nil
	}
	return strings.Split(value, ",")
}

func (b *fakeBooks) reserve(_ context.Context, name string, nodes []string, begins, lasts time.Duration) error {
	start := b.f.Now().Truncate(time.Second).Add(begins)
	b.limits.Reservations = append(slices.Clone(b.limits.Reservations), slurm.Reservation{Name: name, Nodes: nodes, Start: start, End: start.Add(lasts)})
	b.f.SetLimits(b.limits)
	return nil
}

func (b *fakeBooks) unreserve(_ context.Context, name string) error {
	b.limits.Reservations = slices.DeleteFunc(slices.Clone(b.limits.Reservations), func(r slurm.Reservation) bool { return r.Name == name })
	b.f.SetLimits(b.limits)
	return nil
}
