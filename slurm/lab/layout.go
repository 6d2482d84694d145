package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// layout is the paths of a lab's files.
type layout string

func (d layout) join(parts ...string) string {
	return filepath.Join(append([]string{string(d)}, parts...)...)
}

func (d layout) conf() string                  { return d.join("etc", "slurm.conf") }
func (d layout) key() string                   { return d.join("etc", "munge.key") }
func (d layout) controllerDir() string         { return d.join("run", "slurm") }
func (d layout) mungeSocket() string           { return d.join("run", "munge.sock") }
func (d layout) spool(node string) string      { return d.join("spool", node) }
func (d layout) log(daemon string) string      { return d.join("log", daemon+".log") }
func (d layout) out(daemon string) string      { return d.join("log", daemon+".out") }
func (d layout) gpu(node string, i int) string { return d.join("dev", node+"-"+strconv.Itoa(i)) }

// folder is one directory of a lab and its owner.
type folder struct {
	path  string
	mode  fs.FileMode
	slurm bool // owned by SlurmUser, else by the account that runs the lab
}

// folders lists all directories, parents first. The top is open to every account, because
// jobs of every account read the configuration and write into shared/jobs. There each
// user makes directories: sticky, so that a user cannot remove another's; setgid, so that
// SlurmUser's group (sluiced) can read them.
func (d layout) folders(nodes []string) []folder {
	list := []folder{
		{d.join(), 0o755, false},
		{d.join("etc"), 0o755, false},
		{d.join("bin"), 0o755, false},
		{d.join("dev"), 0o755, false},
		{d.join("log"), 0o755, false},
		{d.join("run"), 0o755, false},
		{d.join("run", "slurm"), 0o755, true},
		{d.join("ctld"), 0o700, true},
		{d.join("spool"), 0o755, false},
		{d.join("shared"), 0o755, false},
		{d.join("shared", "jobs"), fs.ModeSticky | fs.ModeSetgid | 0o777, true},
		{d.join("shared", "outbox"), 0o711, true},
		{d.join("sluice"), 0o755, false},
		{d.join("sluice", "state"), 0o700, true},
		{d.join("sluice", "run"), 0o755, true},
	}
	for _, n := range nodes {
		list = append(list, folder{d.spool(n), 0o755, false})
	}
	return list
}

// makeFolders makes all directories; owner and mode are set whatever the umask.
func (d layout) makeFolders(nodes []string, slurm account) error {
	for _, f := range d.folders(nodes) {
		if err := os.Mkdir(f.path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if f.slurm && slurm.UID != os.Geteuid() {
			if err := os.Chown(f.path, slurm.UID, slurm.GID); err != nil {
				return err
			}
		}
		if err := os.Chmod(f.path, f.mode); err != nil {
			return err
		}
	}
	return nil
}

// writeFile writes a small file with exactly this mode and owner.
func writeFile(path string, text []byte, mode fs.FileMode, uid, gid int) error {
	if err := os.WriteFile(path, text, mode); err != nil {
		return err
	}
	if uid != os.Geteuid() {
		if err := os.Chown(path, uid, gid); err != nil {
			return err
		}
	}
	return os.Chmod(path, mode)
}

// makeGPU makes one character device that Slurm hands out as a GPU: a node with
// /dev/null's number, or, if the caller or the file system may not have device nodes, a
// link to /dev/null, which Slurm follows. It reports which.
func makeGPU(path string) (device bool, err error) {
	err = unix.Mknod(path, syscall.S_IFCHR|0o666, int(unix.Mkdev(1, 3)))
	if err == nil && opensAsDevice(path) {
		return true, os.Chmod(path, 0o666)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if !opensAsDevice("/dev/null") {
		return false, fmt.Errorf("/dev/null is not a character device that can be opened; Slurm accepts nothing else as a GPU")
	}
	return false, os.Symlink("/dev/null", path)
}

// opensAsDevice reports whether path is a character device that can be opened; on a file
// system mounted nodev it cannot be.
func opensAsDevice(path string) bool {
	st, err := os.Stat(path)
	if err != nil || st.Mode()&fs.ModeCharDevice == 0 {
		return false
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return false
	}
	return f.Close() == nil
}
