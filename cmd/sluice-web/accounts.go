package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Bounds of accounts.
const (
	accountFor   = 10 * time.Minute // an answer counts for so long
	unknownFor   = time.Minute      // that there is no such account
	staleFor     = 24 * time.Hour   // an answer counts while the directory does not answer
	accountsMost = 2000             // answers that are kept
	lookUpWithin = 5 * time.Second
	lookUpsMost  = 4       // at once
	lookUpOutput = 8 << 10 // bytes of an answer that are read
)

// errDirectory: whether there is such an account is not known.
var errDirectory = errors.New("the directory of accounts does not answer; try again in a minute")

// accounts remembers the uids of names, which each page asks for. A name is looked up once, however many
// requests wait for it. The uid of a name that was known counts on while it is looked up anew, and while
// the directory does not answer.
type accounts struct {
	find func(ctx context.Context, name string) (uint32, error)
	now  func() time.Time

	mu    sync.Mutex
	seen  map[string]*numbered
	seats chan struct{} // look-ups under way
}

// numbered is what is known of a name. asked is set while it is looked up; ready is closed once there is
// an answer that counts.
type numbered struct {
	uid   uint32
	err   error
	at    time.Time // of the answer; zero = there is none yet
	asked bool
	ready chan struct{}
}

func newAccounts() *accounts {
	return &accounts{find: lookUp, now: time.Now, seen: map[string]*numbered{}, seats: make(chan struct{}, lookUpsMost)}
}

// of returns the uid of an account, within lookUpWithin.
func (a *accounts) of(name string) (uint32, error) {
	a.mu.Lock()
	n := a.seen[name]
	if n == nil {
		a.makeRoom()
		n = &numbered{}
		a.seen[name] = n
	}
	age := a.now().Sub(n.at)
	old := n.at.IsZero() || age < 0 || age >= accountFor || n.err != nil && age >= unknownFor
	if old && !n.asked {
		n.asked = true
		if n.err != nil || age >= staleFor {
			n.ready = make(chan struct{}) // only the new answer counts
		}
		go a.ask(name, n)
	}
	known := !n.at.IsZero() && n.err == nil && age < staleFor
	uid, ready := n.uid, n.ready
	a.mu.Unlock()
	if known {
		return uid, nil
	}
	select {
	case <-ready:
	case <-time.After(lookUpWithin):
		return 0, errDirectory
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return n.uid, n.err
}

// ask looks a name up.
func (a *accounts) ask(name string, n *numbered) {
	ctx, cancel := context.WithTimeout(context.Background(), lookUpWithin)
	defer cancel()
	uid, err := uint32(0), errDirectory
	select {
	case a.seats <- struct{}{}:
		uid, err = a.find(ctx, name)
		<-a.seats
	case <-ctx.Done():
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	n.asked = false
	counts := n.err == nil && a.now().Sub(n.at) < staleFor
	if !errors.Is(err, errDirectory) || !counts { // else the answer before counts on
		n.uid, n.err, n.at = uid, err, a.now()
	}
	select {
	case <-n.ready:
	default:
		close(n.ready)
	}
}

// makeRoom forgets the oldest answer if there are too many. The caller holds the lock.
func (a *accounts) makeRoom() {
	for len(a.seen) >= accountsMost {
		oldest := ""
		for name, n := range a.seen {
			if !n.asked && (oldest == "" || n.at.Before(a.seen[oldest].at)) {
				oldest = name
			}
		}
		if oldest == "" {
			return
		}
		delete(a.seen, oldest)
	}
}

// lookUp returns the uid of an account, or errDirectory if that cannot be found out before ctx ends. This
// program is static, so Go itself reads /etc/passwd only; getent asks the site's directory.
func lookUp(ctx context.Context, name string) (uint32, error) {
	ctx, cancel := context.WithTimeout(ctx, lookUpWithin)
	defer cancel()
	if u, err := user.Lookup(name); err == nil {
		return uidOf(name, u.Uid)
	}
	return getent(ctx, "/usr/bin/getent", name)
}

// getent asks getent. It is ended with ctx, also if a child of it keeps its output open.
func getent(ctx context.Context, path, name string) (uint32, error) {
	c := exec.CommandContext(ctx, path, "passwd", "--", name)
	c.WaitDelay = time.Second
	out := &tail{most: lookUpOutput}
	c.Stdout = out
	err := c.Run()
	var exit *exec.ExitError
	const unknown = 2 // getent's code for "no such key"
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == unknown) {
		return 0, errDirectory
	}
	fields := strings.Split(string(out.Bytes()), ":")
	if err != nil || len(fields) < 3 || fields[0] != name {
		return 0, fmt.Errorf("%.40q is not an account of this cluster", name)
	}
	return uidOf(name, fields[2])
}

func uidOf(name, text string) (uint32, error) {
	uid, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%.40q has no uid", name)
	}
	return uint32(uid), nil
}
