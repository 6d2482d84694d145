package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/confine"
)

// examineFence checks, for the service account, whether this machine can confine a job.
func examineFence(ctx context.Context, p patient) []finding {
	uid, err := p.site.Data.UID()
	if err != nil || uint32(os.Getuid()) != uid {
		return nil
	}
	mounts, _ := os.ReadFile("/proc/mounts") // unreadable: as if nothing were hidden
	all := aboutFence(confine.Possible(ctx), confine.Hides(string(mounts)))
	switch d := p.site.Data; {
	case d.Relayed():
		all = append(all, aboutTunnel(confine.Connectable()))
	case d.OnSite():
		all = append(all, aboutSite())
	}
	ctx, cancel := context.WithTimeout(ctx, longestLook)
	defer cancel()
	return append(all, aboutShown(confine.LookForWays(ctx, confine.Fence{System: p.site.Data.System, Software: p.site.Data.Software}, mostShown))...)
}

// Bounds on the look at what a fence shows: its time, and how many files and folders.
const (
	longestLook = 20 * time.Second
	mostShown   = 1_000_000
)

// aboutShown is about what others can write below the folders that a fence shows.
func aboutShown(w confine.Writable) (all []finding) {
	names := func(list []string) string { return strings.Join(list, ", ") }
	if len(w.Ways) > 0 {
		all = append(all, failed("fence", "remove them, or list folders in [data] system and software that do not have them",
			"confined jobs can write into named pipes or sockets of this node, though what they see is read-only: %s", names(w.Ways)))
	}
	if len(w.Open) > 0 {
		all = append(all, failed("fence", "chmod o-w, or list other folders in [data] system and software",
			"confined jobs see folders in which every user can make a named pipe, by which data can leave: %s", names(w.Open)))
	}
	if len(w.Others) > 0 {
		all = append(all, warned("fence", "let root own what is listed in [data] system and software, or list other folders",
			"confined jobs see folders in which others than root can make a named pipe, by which data can leave: %s", names(w.Others)))
	}
	switch {
	case !w.Whole:
		all = append(all, warned("fence", "list fewer folders in [data] system and software, or look: find FOLDER -type p -o -type s -o -type d -perm -2",
			"not all that confined jobs see of this node was looked at: there is too much of it"))
	case len(all) == 0:
		all = append(all, passed("fence", "only root can write what confined jobs see of this node"))
	}
	return all
}

// aboutSite says what the site answers for.
func aboutSite() finding {
	return warned("fence", `set network = "relay" or "none" in [data] unless nobody else can be reached from these nodes: no other user, no way out, no DNS`,
		`jobs with --data reach all that this node reaches ([data] network = "site"); what they send is not counted`)
}

// aboutTunnel says whether this node can take part in a confined job on several nodes.
func aboutTunnel(err error) finding {
	var impossible *confine.Impossible
	switch {
	case errors.As(err, &impossible):
		return failed("fence", impossible.Hint, "jobs with --data on several nodes end on this node: %v", err)
	case err != nil:
		return failed("fence", "", "jobs with --data on several nodes end on this node: %v", err)
	}
	return passed("fence", "confined jobs on several nodes can run on this node")
}

// aboutFence says what a trial of a fence showed.
func aboutFence(err error, hides bool) []finding {
	var impossible *confine.Impossible
	switch {
	case errors.As(err, &impossible):
		return []finding{failed("fence", impossible.Hint, "jobs with --data are refused on this node: %v", err)}
	case err != nil:
		return []finding{failed("fence", "", "jobs with --data are refused on this node: %v", err)}
	case !hides:
		return []finding{warned("fence", "mount -o remount,hidepid=2 /proc; or let no other user onto the node while a confined job runs there",
			"confined jobs can run on this node, but its other users can read the command lines of their programs")}
	}
	return []finding{passed("fence", "confined jobs can run on this node")}
}
