package control

import (
	"maps"
	"slices"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
	"github.com/sluice-hpc/sluice/elastic/usage"
)

// shares answers with the division of the GPUs in the last cycle, and with GPU-hours. Every caller may
// see the accounts, and those users whose jobs the caller may see; hours of accounts only if that is all.
func (s *Server) shares(q request) (any, error) {
	r, err := s.published()
	if err != nil {
		return nil, err
	}
	if !r.Shares.Count || r.Shares.Tree == nil {
		return viewShares(q, r, nil, ""), nil
	}
	end := q.options.Now()
	if r.Blind != "" { // as in a report of usage
		end = r.At
	}
	recent, whyNot := s.lately(q, end)
	return viewShares(q, r, recent, whyNot), nil
}

// seesUser reports whether the caller may see the jobs of a user.
func (q request) seesUser(name string) bool {
	as := q.options.standing(q.caller)
	if as == other && q.caller.Name == name {
		as = owner
	}
	return name == publish.AllUsers || may(verbExplain, as, q.options.Private)
}

func viewShares(q request, r *publish.Report, recent *usage.Recent, noHours string) wire.Shares {
	out := wire.Shares{Version: wire.Version, At: r.At, Blind: r.Blind, BlindFor: r.BlindFor.Seconds(), Count: r.Shares.Count, Own: r.Shares.Own, Lines: []wire.Share{}}
	if !r.Shares.Count {
		return out
	}
	out.Read, out.Problem, out.GPUs, out.NoHours = r.Shares.Read, r.Shares.Why, r.Shares.Claims.Capacity, noHours
	if recent != nil {
		out.HoursTo = recent.To
	}
	users := perLine(r, recent)
	maps.DeleteFunc(users, func(m publish.Member, _ wire.GPUHours) bool { return !q.seesUser(m.User) })
	lines := r.Sharing(slices.Collect(maps.Keys(users))...)
	parents := map[string]string{}
	for _, l := range lines {
		if l.User == "" {
			parents[l.Account] = l.Parent
		}
	}
	accounts, all := users.accounts(parents), may(verbExplain, q.options.standing(q.caller), q.options.Private)
	for _, l := range lines {
		if l.User != "" && !q.seesUser(l.User) {
			continue
		}
		line := viewShare(l, r.Shares.Own)
		if hours := users[publish.Member{Account: l.Account, User: l.User}]; recent != nil && l.User != "" && (all || l.User != publish.AllUsers) {
			line.Hours = &hours
		} else if hours := accounts[l.Account]; recent != nil && l.User == "" && all {
			line.Hours = &hours
		}
		out.Lines = append(out.Lines, line)
	}
	return out
}

func viewShare(l publish.Sharing, own bool) wire.Share {
	line := wire.Share{Account: l.Account, User: l.User, Parent: l.Parent, Depth: l.Depth, Shares: l.Shares, Inherits: l.Inherits, Unlisted: !l.Listed,
		Deserved: l.Deserved, Used: l.Has, Wanted: l.Wanted, Own: l.Own, Borrowed: l.Borrowed, Lent: l.Lent}
	if l.User != "" && l.User != publish.AllUsers && l.Listed && !own {
		line.FairShare = &l.Fair
	}
	return line
}
