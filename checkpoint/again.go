package checkpoint

import (
	"regexp"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// askAgain has an NFS client ask its server about a directory. Until then it takes a name
// that was missing there for missing, for a minute by default. Opening the directory would do
// as well, but not everybody may read the one above.
func askAgain(dir string) {
	var unused unix.Statx_t
	_ = unix.Statx(unix.AT_FDCWD, dir, unix.AT_STATX_FORCE_SYNC, unix.STATX_BASIC_STATS, &unused) // then nothing is known of it
}

// silly reports whether the name is what an NFS client gives a file that was removed while a
// program of its machine had it open: it goes when that program closes it, and is no part of
// what is in the folder. Until then it cannot be removed (EBUSY).
func silly(name string) bool { return sillyForm().MatchString(name) }

var sillyForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\.nfs[0-9a-f]{16,24}$`) })

// tick is longer than what the time of a change on a file server is rounded to: 10 ms at most
// with Linux.
const tick = 20 * time.Millisecond

// settle waits on NFS until a change of the directory gets a later time than those before it.
// A client that looked between two changes with one time takes what it then remembers, such as
// that a name is missing, for true until the directory changes again.
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
