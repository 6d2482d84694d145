package control

import (
	"fmt"
	"net"
	"os/user"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Caller is who asks: as the kernel says on the socket, as munge says over TCP.
type Caller struct {
	UID  uint32
	GID  uint32
	PID  int32  // of the process that connected, which may be gone; 0 over TCP
	Name string // user name; the number when there is no such account
	Host string // address of the node where munge knows him; "" on the socket
}

// peer asks the kernel who connected.
func peer(conn *net.UnixConn) (Caller, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return Caller{}, err
	}
	var cred *unix.Ucred
	var asked error
	if err := raw.Control(func(fd uintptr) {
		cred, asked = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return Caller{}, err
	}
	if asked != nil {
		return Caller{}, fmt.Errorf("who connected: %w", asked)
	}
	return Caller{UID: cred.Uid, GID: cred.Gid, PID: cred.Pid}, nil
}

// names remembers user names for a while, so that a slow directory service is seldom
// asked. Operators are known by their names: an account that is removed, and its number
// given to another user, MUST NOT stay one.
type names struct {
	account func(uint32) string // nil = the system's
	mu      sync.Mutex
	seen    map[uint32]named
}

type named struct {
	name string
	at   time.Time
}

// namedFor is how long a name is remembered.
const namedFor = time.Minute

// most bounds what is remembered.
const most = 100_000

// of returns the account's name, or its number when there is none.
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
		return strconv.FormatUint(uint64(uid), 10) // perhaps the directory is down: ask again next time
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
