package checkpoint

import (
	"regexp"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// askAgain makes an NFS client ask its server about a directory. Until then the client
// caches that a name is missing, for a minute by default. Opening the directory would
// have the same effect, but not every user may read the directory above.
func askAgain(dir string) {
	var unused unix.Statx_t
	_ = unix.Statx(unix.AT_FDCWD, dir, unix.AT_STATX_FORCE_SYNC, unix.STATX_BASIC_STATS, &unused) // an error means that nothing is known of it
}

// silly reports whether the name is one that an NFS client gives to a file that was
// removed while a program of its machine had it open. It disappears when that program
// closes it, and is no part of the folder's contents. Until then it cannot be removed
// (EBUSY).
func silly(name string) bool { return sillyForm().MatchString(name) }

var sillyForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\.nfs[0-9a-f]{16,24}$`) })

// tick is longer than the resolution of change times on a file server: 10 ms at most with
// Linux.
const tick = 20 * time.Millisecond

// settle waits on NFS until a change of the directory gets a later time than earlier
// changes. A client that looked between two changes with the same time keeps what it
// cached then, such as that a name is missing, until the directory changes again.
func (d *Dir) settle() error {
	f, err := d.root.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	var fs unix.Statfs_t
	if unix.Fstatfs(int(f.Fd()), &fs) == nil && fs.Type == unix.NFS_SUPER_MAGIC {
		time.Sleep(tick)
	}
	return nil
}
