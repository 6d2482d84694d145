package control

import (
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
)

// shares answers with the division of the GPUs in the last cycle. Every caller may see the accounts,
// and those users whose jobs the caller may see.
func (s *Server) shares(q request) (any, error) {
	r, err := s.published()
	if err != nil {
		return nil, err
	}
	return viewShares(r, q.seesUser), nil
}

// seesUser reports whether the caller may see the jobs of a user.
func (q request) seesUser(name string) bool {
	as := q.options.standing(q.caller)
	if as == other && q.caller.Name == name {
		as = owner
	}
	return name == publish.AllUsers || may(verbExplain, as, q.options.Private)
}

func viewShares(r *publish.Report, sees func(user string) bool) wire.Shares {
	out := wire.Shares{Version: wire.Version, At: r.At, Blind: r.Blind, BlindFor: r.BlindFor.Seconds(), Count: r.Shares.Count, Lines: []wire.Share{}}
	if !r.Shares.Count {
		return out
	}
	out.Read, out.Problem, out.GPUs = r.Shares.Read, r.Shares.Why, r.Shares.Claims.Capacity
	for _, l := range r.Sharing() {
		line := wire.Share{Account: l.Account, User: l.User, Parent: l.Parent, Depth: l.Depth, Shares: l.Shares, Inherits: l.Inherits, Unlisted: !l.Listed,
			Deserved: l.Deserved, Used: l.Has, Wanted: l.Wanted, Own: l.Own, Borrowed: l.Borrowed, Lent: l.Lent}
		if l.User != "" && l.User != publish.AllUsers && l.Listed {
			line.FairShare = &l.Fair
		}
		if l.User == "" || sees(l.User) {
			out.Lines = append(out.Lines, line)
		}
	}
	return out
}
