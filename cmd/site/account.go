package site

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
	"time"
)

// account is a temporary Unix account with a work directory of its own.
type account struct {
	name       string
	credential syscall.Credential
	made       bool // made by this site: removed at the end
}

// FreeAccount is an unused account name: base, or base with a number.
func FreeAccount(base string) string {
	name := base
	for n := 2; n < 100 && taken(name); n++ {
		name = base + strconv.Itoa(n)
	}
	return name
}

// taken reports whether the account of that name belongs to another site, or to a person.
// One whose home is missing was left by a site that was killed.
func taken(name string) bool {
	u, err := user.Lookup(name)
	if err != nil {
		return false
	}
	_, err = os.Lstat(u.HomeDir)
	return err == nil
}

// makeAccount makes a Unix account without a login, or uses the one that an interrupted
// run left. Only root can.
func makeAccount(name, home string) (account, error) {
	if os.Geteuid() != 0 {
		return account{}, errors.New("only root can make the accounts of a site; run it as root, or without accounts")
	}
	if _, err := user.Lookup(name); err == nil {
		_ = quickly("usermod", "-d", home, name) // for FreeAccount; refused while a process of it still runs
	} else if err := quickly("useradd", "--system", "--user-group", "--no-create-home", "-d", home, "--shell", "/bin/sh", name); err != nil {
		return account{}, err
	}
	u, err := user.Lookup(name)
	if err != nil {
		return account{}, err
	}
	c, err := credential(u)
	if err != nil {
		return account{}, err
	}
	a := account{name: name, credential: c, made: true}
	// A private home: the daemon's account cannot look inside.
	if err := os.Mkdir(home, 0o700); err != nil {
		return a, err
	}
	return a, os.Chown(home, int(c.Uid), int(c.Gid))
}

// credential is what a process needs to run as the user, with no other groups.
func credential(u *user.User) (syscall.Credential, error) {
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	return syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(err1, err2)
}

func (a account) remove() error {
	if !a.made {
		return nil
	}
	return quickly("userdel", a.name)
}

func quickly(name string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}
