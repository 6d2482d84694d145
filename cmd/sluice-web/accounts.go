package main

import (
	"context"
	"fmt"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Bounds of accounts: how long an answer counts, how many are kept, and how long a look-up may take.
const (
	accountFor   = time.Minute
	accountsMost = 2000
	lookUpWithin = 10 * time.Second
)

// accounts remembers the uids of names: each page asks for one.
type accounts struct {
	mu   sync.Mutex
	seen map[string]numbered
}

type numbered struct {
	uid uint32
	err error
	at  time.Time
}

func newAccounts() *accounts { return &accounts{seen: map[string]numbered{}} }

// of returns the uid of an account.
func (a *accounts) of(name string) (uint32, error) {
	a.mu.Lock()
	was, known := a.seen[name]
	a.mu.Unlock()
	if known && time.Since(was.at) < accountFor {
		return was.uid, was.err
	}
	uid, err := lookUp(context.Background(), name)
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.seen) >= accountsMost {
		a.seen = map[string]numbered{}
	}
	a.seen[name] = numbered{uid, err, time.Now()}
	return uid, err
}

// lookUp returns the uid of an account. This program is static, so Go itself reads /etc/passwd only;
// getent asks the site's directory.
func lookUp(ctx context.Context, name string) (uint32, error) {
	text := ""
	if u, err := user.Lookup(name); err == nil {
		text = u.Uid
	} else {
		ctx, cancel := context.WithTimeout(ctx, lookUpWithin)
		defer cancel()
		out, err := exec.CommandContext(ctx, "/usr/bin/getent", "passwd", "--", name).Output()
		fields := strings.Split(string(out), ":")
		if err != nil || len(fields) < 3 || fields[0] != name {
			return 0, fmt.Errorf("%.40q is not an account of this cluster", name)
		}
		text = fields[2]
	}
	uid, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%.40q has no uid", name)
	}
	return uint32(uid), nil
}
