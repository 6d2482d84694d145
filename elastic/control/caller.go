package control

import (
	"net"
	"os/user"
	"strconv"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/local"
)

// Caller is the account behind a request: as the kernel reports it on the socket, as munge
// reports it over TCP.
type Caller struct {
	UID  uint32
	GID  uint32
	PID  int32  // process that connected, which may be gone; 0 over TCP
	Name string // user name; the uid in decimal if there is no such account
	Host string // address of the node, by munge; "" on the socket
	// Via is the account of the site's web program if that asks for this user; PID is then the
	// program's. "" = the user itself.
	Via string
}

// peer asks the kernel which account connected.
func peer(conn *net.UnixConn) (Caller, error) {
	who, err := local.PeerOf(conn)
	return Caller{UID: who.UID, GID: who.GID, PID: who.PID}, err
}

// names caches user names, so that a slow directory service is asked rarely. Operators are
// identified by name: an account whose uid is given to another user MUST NOT stay an operator.
type names struct {
	account func(uint32) string // nil = the system's
	mu      sync.Mutex
	seen    map[uint32]named
}

type named struct {
	name string
	at   time.Time
}

// namedFor is how long a name is cached.
const namedFor = time.Minute

// most bounds the number of cached names.
const most = 100_000

// of returns the account's name, or its uid in decimal if there is none.
func (n *names) of(uid uint32, now time.Time) string {
	n.mu.Lock()
	known, ok := n.seen[uid]
	n.mu.Unlock()
	if age := now.Sub(known.at); ok && age >= 0 && age < namedFor {
		return known.name
	}
	ask := n.account
	if ask == nil {
		ask = systemAccount
	}
	name := ask(uid)
	if name == "" {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.seen, uid)
		return strconv.FormatUint(uint64(uid), 10) // the directory may be down: ask again next time
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen == nil || len(n.seen) >= most {
		n.seen = map[uint32]named{}
	}
	n.seen[uid] = named{name, now}
	return name
}

// systemAccount asks the system for the account's name.
func systemAccount(uid uint32) string {
	account, err := user.LookupId(strconv.FormatUint(uint64(uid), 10))
	if err != nil {
		return ""
	}
	return account.Username
}
