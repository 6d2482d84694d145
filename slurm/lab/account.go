package lab

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is the Unix account of SlurmUser.
type account struct {
	Name string
	UID  int
	GID  int
}

// debianSlurm is the account Debian's packages make for slurmctld.
const debianSlurm = "slurm"

// slurmAccount resolves Config.SlurmUser for a caller with this effective uid.
func slurmAccount(name string, euid int) (account, error) {
	if name == "" {
		if euid == 0 {
			if a, err := lookup(debianSlurm); err == nil {
				return a, nil
			}
		}
		return lookupID(euid)
	}
	a, err := lookup(name)
	if err != nil {
		return account{}, fmt.Errorf("%w: SlurmUser %q: %v", ErrConfig, name, err)
	}
	if euid != 0 && a.UID != euid {
		return account{}, fmt.Errorf("%w: SlurmUser %s: only root may run slurmctld as another account", ErrConfig, name)
	}
	return a, nil
}

func lookup(name string) (account, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return account{}, err
	}
	return fromUser(u)
}

func lookupID(uid int) (account, error) {
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return account{}, fmt.Errorf("%w: Slurm needs an account with a name: %v", ErrConfig, err)
	}
	return fromUser(u)
}

func fromUser(u *user.User) (account, error) {
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return account{}, err
	}
	gid, err := strconv.Atoi(u.Gid)
	return account{Name: u.Username, UID: uid, GID: gid}, err
}

// reachable returns an error naming the first directory above dir that other accounts
// than its owner may not enter, if the lab needs that: slurmctld could not read its own
// configuration.
func reachable(dir string, slurm account, euid int) error {
	if slurm.UID == euid {
		return nil
	}
	for up := filepath.Dir(dir); ; up = filepath.Dir(up) {
		st, err := os.Stat(up)
		if err != nil {
			return err
		}
		if st.Mode()&0o001 == 0 {
			return fmt.Errorf("%w: %s is closed to account %s: choose a directory all accounts may reach, such as %s",
				ErrConfig, up, slurm.Name, "/tmp/sluice-lab")
		}
		if up == "/" {
			return nil
		}
	}
}

// owner returns the uid that owns path, not following a link.
func owner(path string) (int, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return 0, err
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, fmt.Errorf("%s: owner unknown", path)
	}
	return int(sys.Uid), nil
}
