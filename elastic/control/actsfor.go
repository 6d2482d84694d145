package control

import (
	"os/user"
	"strconv"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// ordering are the verbs that change something, which the web program may use only if it may act.
var ordering = map[verb]bool{verbDirect: true, verbTrust: true, verbEvent: true}

// actFor makes the request one of the user that wire.ActsFor names, if it names one. The account of the
// site's web program alone may name one, on the socket alone: over TCP a program on any login node
// could. root, and the daemon's own account, are never acted for unless operators are.
func (s *Server) actFor(q *request, who *visit, v verb) error {
	names, asked := q.Header[wire.ActsFor]
	if !asked {
		return nil
	}
	refuse := func(why, hint, format string, args ...any) error {
		if !s.reads.take(q.caller.UID, q.options.Now()) { // denials are logged
			return wire.Fail(wire.TooMany, "try again in a few seconds", "%s sends too many requests of this kind", q.caller.Name)
		}
		s.denied(Denial{Caller: q.caller, From: q.caller.Host, Verb: string(v), Why: why})
		return wire.Fail(wire.Denied, hint, format, args...)
	}
	o := &q.options
	if who.leaveSeat == nil {
		return refuse("requests for other users are not accepted over TCP", "run it on the host of sluiced", "no request can be made for another user over TCP")
	}
	if o.Web == "" || o.UserMode || q.caller.Name != o.Web {
		return refuse("only the site's web program may ask for other users", "see [web] user in sluice.toml", "%s may not ask for another user", q.caller.Name)
	}
	s.web.Store(int64(q.caller.UID))
	if len(names) != 1 || !elastic.UserName(names[0]) {
		return wire.Fail(wire.BadRequest, "", "%s: want the name of one account", wire.ActsFor)
	}
	uid, known := s.uids.of(names[0], o.Account, o.UIDOf, o.Now())
	switch {
	case !known:
		return wire.Fail(wire.NotFound, "", "no account %s on sluiced's host", names[0])
	case !o.WebOperators && (uid == 0 || uid == o.UID):
		return refuse("the site's web program may not ask for root or sluiced's own account", "", "%s may not ask for %s", q.caller.Name, names[0])
	case !o.WebActs && ordering[v]:
		return refuse("the site's web program may only read", "set [web] act in sluice.toml", "%s may only read", q.caller.Name)
	}
	q.caller = Caller{UID: uid, Name: names[0], PID: q.caller.PID, Via: q.caller.Name}
	return nil
}

// uids caches the uid of account names, as names does the names of uids.
type uids struct {
	mu   sync.Mutex
	seen map[string]numbered
}

type numbered struct {
	uid   uint32
	known bool
	at    time.Time
}

// of returns the uid of a name; false if there is no such account. The uid counts only if its name is that
// name: with two names for one uid, the second would else be a way to the rights of the first.
func (n *uids) of(name string, account func(uint32) string, uidOf func(string) (uint32, bool), now time.Time) (uint32, bool) {
	n.mu.Lock()
	had, ok := n.seen[name]
	n.mu.Unlock()
	if age := now.Sub(had.at); ok && age >= 0 && age < namedFor {
		return had.uid, had.known
	}
	if uidOf == nil {
		uidOf = systemUID
	}
	if account == nil {
		account = systemAccount
	}
	uid, known := uidOf(name)
	known = known && account(uid) == name
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen == nil || len(n.seen) >= most {
		n.seen = map[string]numbered{}
	}
	n.seen[name] = numbered{uid, known, now}
	return uid, known
}

// systemUID asks the system for the uid of an account.
func systemUID(name string) (uint32, bool) {
	account, err := user.Lookup(name)
	if err != nil {
		return 0, false
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	return uint32(uid), err == nil
}
