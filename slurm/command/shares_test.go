package command

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/slurm"
)

// TestSharesAsRecorded: the tree that testdata/record-shares.sh made, without the usage since then.
func TestSharesAsRecorded(t *testing.T) {
	want := []slurm.Share{
		{Account: "root"},
		{Account: "root", User: "root", Parent: "root", Shares: 1},
		{Account: "bio", Parent: "root", Shares: 40},
		{Account: "bio", User: "mail", Parent: "bio", Inherits: true},
		{Account: "phys", Parent: "root", Shares: 60},
		{Account: "phys", User: "games", Partition: "gpu", Parent: "phys", Shares: 7},
		{Account: "phys", User: "mail", Parent: "phys", Shares: 1},
		{Account: "exp", Parent: "phys", Inherits: true},
		{Account: "theory", Parent: "phys", Shares: 3},
		{Account: "theory", User: "games", Parent: "theory", Shares: 5},
	}
	for _, release := range releases {
		t.Run(release, func(t *testing.T) {
			list, err := parseShares(fixture(t, release, "shares", "sshare.txt"))
			if err != nil {
				t.Fatal(err)
			}
			var got []slurm.Share
			used := map[string]float64{}
			for _, s := range list {
				if s.Account == "lab" { // the lab's own
					continue
				}
				used[strings.TrimSpace(s.Account+" "+s.User+" "+s.Partition)] = s.Usage
				if s.User != "" && (s.Fair <= 0 || s.Fair > 1) {
					t.Errorf("%+v", s)
				}
				s.Usage, s.Fair = 0, 0
				got = append(got, s)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%+v", got)
			}
			if used["phys"] <= used["theory"] || used["theory games"] != used["theory"] || used["phys mail"] <= 0 || used["bio"] != 0 {
				t.Errorf("usage %v", used)
			}
		})
	}
	if asked := strings.Join(shareFields[:], ","); asked != fixture(t, "sshare.format") {
		t.Errorf("recorded with other fields than %s", asked)
	}
}

// TestSharesThatCannotBe: a tree that is read in part is no tree.
func TestSharesThatCannotBe(t *testing.T) {
	const root = "root||||0|\n"
	for text, want := range map[string]string{
		"root||||0|":                            "in the middle of a record",
		root + "  phys|||1|0|\n":                `line 2: account "phys" hangs below nothing`,
		root + "phys|||1|0|\n":                  `line 2: account "phys" hangs below nothing`,
		root + " phys|||1|0|\n  bio|al||1|0|\n": `line 3: user "al" of account "bio" is listed below account "phys"`,
		root + " phys||||0|\n":                  `line 2: "" is not a number of shares`,
		root + " phys|||-1|0|\n":                `line 2: "-1" is not a number of shares`,
		root + " phys|||2147483648|0|\n":        "is not a number of shares",
		root + " phys|||some|0|\n":              "is not a number of shares",
		root + " phys|||1||\n":                  `line 2: "" is not a usage`,
		root + " phys|||1|-1|\n":                "is not a usage",
		root + " phys|||1|NaN|\n":               "is not a usage",
		root + " phys|||1|Inf|\n":               "is not a usage",
		root + " phys|||1|0|2\n":                "is not a factor of fair share",
		root + " phys|||1|0|nan\n":              "is not a factor of fair share",
		root + " phys|||1|0\n":                  "line 2 has 5 fields, not 6",
		root + " |||1|0|\n":                     "line 2: no account",
		"sshare: error: no\n":                   "line 1 has 1 fields, not 6",
	} {
		if list, err := parseShares(text); err == nil || list != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v; want %s", text, list, err, want)
		}
	}
}

// TestSharesAsked: one query; without slurmdbd sshare prints nothing.
func TestSharesAsked(t *testing.T) {
	s := newStubs(t)
	c := s.client(Config{})
	s.set("sshare", `echo 'root||||0|'; echo ' phys|||2|1.5e3|'`)
	list, err := c.Shares(context.Background())
	if want := []slurm.Share{{Account: "root"}, {Account: "phys", Parent: "root", Shares: 2, Usage: 1500}}; err != nil || !reflect.DeepEqual(list, want) {
		t.Errorf("%+v, %v", list, err)
	}
	if calls := s.calls(); !slices.Equal(calls, []string{"sshare [-a] [-n] [-P] [-m] [-o] [Account,User,Partition,RawShares,RawUsage,FairShare]"}) {
		t.Errorf("asked %q", calls)
	}
	s.set("sshare", "exit 0")
	if list, err := c.Shares(context.Background()); err != nil || list != nil {
		t.Errorf("%+v, %v", list, err)
	}
	s.set("sshare", "echo what")
	if _, err := c.Shares(context.Background()); !errors.Is(err, slurm.ErrGarbage) || !strings.Contains(err.Error(), "run it by hand: sshare -a -n -P -m -o Account") {
		t.Error(err)
	}
	s.set("sshare", "echo 'sshare: error: Unable to contact slurm controller (connect failure)' >&2; exit 1")
	if _, err := c.Shares(context.Background()); !errors.Is(err, slurm.ErrControllerDown) {
		t.Error(err)
	}
}

func FuzzParseShares(f *testing.F) {
	for _, release := range releases {
		f.Add(fixture(f, release, "shares", "sshare.txt"))
	}
	f.Fuzz(func(t *testing.T, out string) {
		list, err := parseShares(out)
		if err != nil && list != nil || err == nil && len(list) == 0 {
			t.Fatalf("%d, %v", len(list), err)
		}
		accounts := map[string]bool{"": true}
		for i, s := range list {
			if s.Account == "" || !accounts[s.Parent] || (s.Parent == "") != (i == 0) || s.Shares < 0 || !(s.Usage >= 0) || !(s.Fair >= 0 && s.Fair <= 1) || s.User != "" && s.Parent != s.Account {
				t.Fatalf("%+v", s)
			}
			if s.User == "" {
				accounts[s.Account] = true
			}
		}
	})
}
