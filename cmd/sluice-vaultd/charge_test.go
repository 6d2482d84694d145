package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-hpc/sluice/elastic/vault"
	"github.com/sluice-hpc/sluice/elastic/vault/wire"
	"github.com/sluice-hpc/sluice/slurm"
)

// clinic is a cluster with accounting: ada is in bio and, in the partition fast only, in chem; the service account is in all accounts
// but med, and by default in phys, which is others'.
func clinic() slurm.Charging {
	service := func(account string, qos ...string) slurm.Member {
		return slurm.Member{User: "sluice-data", Account: account, Default: account == "phys", QOS: qos}
	}
	return slurm.Charging{Database: true, Enforced: true, QOS: true,
		Partitions: []slurm.Partition{{Name: "gpu", Default: true}, {Name: "fast"}, {Name: "lab", AllowGroups: []string{"staff", "radiology"}}},
		Members: []slurm.Member{
			service("phys", "normal", "high"), service("bio", "normal", "low"), service("chem", "normal", "high"),
			{User: "ada", Account: "bio", Default: true, QOS: []string{"high", "low", "normal"}},
			{User: "ada", Account: "chem", Partition: "fast", QOS: []string{"high"}},
			{User: "ada", Account: "med", QOS: []string{"normal"}},
			{User: "bob", Account: "phys", QOS: []string{"high", "low"}, DefaultQOS: "high"},
		}}
}

// TestSettle: a job is charged to an account of its user in all its partitions, with a QOS of the user there, or is refused.
func TestSettle(t *testing.T) {
	unenforced := func(c *slurm.Charging) { c.Enforced, c.QOS = false, false }
	withoutQOS := func(c *slurm.Charging) { c.QOS = false }
	noDatabase := func(c *slurm.Charging) { *c = slurm.Charging{Partitions: c.Partitions} }
	noService := func(c *slurm.Charging) {
		unenforced(c)
		c.Members = slices.DeleteFunc(c.Members, func(m slurm.Member) bool { return m.User == "sluice-data" })
	}
	for _, c := range []struct {
		name  string
		site  func(*slurm.Charging)
		bill  bill
		want  charge
		code  error
		words string
	}{
		{"the user's default", nil, bill{user: "ada"}, charge{"bio", "normal"}, nil, ""},
		{"named", nil, bill{user: "ada", account: "bio", qos: "low"}, charge{"bio", "low"}, nil, ""},
		{"in capitals, as Slurm writes it", nil, bill{user: "ada", account: "BIO", qos: "LOW"}, charge{"bio", "low"}, nil, ""},
		{"another's", nil, bill{user: "ada", account: "phys"}, charge{}, wire.ErrDenied,
			"you have no association with the account phys in the partition gpu; your accounts: bio, chem (partition fast), med (name one of them: --account=NAME)"},
		{"nobody's", nil, bill{user: "ada", account: "nothing"}, charge{}, wire.ErrDenied, "no association with the account nothing"},
		{"the service account's name", nil, bill{user: "ada", account: "sluice-data"}, charge{}, wire.ErrDenied, "no association"},
		{"of one partition, elsewhere", nil, bill{user: "ada", account: "chem"}, charge{}, wire.ErrDenied, "chem in the partition gpu"},
		{"of one partition, there", nil, bill{user: "ada", account: "chem", partitions: []string{"fast"}}, charge{"chem", "high"}, nil, ""},
		{"of one partition, there or elsewhere", nil, bill{user: "ada", account: "chem", partitions: []string{"fast", "gpu"}}, charge{}, wire.ErrDenied, "in the partition gpu"},
		{"no default", nil, bill{user: "bob"}, charge{}, wire.ErrDenied, "you have no default account in Slurm; your accounts: phys"},
		{"no association at all", nil, bill{user: "eve"}, charge{}, wire.ErrDenied, "your accounts: none (ask your administrators for one: sacctmgr add user eve account=NAME"},
		{"without the service account", nil, bill{user: "ada", account: "med"}, charge{}, wire.ErrConflict, "sacctmgr add user sluice-data account=med"},
		{"the user's default QOS", nil, bill{user: "bob", account: "phys"}, charge{"phys", "high"}, nil, ""},
		{"another's QOS", nil, bill{user: "bob", account: "phys", qos: "normal"}, charge{}, wire.ErrDenied, "you may not use the QOS normal in the account phys; yours: high, low (name one of them: --qos=NAME)"},
		{"a QOS without the service account", nil, bill{user: "ada", account: "bio", qos: "high"}, charge{}, wire.ErrConflict, "sacctmgr modify user sluice-data where account=bio set qos+=high"},
		{"no default QOS", func(c *slurm.Charging) { c.Members[6].DefaultQOS = "" }, bill{user: "bob", account: "phys"}, charge{}, wire.ErrDenied, "no default QOS in the account phys; yours: high, low"},
		{"QOS not enforced", withoutQOS, bill{user: "ada", qos: "any"}, charge{account: "bio"}, nil, ""},
		{"QOS not enforced, the user's default", withoutQOS, bill{user: "bob", account: "phys"}, charge{"phys", "high"}, nil, ""},
		{"QOS not enforced, another's account", withoutQOS, bill{user: "bob", account: "bio"}, charge{}, wire.ErrDenied, "no association"},
		{"not enforced", unenforced, bill{user: "ada", account: "phys", qos: "any"}, charge{}, nil, ""},
		{"not enforced, the user's default", unenforced, bill{user: "ada"}, charge{account: "bio"}, nil, ""},
		{"not enforced, only the service account has a default", unenforced, bill{user: "eve"}, charge{}, wire.ErrDenied, "no default account"},
		{"not enforced, without associations", noService, bill{user: "eve"}, charge{}, nil, ""},
		{"no accounting", noDatabase, bill{user: "eve", account: "phys", qos: "high"}, charge{}, nil, ""},
		{"a partition of groups", nil, bill{user: "ada", partitions: []string{"gpu", "lab"}}, charge{}, wire.ErrDenied, "the partition lab is for the groups staff, radiology, and you are in none of them"},
		{"a partition of groups, without accounting", noDatabase, bill{user: "ada", partitions: []string{"lab"}}, charge{}, wire.ErrDenied, "is for the groups"},
		{"a partition of the user's group", nil, bill{user: "ada", groups: []string{"staff"}, partitions: []string{"lab"}}, charge{"bio", "normal"}, nil, ""},
		{"no such partition", nil, bill{user: "ada", groups: []string{"staff"}, partitions: []string{"gpu", "lab "}}, charge{}, wire.ErrRefused, "Slurm has no partition lab "},
		{"no default partition", func(c *slurm.Charging) { c.Partitions = nil }, bill{user: "ada", account: "chem"}, charge{}, wire.ErrDenied, "for all partitions"},
	} {
		site := clinic()
		if c.site != nil {
			c.site(&site)
		}
		c.bill.service = "sluice-data"
		got, err := settle(site, c.bill)
		if got != c.want || !errors.Is(err, c.code) || err != nil && !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %+v, %v; want %+v, %v: %s", c.name, got, err, c.want, c.code, c.words)
		}
	}
}

// TestCharged: 'sluice submit' is told an account and a QOS of the user's, before what the user typed. A job that would be charged to
// others is not submitted, and is not in the record; nor is one of which Slurm does not say to whom it would be charged.
func TestCharged(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "5KB/job,100KB/week")
	site := clinic()
	l.charging = &site
	args := func() string {
		raw, err := os.ReadFile(filepath.Join(l.dir, "args"))
		l.must(err)
		return strings.ReplaceAll(string(raw), "\n", " ")
	}
	l.submit(ada)
	if got := args(); !strings.HasPrefix(got, "submit --account=bio --qos=normal --config=") || !strings.Contains(got, " --for=ada ") {
		t.Errorf("by default: %s", got)
	}
	l.submit(ada, "-Abio", "-q", "LOW")
	if got := args(); !strings.HasPrefix(got, "submit --account=bio --qos=low --config=") {
		t.Errorf("named: %s", got)
	}
	before := len(l.entries())
	for _, typed := range [][]string{{"--account=phys"}, {"-Aphys"}, {"--acco", "phys"}, {"--account=bio", "-A", "phys"}, {"--account=bio", "--partition=lab"}, {"--account=chem"}, {"--qos=high"}} {
		q, body := submissionOf("", typed...)
		if _, _, err := l.ask(ada, q, body...); !errors.Is(err, wire.ErrDenied) && !errors.Is(err, wire.ErrConflict) {
			t.Errorf("%q: %v", typed, err)
		}
	}
	for _, line := range []string{"#SBATCH --account=phys", "#SBATCH -A phys", "#SBATCH -p fast -A bio\n#SBATCH -A chem -q normal"} {
		text := "#!/bin/sh\n#SLUICE --data=mammo --min-gpus=1\n" + line + "\ntrain\n"
		l.refused(wire.ErrDenied, "your", ada, wire.Request{Do: wire.Submit, Data: []string{"mammo"}, Script: "train.sh", ScriptSize: int64(len(text))}, text)
	}
	for _, typed := range []string{"--account=", "--qos=", "--reservation=theirs", "--wckey=theirs"} {
		q, body := submissionOf("", typed)
		l.refused(wire.ErrBadRequest, "leave it out", ada, q, body...)
	}
	l.s.books = newBooks()
	l.charging = nil
	l.silent = true
	q, body := submissionOf("")
	l.refused(wire.ErrUnavailable, "which accounts are yours", ada, q, body...)
	if got := l.entries(); len(got) != before || slices.ContainsFunc(got, func(e vault.Entry) bool { return e.Event == vault.Refused }) {
		t.Errorf("%d entries more", len(got)-before)
	}
	if left, err := os.ReadDir(l.s.vault.jobFolder("")); err != nil || len(left) != 2 {
		t.Errorf("folders: %v, %v", left, err)
	}
}

// hanging is a Slurm that does not answer.
type hanging struct {
	slurmClient
	asked chan string
}

func (h hanging) Charging(ctx context.Context, users ...string) (slurm.Charging, error) {
	h.asked <- fmt.Sprint(users)
	<-ctx.Done()
	return slurm.Charging{}, ctx.Err()
}

// TestBooks: an answer is used again for a while, a failure never; submissions do not wait for ever for a Slurm that hangs.
func TestBooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hanging{asked: make(chan string, 100)}
		b := newBooks()
		done := make(chan error)
		for i := range 3 * booksAtOnce {
			go func() {
				_, err := b.ask(t.Context(), time.Now, h, fmt.Sprint("u", i), "s")
				done <- err
			}()
		}
		began := time.Now()
		for range 3 * booksAtOnce {
			if err := <-done; err == nil {
				t.Error("no error")
			}
		}
		if took := time.Since(began); took > booksWithin || len(h.asked) > 2*booksAtOnce {
			t.Errorf("%v, %d queries", took, len(h.asked))
		}
	})
	l := &lab{t: t, dir: t.TempDir(), ended: map[string]bool{}}
	site := clinic()
	l.charging = &site
	b, now := newBooks(), time.Now()
	clock := func() time.Time { return now }
	ask := func(user string) int {
		got, err := b.ask(t.Context(), clock, l, user, "sluice-data")
		if err != nil {
			t.Fatal(err)
		}
		return len(got.Members)
	}
	all := ask("ada")
	site.Members = nil
	if got := ask("ada"); got != all || l.booked != 1 {
		t.Errorf("%d associations, %d queries", got, l.booked)
	}
	if got := ask("bob"); got != 0 {
		t.Errorf("bob has %d associations: ada's answer", got)
	}
	now = now.Add(booksFor)
	if got := ask("ada"); got != 0 || l.booked != 3 {
		t.Errorf("later: %d associations, %d queries", got, l.booked)
	}
	now = now.Add(-time.Hour)
	if ask("ada"); l.booked != 4 {
		t.Error("after the clock was set back an old answer is used")
	}
	for i := range 2 * mostBooks {
		ask(fmt.Sprint("u", i))
	}
	if len(b.of) > mostBooks {
		t.Errorf("%d answers are kept", len(b.of))
	}
}
