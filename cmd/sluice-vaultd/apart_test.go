package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/vault/wire"
	"github.com/sluice-hpc/sluice/etc"
)

// No data set, of whichever owner, and not the vault, is in what every confined job can read.
func TestNothingForEveryJob(t *testing.T) {
	l := newLab(t)
	sets := filepath.Join(l.dir, "sets")
	l.must(os.Symlink(sets, filepath.Join(l.dir, "link")))
	l.must(os.Mkdir(filepath.Join(sets, "lungs", "tools"), 0o700))
	add := wire.Request{Do: wire.Add, Set: &wire.Set{Name: "lungs", Path: sets + "/lungs", Release: "1KB/job,1KB/day"}}
	l.add("mammo", "5KB/job,10KB/week")
	for _, listed := range []string{sets, sets + "/lungs", sets + "/lungs/tools", filepath.Join(l.dir, "link"), filepath.Join(l.dir, "link/lungs")} {
		l.s.site.Data.Software = []string{"/opt/none", listed}
		l.refused(wire.ErrBadRequest, listed+" of [data] system or software", hanna, add)
	}
	l.s.site.Data.Software = nil
	l.get(hanna, add) // and ada's job is not even on this one
	q, body := submissionOf("")
	for _, listed := range []string{sets + "/lungs", sets + "/lungs/tools", filepath.Join(l.dir, "link/lungs")} {
		l.s.site.Data.Software = []string{listed}
		l.refused(wire.ErrConflict, "every job on a data set could read "+listed, ada, q, body...)
	}
	l.s.site.Data.Software = []string{sets + "/lungs-tools", "/opt"}
	l.submit(ada)

	l.must(os.Symlink(l.dir, filepath.Join(l.dir, "sets", "up")))
	root := filepath.Join(sets, "up", "vault") // as /var/lib is a link at some sites
	for listed, open := range map[string]bool{l.dir: true, root: true, filepath.Join(l.dir, "vault", "jobs"): true, filepath.Join(l.dir, "vaults"): false, "/opt": false} {
		if err := apart(etc.Data{Root: root, System: []string{listed}}); (err != nil) != open || err != nil && !strings.Contains(err.Error(), listed) {
			t.Errorf("%s: %v", listed, err)
		}
	}
}

// A folder of the vault is no data set, also where a link leads to the vault.
func TestVaultBelowALink(t *testing.T) {
	l := newLab(t)
	l.must(os.Symlink(l.dir, filepath.Join(l.dir, "link")))
	l.must(os.Chmod(l.dir, 0o700))
	l.s.vault.dir = filepath.Join(l.dir, "link", "vault")
	l.s.site.Data.Owners = []etc.DataOwner{{User: "hanna", Folder: l.dir}}
	for _, of := range []string{"vault", "vault/jobs", ""} {
		l.refused(wire.ErrBadRequest, "shares folders with, [data] root", hanna, wire.Request{Do: wire.Add, Set: &wire.Set{Name: "all", Path: filepath.Join(l.dir, of), Release: "1TB/job,1TB/day"}})
	}
}

// A folder is looked at while others decide: its file server may hang.
func TestAddLooksAlone(t *testing.T) {
	l := newLab(t)
	l.must(os.Chmod(filepath.Join(l.dir, "sets/mammo"), 0o755))
	l.s.vault.mu.Lock()
	defer l.s.vault.mu.Unlock()
	said := make(chan error, 1)
	go func() {
		_, _, err := l.ask(hanna, wire.Request{Do: wire.Add, Set: &wire.Set{Name: "mammo", Path: filepath.Join(l.dir, "sets/mammo"), Release: "1KB/job,1KB/day"}})
		said <- err
	}()
	select {
	case err := <-said:
		if err == nil || !strings.Contains(err.Error(), "mode 0755") {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("it waits for the mutex")
	}
}
