package confine

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ownFolders are the folders of a fence below which a file may be opened for writing, all that are not read-only.
var ownFolders = []string{"/dev", "/proc", "/tmp", "/var/tmp", OutputDir, "/job"}

// leastLandlock is the version of Landlock from which on it can leave renames between folders alone (Linux 5.19).
const leastLandlock = 2

// LockDown keeps the calling thread, and all that it starts, from opening files for writing but below the own folders
// of the fence that it is in. A read-only mount does that, too, but not with a named pipe. On a kernel that
// cannot nothing changes. The thread must have no_new_privs.
func LockDown() error {
	if !LocksDown() {
		return nil
	}
	rules := unix.LandlockRulesetAttr{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REFER}
	size := unsafe.Sizeof(rules.Handled_access_fs) // what this version knows
	set, _, failed := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&rules)), size, 0)
	if failed != 0 {
		return os.NewSyscallError("landlock_create_ruleset", failed)
	}
	defer unix.Close(int(set))
	if err := permit(int(set), "/", unix.LANDLOCK_ACCESS_FS_REFER); err != nil {
		return err
	}
	for _, folder := range ownFolders {
		if err := permit(int(set), folder, unix.LANDLOCK_ACCESS_FS_WRITE_FILE); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if _, _, failed := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, set, 0, 0); failed != 0 {
		return os.NewSyscallError("landlock_restrict_self", failed)
	}
	return nil
}

// LocksDown reports whether the kernel can do what LockDown does.
func LocksDown() bool {
	version, _, failed := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	return failed == 0 && version >= leastLandlock
}

func permit(set int, folder string, access uint64) error {
	fd, err := unix.Open(folder, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", folder, err)
	}
	defer unix.Close(fd)
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	if _, _, failed := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(set), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); failed != 0 {
		return os.NewSyscallError("landlock_add_rule", failed)
	}
	return nil
}
