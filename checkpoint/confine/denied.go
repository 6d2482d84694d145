package confine

import (
	"fmt"
	"syscall"
)

// Untold are denied calls that ordinary trainings make, by their names, with the reason why they are no
// attempt to leave. They fail as the others do, and are not counted.
var Untold = map[string]string{
	"clone3":         "the C library tries it for every thread, and then uses clone",
	"io_uring_setup": "the store of addresses of PyTorch tries it at every start, and then uses epoll",
}

// sockets are the families of sockets that have names in the record.
var sockets = map[uint32]string{
	syscall.AF_PACKET: "AF_PACKET", syscall.AF_NETLINK: "AF_NETLINK", syscall.AF_ALG: "AF_ALG", syscall.AF_RDS: "AF_RDS", syscall.AF_TIPC: "AF_TIPC",
	syscall.AF_BLUETOOTH: "AF_BLUETOOTH", syscall.AF_CAN: "AF_CAN", 40: "AF_VSOCK", 42: "AF_QIPCRTR", 44: "AF_XDP",
}

// Denied says of a call that gave a notice what it is in the words of the record, and the error that it fails
// with. The words are of a fixed set: the program cannot choose them freely.
func Denied(goarch string, number int32, args [6]uint64) (what string, e syscall.Errno) {
	for _, a := range archs {
		if a.name == goarch {
			return a.denied(int(number), args)
		}
	}
	return "another call", syscall.EPERM
}

func (a arch) denied(number int, args [6]uint64) (what string, e syscall.Errno) {
	is := func(c call) bool { return c.numbers[a.column] == number }
	for _, c := range denied {
		if is(c) {
			return c.name, syscall.EPERM
		}
	}
	switch {
	case is(socket), is(socketpair):
		name := sockets[uint32(args[0])]
		if name == "" {
			name = "another family"
		}
		if is(socketpair) {
			return fmt.Sprintf("socketpair(%s)", name), syscall.EAFNOSUPPORT
		}
		return fmt.Sprintf("socket(%s)", name), syscall.EAFNOSUPPORT
	case is(clone):
		return "clone(new namespaces)", syscall.EPERM
	case is(ioctl):
		return "ioctl(input of a terminal)", syscall.EPERM
	case is(setrlimit), is(prlimit64):
		return "setrlimit(core dumps)", syscall.EPERM
	case is(seccomp):
		return "seccomp(listener)", syscall.EPERM
	}
	return "another call", syscall.EPERM
}
