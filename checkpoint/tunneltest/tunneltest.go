// Package tunneltest lets tests of confined jobs on several nodes make network devices.
package tunneltest

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sluice-hpc/sluice/checkpoint/confine"
)

// requireEnv is the variable that, set to 1, turns a skip for what is missing into a failure.
const requireEnv = "SLUICE_REQUIRE_LAB"

const device = "/dev/net/tun"

// Need skips a test, loudly, where ordinary users can make no network device. Where the test is root it opens
// /dev/net/tun to all, as udev does; the last test that needs that gives it back its mode.
func Need(t testing.TB) {
	t.Helper()
	err := open(t)
	if err == nil {
		_, err = confine.Enter()
	}
	switch {
	case err == nil:
	case os.Getenv(requireEnv) == "1":
		t.Fatal(err)
	default:
		t.Skipf("SKIPPED, NOT TESTED: confined jobs on several nodes: %v", err)
	}
}

// open opens the device to all until the end of the test. Tests of several programs share a file that keeps its mode:
// who holds the file's lock alone may change it.
func open(t testing.TB) error {
	info, err := os.Stat(device)
	if err != nil || os.Geteuid() != 0 {
		if err == nil {
			var fd int
			if fd, err = unix.Open(device, unix.O_RDWR|unix.O_CLOEXEC, 0); err == nil {
				unix.Close(fd)
			}
		}
		return err
	}
	file, err := os.OpenFile("/run/sluice-test-tun", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	lock := func(how int) error { return unix.Flock(int(file.Fd()), how) }
	if lock(unix.LOCK_EX|unix.LOCK_NB) == nil { // the first
		mode := strconv.FormatUint(uint64(info.Mode().Perm()), 8)
		if err := file.Truncate(0); err != nil {
			return err
		}
		if _, err := file.WriteAt([]byte(mode), 0); err != nil {
			return err
		}
		if err := os.Chmod(device, 0o666); err != nil {
			return err
		}
		t.Logf("%s has mode %s here; it is open to all for this test, as with udev", device, mode)
	}
	t.Cleanup(func() {
		defer file.Close()
		if lock(unix.LOCK_EX|unix.LOCK_NB) != nil {
			return // others go on
		}
		text := make([]byte, 8)
		n, _ := file.ReadAt(text, 0)
		if mode, err := strconv.ParseUint(strings.TrimSpace(string(text[:n])), 8, 9); err == nil {
			_ = os.Chmod(device, os.FileMode(mode))
		}
	})
	return lock(unix.LOCK_SH)
}
