package control

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The whole matrix, written out: verb x {root, operator, owner, other} x {public, private}. A
// change of the table must be a change of this text.
const matrix = `
verb     root operator owner other | private: root operator owner other
direct   yes yes yes no | yes yes yes no
event    yes yes yes yes | yes yes yes yes
events   yes yes yes yes | yes yes yes yes
explain  yes yes yes yes | yes yes yes no
forecast yes yes yes yes | yes yes yes yes
history  yes yes yes yes | yes yes yes no
past     yes yes yes yes | yes yes yes yes
plan     yes yes yes yes | yes yes yes yes
report   yes yes yes yes | yes yes yes yes
shares   yes yes yes yes | yes yes yes yes
speed    yes yes yes yes | yes yes yes no
status   yes yes yes yes | yes yes yes yes
sweep    yes yes yes no | yes yes yes no
sweeps   yes yes yes yes | yes yes yes yes
trust    yes yes no no | yes yes no no
usage    yes yes yes yes | yes yes yes yes
whatif   yes yes yes yes | yes yes yes no
`

func TestRights(t *testing.T) {
	word := map[bool]string{true: "yes", false: "no"}
	var b strings.Builder
	b.WriteString("\nverb     root operator owner other | private: root operator owner other\n")
	for _, v := range slices.Sorted(maps.Keys(rights)) {
		fmt.Fprintf(&b, "%-9s", v)
		for _, private := range []bool{false, true} {
			if private {
				b.WriteString(" | ")
			}
			for r := root; r <= other; r++ {
				if r != root {
					b.WriteString(" ")
				}
				b.WriteString(word[may(v, r, private)])
			}
		}
		b.WriteString("\n")
	}
	if b.String() != matrix {
		t.Errorf("got%s\nwant%s", b.String(), matrix)
	}
	if may("shutdown", root, false) || may(verbDirect, role(-1), false) || may(verbDirect, 9, false) {
		t.Error("what is not in the table is allowed")
	}
}

func TestRoles(t *testing.T) {
	o := Options{Operators: []string{"oper"}, UID: 500}
	for _, c := range []struct {
		who  Caller
		want role
	}{
		{Caller{UID: 0, Name: "root"}, root},
		{Caller{UID: 500, Name: "sluice"}, operator},
		{Caller{UID: 7, Name: "oper"}, operator},
		{Caller{UID: 1001, Name: "ann"}, owner},
		{Caller{UID: 1002, Name: "bob"}, other},
		{Caller{UID: 65534, Name: "nobody"}, other},
	} {
		if got := o.role(c.who, 1001); got != c.want {
			t.Errorf("%+v: role %d, want %d", c.who, got, c.want)
		}
	}
	if got := o.standing(Caller{UID: 1001}); got != other {
		t.Errorf("an owner where there is no job: %d", got)
	}
}

func TestAdmits(t *testing.T) {
	for uid, want := range map[uint32]bool{0: true, 500: true, 501: false} {
		if got := (Options{UserMode: true, UID: 500}).admits(Caller{UID: uid}); got != want {
			t.Errorf("user mode, uid %d: %v", uid, got)
		}
		if !(Options{UID: 500}).admits(Caller{UID: uid}) {
			t.Errorf("system mode, uid %d refused", uid)
		}
	}
}

// Operators are configured for a cluster. A user's own sluiced gives them no rights, whatever
// their name.
func TestOperatorsStayOutOfAUsersOwn(t *testing.T) {
	o := Options{UserMode: true, UID: 500, Operators: []string{"oscar"}}
	for caller, want := range map[Caller]bool{{UID: 501, Name: "oscar"}: false, {UID: 1, Name: "daemon"}: false, {UID: 500, Name: "oscar"}: true, {UID: 0, Name: "root"}: true} {
		if got := o.admits(caller); got != want {
			t.Errorf("%+v admitted: %v", caller, got)
		}
	}
}

// Over any time span a caller gets at most a burst plus the refill, and after ten idle seconds
// a burst again; other callers have no effect.
func TestBuckets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const burst, everyOne = 20, 500 * time.Millisecond
		b := buckets[uint32]{burst: burst, every: everyOne}
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		now, passed := start, 0
		for range rapid.IntRange(1, 300).Draw(t, "requests") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "pause")))
			b.take(2, now)
			if b.take(1, now) {
				passed++
			}
		}
		if most := burst + int(now.Sub(start)/everyOne) + 1; passed > most {
			t.Fatalf("%d passed in %v, at most %d may", passed, now.Sub(start), most)
		}
		now = now.Add(burst * everyOne)
		for n := range burst {
			if !b.take(1, now) {
				t.Fatalf("only %d in a burst after a pause", n)
			}
		}
		if b.take(1, now) {
			t.Fatal("more than a burst")
		}
		if b.take(1, now.Add(-time.Hour)) {
			t.Fatal("a clock set back gave tokens")
		}
	})
}

func TestBucketsForget(t *testing.T) {
	b := buckets[uint32]{burst: 20, every: 500 * time.Millisecond}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for uid := range uint32(5000) {
		b.take(uid, now.Add(time.Duration(uid)*time.Second))
	}
	if len(b.of) > 1100 {
		t.Errorf("%d callers remembered", len(b.of))
	}
}

func TestNames(t *testing.T) {
	var n names
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if got := n.of(0, now); got != "root" {
		t.Errorf("uid 0 is %q", got)
	}
	const nobodyHasThis = 4_000_000_001
	if got := n.of(nobodyHasThis, now); got != "4000000001" {
		t.Errorf("an unknown uid is %q", got)
	}
	if _, kept := n.seen[nobodyHasThis]; kept {
		t.Error("a failed look-up is remembered for good")
	}
	if got := n.of(uint32(os.Getuid()), now); got == "" {
		t.Error("no name for oneself")
	}
}

// When an operator's account is removed and its uid is given to another user, the name and the
// operator's rights are remembered for at most a minute. While the directory service does not
// answer, an old answer does not make an operator.
func TestNumberGivenAgain(t *testing.T) {
	account, asked := "admin", 0
	n := names{account: func(uint32) string { asked++; return account }}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 50 {
		n.of(1000, now.Add(time.Duration(i)*time.Second))
	}
	if asked != 1 {
		t.Errorf("the directory was asked %d times in a minute, want once", asked)
	}
	account = "eve"
	if got := n.of(1000, now.Add(61*time.Second)); got != "eve" {
		t.Errorf("a minute later 1000 is still %q", got)
	}
	account = ""
	if got := n.of(1000, now.Add(3*time.Minute)); got != "1000" {
		t.Errorf("without an account 1000 is %q", got)
	}
	account = "bob"
	if got := n.of(1000, now.Add(-time.Hour)); got != "bob" {
		t.Errorf("after the clock was set back 1000 is %q", got)
	}
}
