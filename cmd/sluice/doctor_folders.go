package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/cmd/terminal"
)

// examineFolders checks the two shared folders.
func examineFolders(p patient, owner account) []finding {
	jobs, outbox := p.site.Paths.Jobs, p.site.Paths.Outbox
	all := []finding{examineFolder("jobs", jobs, owner, jobsMode(p.user)), examineFolder("outbox", outbox, owner, outboxMode(p.user, p.site.Users.Private))}
	if !p.user {
		all = append(all, reachable(jobs, outbox)...)
		mounts, _ := os.ReadFile("/proc/self/mountinfo")
		all = append(all, examineQuota(string(mounts), jobs, owner)...)
	}
	if all[0].Verdict == fine {
		all = append(all, fileServer(jobs, p.now))
	}
	return all
}

// reachable checks that all users can reach the folders.
func reachable(paths ...string) []finding {
	var all []finding
	told := map[string]bool{}
	for _, path := range paths {
		if closed := closedAbove(path); closed != "" && !told[closed] {
			told[closed] = true
			all = append(all, typed(failed("folders", "", "others may not enter %s on the way to %s", closed, path), "chmod o+x "+closed))
		}
	}
	return all
}

// wanted is the required mode of a folder.
type wanted struct {
	set, clear fs.FileMode
	chmod      string
	group      bool // its group must be one of sluiced's
}

func jobsMode(own bool) wanted {
	if own {
		return wanted{set: 0o700, clear: 0o022, chmod: "700"}
	}
	return wanted{set: 0o777 | fs.ModeSticky | fs.ModeSetgid, chmod: "3777", group: true}
}

// outboxMode: users open folders in it by name, and need not list it. If jobs are private
// they must not, because only a job's user may know its folder's name.
func outboxMode(own, private bool) wanted {
	switch {
	case own:
		return wanted{set: 0o700, clear: 0o022, chmod: "700"}
	case private:
		return wanted{set: 0o711, clear: 0o066, chmod: "711"}
	}
	return wanted{set: 0o711, clear: 0o022, chmod: "711"}
}

// examineFolder checks existence, mode and, if an account is given, owner and group: what
// users make below jobs inherits its group, by which sluiced can read it.
func examineFolder(about, path string, owner account, want wanted) finding {
	mend := "install -d -m " + want.chmod + " " + ownerOption(owner) + path
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return typed(failed(about, "", "%s does not exist%s", path, where(about)), mend)
	}
	if err != nil {
		return failed(about, "", "%v", err)
	}
	if !info.IsDir() {
		return failed(about, "set [paths] "+about, "%s is not a folder", path)
	}
	if mode := info.Mode(); mode&want.set != want.set || mode&want.clear != 0 {
		return typed(failed(about, "", "%s has mode %s, which is not sufficient", path, octal(mode)), mend)
	}
	if is := ownerOf(info); owner.name != "" && is != owner.name {
		return typed(failed(about, "", "%s belongs to %s, but sluiced runs as %s", path, is, owner.name), mend)
	}
	if gid, group := groupOf(info); want.group && owner.name != "" && !slices.Contains(owner.gids, gid) {
		return typed(failed(about, "", "%s is of group %s, which jobs' folders inherit, but sluiced (%s) is of group %s and could not read them",
			path, group, owner.name, owner.group), mend)
	}
	return passed(about, "%s is as it should be (mode %s)", path, octal(info.Mode()))
}

// where says on which kind of file system a folder must be.
func where(about string) string {
	if about == "jobs" || about == "outbox" {
		return "; it must be on the file system that all nodes share"
	}
	return ""
}

func ownerOption(owner account) string {
	if owner.name == "" {
		return ""
	}
	return "-o " + owner.name + " -g " + owner.group + " "
}

// folderOf is the folder of a file.
func folderOf(path string) string { return filepath.Dir(path) }

// groupOf returns the folder's group as a number and a name.
func groupOf(info fs.FileInfo) (gid, name string) {
	stat, is := info.Sys().(*syscall.Stat_t)
	if !is {
		return "?", "?"
	}
	gid = strconv.FormatUint(uint64(stat.Gid), 10)
	if g, err := user.LookupGroupId(gid); err == nil {
		return gid, g.Name
	}
	return gid, gid
}

// octal formats a mode as for chmod.
func octal(m fs.FileMode) string {
	bits := uint32(m.Perm())
	if m&fs.ModeSticky != 0 {
		bits |= 0o1000
	}
	if m&fs.ModeSetgid != 0 {
		bits |= 0o2000
	}
	return fmt.Sprintf("%04o", bits)
}

func ownerOf(info fs.FileInfo) string {
	stat, is := info.Sys().(*syscall.Stat_t)
	if !is {
		return "?"
	}
	number := strconv.FormatUint(uint64(stat.Uid), 10)
	if account, err := user.LookupId(number); err == nil {
		return account.Username
	}
	return number
}

// closedAbove returns the first folder above path that others may not enter.
func closedAbove(path string) string {
	for dir := filepath.Dir(path); dir != "/" && dir != "."; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o001 == 0 {
			return dir
		}
	}
	return ""
}

// fileServer compares the clock of the file system with this host's, by a file that is
// made and removed.
func fileServer(dir string, now func() time.Time) finding {
	before := now()
	f, err := os.CreateTemp(dir, ".sluice-doctor-")
	if err != nil {
		return failed("jobs", "jobs of this user cannot start: see the folder's mode and quota", "a file cannot be made in %s: %v", dir, err)
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString("sluice doctor\n")
	info, statErr := f.Stat()
	if err := errors.Join(err, statErr, f.Close()); err != nil {
		return failed("jobs", "see the file system's space and quota", "a file cannot be written in %s: %v", dir, err)
	}
	apart := max(before.Sub(info.ModTime()), info.ModTime().Sub(now()))
	if apart > tolerable {
		return warned("clock", "run NTP on the file server", "the file system's clock and this host's are %s apart", terminal.Clock(apart))
	}
	return passed("clock", "the file system's clock agrees with this host's")
}
