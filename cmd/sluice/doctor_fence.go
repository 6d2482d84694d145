package main

import (
	"context"
	"errors"
	"os"

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
