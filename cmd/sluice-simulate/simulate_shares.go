package main

import (
	"fmt"

	"github.com/sluice-hpc/sluice/elastic/share"
)

// tree reads --shares; nil without.
func (o *simulateOptions) tree() (*share.Tree, error) {
	if o.shares == "" {
		return nil, nil
	}
	t, err := share.Parse(o.shares)
	if err != nil {
		return nil, fmt.Errorf("--shares: %w", err)
	}
	return t, nil
}

// leaves lists the accounts without sub-accounts, which jobs without an account are drawn for.
func leaves(t *share.Tree) (out []string) {
	if t == nil {
		return nil
	}
	for _, a := range t.Accounts() {
		if !a.Inner {
			out = append(out, a.Name)
		}
	}
	return out
}
