package main_test

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// TestConfinedOwner: a job of the service account that names a user is that user's: that user alone may
// resize it and sees it, and it counts in that user's share. A job of another user that names an owner
// stays that user's. The audit compares this with Slurm's own records.
func TestConfinedOwner(t *testing.T) {
	t.Parallel()
	const service, ada, bob = "sluice-test-vault", "sluice-test-nia", "sluice-test-tom"
	s := play(t, withNodes(1, 8), withUsers([]string{service, ada, bob}), withConfig(quick+`
[users]
private = true
[data]
account = "`+service+`"
[shares.nialarge]
shares = 3
users = ["`+ada+`"]
[shares.niasmall]
users = ["`+bob+`", "`+service+`"]
`))
	conf := s.naming(ada)
	submit := func(name, as string) *job {
		t.Helper()
		return s.submit(name, as, 4000, []string{"--config=" + conf, "--max-gpus=8"}, "--seconds", "0.4")
	}
	account, err := user.Lookup(service)
	s.must(err)
	foreign := submit("foreign", bob)
	foreign.until("to run", func(v wire.Job) bool { return v.State == "RUNNING" })
	confined := submit("confined", service)
	v := confined.until("to have three quarters", func(v wire.Job) bool { return v.GPUs == 6 && v.Move == nil })
	if v.User != ada || fmt.Sprint(v.SlurmUID) != account.Uid || v.Account != "nialarge" {
		t.Errorf("the confined job is %s's, in %s, of uid %d in Slurm", v.User, v.Account, v.SlurmUID)
	}
	if v := foreign.view(); v.User != bob || v.SlurmUID != 0 || v.Account != "niasmall" {
		t.Errorf("the foreign job is %s's, in %s, of uid %d in Slurm", v.User, v.Account, v.SlurmUID)
	}
	s.must(site.Until(s.ctx, time.Minute, "the foreign job's comment to name no owner", func() (bool, error) {
		return !strings.Contains(s.as("", "scontrol", "-o", "show", "job", fmt.Sprint(foreign.id)), " for="), nil
	}))

	id := fmt.Sprint(confined.id)
	for _, other := range []string{bob, service} {
		if out, err := s.Run(s.ctx, other, "sluice", "resize", id, "--gpus", "1"); err == nil {
			t.Errorf("%s resized it: %s", other, out)
		}
		if out := s.as(other, "sluice", "queue"); strings.Contains(out, "confined") {
			t.Errorf("%s sees it:\n%s", other, out)
		}
	}
	if out := s.as(ada, "sluice", "queue"); !strings.Contains(out, "confined") || strings.Contains(out, "foreign") {
		t.Errorf("its owner sees\n%s", out)
	}
	s.as(ada, "sluice", "resize", id, "--gpus", "4")
	confined.runsOn(4)
	s.Kill()
	s.must(s.Start(s.ctx))
	if v := confined.until("to be known after a restart", func(v wire.Job) bool { return v.GPUs == 4 }); v.User != ada {
		t.Errorf("after a restart it is %s's", v.User)
	}
	s.as(ada, "sluice", "resize", id, "--gpus", "auto")
	if said, _ := s.Run(s.ctx, "", "sluice", "doctor"); !strings.Contains(said, "confined jobs run as "+service) {
		t.Errorf("doctor does not name the service account:\n%s", said)
	}
	s.cancel(confined)
	s.cancel(foreign)
}

// naming makes a configuration with which sluice submit names an owner in the job's comment, as
// sluice-vaultd lets it do for the service account. Any user can write such a comment.
func (s *scene) naming(owner string) (conf string) {
	s.t.Helper()
	dir := s.Path("naming")
	s.must(errors.Join(os.Mkdir(dir, 0o755), os.Chmod(dir, 0o755)))
	for _, name := range []string{"sinfo", "squeue", "scontrol", "scancel", "sacct", "sacctmgr", "sshare", "sprio"} {
		s.must(site.Put(filepath.Join(dir, name), fmt.Appendf(nil, "#!/bin/sh\nexec %s \"$@\"\n", s.Lab.Bin(name)), 0o755))
	}
	s.must(site.Put(filepath.Join(dir, "sbatch"), fmt.Appendf(nil, `#!/bin/bash
args=()
for a in "$@"; do
	case "$a" in --comment=*) a="${a/ inc=/ for=%s inc=}" ;; esac
	args+=("$a")
done
exec %s "${args[@]}"
`, owner, s.Lab.Bin("sbatch")), 0o755))
	conf = s.Path("naming.toml")
	text := fmt.Sprintf("[paths]\nstate = %q\njobs = %q\noutbox = %q\nsocket = %q\n\n[slurm]\nconf = %q\nbin = %q\n", s.State, s.Jobs, s.Outbox, s.Socket, s.Lab.Conf(), dir)
	s.must(site.Put(conf, []byte(text), 0o644))
	return conf
}
