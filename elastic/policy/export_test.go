package policy

import "github.com/sluice-hpc/sluice/elastic"

// AtOnce is Decide with each share divided before the policy is asked, however few shares there are.
func (p Policy) AtOnce(s elastic.Snapshot) elastic.Allocation { return p.within(s, 0) }

// Asking is Decide with the policy asked before shares are divided, however many there are.
func (p Policy) Asking(s elastic.Snapshot) elastic.Allocation { return p.within(s, len(s.Caps)) }
