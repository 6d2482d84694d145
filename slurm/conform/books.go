package conform

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/slurm/lab"
)

// books are a lab's accounts and QOS. They are made at the start for all checks and lent
// one by one: a sacctmgr call takes a second on a busy machine.
type books struct {
	l     *lab.Lab
	owner string

	mu       sync.Mutex
	made     bool
	accounts []string // not lent yet
	orders   []string // QOS
}

// prepared is the number of accounts and of QOS that are made.
const prepared = 40

// Two accounts, the second below the first.
const (
	upper = "above"
	lower = "below"
)

// fill makes accounts with the owner in them, and QOS that the owner may use there.
func (b *books) fill(ctx context.Context) error {
	if b.made {
		return nil
	}
	for i := range prepared {
		b.accounts, b.orders = append(b.accounts, fmt.Sprintf("account%d", i+1)), append(b.orders, fmt.Sprintf("qos%d", i+1))
	}
	accounts, orders := strings.Join(b.accounts, ","), strings.Join(b.orders, ",")
	b.made = true
	err := errors.Join(b.sacctmgr(ctx, "add", "account", upper+","+accounts), b.sacctmgr(ctx, "add", "account", lower, "parent="+upper),
		b.sacctmgr(ctx, "add", "qos", orders), b.sacctmgr(ctx, "add", "user", b.owner, "account="+lower+","+accounts, "qos=normal,"+orders))
	if err != nil {
		return err
	}
	return b.awaitAssociation(ctx, b.accounts[prepared-1], "UserName="+b.owner)
}

// awaitAssociation waits until slurmctld has an association of the account with this
// text. slurmdbd forwards to it what sacctmgr wrote; with 26.05 that takes some time.
func (b *books) awaitAssociation(ctx context.Context, account, words string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		out, err := b.l.Command(ctx, "scontrol", "-o", "show", "assoc_mgr", "flags=assoc", "accounts="+account).Output()
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, words) {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("slurmctld does not hear of %s of account %s: %w", words, account, errors.Join(err, ctx.Err()))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (b *books) lend(ctx context.Context, from *[]string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.fill(ctx); err != nil {
		return "", err
	}
	if len(*from) == 0 {
		return "", fmt.Errorf("more than %d are wanted", prepared)
	}
	name := (*from)[0]
	*from = (*from)[1:]
	return name, nil
}

func (b *books) account(ctx context.Context) (string, error) { return b.lend(ctx, &b.accounts) }

// below is made with the others: a slurmctld of 20.11 that learns of it later does not
// learn what else is set in the meantime.
func (b *books) below(ctx context.Context) (string, string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return upper, lower, b.fill(ctx)
}

func (b *books) limit(ctx context.Context, account, limits string) error {
	return b.sacctmgr(ctx, append([]string{"modify", "user", b.owner, "where", "account=" + account, "set"}, strings.Fields(limits)...)...)
}

func (b *books) qos(ctx context.Context, limits string) (string, error) {
	name, err := b.lend(ctx, &b.orders)
	if err != nil {
		return "", err
	}
	return name, b.sacctmgr(ctx, append([]string{"modify", "qos", name, "set"}, strings.Fields(limits)...)...)
}

func (b *books) sacctmgr(ctx context.Context, args ...string) error {
	return run(b.l.Command(ctx, "sacctmgr", append([]string{"-i"}, args...)...))
}
