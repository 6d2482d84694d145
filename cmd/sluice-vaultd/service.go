package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"slices"
	"strconv"
	"sync"

	"github.com/rs/zerolog"

	"github.com/sluice-hpc/sluice/elastic/vault"
	"github.com/sluice-hpc/sluice/elastic/vault/wire"
	"github.com/sluice-hpc/sluice/etc"
	"github.com/sluice-hpc/sluice/slurm"
)

// slurmClient is what vaultd asks of Slurm itself.
type slurmClient interface {
	Jobs(ctx context.Context) ([]slurm.Job, error)
	Cancel(ctx context.Context, id slurm.JobID) error
	Charging(ctx context.Context, users ...string) (slurm.Charging, error)
}

// accounts are the system's users and groups.
type accounts interface {
	// Name returns the name of an account; "" if there is none.
	Name(uid uint32) string
	// Groups returns the names of the groups of a user. Without a directory that answers there may be an error, or some are
	// missing.
	Groups(name string) ([]string, error)
	// Group returns nil if there is a group of that name.
	Group(name string) error
}

// service serves requests.
type service struct {
	vault    *vaultFolder
	site     etc.Config
	config   string // absolute path of the configuration
	uid      uint32 // of the service account
	slurm    slurmClient
	sluice   string // the program that submits
	accounts accounts
	log      zerolog.Logger

	listed             listing
	books              *books
	submissions, tasks *pace // tasks: those of an array, beyond the first
	denials            *pace
	seen               seen
	busy               sync.Map // id of a job to its *sync.Mutex: while bytes of it are copied
	cut                sync.Map // id of a job that is cancelled because its user may not read any more, to when that was tried last
	logged             sync.Map // id of a job to when a part of its log left last
}

// caller is who asks.
type caller struct {
	uid    uint32
	name   string
	groups []string
}

// caller looks up who asks. The mutex must not be held: a directory may be slow.
func (s *service) caller(uid uint32) (caller, error) {
	who := caller{uid: uid, name: s.accounts.Name(uid)}
	if who.name == "" {
		return who, wire.Fail(wire.Denied, "", "the account with uid %d has no name here", uid)
	}
	var err error
	if who.groups, err = s.accounts.Groups(who.name); err != nil {
		return who, wire.Fail(wire.Unavailable, "try again in a moment", "your groups cannot be looked up: %v", err)
	}
	return who, nil
}

// do serves one request. The raw bytes of the request are read from in.
func (s *service) do(ctx context.Context, who caller, q wire.Request, in io.Reader) (answer, error) {
	if q.Do != wire.Submit && q.ScriptSize+q.BundleSize > 0 {
		return answer{}, wire.Fail(wire.BadRequest, "", "the request %q has no raw bytes", q.Do)
	}
	switch q.Do {
	case wire.Add:
		return s.add(who, q)
	case wire.List:
		return s.list(who)
	case wire.Show:
		return s.show(who, q)
	case wire.Grant, wire.Revoke:
		return s.grant(ctx, who, q)
	case wire.Audit:
		return s.audit(who, q)
	case wire.Submit:
		return s.submit(ctx, who, q, in)
	case wire.Jobs:
		return s.jobs(ctx, who)
	case wire.Logs:
		return s.logs(ctx, who, q)
	case wire.Results:
		return s.results(ctx, who, q)
	case wire.Cancel:
		return s.cancel(ctx, who, q)
	case wire.Review:
		return s.review(ctx, who, q)
	}
	return answer{}, wire.Fail(wire.BadRequest, "install the same release of sluice on both sides", "sluice-vaultd does not know the request %q", q.Do)
}

// Both are told of a data set and a job that there are not, and that the caller may not see: who asks learns nothing.
func noSet(name string) error {
	return wire.Fail(wire.NotFound, "'sluice data list' shows yours", "there is no data set %q that you may use", name)
}

func noJob(job string) error {
	return wire.Fail(wire.NotFound, "'sluice queue' shows your jobs", "there is no job %q of yours that uses a data set", job)
}

// denied records a request that was refused because of its caller, and returns why. A request about what there is not is recorded
// too, without a name: else the time that the entry takes would say what there is. The mutex must be held.
func (s *service) denied(who caller, q wire.Request, set, job string, why error) error {
	if !s.denials.take(who.uid, s.vault.now()) {
		return why // it is in the record often enough
	}
	if err := s.vault.write(vault.Entry{Event: vault.Denied, By: who.name, Do: string(q.Do), Set: set, Job: job}); err != nil {
		return err
	}
	return why
}

// owned returns the data set that the caller owns. The mutex must be held.
func (s *service) owned(who caller, q wire.Request) (*vault.Set, error) {
	set := s.vault.state.Set(q.Name)
	switch {
	case set == nil:
		return nil, s.denied(who, q, "", "", noSet(q.Name))
	case !set.MayRead(who.name, who.groups):
		return nil, s.denied(who, q, set.Name, "", noSet(q.Name))
	case set.Owner != who.name:
		return nil, s.denied(who, q, set.Name, "", wire.Fail(wire.Denied, "ask "+set.Owner, "the data set %q belongs to %s; only they may do this", q.Name, set.Owner))
	}
	return set, nil
}

// named returns the job of that ID or number; nil if there is none. The mutex must be held.
func (s *service) named(job string) *vault.Job {
	if n, err := strconv.ParseInt(job, 10, 64); err == nil && len(job) < wire.IDDigits {
		return s.vault.state.Numbered(n)
	}
	return s.vault.state.Job(job)
}

// jobOf returns the caller's job of that ID or number. The mutex must be held.
func (s *service) jobOf(who caller, q wire.Request) (*vault.Job, error) {
	j := s.named(q.Job)
	switch {
	case j == nil:
		return nil, s.denied(who, q, "", "", noJob(q.Job))
	case j.User != who.name:
		return nil, s.denied(who, q, "", j.ID, noJob(q.Job))
	}
	return j, nil
}

// reads reports why the user of a job may not read one of its data sets any more. The mutex must be held.
func (s *service) reads(who caller, q wire.Request, j *vault.Job) error {
	for _, name := range j.Sets {
		set := s.vault.state.Set(name)
		if set == nil || !set.MayRead(who.name, who.groups) {
			return s.denied(who, q, name, j.ID, wire.Fail(wire.Denied, "ask the owner of the data set", "you may not use the data set %q any more; nothing of job %s leaves", name, q.Job))
		}
	}
	return nil
}

// alone holds up other requests that copy bytes of the job, until the function it returns is called.
func (s *service) alone(job string) func() {
	mu, _ := s.busy.LoadOrStore(job, &sync.Mutex{})
	mu.(*sync.Mutex).Lock()
	return mu.(*sync.Mutex).Unlock
}

// tidy removes the folders of jobs that were never submitted: vaultd was killed before it wrote the entry. It removes nothing if
// a job ran that is not in the record: then the record is an older one, and what it does not know is not to be lost.
func (s *service) tidy() error {
	unknown, err := s.vault.unknown()
	if err != nil {
		return err
	}
	for _, id := range unknown {
		ran, err := s.vault.ran(id)
		if err != nil {
			return err
		}
		if ran {
			return fmt.Errorf("the job in %s ran and is not in the record: the record is older than the jobs, and does not count all that left; "+
				"put the newest record back, or, if there is none, move the folders of such jobs away", s.vault.jobFolder(id))
		}
	}
	for _, id := range unknown {
		s.log.Warn().Str("event", "removed").Str("job", id).Msg("the folder of a job that was never submitted is removed")
		err = errors.Join(err, os.RemoveAll(s.vault.jobFolder(id)))
	}
	return err
}

// system is the system's accounts.
type system struct{}

// Name returns the name of an account.
func (system) Name(uid uint32) string {
	account, err := user.LookupId(strconv.FormatUint(uint64(uid), 10))
	if err != nil {
		return ""
	}
	return account.Username
}

// Groups returns the names of the groups of a user; those that have none are left out.
func (system) Groups(name string) ([]string, error) {
	account, err := user.Lookup(name)
	if err != nil {
		return nil, err
	}
	ids, err := account.GroupIds()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, id := range ids {
		group, err := user.LookupGroupId(id)
		var none user.UnknownGroupIdError
		switch {
		case err == nil:
			names = append(names, group.Name)
		case !errors.As(err, &none):
			return nil, err
		}
	}
	slices.Sort(names)
	return names, nil
}

// Group looks for a group.
func (system) Group(name string) error {
	_, err := user.LookupGroup(name)
	return err
}
