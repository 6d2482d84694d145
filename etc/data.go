package etc

import (
	"path/filepath"
	"strings"
)

// Data is what sluice-vaultd does: data sets that can be trained on and not taken away.
type Data struct {
	Account          string // service account; "" = there are no data sets
	Root, Socket     string
	Owners           []DataOwner // who may add data sets
	System, Software []string    // folders and files that confined jobs can read
	Network          string      // one of DataNetworks
	Numbers          int         // bytes of relayed progress of one job
	Bundle, Log      int         // bytes: of a job's code, of its released log
}

// DataNetworks are what the programs of a confined job reach: nothing, so that the job has one node; the job's own
// programs on its other nodes; or all that its nodes reach.
var DataNetworks = []string{"none", "relay", "site"}

// Relayed reports whether the programs of a confined job reach each other, and nothing else.
func (d Data) Relayed() bool { return d.Network == "relay" }

// OnSite reports whether they reach all that their nodes reach, which nobody counts.
func (d Data) OnSite() bool { return d.Network == "site" }

// Connected reports whether confined jobs may have several nodes.
func (d Data) Connected() bool { return d.Relayed() || d.OnSite() }

// DataOwner may add data sets whose folders are Folder or lie below it.
type DataOwner struct{ User, Folder string }

// usualSystem is what programs of the distribution need, other than settings of the site.
var usualSystem = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf",
	"/etc/ld.so.conf.d", "/etc/localtime", "/etc/ssl/certs"}

// dataOwners makes a key whose value is a list of users with folders.
func dataOwners(section, name string, at func(*Config) *[]DataOwner) key {
	return entry(section, name, `a list of "user=folder", each folder an absolute path`, at, readDataOwners, func(list []DataOwner) string {
		words := make([]string, len(list))
		for i, o := range list {
			words[i] = o.User + "=" + o.Folder
		}
		return quoteAll(words)
	})
}

func readDataOwners(raw any) ([]DataOwner, bool) {
	list, ok := raw.([]any)
	if !ok || len(list) > 10000 {
		return nil, false
	}
	out := make([]DataOwner, len(list))
	for i, item := range list {
		s, _ := item.(string)
		user, folder, _ := strings.Cut(s, "=")
		if !isAccount(user) || !printable(s) || !absolute(folder) || folder == "/" {
			return nil, false
		}
		out[i] = DataOwner{user, folder}
	}
	return out, true
}

// paths makes a key whose value is a list of absolute paths, each once.
func paths(section, name string, at func(*Config) *[]string) key {
	return entry(section, name, "a list of absolute paths", at, func(raw any) ([]string, bool) {
		list, ok := raw.([]any)
		if !ok || len(list) > 1000 {
			return nil, false
		}
		out := make([]string, len(list))
		for i, item := range list {
			s, _ := item.(string)
			if !absolute(s) || s == "/" || len(s) > 4096 || !printable(s) {
				return nil, false
			}
			out[i] = s
		}
		return out, true
	}, quoteAll)
}

// MayAdd reports whether the user may add the folder, a path without links, as a data set.
func (d Data) MayAdd(user, folder string) bool {
	for _, o := range d.Owners {
		if o.User == user && inside(filepath.Clean(folder), o.Folder) {
			return true
		}
	}
	return false
}
