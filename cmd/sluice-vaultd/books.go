package main

import (
	"context"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/elastic/vault/wire"
	"github.com/sluice-hpc/sluice/slurm"
)

// Bounds of what is asked about accounts: how long an answer about a user is good, how long a submission waits for one, how many
// are asked for at once, and the number of users above which old answers are forgotten. The wait MUST be shorter than a client
// waits for its code to be taken.
const (
	booksFor    = 10 * time.Second
	booksWithin = 40 * time.Second
	booksAtOnce = 4
	mostBooks   = 1000
)

// books is what Slurm said about users' accounts.
type books struct {
	seats chan struct{}
	mu    sync.Mutex
	of    map[string]page
}

type page struct {
	at  time.Time
	say slurm.Charging
}

func newBooks() *books {
	return &books{seats: make(chan struct{}, booksAtOnce), of: map[string]page{}}
}

// known is a good answer.
func (b *books) known(user string, now time.Time) (slurm.Charging, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, is := b.of[user]
	age := now.Sub(p.at)
	return p.say, is && age >= 0 && age < booksFor
}

// ask asks about the user and the service account, unless an answer about the user is good.
func (b *books) ask(ctx context.Context, now func() time.Time, from slurmClient, user, service string) (slurm.Charging, error) {
	ctx, cancel := context.WithTimeout(ctx, booksWithin)
	defer cancel()
	if say, is := b.known(user, now()); is {
		return say, nil
	}
	select {
	case b.seats <- struct{}{}:
		defer func() { <-b.seats }()
	case <-ctx.Done():
		return slurm.Charging{}, ctx.Err()
	}
	if err := ctx.Err(); err != nil { // a seat was free at the same moment
		return slurm.Charging{}, err
	}
	if say, is := b.known(user, now()); is { // another request asked
		return say, nil
	}
	at := now()
	say, err := from.Charging(ctx, user, service)
	if err != nil {
		return slurm.Charging{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.of) >= mostBooks {
		clear(b.of)
	}
	b.of[user] = page{at, say}
	return say, nil
}

// charge finds out what the job is charged to, and has 'sluice submit' say it. Without an answer of Slurm it is refused: it
// could be charged to others.
func (s *service) charge(ctx context.Context, sub *submission) error {
	say, err := s.books.ask(ctx, s.vault.now, s.slurm, sub.who.name, s.site.Data.Account)
	if err != nil {
		return wire.Fail(wire.Unavailable, "try again in a moment", "Slurm does not say which accounts are yours: %v", err)
	}
	sub.bill.user, sub.bill.service, sub.bill.groups = sub.who.name, s.site.Data.Account, sub.who.groups
	to, err := settle(say, sub.bill)
	if err != nil {
		return err
	}
	var words []string
	if to.account != "" {
		words = append(words, "--account="+to.account)
	}
	if to.qos != "" {
		words = append(words, "--qos="+to.qos)
	}
	sub.args = append(words, sub.args...)
	return nil
}
