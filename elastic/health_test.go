package elastic_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic"
)

var (
	dawn   = time.Date(2026, 3, 4, 6, 0, 0, 0, time.UTC)
	system = elastic.HealthRules{Exclude: time.Hour, PerUser: 1}
	own    = elastic.HealthRules{Exclude: time.Hour}
)

const (
	ann = 1001
	bob = 1002
	eve = 1003
)

// said is one report of a user's job: the job's number is the user's plus the node's.
func said(uid uint32, node, gpu, unfit string) elastic.Sighting {
	return elastic.Sighting{Node: node, GPU: gpu, Label: "GPU " + gpu, Job: elastic.JobID(uid), UID: uid,
		User: map[uint32]string{ann: "ann", bob: "bob"}[uid], Unfit: unfit}
}

// out returns the excluded nodes.
func out(h elastic.Health, rules elastic.HealthRules) string {
	var names []string
	for _, f := range h.Findings(rules) {
		if f.Excluded {
			names = append(names, f.Node)
		}
	}
	return strings.Join(names, ",")
}

// TestHealth plays histories: what is reported at which minute, and which nodes are excluded
// right after.
func TestHealth(t *testing.T) {
	type at struct {
		minute int
		heard  []elastic.Sighting
		trust  string
		want   string
	}
	bad := "XID 79: fallen off the bus"
	for name, c := range map[string]struct {
		rules elastic.HealthRules
		story []at
	}{
		"one user, for an hour after the last report": {system, []at{
			{0, []elastic.Sighting{said(ann, "n1", "0", bad)}, "", "n1"},
			{50, []elastic.Sighting{said(ann, "n1", "0", bad)}, "", "n1"},
			{109, nil, "", "n1"},
			{111, nil, "", ""},
		}},
		"one user, one node": {system, []at{
			{0, []elastic.Sighting{said(ann, "n2", "0", bad)}, "", "n2"},
			{1, []elastic.Sighting{said(ann, "n1", "0", bad), said(ann, "n1", "1", bad), said(ann, "n2", "0", bad)}, "", "n2"},
			{65, []elastic.Sighting{said(ann, "n1", "0", bad)}, "", "n1"}, // the exclusion of n2 is over
		}},
		"the bound does not count the user's own jobs twice": {own, []at{
			{0, []elastic.Sighting{said(ann, "n1", "0", bad), said(ann, "n2", "0", bad)}, "", "n1,n2"},
		}},
		"two users agree: until it is well again": {system, []at{
			{0, []elastic.Sighting{said(ann, "n1", "0", bad)}, "", "n1"},
			{59, []elastic.Sighting{said(bob, "n1", "0", bad)}, "", "n1"},
			{600, nil, "", "n1"},
			{601, []elastic.Sighting{said(ann, "n1", "1", "")}, "", "n1"}, // a well GPU says nothing about another one
			{602, []elastic.Sighting{said(ann, "n1", "0", "")}, "", ""},
		}},
		"well again at once": {system, []at{
			{0, []elastic.Sighting{said(ann, "n1", "0", bad)}, "", "n1"},
			{1, []elastic.Sighting{said(bob, "n1", "0", "")}, "", ""},
		}},
		"what two users agree on, a third does not undo": {system, []at{
			{0, []elastic.Sighting{said(ann, "n1", "0", bad), said(bob, "n1", "0", bad)}, "", "n1"},
			{1, []elastic.Sighting{said(eve, "n1", "0", "")}, "", "n1"},
			{2, []elastic.Sighting{said(ann, "n1", "0", "")}, "", "n1"}, // she withdraws; he does not
			{62, nil, "", ""}, // his report alone counts for an hour
		}},
		"two users agree on more nodes than one of them may exclude": {system, []at{
			{0, []elastic.Sighting{said(ann, "n1", "0", bad)}, "", "n1"},
			{1, []elastic.Sighting{said(ann, "n2", "0", bad), said(bob, "n2", "0", bad)}, "", "n2"},
			{2, []elastic.Sighting{said(ann, "n3", "0", bad), said(bob, "n3", "0", bad)}, "", "n2,n3"},
			{3, []elastic.Sighting{said(ann, "n4", "0", bad), said(bob, "n4", "0", bad)}, "", "n2,n3"},
		}},
		"a clock set back": {system, []at{
			{600, []elastic.Sighting{said(ann, "n1", "0", bad), said(ann, "n2", "0", bad)}, "", "n1"},
			{0, nil, "", "n1"},
			{1, []elastic.Sighting{said(ann, "n1", "0", "")}, "", "n2"},
			{61, nil, "", ""},
		}},
		"trusted, briefly well, and as before": {system, []at{
			{0, []elastic.Sighting{said(ann, "n1", "0", bad)}, "n1", ""},
			{1, []elastic.Sighting{said(ann, "n1", "0", "")}, "", ""},
			{2, []elastic.Sighting{said(ann, "n1", "0", bad)}, "", ""},
			{3, []elastic.Sighting{said(ann, "n1", "0", "lost")}, "", "n1"},
		}},
		"beside a complaint at the same time, well has no effect": {system, []at{
			{0, []elastic.Sighting{said(bob, "n1", "0", ""), said(ann, "n1", "0", bad)}, "", "n1"},
			{1, []elastic.Sighting{said(ann, "n1", "0", bad), said(bob, "n1", "0", "")}, "", "n1"},
		}},
		"trusted": {system, []at{
			{0, []elastic.Sighting{said(ann, "n1", "0", bad)}, "", "n1"},
			{1, nil, "n1", ""},
			{2, []elastic.Sighting{said(ann, "n1", "0", bad)}, "", ""},      // the same job reports the same
			{3, []elastic.Sighting{said(ann, "n1", "0", "lost")}, "", "n1"}, // another reason
			{4, nil, "n1", ""}, //
			{5, []elastic.Sighting{said(bob, "n1", "0", "lost")}, "", "n1"}, // another job
			{6, nil, "n1", ""}, //
			{99, []elastic.Sighting{said(bob, "n1", "0", "lost")}, "", "n1"}, // a report after the complaint was forgotten is a new one
		}},
		"a trusted node uses up no user's share": {system, []at{
			{0, []elastic.Sighting{said(ann, "n1", "0", bad), said(ann, "n2", "0", bad)}, "", "n1"},
			{1, nil, "n1", "n2"},
		}},
		"switched off": {elastic.HealthRules{}, []at{{0, []elastic.Sighting{said(ann, "n1", "0", bad)}, "", ""}}},
	} {
		var h elastic.Health
		for _, a := range c.story {
			now := dawn.Add(time.Duration(a.minute) * time.Minute)
			h = h.Hear(a.heard, now, c.rules)
			if a.trust != "" {
				h, _ = h.Trust(a.trust)
			}
			if got := out(h, c.rules); got != a.want {
				t.Errorf("%s: minute %d: out are %q, want %q (%+v)", name, a.minute, got, a.want, h.Findings(c.rules))
			}
		}
	}
}

func TestFindingsExplain(t *testing.T) {
	h := elastic.Health{}.Hear([]elastic.Sighting{
		said(ann, "n1", "0", "lost"), said(ann, "n2", "3", "row remapping failed"), said(bob, "n3", "0", "lost"), said(ann, "n3", "1", "lost"),
		said(bob, "n3", "1", "lost"), said(bob, "n3", "2", "lost"),
	}, dawn, system)
	var got []string
	for _, f := range h.Findings(system) {
		until := "until a job reports it well"
		if !f.Until.IsZero() {
			until = "until " + f.Until.Format("15:04")
		}
		got = append(got, fmt.Sprintf("%s %v %s: %s %v %s", f.Node, f.Excluded, until, f.Why, f.By, f.Note))
	}
	want := []string{
		"n1 true until 07:00: GPU 0: lost [1001] ",
		"n2 false until a job reports it well: GPU 3: row remapping failed [1001] only one user reports it, and excludes another node already",
		"n3 true until a job reports it well: GPU 0: lost; GPU 1: lost; GPU 2: lost [1002 1001] ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", strings.Join(got, "\n"))
	}
	more := h.Hear([]elastic.Sighting{said(ann, "n4", "0", "lost"), said(bob, "n4", "0", "lost"), said(ann, "n5", "0", "lost"), said(bob, "n5", "0", "lost")},
		dawn.Add(time.Minute), system)
	if f := more.Findings(system)[4]; f.Node != "n5" || f.Excluded || f.Note != "the users that report it exclude other nodes already" {
		t.Errorf("%+v", f)
	}
	if _, found := h.Trust("n9"); found {
		t.Error("trusted a node nothing is said against")
	}
}

// TestUsersExcludeAtMostTheirShare: whatever is reported, by however many jobs: at most users
// times their share of nodes are excluded, all is forgotten in time, and Hear does not change
// its arguments.
func TestUsersExcludeAtMostTheirShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := elastic.HealthRules{Exclude: time.Hour, PerUser: rapid.IntRange(1, 3).Draw(t, "share")}
		now := dawn
		var h elastic.Health
		users := map[uint32]bool{}
		for range rapid.IntRange(1, 12).Draw(t, "turns") {
			var heard []elastic.Sighting
			for range rapid.IntRange(0, 8).Draw(t, "words") {
				s := said(uint32(rapid.IntRange(1001, 1003).Draw(t, "user")), fmt.Sprintf("n%d", rapid.IntRange(0, 9).Draw(t, "node")),
					fmt.Sprint(rapid.IntRange(0, 1).Draw(t, "gpu")), rapid.SampledFrom([]string{"", "lost", "XID 48"}).Draw(t, "word"))
				s.Job += elastic.JobID(rapid.IntRange(0, 2).Draw(t, "job"))
				users[s.UID] = true
				heard = append(heard, s)
			}
			before := slices.Clone(h)
			next := h.Hear(heard, now, rules)
			if !slices.Equal(before, h) {
				t.Fatal("Hear changed what it was given")
			}
			h = next
			if rapid.IntRange(0, 5).Draw(t, "trust") == 0 {
				h, _ = h.Trust(fmt.Sprintf("n%d", rapid.IntRange(0, 9).Draw(t, "whom")))
			}
			excluded := 0
			for _, f := range h.Findings(rules) {
				if f.Why == "" || f.Excluded && !f.Until.IsZero() && f.Until.Before(now) {
					t.Fatalf("%+v", f)
				}
				if f.Excluded {
					excluded++
				}
			}
			if excluded > len(users)*rules.PerUser {
				t.Fatalf("%d nodes are out, by %d users of %d each", excluded, len(users), rules.PerUser)
			}
			now = now.Add(time.Duration(rapid.IntRange(0, 90).Draw(t, "minutes")) * time.Minute)
		}
		if h = h.Hear(nil, now.AddDate(0, 2, 0), rules); len(h) > 0 {
			t.Fatalf("remembered for ever: %+v", h)
		}
	})
}

func TestOneUserIsNotRememberedWithoutEnd(t *testing.T) {
	var heard []elastic.Sighting
	for n := range 1000 {
		heard = append(heard, said(ann, fmt.Sprintf("n%d", n), "0", "lost"))
	}
	if h := (elastic.Health{}).Hear(heard, dawn, system); len(h) > 64 {
		t.Errorf("%d complaints", len(h))
	}
}
