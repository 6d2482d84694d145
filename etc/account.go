package etc

import (
	"fmt"
	"os/user"
	"strconv"
)

// UID is the uid of the account that sluiced runs as.
func (r Remote) UID() (uint32, error) {
	if n, err := strconv.ParseUint(r.User, 10, 32); err == nil {
		return uint32(n), nil
	}
	account, err := user.Lookup(r.User)
	if err != nil {
		return 0, fmt.Errorf("[remote] user: there is no account %q here; make it, with the same number on all nodes, or write its number", r.User)
	}
	n, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("[remote] user: the number of the account %q is %q", r.User, account.Uid)
	}
	return uint32(n), nil
}
