package offcycle

import (
	"errors"
	"os/user"
	"strconv"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/observe"
)

const (
	// accountFor is how long the uid of a user is used before it is looked up again.
	accountFor = time.Minute
	// accountOld is how long it is used if no lookup after that has had an answer.
	accountOld = time.Hour
	// accountWait is how long a lookup is waited for, on the caller's goroutine.
	accountWait = 100 * time.Millisecond
	// mostLookups bounds the lookups under way, mostAccounts the users that are remembered.
	mostLookups, mostAccounts = 4, 10_000
)

// Accounts looks users up in goroutines, since a directory service may hang. An answer that does not
// come within accountWait is returned by a later call. Until one comes in time again, calls do not wait.
//
//	looked up within accountFor            that answer, also that there is no such user
//	older, or the directory failed since   that answer, for accountOld; it is looked up again
//	never looked up                        not OK until there is an answer
type Accounts struct {
	lookup func(name string) (observe.Account, error)
	now    func() time.Time

	mu   sync.Mutex
	seen map[string]*account
	busy int
	slow bool // the last lookup was late
}

var _ observe.Accounts = (*Accounts)(nil)

// account is what is known of one user.
type account struct {
	observe.Account
	at    time.Time // of the answer; zero = none yet
	tried time.Time // when the last lookup that has ended began
	done  chan struct{}
}

// NewAccounts returns Accounts over a lookup that may block; nil = that of the system. An error of
// lookup is no answer. now is the clock.
func NewAccounts(lookup func(name string) (observe.Account, error), now func() time.Time) *Accounts {
	if lookup == nil {
		lookup = systemAccount
	}
	return &Accounts{lookup: lookup, now: now, seen: map[string]*account{}}
}

// Account returns a user's uid. It waits for accountWait at most.
func (a *Accounts) Account(name string) observe.Account {
	a.mu.Lock()
	defer a.mu.Unlock()
	u := a.seen[name]
	if u == nil {
		if len(a.seen) >= mostAccounts {
			a.seen = map[string]*account{}
		}
		u = &account{}
		a.seen[name] = u
	}
	now := a.now()
	if u.done == nil && (old(now, u.at, accountFor) && old(now, u.tried, time.Second)) && a.busy < mostLookups {
		a.begin(name, u, now)
	}
	if done := u.done; done != nil && !a.slow {
		a.mu.Unlock()
		late := time.NewTimer(accountWait)
		select {
		case <-done:
		case <-late.C:
		}
		late.Stop()
		a.mu.Lock()
		a.slow = u.done == done
	}
	if old(a.now(), u.at, accountOld) {
		return observe.Account{}
	}
	return u.Account
}

// old reports whether a time is further away than most, also after the clock was set back.
func old(now, at time.Time, most time.Duration) bool { return at.IsZero() || now.Sub(at).Abs() >= most }

// begin starts a lookup. The caller holds the lock.
func (a *Accounts) begin(name string, u *account, now time.Time) {
	done := make(chan struct{})
	u.done, a.busy = done, a.busy+1
	go func() {
		found, err := a.lookup(name)
		a.mu.Lock()
		defer a.mu.Unlock()
		if err == nil {
			u.Account, u.at = found, now
		}
		a.slow = a.slow && old(a.now(), now, accountWait)
		u.tried, u.done, a.busy = now, nil, a.busy-1
		close(done)
	}()
}

// systemAccount asks the system for a user. The uid counts only if its name is that name: with two names
// for one uid, the second would else be a way to the rights of the first.
func systemAccount(name string) (observe.Account, error) {
	var none user.UnknownUserError
	found, err := user.Lookup(name)
	if errors.As(err, &none) {
		return observe.Account{}, nil
	}
	if err != nil {
		return observe.Account{}, err
	}
	uid, err := strconv.ParseUint(found.Uid, 10, 32)
	if err != nil {
		return observe.Account{}, err
	}
	back, err := user.LookupId(found.Uid)
	if err != nil {
		return observe.Account{}, err
	}
	return observe.Account{UID: uint32(uid), OK: back.Username == name}, nil
}
