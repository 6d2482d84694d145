package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sluice-hpc/sluice/slurm"
)

// The fields asked of sacctmgr, in the order it prints them.
var (
	associationFields = [...]string{"Account", "User", "Partition", "ParentName", "GrpTRES", "GrpJobs", "MaxTRES", "MaxTRESPerNode", "MaxJobs"}
	qosFields         = [...]string{"Name", "GrpTRES", "GrpJobs", "MaxTRES", "MaxTRESPerNode", "MaxTRESPU", "MaxTRESPA", "MaxJobsPU", "MaxJobsPA", "MinTRES", "Flags"}
)

// maxLimitRecords bounds associations, QOS, partitions and reservations.
const maxLimitRecords = 1 << 20

func parseAssociations(out string) ([]slurm.Association, error) {
	var list []slurm.Association
	err := sheet(out, len(associationFields), func(f []string) {
		a := slurm.Association{Account: f[0], User: f[1], Partition: f[2], Parent: f[3]}
		a.Group = append(amounts(f[4]), jobs(f[5])...)
		a.Job, a.Node, a.Own = amounts(f[6]), amounts(f[7]), jobs(f[8])
		list = append(list, a)
	})
	return list, err
}

func parseQOS(out string) ([]slurm.QOS, error) {
	var list []slurm.QOS
	err := sheet(out, len(qosFields), func(f []string) {
		q := slurm.QOS{Name: f[0], Job: amounts(f[3]), Node: amounts(f[4]), Least: amounts(f[9]), OverPartition: strings.Contains(f[10], "OverPartQOS")}
		q.Group = append(amounts(f[1]), jobs(f[2])...)
		q.User = append(amounts(f[5]), jobs(f[7])...)
		q.Account = append(amounts(f[6]), jobs(f[8])...)
		list = append(list, q)
	})
	return list, err
}

// sheet reads lines of so many fields, each line whole. A cluster with limits has
// associations and QOS: no line at all is no answer.
func sheet(out string, fields int, take func([]string)) error {
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if !strings.HasSuffix(out, "\n") {
		return errTruncated
	}
	if len(lines) > maxLimitRecords {
		return fmt.Errorf("more than %d lines", maxLimitRecords)
	}
	for i, line := range lines {
		f := strings.Split(line, "|")
		if len(f) != fields || f[0] == "" {
			return fmt.Errorf("line %d has %d fields, not %d", i+1, len(f), fields)
		}
		if err := readable(f); err != nil {
			return fmt.Errorf("line %d: %w", i+1, err)
		}
		take(f)
	}
	return nil
}

// readable checks the amounts before any is used: half a limit is none.
func readable(fields []string) error {
	for _, f := range fields {
		if !strings.Contains(f, "=") {
			continue
		}
		for _, item := range strings.Split(f, ",") {
			name, n, ok := strings.Cut(item, "=")
			if !ok || name == "" || n == "" {
				return fmt.Errorf("%q is not an amount", shorten(item))
			}
			if _, tracked := ofInterest(name); tracked && !isAmount(n) {
				return fmt.Errorf("%q is not a number", shorten(item))
			}
		}
	}
	return nil
}

func isAmount(s string) bool {
	_, ok := digits(s, 1<<31)
	return ok || s == "-1"
}

// ofInterest tells the resources that a move of sluice changes.
func ofInterest(name string) (string, bool) {
	name = strings.ToLower(name)
	gpus := name == slurm.OfGPUs || strings.HasPrefix(name, slurm.OfGPUs+":")
	return name, gpus || name == slurm.OfCPUs || name == slurm.OfNodes
}

// amounts reads "cpu=10,gres/gpu=2"; what sluice does not change is left out, and
// -1 is none.
func amounts(list string) []slurm.Amount {
	var out []slurm.Amount
	for _, item := range strings.Split(list, ",") {
		name, n, _ := strings.Cut(item, "=")
		name, tracked := ofInterest(name)
		if most, ok := digits(n, 1<<31); tracked && ok {
			out = append(out, slurm.Amount{Of: name, N: int(most)})
		}
	}
	return out
}

// jobs reads a number of jobs; "" is none.
func jobs(s string) []slurm.Amount {
	most, ok := digits(s, 1<<31)
	if !ok {
		return nil
	}
	return []slurm.Amount{{Of: slurm.OfJobs, N: int(most)}}
}

// keyed reads "Key=value Key=value" lines of scontrol -o about things whose names
// administrators choose; the first key must be head. Its "No ... in the system" has
// none.
func keyed(out, head string, take func(map[string]string) error) error {
	for n, line := range strings.Split(out, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "No ") {
			continue
		}
		if !strings.HasPrefix(line, head+"=") || n > maxLimitRecords {
			return fmt.Errorf("line %d does not begin with %s=", n+1, head)
		}
		values := map[string]string{}
		for _, word := range strings.Fields(line) {
			if key, value, ok := strings.Cut(word, "="); ok {
				if _, twice := values[key]; !twice {
					values[key] = value
				}
			}
		}
		if err := take(values); err != nil {
			return fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	return nil
}

func parsePartitions(out string) ([]slurm.Partition, error) {
	var list []slurm.Partition
	err := keyed(out, "PartitionName", func(v map[string]string) error {
		p := slurm.Partition{Name: v["PartitionName"], Up: v["State"] == "UP"}
		if p.Name == "" || v["State"] == "" {
			return errTruncated
		}
		var errs [3]error
		p.MinNodes, errs[0] = nodeCount(v["MinNodes"])
		p.MaxNodes, errs[1] = nodeCount(v["MaxNodes"])
		p.MaxTime, errs[2] = duration(v["MaxTime"])
		if !empty(v["QoS"]) {
			p.QOS = v["QoS"]
		}
		p.AllowAccounts, p.DenyAccounts = named(v["AllowAccounts"]), named(v["DenyAccounts"])
		p.AllowQOS, p.DenyQOS = named(v["AllowQos"]), named(v["DenyQos"])
		list = append(list, p)
		return errors.Join(errs[:]...)
	})
	if err == nil && len(list) == 0 {
		err = errNoRecord
	}
	return list, err
}

// nodeCount reads a bound on nodes; UNLIMITED is 0.
func nodeCount(s string) (int, error) {
	if s == "UNLIMITED" {
		return 0, nil
	}
	return count(s)
}

// named reads a list of names; ALL is everybody, as none is.
func named(s string) []string {
	if empty(s) || s == "ALL" {
		return nil
	}
	return strings.Split(s, ",")
}

func parseReservations(out string) ([]slurm.Reservation, error) {
	var list []slurm.Reservation
	err := keyed(out, "ReservationName", func(v map[string]string) error {
		r := slurm.Reservation{Name: v["ReservationName"]}
		var err1, err2, err3 error
		r.Start, err1 = epoch(v["StartTime"])
		r.End, err2 = epoch(v["EndTime"])
		if !empty(v["Nodes"]) {
			r.Nodes, err3 = slurm.Expand(v["Nodes"])
		}
		if err := errors.Join(err1, err2, err3); err != nil {
			return err
		}
		if r.Name == "" || r.Start.IsZero() || !r.End.After(r.Start) {
			return errTruncated
		}
		list = append(list, r)
		return nil
	})
	return list, err
}
