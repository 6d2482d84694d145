package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
	"github.com/sluice-hpc/sluice/elastic/sim/report"
)

// whatifAccount is what changes for the jobs of one account.
type whatifAccount struct {
	Account  string         `json:"account"` // "" = the file does not name it
	Jobs     int            `json:"jobs"`
	GPUHours report.Hours   `json:"gpu_hours"` // as recorded
	JCT      report.Seconds `json:"baseline_mean_jct_s"`
	Wait     report.Seconds `json:"baseline_mean_wait_s"`
	// The same with sluice: likely, and if jobs scale worse and better.
	Likely     report.Seconds `json:"mean_jct_s"`
	LikelyWait report.Seconds `json:"mean_wait_s"`
	Worse      report.Seconds `json:"mean_jct_worse_s"`
	Better     report.Seconds `json:"mean_jct_better_s"`
	Sooner     int            `json:"jobs_sooner"` // as of all jobs, see whatifOutcome
	Later      int            `json:"jobs_later"`
}

// shownAccounts is how many accounts people are shown; the others are summed up.
const shownAccounts = 20

// accounts compares the replays account by account, that with the most recorded GPU time first.
// It is nil if the history names no account.
func (w *whatif) accounts() []whatifAccount {
	members := map[string][]int{}
	for i, r := range w.history.Runs {
		members[r.Account] = append(members[r.Account], i)
	}
	if _, unnamed := members[""]; len(members) == 0 || unnamed && len(members) == 1 {
		return nil
	}
	var out []whatifAccount
	for name, of := range members {
		out = append(out, w.account(name, of))
	}
	slices.SortFunc(out, func(a, b whatifAccount) int {
		return cmp.Or(cmp.Compare(b.GPUHours, a.GPUHours), cmp.Compare(a.Account, b.Account))
	})
	return out
}

// account compares the replays of some jobs, by their index.
func (w *whatif) account(name string, of []int) whatifAccount {
	a := whatifAccount{Account: name, Jobs: len(of)}
	for _, i := range of {
		r := w.history.Runs[i]
		a.GPUHours += report.Hours(r.Took.Hours() * float64(r.GPUs))
	}
	a.JCT, a.Wait = meanOf(w.before.result, of)
	a.Likely, a.LikelyWait = meanOf(w.after[0].result, of)
	a.Worse, _ = meanOf(w.after[1].result, of)
	a.Better, _ = meanOf(w.after[2].result, of)
	a.Sooner, a.Later, _ = w.compared(w.after[0], of)
	return a
}

// meanOf returns the mean time from submit to end, and to the first GPU, of some jobs.
func meanOf(r replay.Result, of []int) (jct, wait report.Seconds) {
	for _, i := range of {
		jct += inSeconds(r.Jobs[i].JCT())
		wait += inSeconds(r.Jobs[i].Wait())
	}
	n := report.Seconds(len(of))
	return jct / n, wait / n
}

// byAccount is the table of the accounts, for people; "" if the history names none.
func (w *whatif) byAccount() (string, error) {
	all := w.accounts()
	if all == nil {
		return "", nil
	}
	t := &terminal.Table{Columns: []terminal.Column{terminal.Left("ACCOUNT"), terminal.Right("JOBS"), terminal.Right("GPU_H"), terminal.Right("MEAN"),
		terminal.Right("SLUICE"), terminal.Right("CHANGE"), terminal.Right("RANGE"), terminal.Right("WAIT"), terminal.Right("SLUICE"), terminal.Right("SOONER"), terminal.Right("LATER")}}
	for _, a := range all[:min(len(all), shownAccounts)] {
		t.Add(a.row()...)
	}
	if len(all) > shownAccounts {
		t.Add(w.others(all[shownAccounts:]).row()...)
	}
	var b strings.Builder
	err := t.Write(&b)
	return b.String(), err
}

// others sums up accounts that are not shown one by one.
func (w *whatif) others(accounts []whatifAccount) whatifAccount {
	named := map[string]bool{}
	for _, a := range accounts {
		named[a.Account] = true
	}
	var of []int
	for i, r := range w.history.Runs {
		if named[r.Account] {
			of = append(of, i)
		}
	}
	return w.account(fmt.Sprintf("(%d others)", len(accounts)), of)
}

func (a whatifAccount) row() []string {
	least, most := a.between()
	return []string{
		terminal.Escape(cmp.Or(a.Account, "(none)")), fmt.Sprint(a.Jobs), thousands(float64(a.GPUHours)), clock(a.JCT), clock(a.Likely), change(a.JCT, a.Likely),
		change(a.JCT, least) + ".." + change(a.JCT, most), clock(a.Wait), clock(a.LikelyWait), fmt.Sprint(a.Sooner), fmt.Sprint(a.Later),
	}
}

// whoGains names the accounts whose jobs end sooner, and later, in the mean; "" if the history
// names no account.
func (w *whatif) whoGains() string {
	var gain, lose, unsure []string
	for _, a := range w.accounts() {
		name := cmp.Or(a.Account, "(none)")
		least, most := a.between()
		switch {
		case most < a.JCT:
			gain = append(gain, name)
		case least > a.JCT:
			lose = append(lose, name)
		default:
			unsure = append(unsure, name)
		}
	}
	if len(gain)+len(lose)+len(unsure) == 0 {
		return ""
	}
	text := fmt.Sprintf("Who gains: the jobs of %s end sooner in the mean under all three assumptions", accountsNamed(gain))
	if len(lose) > 0 {
		text += fmt.Sprintf("; those of %s end later under all three", accountsNamed(lose))
	}
	if len(unsure) > 0 {
		text += fmt.Sprintf("; for %s it depends on the assumption, or nothing changes", accountsNamed(unsure))
	}
	return text + ". Shares of accounts are not part of the replay: jobs are served in the order in which they came."
}

// namedAccounts is how many accounts a sentence names.
const namedAccounts = 5

func accountsNamed(names []string) string {
	switch {
	case len(names) == 0:
		return "no account"
	case len(names) > namedAccounts:
		return fmt.Sprintf("%s and %d more accounts", strings.Join(names[:namedAccounts], ", "), len(names)-namedAccounts)
	}
	return strings.Join(names, ", ")
}

// between returns the least and the greatest mean time under the three assumptions.
func (a whatifAccount) between() (least, most report.Seconds) {
	return min(a.Likely, a.Better, a.Worse), max(a.Likely, a.Better, a.Worse)
}

func clock(s report.Seconds) string {
	return terminal.Clock(time.Duration(float64(s) * float64(time.Second)))
}

// change formats the change of a time: "-24%", "+3%", "0%".
func change(from, to report.Seconds) string {
	if from <= 0 {
		return "0%"
	}
	p := fmt.Sprintf("%+.0f%%", 100*(float64(to)/float64(from)-1))
	if p == "+0%" || p == "-0%" {
		return "0%"
	}
	return p
}
