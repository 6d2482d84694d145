package tunnel

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-hpc/sluice/checkpoint/confine"
)

// The device of a fence is made by a process that enters the fence's user and network namespaces, which the caller's
// user owns. Nothing inside gets a capability, and the process runs none of the job's files.

// packetSize is the device's MTU, in bytes: the larger, the fewer packets are encrypted.
const packetSize = 65520

// Entry is how a process gets into a fence's network: the command line before its own, and the files that it refers
// to, as descriptors from 3 on.
type Entry struct {
	Argv  []string
	Files []*os.File
}

// Enter finds the network of a fence by a process of it, as its number outside. The caller closes the files.
func Enter(pid int) (e Entry, err error) {
	program, err := confine.Enter()
	if err != nil {
		return e, err
	}
	network, err := os.Open("/proc/" + strconv.Itoa(pid) + "/ns/net")
	if err != nil {
		return e, fmt.Errorf("the fence's network: %w", err)
	}
	owner, err := unix.IoctlRetInt(int(network.Fd()), unix.NS_GET_USERNS)
	if err != nil {
		network.Close()
		return e, fmt.Errorf("the owner of the fence's network: %w", err)
	}
	e.Files = []*os.File{network, os.NewFile(uintptr(owner), "user namespace")}
	e.Argv = []string{program, "--preserve-credentials", "--net=/proc/self/fd/3", "--user=/proc/self/fd/4", "--"}
	return e, nil
}

// MakeDevice makes and configures the device of a node in the network namespace of the calling process, and passes it
// to the process at the other end of a Unix socket.
func MakeDevice(node int, to *os.File) error {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return confine.WithoutTunnel(err)
	}
	defer unix.Close(fd)
	const noHeader = unix.IFF_TUN | unix.IFF_NO_PI
	if err := setting(fd, unix.TUNSETIFF, func(r *unix.Ifreq) error { r.SetUint16(noHeader); return nil }); err != nil {
		return fmt.Errorf("making the device: %w", err)
	}
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	// Without IPv6 the kernel sends nothing by itself.
	_ = os.WriteFile("/proc/sys/net/ipv6/conf/"+confine.Device+"/disable_ipv6", []byte("1"), 0)
	own := confine.Address(node).As4()
	mask := net.CIDRMask(confine.Network.Bits(), 32)
	err = errors.Join(
		setting(s, unix.SIOCSIFADDR, func(r *unix.Ifreq) error { return r.SetInet4Addr(own[:]) }),
		setting(s, unix.SIOCSIFNETMASK, func(r *unix.Ifreq) error { return r.SetInet4Addr(mask) }),
		setting(s, unix.SIOCSIFMTU, func(r *unix.Ifreq) error { r.SetUint32(packetSize); return nil }),
		setting(s, unix.SIOCSIFFLAGS, func(r *unix.Ifreq) error { r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING); return nil }))
	if err != nil {
		return fmt.Errorf("configuring the device: %w", err)
	}
	return unix.Sendmsg(int(to.Fd()), []byte{0}, unix.UnixRights(fd), nil, 0)
}

// setting is one of the kernel's settings of the device.
func setting(fd int, what uint, fill func(*unix.Ifreq) error) error {
	r, err := unix.NewIfreq(confine.Device)
	if err == nil {
		err = fill(r)
	}
	if err != nil {
		return err
	}
	return unix.IoctlIfreq(fd, what, r)
}

// Couple returns the two ends of a socket on which a device is passed: the caller's, and that of MakeDevice.
func Couple() (own, other *os.File, err error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(ends[0]), "device"), os.NewFile(uintptr(ends[1]), "device"), nil
}

// TakeDevice receives a device, until late at most. It closes its end of the socket.
func TakeDevice(own *os.File, late time.Time) (*os.File, error) {
	defer own.Close()
	conn, err := net.FileConn(own)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	socket := conn.(*net.UnixConn)
	if err := socket.SetReadDeadline(late); err != nil {
		return nil, err
	}
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := socket.ReadMsgUnix(make([]byte, 1), rights)
	if err != nil {
		return nil, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		return nil, errors.Join(errors.New("no device came"), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, errors.Join(errors.New("no device came"), err)
	}
	unix.CloseOnExec(fds[0])
	if err := unix.SetNonblock(fds[0], true); err != nil {
		unix.Close(fds[0])
		return nil, err
	}
	return os.NewFile(uintptr(fds[0]), confine.Device), nil
}
