package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/slurm"
)

// budgeted reports whether any association or QOS has a budget of minutes.
func budgeted(l *slurm.Limits) bool {
	return slices.ContainsFunc(l.Associations, func(a slurm.Association) bool { return len(a.Minutes.Budget) > 0 }) ||
		slices.ContainsFunc(l.QOS, func(q slurm.QOS) bool { return len(q.Minutes.Budget) > 0 })
}

// parseUsage reads from scontrol show assoc_mgr the usage of the budgets that sacctmgr
// reported. It prints a limit with its usage in parentheses:
//
//	ClusterName=c Account=phys UserName=bob(5) Partition= ... GrpWall=60(3.50) GrpTRESMins=cpu=N(40),gres/gpu=100(7)
//	QOS=normal(1) ... GrpTRESMins=...
//
// A budget without a usage is an error: it might be used up.
func parseUsage(out, cluster string, l *slurm.Limits) error {
	used, err := usages(out, cluster)
	if err != nil {
		return err
	}
	fill := func(m *slurm.Minutes, key string) error {
		for _, b := range m.Budget {
			n, ok := used[key][b.Of]
			if !ok {
				return fmt.Errorf("no %s minutes used of %q", b.Of, shorten(key))
			}
			m.Used = append(m.Used, slurm.Amount{Of: b.Of, N: n})
		}
		return nil
	}
	for i := range l.Associations {
		a := &l.Associations[i]
		if err := fill(&a.Minutes, associationKey(a.Account, a.User, a.Partition)); err != nil {
			return err
		}
	}
	for i := range l.QOS {
		if err := fill(&l.QOS[i].Minutes, l.QOS[i].Name); err != nil {
			return err
		}
	}
	return nil
}

func associationKey(account, user, partition string) string {
	return account + "|" + user + "|" + partition
}

// usages reads the minutes used by each association of the cluster and each QOS.
func usages(out, cluster string) (map[string]map[string]int, error) {
	all := map[string]map[string]int{}
	for n, line := range strings.Split(out, "\n") {
		if n > maxLimitRecords {
			return nil, fmt.Errorf("more than %d lines", maxLimitRecords)
		}
		record := strings.Fields(line)
		if len(record) == 0 || !strings.HasPrefix(record[0], "ClusterName=") && !strings.HasPrefix(record[0], "QOS=") {
			continue // lines of headings
		}
		v := map[string]string{}
		for _, word := range record {
			key, value, _ := strings.Cut(word, "=")
			if _, twice := v[key]; !twice {
				v[key] = value
			}
		}
		key := unnumbered(v["QOS"])
		if name, of := v["ClusterName"]; of {
			if name != cluster {
				continue
			}
			key = associationKey(v["Account"], unnumbered(v["UserName"]), v["Partition"])
		}
		used, err := usage(v["GrpTRESMins"])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
		if wall, ok := inParentheses(v["GrpWall"]); ok {
			used[slurm.OfWall] = wall
		}
		all[key] = used
	}
	return all, nil
}

// usage reads "cpu=50(12),gres/gpu=N(7)" and returns the values in parentheses.
func usage(list string) (map[string]int, error) {
	used := map[string]int{}
	for _, item := range strings.Split(list, ",") {
		name, n, _ := strings.Cut(item, "=")
		name, tracked := ofInterest(name)
		if !tracked {
			continue
		}
		minutes, ok := inParentheses(n)
		if !ok {
			return nil, fmt.Errorf("%q does not say what is used", shorten(item))
		}
		used[name] = minutes
	}
	return used, nil
}

// inParentheses reads the whole number in "100(7)" and "N(3.50)".
func inParentheses(s string) (int, bool) {
	_, s, _ = strings.Cut(s, "(")
	s, ok := strings.CutSuffix(s, ")")
	whole, _, _ := strings.Cut(s, ".")
	n, number := amount("", whole)
	return n, ok && number
}

// unnumbered is a name without the id that follows: "bob(5)".
func unnumbered(s string) string {
	if at := strings.LastIndexByte(s, '('); at > 0 && strings.HasSuffix(s, ")") {
		return s[:at]
	}
	return s
}
