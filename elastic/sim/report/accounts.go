package report

import (
	"strconv"
	"strings"

	"github.com/sluice-hpc/sluice/elastic/draw"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
)

// Account is what came of one account in one run, with its sub-accounts.
type Account struct {
	Name string `json:"account"` // after its parents': phys/theory
	// Share is its own part of the cluster by shares alone, 0 to 1.
	Share   Ratio   `json:"share"`
	Jobs    int     `json:"jobs"`
	MeanJCT Seconds `json:"mean_jct_s"`
	// Used and Deserved are what it had, and what its shares gave it, while not everybody
	// could have what it wanted; Ratio is the one over the other, nil without contention.
	Used     Hours  `json:"gpu_hours_contended"`
	Deserved Hours  `json:"gpu_hours_deserved"`
	Ratio    *Ratio `json:"used_to_deserved"`
	// Borrowed is what it had beyond its Share, Lent what it left to others of its Share.
	Borrowed Hours `json:"gpu_hours_borrowed"`
	Lent     Hours `json:"gpu_hours_lent"`
}

// Accounts makes the summaries of a result's accounts; nil without shares.
func Accounts(r replay.Result) []Account {
	names := map[string]string{"": ""}
	var out []Account
	for _, a := range r.Accounts {
		names[a.Name] = strings.TrimPrefix(names[a.Parent]+"/"+a.Name, "/")
		one := Account{
			Name: names[a.Name], Share: Ratio(a.Own), Jobs: a.Jobs, MeanJCT: seconds(a.JCT), Used: Hours(a.Used / 3600), Deserved: Hours(a.Deserved / 3600),
			Borrowed: Hours(a.Borrowed / 3600), Lent: Hours(a.Lent / 3600),
		}
		one.relate()
		out = append(out, one)
	}
	return out
}

func (a *Account) relate() {
	if a.Ratio = nil; a.Deserved > 0 {
		r := Ratio(a.Used / a.Deserved)
		a.Ratio = &r
	}
}

// accounts is the mean over the runs of a row.
func (r row) accounts() []Account {
	var out []Account
	n := float64(len(r.runs))
	for k, run := range r.runs {
		for i, a := range run.Accounts {
			if k == 0 {
				out = append(out, Account{Name: a.Name, Share: a.Share})
			}
			m := &out[i]
			m.Jobs += a.Jobs
			m.MeanJCT += a.MeanJCT / Seconds(n)
			m.Used, m.Deserved = m.Used+a.Used/Hours(n), m.Deserved+a.Deserved/Hours(n)
			m.Borrowed, m.Lent = m.Borrowed+a.Borrowed/Hours(n), m.Lent+a.Lent/Hours(n)
		}
	}
	for i := range out {
		out[i].Jobs /= len(r.runs)
		out[i].relate()
	}
	return out
}

// accountColumns are the figures of the accounts, in order.
var accountColumns = []struct {
	head string
	cell func(string, Account) string
}{
	{"POLICY", func(policy string, _ Account) string { return draw.Printable(policy) }},
	{"ACCOUNT", func(_ string, a Account) string { return draw.Printable(a.Name) }},
	{"SHARE", func(_ string, a Account) string { return a.Share.String() }},
	{"JOBS", func(_ string, a Account) string { return strconv.Itoa(a.Jobs) }},
	{"MEAN_JCT", func(_ string, a Account) string { return a.MeanJCT.String() }},
	{"CONTENDED_H", func(_ string, a Account) string { return a.Used.String() }},
	{"DESERVED_H", func(_ string, a Account) string { return a.Deserved.String() }},
	{"RATIO", func(_ string, a Account) string { return orDash(a.Ratio) }},
	{"BORROWED_H", func(_ string, a Account) string { return a.Borrowed.String() }},
	{"LENT_H", func(_ string, a Account) string { return a.Lent.String() }},
}

// writeAccounts writes one row for each policy and account; nothing without shares.
func writeAccounts(b *strings.Builder, rows []row) {
	var lines [][]string
	for _, r := range rows {
		for _, a := range r.accounts() {
			line := make([]string, len(accountColumns))
			for k, c := range accountColumns {
				line[k] = c.cell(r.Policy, a)
			}
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return
	}
	var head []string
	for _, c := range accountColumns {
		head = append(head, c.head)
	}
	b.WriteString("accounts, with their sub-accounts:\n")
	writeLines(b, append([][]string{head}, lines...))
}
