package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/checkpoint/confine"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/vault"
	"github.com/sluice-hpc/sluice/elastic/vault/bundle"
	"github.com/sluice-hpc/sluice/elastic/vault/wire"
	"github.com/sluice-hpc/sluice/sbatch"
)

// mostOptions bounds the words of a command line; mostText the bytes of its options, which are in the record whether Slurm takes
// the job or not; tarRoom the bytes of a bundle beside those of its files.
const (
	mostOptions = 1000
	mostText    = 4 << 10
	tarRoom     = wire.MaxFiles * wire.FileRoom
)

// What is in a job's folder.
const (
	scriptName   = "script"
	codeName     = "code"
	innerName    = "inner"
	outName      = "out"
	logName      = "log"
	releasedName = "released"
)

// environment are the variables that a fence lets in.
var environment = []string{"LANG", "LC_*", "TZ", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "GPU_DEVICE_ORDINAL", "NVIDIA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
	"OMP_*", "MKL_*", "NCCL_*", "OPENBLAS_*", "PYTORCH_*", "TORCH_*", "SLURM_*", "SLUICE_*"}

// submission is a confined job while it is submitted.
type submission struct {
	id     string
	who    caller
	q      wire.Request
	script []byte
	digest string // of the script
	bundle string // digest of the bundle
	args   []string
	bill   bill
	// network is what its programs reach, as in fence.json.
	network string
	first   *firstTask // of the array, unless this is it; nil = there is none
	tasks   int        // of the array, if this is its first; else 1
}

// submit takes a job: its script and its code, which it keeps. The entry that it is submitted is made before
// 'sluice submit' runs, so that no job runs that is not in the record.
func (s *service) submit(ctx context.Context, who caller, q wire.Request, in io.Reader) (answer, error) {
	sub := &submission{who: who, q: q}
	if err := s.admit(sub); err != nil {
		return answer{}, err
	}
	if err := s.read(sub, in); err != nil {
		return answer{}, err
	}
	if err := s.check(sub); err != nil {
		return answer{}, err
	}
	if err := s.charge(ctx, sub); err != nil {
		return answer{}, err
	}
	dir := s.vault.jobFolder(sub.id)
	if err := s.fill(sub, dir, io.LimitReader(in, q.BundleSize)); err != nil {
		return answer{}, errors.Join(err, os.RemoveAll(dir))
	}
	if err := s.intend(sub); errors.Is(err, errBroken) {
		return answer{}, err // the entry may be on the disk
	} else if err != nil {
		return answer{}, errors.Join(err, os.RemoveAll(dir))
	}
	// The user may go away; the outcome is recorded all the same.
	return s.hand(context.WithoutCancel(ctx), sub)
}

// read takes the script: what comes, or that of the array's first task.
func (s *service) read(sub *submission, in io.Reader) (err error) {
	if sub.first != nil {
		sub.script, err = sub.first.read()
		return err
	}
	if sub.script, err = io.ReadAll(io.LimitReader(in, sub.q.ScriptSize)); err == nil && int64(len(sub.script)) < sub.q.ScriptSize {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return cutShort(err)
	}
	return nil
}

func cutShort(err error) error {
	return wire.Fail(wire.BadRequest, "try again", "the script and the code did not arrive: %v", err)
}

// admit refuses what can be refused before anything is read.
func (s *service) admit(sub *submission) error {
	q := sub.q
	further := q.Task != nil && q.Task.Of != "" // a task of an array, beyond the first
	switch {
	case len(q.Data) > sbatch.MaxData:
		return wire.Fail(wire.BadRequest, "", "a job can name at most %d data sets", sbatch.MaxData)
	case len(q.Data) == 0 || len(slices.Compact(slices.Sorted(slices.Values(q.Data)))) < len(q.Data):
		return wire.Fail(wire.BadRequest, "write #SLUICE --data=NAME[,NAME]", "the job names no data set, or one twice")
	case further && q.ScriptSize+q.BundleSize > 0:
		return wire.Fail(wire.BadRequest, "install the same release of sluice on both sides", "a further task of an array has the script and the code of the first")
	case !further && q.ScriptSize == 0 || q.ScriptSize > sbatch.MaxScript:
		return wire.Fail(wire.BadRequest, "move most of it into a separate file", "the script has %d bytes; from 1 to %d are taken", q.ScriptSize, sbatch.MaxScript)
	case q.BundleSize > int64(s.site.Data.Bundle)+tarRoom:
		return wire.Fail(wire.BadRequest, "leave out what the job does not need", "the tar of the code has %d bytes; its files may have at most %d together ([data] bundle in sluice.toml)", q.BundleSize, s.site.Data.Bundle)
	case len(q.Options)+len(q.Arguments) > mostOptions:
		return wire.Fail(wire.BadRequest, "", "the command line has %d words; at most %d are taken", len(q.Options)+len(q.Arguments), mostOptions)
	case len(strings.Join(q.Options, " ")) > mostText:
		return wire.Fail(wire.BadRequest, "write them into the script, as #SBATCH and #SLUICE lines", "the options have %d bytes; at most %d are taken, since they are in the record",
			len(strings.Join(q.Options, " ")), mostText)
	}
	s.vault.mu.Lock()
	defer s.vault.mu.Unlock()
	if err := s.granted(sub); err != nil {
		return err
	}
	pace := s.submissions
	if further {
		pace = s.tasks
		var err error
		if sub.first, err = s.firstTask(sub.who, q); err != nil {
			return err
		}
	}
	if !pace.take(sub.who.uid, s.vault.now()) {
		return wire.Fail(wire.TooMany, "try again in a minute", "you submit too many jobs that use data sets")
	}
	return nil
}

// granted reports why the user may not use one of the data sets now. The mutex must be held.
func (s *service) granted(sub *submission) error {
	for _, name := range sub.q.Data {
		set := s.vault.state.Set(name)
		switch {
		case set == nil:
			return s.denied(sub.who, sub.q, "", "", noSet(name))
		case !set.MayRead(sub.who.name, sub.who.groups):
			return s.denied(sub.who, sub.q, name, "", noSet(name))
		}
	}
	return nil
}

// check draws the job's ID, and reads the options and the script as 'sluice submit' will.
func (s *service) check(sub *submission) error {
	var id [wire.IDDigits / 2]byte
	rand.Read(id[:]) // never fails
	sub.id = hex.EncodeToString(id[:])
	dir := s.vault.jobFolder(sub.id)
	sub.args = []string{"--config=" + s.config, "--fence=" + filepath.Join(dir, confine.FenceFile), "--token=" + sub.id, "--output=" + filepath.Join(dir, logName),
		"--chdir=" + dir}
	if features := s.features(sub.q.Data); features != "" {
		sub.args = append(sub.args, "--constraint="+features)
	}
	if t := sub.q.Task; t != nil {
		task := sbatch.Task{Index: t.Index}
		if sub.first != nil {
			task.Of = elastic.JobID(sub.first.number)
		}
		sub.args = append(sub.args, "--task="+task.String())
	}
	// BEFORE the user's options: their last word could take what follows as its value.
	sub.args = append(append(sub.args, "--for="+sub.who.name), sub.q.Options...)
	own := len(sub.args)
	sub.args = append(append(sub.args, filepath.Join(dir, scriptName)), sub.q.Arguments...)

	line, err := sbatch.ParseCommandLine(sub.args)
	if err == nil && (slices.Contains(sub.q.Options, "--") || line.Script != sub.args[own] || len(line.Args) != len(sub.q.Arguments) || line.Help || line.Version) {
		err = fmt.Errorf("options: a word is not an option; write values as --NAME=VALUE")
	}
	if err != nil {
		return wire.Fail(wire.BadRequest, "", "%v", err)
	}
	script, wrong := sbatch.ParseScript(sub.q.Script, sub.script)
	request, contradictions := sbatch.Merge(line, nil, script)
	if err := errors.Join(wrong, contradictions); err != nil {
		return wire.Fail(wire.BadRequest, "", "%v", err)
	}
	if !slices.Equal(slices.Sorted(slices.Values(request.Data)), slices.Sorted(slices.Values(sub.q.Data))) {
		return wire.Fail(wire.BadRequest, "", "the job's options name the data sets %s, the request %s", strings.Join(request.Data, ","), strings.Join(sub.q.Data, ","))
	}
	sub.bill.account, sub.bill.qos, sub.bill.partitions = request.Account, request.QOS, request.Partitions
	sum := sha256.Sum256(sub.script)
	sub.digest = hex.EncodeToString(sum[:])
	return s.holdsAll(sub, request.Array)
}

// features are what the nodes of a job with these data sets must have.
func (s *service) features(data []string) string {
	s.vault.mu.Lock()
	defer s.vault.mu.Unlock()
	var all []string
	for _, name := range data {
		if set := s.vault.state.Set(name); set != nil && set.Nodes != "" && !slices.Contains(all, set.Nodes) {
			all = append(all, set.Nodes)
		}
	}
	return strings.Join(all, "&")
}

// fill makes the job's folder.
func (s *service) fill(sub *submission, dir string, from io.Reader) error {
	for _, d := range []string{dir, filepath.Join(dir, codeName), filepath.Join(dir, innerName), filepath.Join(dir, outName), filepath.Join(dir, releasedName)} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return err
		}
	}
	hash := sha256.New()
	if sub.q.BundleSize > 0 {
		code, err := os.OpenRoot(filepath.Join(dir, codeName))
		if err != nil {
			return err
		}
		defer code.Close()
		counted := &counting{from: io.TeeReader(from, hash)}
		err = bundle.Unpack(code, counted, bundle.Limits{Bytes: int64(s.site.Data.Bundle), Files: wire.MaxFiles})
		var refused *bundle.Error
		if errors.As(err, &refused) {
			return wire.Fail(wire.BadRequest, "", "%v", refused)
		}
		if err == nil {
			_, err = io.Copy(io.Discard, counted) // what follows the end of the tar is in its digest
		}
		if err != nil || counted.n < sub.q.BundleSize {
			return cutShort(errors.Join(err, io.ErrUnexpectedEOF))
		}
	}
	if sub.bundle = hex.EncodeToString(hash.Sum(nil)); sub.first != nil {
		sub.bundle = sub.first.bundle
	}
	fence, err := s.fence(sub, dir)
	if err == nil {
		err = durable(filepath.Join(dir, scriptName), sub.script, 0o500)
	}
	if err == nil {
		err = durable(filepath.Join(dir, confine.FenceFile), fence, 0o400)
	}
	return errors.Join(err, syncFolder(dir), syncFolder(s.vault.jobFolder("")))
}

// counting counts what is read.
type counting struct {
	from io.Reader
	n    int64
}

// Read reads and counts.
func (c *counting) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n += int64(n)
	return n, err
}

// durable writes a new file.
func durable(name string, data []byte, perm os.FileMode) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, bytes.NewReader(data))
	return errors.Join(err, f.Sync(), f.Close())
}

// fence is the job's fence.json. The folders of its data sets must still be the service account's alone.
func (s *service) fence(sub *submission, dir string) ([]byte, error) {
	d := s.site.Data
	f := confine.Fence{Version: confine.Version, Inner: filepath.Join(dir, innerName), Code: filepath.Join(dir, codeName), Output: filepath.Join(dir, outName),
		Data: map[string]string{}, System: d.System, Software: d.Software, Numbers: int64(d.Numbers), Environment: environment, Log: int64(d.Log)}
	if sub.first != nil {
		f.Code = filepath.Join(sub.first.folder, codeName)
	}
	switch {
	case d.Relayed():
		f.Network = confine.Relayed
	case d.OnSite():
		f.Network = confine.OfSite
	}
	sub.network = f.Network
	var all []string // folders of data sets, also of those that are not for this job
	s.vault.mu.Lock()
	for _, set := range s.vault.state.Sets() {
		all = append(all, set.Path)
		if slices.Contains(sub.q.Data, set.Name) {
			f.Data[set.Name] = set.Path
		}
	}
	s.vault.mu.Unlock()
	if listed := openTo(d, all...); listed != "" {
		return nil, wire.Fail(wire.Conflict, "tell your administrators: [data] system and software in sluice.toml", "every job on a data set could read %s, and a data set shares folders with it", listed)
	}
	for name, folder := range f.Data {
		if err := s.usable(folder); err != nil {
			return nil, wire.Fail(wire.Conflict, "tell its owner", "the data set %q cannot be used: %v", name, err)
		}
	}
	if err := f.Valid(); err != nil {
		return nil, wire.Fail(wire.Conflict, "tell your administrators: [data] in sluice.toml", "%v", err)
	}
	return json.MarshalIndent(f, "", "  ")
}

// intend records the job, if its data sets still may be used and its numbers fit into their budgets.
func (s *service) intend(sub *submission) error {
	s.vault.mu.Lock()
	defer s.vault.mu.Unlock()
	if err := s.granted(sub); err != nil {
		return err
	}
	if err := s.holds(sub); err != nil {
		return err
	}
	return s.vault.write(vault.Entry{Event: vault.Submitted, By: sub.who.name, Job: sub.id, Sets: sub.q.Data, Script: clipped(sub.q.Script), Digest: sub.digest, Bundle: sub.bundle,
		Options: sub.q.Options, Network: sub.network, Task: sub.task(), Cost: int64(s.site.Data.Numbers)})
}

// clipped is a name from outside, of a bounded length.
func clipped(name string) string {
	if len(name) > 255 {
		name = name[:255]
	}
	return strings.ToValidUTF8(name, "?")
}

// hand runs 'sluice submit' and records the outcome.
func (s *service) hand(ctx context.Context, sub *submission) (answer, error) {
	a := answer{Answer: wire.Answer{ID: sub.id}}
	out := s.call(ctx, sub)
	s.listed.forget()
	said, _ := vault.Printable(out.said, mostSaid, true)
	a.Output = string(said)
	j, state, err := s.handed(sub, out)
	switch {
	case err != nil:
		return answer{}, err
	case state == wire.StateRefused:
		return answer{}, errors.Join(wire.Fail(wire.Refused, "", "%s", strings.TrimSpace(a.Output)), os.RemoveAll(s.vault.jobFolder(sub.id)))
	case state == wire.StateSubmitted: // sbatch may have reached slurmctld
		if err := s.refresh(ctx, j); err != nil {
			s.log.Warn().Err(err).Str("job", sub.id).Msg("whether Slurm has it is not known")
		}
	}
	s.vault.mu.Lock()
	a.JobID = j.Number
	gone := s.granted(sub)
	s.vault.mu.Unlock()
	switch {
	case gone != nil: // revoke could not cancel what Slurm did not have
		return answer{}, errors.Join(gone, s.cutOff(ctx, s.site.Data.Account, []*vault.Job{j}))
	case a.JobID == 0:
		return answer{}, wire.Fail(wire.Unavailable, "before you try again, look with: sluice queue", "the job may or may not be submitted, as %s: %s", sub.id, strings.TrimSpace(a.Output))
	}
	return a, nil
}

// handed records how 'sluice submit' ended, unless another request has already seen the job in Slurm. It returns the job and its
// state.
func (s *service) handed(sub *submission, out outcome) (j *vault.Job, state string, err error) {
	s.vault.mu.Lock()
	defer s.vault.mu.Unlock()
	j = s.vault.state.Job(sub.id)
	switch {
	case j.State != wire.StateSubmitted:
	case out.number > 0:
		err = s.vault.write(vault.Entry{Event: vault.Started, Job: sub.id, JobID: out.number})
	case out.refused:
		err = s.vault.write(vault.Entry{Event: vault.Refused, Job: sub.id})
	}
	return j, j.State, err
}
