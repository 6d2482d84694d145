package site

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/sluice-hpc/sluice/slurm/lab"
)

// MountsEnv is the variable with the mounts of one folder, separated by colons;
// etc/nfs-world sets it to those of a folder on NFS. End-to-end tests and campaigns then
// put their sites' shared folders there.
const MountsEnv = "SLUICE_NFS"

// MountsOfEnvironment are the mounts in MountsEnv; nil = none.
func MountsOfEnvironment() []string {
	if list := filepath.SplitList(os.Getenv(MountsEnv)); len(list) > 1 {
		return list
	}
	return nil
}

// mounts is one folder that each machine of a site mounts by itself, with its own cache:
// sluiced and those who submit use the first mount, the nodes use the others in turn.
type mounts struct {
	list []string
	name string // the site's folder in it
	to   string // the path at which a machine sees that
}

// share makes the site's folder and returns what must be mounted for sluiced.
func (m mounts) share(c *lab.Config) (apart string, err error) {
	name := c.SlurmUser
	if name == "" {
		name = "slurm"
	}
	u, err := user.Lookup(name)
	if err != nil {
		return "", err
	}
	owner, err := credential(u)
	if err != nil {
		return "", err
	}
	for dir, mode := range map[string]fs.FileMode{"jobs": fs.ModeSticky | fs.ModeSetgid | 0o777, "outbox": 0o711} {
		path := filepath.Join(m.list[0], m.name, dir)
		if err := errors.Join(os.MkdirAll(path, 0o755), os.Chown(path, int(owner.Uid), int(owner.Gid)), os.Chmod(path, mode)); err != nil {
			return "", err
		}
	}
	var nodes strings.Builder
	for i := range max(c.Nodes, 1) {
		fmt.Fprintf(&nodes, "*[!0-9]%d) %s;; ", i+1, m.bind(1+i%(len(m.list)-1)))
	}
	c.Apart = "case $NODE in " + nodes.String() + "esac"
	return m.bind(0), nil
}

func (m mounts) bind(i int) string {
	return fmt.Sprintf("mount --bind %s %s", filepath.Join(m.list[i], m.name), m.to)
}

// show mounts the folder for this process and the commands it runs.
func (m mounts) show() error {
	return quickly("mount", "--bind", filepath.Join(m.list[0], m.name), m.to)
}

// hide unmounts it.
func (m mounts) hide() error {
	if len(m.list) == 0 {
		return nil
	}
	err := syscall.Unmount(m.to, syscall.MNT_DETACH)
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, fs.ErrNotExist) {
		err = nil // nothing is mounted
	}
	return errors.Join(err, os.RemoveAll(filepath.Join(m.list[0], m.name)))
}

// apart makes a command run after another one, in its own mount namespace, and then as
// the owner. It keeps its process id.
func apart(cmd *exec.Cmd, first string, owner syscall.Credential) *exec.Cmd {
	become := fmt.Sprintf(`%s || exit; exec setpriv --reuid %d --regid %d --clear-groups "$@"`, first, owner.Uid, owner.Gid)
	behind := exec.Command("unshare", append([]string{"--mount", "sh", "-c", become, "sh"}, cmd.Args...)...)
	behind.Env, behind.SysProcAttr = cmd.Env, cmd.SysProcAttr
	return behind
}
