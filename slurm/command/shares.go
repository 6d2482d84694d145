package command

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sluice-hpc/sluice/slurm"
)

var _ slurm.Sharer = (*Client)(nil)

// shareFields are asked of sshare, in the order it prints them.
var shareFields = [...]string{"Account", "User", "Partition", "RawShares", "RawUsage", "FairShare"}

// Shares asks slurmctld through sshare, which prints nothing where there is no slurmdbd.
func (c *Client) Shares(ctx context.Context) ([]slurm.Share, error) {
	args := []string{"-a", "-n", "-P", "-m", "-o", strings.Join(shareFields[:], ",")}
	out, err := c.read(ctx, "sshare", 0, "sshare", args)
	if err != nil || out.stdout == "" {
		return nil, err
	}
	list, err := parseShares(out.stdout)
	if err != nil {
		return nil, &slurm.Error{Op: "sshare", Err: slurm.ErrGarbage, Words: clean(err.Error()), Hint: "run it by hand: sshare " + strings.Join(args, " ")}
	}
	return list, nil
}

// parseShares reads sshare's lines. The tree is in the blanks before an account's name: one more
// than its parent's.
func parseShares(out string) ([]slurm.Share, error) {
	var list []slurm.Share
	var above []string // the accounts on the path to the last line, by depth
	err := sheet(out, len(shareFields), func(f []string) error {
		name := strings.TrimLeft(f[0], " ")
		depth := len(f[0]) - len(name)
		s := slurm.Share{Account: name, User: f[1], Partition: f[2]}
		switch {
		case name == "":
			return errors.New("no account")
		case depth > len(above), depth == 0 && len(list) > 0:
			return fmt.Errorf("account %q hangs below nothing", shorten(name))
		case depth > 0:
			s.Parent = above[depth-1]
		}
		if s.User == "" {
			above = append(above[:depth], name)
		} else if s.Parent != name {
			return fmt.Errorf("user %q of account %q is listed below account %q", shorten(s.User), shorten(name), shorten(s.Parent))
		}
		list = append(list, s)
		return readShare(f[3], f[4], f[5], depth == 0, &list[len(list)-1])
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// readShare reads RawShares, RawUsage and FairShare.
func readShare(shares, usage, fair string, root bool, s *slurm.Share) error {
	switch s.Inherits = shares == "parent"; {
	case s.Inherits, root && shares == "":
	default:
		n, err := strconv.ParseInt(shares, 10, 64)
		if err != nil || n < 0 || n > 1<<31-1 {
			return fmt.Errorf("%q is not a number of shares", shorten(shares))
		}
		s.Shares = int(n)
	}
	var err error
	if s.Usage, err = strconv.ParseFloat(usage, 64); err != nil || !(s.Usage >= 0 && s.Usage <= 1e18) {
		return fmt.Errorf("%q is not a usage", shorten(usage))
	}
	if fair == "" {
		return nil
	}
	if s.Fair, err = strconv.ParseFloat(fair, 64); err != nil || !(s.Fair >= 0 && s.Fair <= 1) {
		return fmt.Errorf("%q is not a factor of fair share", shorten(fair))
	}
	return nil
}
