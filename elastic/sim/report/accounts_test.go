package report

import (
	"bytes"
	"testing"
	"time"

	parts "github.com/sluice-hpc/sluice/elastic/share"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
)

// TestAccountsInReports: table and JSON, the mean over seeds, nested names, and an account that
// never had to share.
func TestAccountsInReports(t *testing.T) {
	all := runs()
	for i := range all[:4] {
		all[i].Accounts = Accounts(replay.Result{Accounts: []replay.AccountResult{
			{Account: parts.Account{Name: "phys", Own: .6, Inner: true}, Jobs: 3, JCT: time.Duration(10+i) * time.Minute, Used: 7200, Deserved: 7200 * float64(1+i%2), Borrowed: 3600},
			{Account: parts.Account{Name: "theory", Parent: "phys", Own: .6}, Jobs: 3, JCT: 10 * time.Minute, Lent: 1800},
			{Account: parts.Account{Name: "bio\x1b", Own: .4}},
		}})
	}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"accounts.txt":   func(b *bytes.Buffer) error { return WriteTable(b, all) },
		"accounts.jsonl": func(b *bytes.Buffer) error { return WriteJSON(b, all) },
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			golden(t, name, b.Bytes())
		})
	}
	if Accounts(replay.Result{}) != nil {
		t.Error("accounts without shares")
	}
}
