package etc

import (
	"errors"
	"fmt"
	"os/user"
	"strconv"
)

// UID is the uid of the account that sluiced runs as.
func (r Remote) UID() (uint32, error) { return uidOf("[remote] user", r.User) }

// UID is the uid of the service account of data sets, which must be named.
func (d Data) UID() (uint32, error) {
	if d.Account == "" {
		return 0, errors.New("[data] account: this site has no data sets")
	}
	return uidOf("[data] account", d.Account)
}

func uidOf(key, name string) (uint32, error) {
	if n, err := strconv.ParseUint(name, 10, 32); err == nil {
		return uint32(n), nil
	}
	account, err := user.Lookup(name)
	if err != nil {
		return 0, fmt.Errorf("%s: there is no account %q here; make it, with the same number on all nodes, or write its number", key, name)
	}
	n, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%s: the number of the account %q is %q", key, name, account.Uid)
	}
	return uint32(n), nil
}
