package command

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// The fields asked of sacctmgr, in the order it prints them.
var (
	associationFields = [...]string{"Account", "User", "Partition", "ParentName", "GrpTRES", "GrpJobs", "MaxTRES", "MaxTRESPerNode", "MaxJobs",
		"GrpTRESMins", "GrpWall", "GrpTRESRunMins", "MaxTRESMins", "MaxWall"}
	qosFields = [...]string{"Name", "GrpTRES", "GrpJobs", "MaxTRES", "MaxTRESPerNode", "MaxTRESPU", "MaxTRESPA", "MaxJobsPU", "MaxJobsPA", "MinTRES", "Flags",
		"GrpTRESMins", "GrpWall", "GrpTRESRunMins", "MaxTRESMins", "MaxWall", "MaxTRESRunMinsPU", "MaxTRESRunMinsPA"}
)

// maxLimitRecords bounds associations, QOS, partitions and reservations.
const maxLimitRecords = 1 << 20

func parseAssociations(out string) ([]slurm.Association, error) {
	var list []slurm.Association
	err := sheet(out, len(associationFields), func(f []string) (err error) {
		a := slurm.Association{Account: f[0], User: f[1], Partition: f[2], Parent: f[3]}
		a.Group = append(amounts(f[4]), jobs(f[5])...)
		a.Job, a.Node, a.Own = amounts(f[6]), amounts(f[7]), jobs(f[8])
		a.Minutes, err = minutes(f[9:])
		list = append(list, a)
		return err
	})
	return list, err
}

func parseQOS(out string) ([]slurm.QOS, error) {
	var list []slurm.QOS
	err := sheet(out, len(qosFields), func(f []string) (err error) {
		q := slurm.QOS{Name: f[0], Job: amounts(f[3]), Node: amounts(f[4]), Least: amounts(f[9]), OverPartition: strings.Contains(f[10], "OverPartQOS"),
			AnyTime: strings.Contains(f[10], "PartitionTimeLimit")}
		q.Group = append(amounts(f[1]), jobs(f[2])...)
		q.User = append(amounts(f[5]), jobs(f[7])...)
		q.Account = append(amounts(f[6]), jobs(f[8])...)
		q.Minutes, err = minutes(f[11:])
		q.UserMinutes, q.AccountMinutes = amounts(f[16]), amounts(f[17])
		list = append(list, q)
		return err
	})
	return list, err
}

// minutes reads GrpTRESMins, GrpWall, GrpTRESRunMins, MaxTRESMins and MaxWall, which are
// the first of the fields.
func minutes(f []string) (m slurm.Minutes, err error) {
	m.Budget, m.Group, m.Job = amounts(f[0]), amounts(f[2]), amounts(f[3])
	wall, err1 := duration(f[1])
	if f[1] != "" && err1 == nil {
		m.Budget = append(m.Budget, slurm.Amount{Of: slurm.OfWall, N: int(wall / time.Minute)})
	}
	var err2 error
	m.Wall, err2 = duration(f[4])
	return m, errors.Join(err1, err2)
}

// sheet reads lines with a fixed number of fields. A cluster with limits has associations
// and QOS, so an answer without lines is an error.
func sheet(out string, fields int, take func([]string) error) error {
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
		if err := take(f); err != nil {
			return fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	return nil
}

// readable checks the amounts before any of them is used: a limit that is read in part is
// no limit.
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
			if name, tracked := ofInterest(name); tracked && !isAmount(name, n) {
				return fmt.Errorf("%q is not a number", shorten(item))
			}
		}
	}
	return nil
}

func isAmount(name, s string) bool {
	_, ok := amount(name, s)
	return ok || s == "-1"
}

// ofInterest reports whether sluice changes the resource when it resizes a job.
func ofInterest(name string) (string, bool) {
	name = strings.ToLower(name)
	gpus := name == slurm.OfGPUs || strings.HasPrefix(name, slurm.OfGPUs+":")
	return name, gpus || name == slurm.OfCPUs || name == slurm.OfNodes || name == slurm.OfMemory || name == slurm.OfBilling
}

// amounts reads "cpu=10,gres/gpu=2,mem=2500M". Resources that sluice does not change are
// left out; -1 means no limit.
func amounts(list string) []slurm.Amount {
	var out []slurm.Amount
	for _, item := range strings.Split(list, ",") {
		name, n, _ := strings.Cut(item, "=")
		name, tracked := ofInterest(name)
		if most, ok := amount(name, n); tracked && ok {
			out = append(out, slurm.Amount{Of: name, N: most})
		}
	}
	return out
}

// mostAmount is the largest amount kept; larger numbers are reduced to it, so that sums
// do not overflow.
const mostAmount = 1 << 44

// amount reads a number of the named resource. Memory has a unit, such as "64001M" or
// "62.50G", and is returned in megabytes, rounded down.
func amount(name, s string) (int, bool) {
	if name == slurm.OfMemory {
		return megabytes(s)
	}
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, _ := strconv.ParseUint(s, 10, 64) // of digits that are too many, the largest there is
	return int(min(n, mostAmount)), true
}

// megabytes reads an amount of memory; without a unit it is in megabytes.
func megabytes(s string) (int, bool) {
	unit := 1.0
	if at := strings.IndexByte("KMGTPE", last(s)); at >= 0 {
		unit, s = math.Pow(1024, float64(at-1)), s[:len(s)-1]
	}
	if s == "" || len(s) > 32 || strings.Trim(s, "0123456789.") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(s, 64)
	return int(min(n*unit, mostAmount)), err == nil
}

func last(s string) byte {
	if s == "" {
		return 0
	}
	return s[len(s)-1]
}

// jobs reads a number of jobs; "" means no limit.
func jobs(s string) []slurm.Amount {
	most, ok := digits(s, 1<<31)
	if !ok {
		return nil
	}
	return []slurm.Amount{{Of: slurm.OfJobs, N: int(most)}}
}

// keyed reads the "Key=value Key=value" lines of scontrol -o about objects whose names
// administrators choose; the first key must be head. The answer "No ... in the system"
// has no lines.
func keyed(out, head string, take func(map[string]string) error) error {
	for n, line := range strings.Split(out, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "No ") {
			continue
		}
		if n >= maxLimitRecords {
			return fmt.Errorf("more than %d lines", maxLimitRecords)
		}
		if !strings.HasPrefix(line, head+"=") {
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
		// A draining partition takes no new jobs and starts those it has.
		p := slurm.Partition{Name: v["PartitionName"], Up: v["State"] == "UP" || v["State"] == "DRAIN"}
		p.Default = v["Default"] == "YES"
		if p.Name == "" || v["State"] == "" {
			return errTruncated
		}
		var err1, err2 error
		p.MaxTime, err1 = duration(v["MaxTime"])
		p.Weights, err2 = weights(v["TRESBillingWeights"])
		err := errors.Join(err1, err2)
		for _, b := range []struct {
			key string
			to  *int
		}{{"MinNodes", &p.MinNodes}, {"MaxNodes", &p.MaxNodes}, {"MaxCPUsPerNode", &p.CPUsPerNode}, {"MaxMemPerNode", &p.MemoryPerNode}, {"PriorityTier", &p.Tier}} {
			n, bad := nodeCount(v[b.key])
			*b.to, err = n, errors.Join(err, bad)
		}
		if !empty(v["QoS"]) {
			p.QOS = v["QoS"]
		}
		p.AllowAccounts, p.DenyAccounts = named(v["AllowAccounts"]), named(v["DenyAccounts"])
		p.AllowQOS, p.DenyQOS = named(v["AllowQos"]), named(v["DenyQos"])
		p.AllowGroups = named(v["AllowGroups"])
		list = append(list, p)
		return err
	})
	if err == nil && len(list) == 0 {
		err = errNoRecord
	}
	return list, err
}

// nodeCount reads a limit on the number of nodes, or on what a job has on each node;
// UNLIMITED is 0.
func nodeCount(s string) (int, error) {
	if s == "UNLIMITED" {
		return 0, nil
	}
	return count(s)
}

// named reads a list of names; ALL and an empty list both mean no restriction.
func named(s string) []string {
	if empty(s) || s == "ALL" {
		return nil
	}
	return strings.Split(s, ",")
}

func parseReservations(out string) ([]slurm.Reservation, error) {
	var list []slurm.Reservation
	err := keyed(out, "ReservationName", func(v map[string]string) error {
		r := slurm.Reservation{Name: v["ReservationName"], Maint: slices.Contains(strings.Split(v["Flags"], ","), "MAINT")}
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
