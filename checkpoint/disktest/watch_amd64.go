package disktest

import "golang.org/x/sys/unix"

// amd64 also has the calls without a directory descriptor; newer architectures do not.
func init() {
	mutators[unix.SYS_UNLINK] = "unlink"
	mutators[unix.SYS_MKDIR] = "mkdir"
	mutators[unix.SYS_CHMOD] = "other path"
}
