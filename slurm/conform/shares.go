package conform

import (
	"errors"

	"github.com/sluice-hpc/sluice/slurm"
)

// sharing are the promises about the tree of shares, by which sluice divides GPUs.
var sharing = []promise{
	{"the tree of shares lists an account before what is below it", 1, func(c *check) {
		above, below, err := c.Below(c.ctx)
		c.must(err)
		for end := c.Now().Add(c.Patience); ; c.Step() {
			tree := c.shares()
			accounts, err := inTree(tree)
			if err == nil && accounts[above] == "root" && accounts[below] == above {
				return
			}
			if c.Now().After(end) {
				c.Fatalf("%v, %+v", err, tree)
			}
		}
	}},
}

// inTree returns the parent of each account, or an error if the tree is none.
func inTree(tree []slurm.Share) (map[string]string, error) {
	parents := map[string]string{}
	for i, s := range tree {
		_, above := parents[s.Parent]
		switch {
		case i == 0 && (s.Account != "root" || s.User != "" || s.Parent != ""):
			return nil, errors.New("the root is not first")
		case i > 0 && !above:
			return nil, errors.New("the parent of " + s.Account + " is not above it")
		case s.User != "" && s.Parent != s.Account:
			return nil, errors.New("the parent of a user is another account")
		case i > 0 && s.Shares < 1 && !s.Inherits:
			return nil, errors.New(s.Account + " has no shares, of which sacctmgr gives it one")
		case s.User == "":
			parents[s.Account] = s.Parent
		}
	}
	return parents, nil
}

func (c *check) shares() []slurm.Share {
	c.Helper()
	sharer, ok := c.Operator.(slurm.Sharer)
	if !ok {
		c.Fatal("no slurm.Sharer")
	}
	tree, err := sharer.Shares(c.ctx)
	c.must(err)
	return tree
}
