package offcycle_test

import (
	"errors"
	"os/user"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/elastic/offcycle"
)

// TestAccounts: a uid is looked up again after a minute; a directory that fails changes nothing for an
// hour; a user that is gone, or has another uid, is so at the next lookup.
func TestAccounts(t *testing.T) {
	synctest.Test(t, testAccounts) // no lookup is late, however busy the machine is
}

func testAccounts(t *testing.T) {
	now, found, fails, asked := time.Unix(1000, 0), observe.Account{UID: 7, OK: true}, error(nil), 0
	a := offcycle.NewAccounts(func(string) (observe.Account, error) {
		asked++
		return found, fails
	}, func() time.Time { return now })
	is := func(what string, want observe.Account, lookups int) {
		t.Helper()
		asked = 0
		if got := a.Account("ada"); got != want || asked != lookups {
			t.Errorf("%s: %+v after %d lookups, want %+v after %d", what, got, asked, want, lookups)
		}
	}
	is("the first", found, 1)
	found = observe.Account{UID: 8, OK: true}
	is("a moment later", observe.Account{UID: 7, OK: true}, 0)
	now = now.Add(time.Minute)
	is("a minute later", found, 1)
	now, fails, found = now.Add(time.Minute), errors.New("the directory is down"), observe.Account{}
	is("the directory is down", observe.Account{UID: 8, OK: true}, 1)
	is("and is not asked at once", observe.Account{UID: 8, OK: true}, 0)
	now = now.Add(time.Hour)
	is("for an hour", observe.Account{}, 1)
	now, fails = now.Add(time.Second), nil
	is("no such user", observe.Account{}, 1)
	is("that too is known for a minute", observe.Account{}, 0)
	now, found = now.Add(-2*time.Hour), observe.Account{UID: 9, OK: true}
	is("the clock was set back", found, 1)
}

// TestAccountsDoNotWait: a directory that hangs delays one call, and few lookups are under way.
func TestAccountsDoNotWait(t *testing.T) {
	began, answer := make(chan string, 100), make(chan struct{})
	a := offcycle.NewAccounts(func(name string) (observe.Account, error) {
		began <- name
		<-answer
		return observe.Account{UID: 7, OK: true}, nil
	}, time.Now)
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		if got := a.Account(name); got.OK {
			t.Errorf("%s: %+v of a directory that does not answer", name, got)
		}
	}
	for range 4 {
		<-began
	}
	if len(began) > 0 {
		t.Errorf("%d lookups too many are under way", len(began))
	}
	close(answer)
	for until := time.Now().Add(30 * time.Second); !a.Account("a").OK; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("the late answer never came")
		}
	}
}

// TestSystemAccount: the system's directory is asked, and names that it lacks are no users.
func TestSystemAccount(t *testing.T) {
	a := offcycle.NewAccounts(nil, time.Now)
	me, err := user.Current()
	if err != nil {
		t.Skip(err)
	}
	until := time.Now().Add(30 * time.Second)
	for !a.Account(me.Username).OK && time.Now().Before(until) {
		time.Sleep(time.Millisecond)
	}
	if got := a.Account(me.Username); !got.OK {
		t.Errorf("%s: %+v", me.Username, got)
	}
	if got := a.Account("no-such-user-here"); got.OK {
		t.Errorf("an unknown name: %+v", got)
	}
}
