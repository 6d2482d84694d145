package main

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/vault"
	"github.com/sluice-hpc/sluice/elastic/vault/wire"
	"github.com/sluice-hpc/sluice/etc"
	"github.com/sluice-hpc/sluice/slurm"
)

// uids of the accounts in tests.
const (
	hanna uint32 = 1000 + iota // owns data sets
	ada                        // reads them
	bob                        // is in the group radiology, which reads them
	eve                        // may nothing
)

type testAccounts struct{}

func (testAccounts) Name(uid uint32) string {
	return map[uint32]string{hanna: "hanna", ada: "ada", bob: "bob", eve: "eve"}[uid]
}

func (testAccounts) Groups(name string) ([]string, error) {
	return map[string][]string{"bob": {"staff", "radiology"}, "eve": {"staff"}}[name], nil
}

func (testAccounts) Group(string) error { return nil }

// lab is a vault with a stand-in for 'sluice submit' and one for Slurm.
type lab struct {
	t   testing.TB
	dir string
	s   *service

	mu    sync.Mutex
	ended map[string]bool // by token
	gone  bool            // Slurm forgot all jobs
	// cleaned is how many times from now on Slurm says that the nodes of ended jobs are cleaned up.
	cleaned int
	silent  bool // Slurm does not answer
	stuck   bool // Slurm cancels nothing
	killed  []slurm.JobID

	charging *slurm.Charging // nil = a site without accounting
	booked   int             // queries for it
}

// standIn is a program in the place of sluice: it keeps its arguments, and accepts the job, or what
// the file "mode" says.
const standIn = `#!/bin/sh
dir=%s
for a; do printf '%%s\n' "$a"; case $a in --token=*) token=${a#--token=} ;; esac; done > "$dir/args"
cp "$dir/vault/record.jsonl" "$dir/record-at-submission"
case $(cat "$dir/mode" 2>/dev/null) in
refuse) echo 'sbatch: error: invalid partition' >&2; exit 1 ;;
vanish) mkdir "$dir/jobs/$token"; echo 'no answer' >&2; exit 1 ;;
early) echo "$token" >> "$dir/accepted"; while [ ! -e "$dir/go" ]; do sleep 0.02; done; echo 'Submitted batch job 1'; exit ;;
late) while [ ! -e "$dir/go" ]; do sleep 0.02; done ;;
lost) mkdir "$dir/jobs/$token"; echo "$token" >> "$dir/accepted"; echo 'no answer' >&2; exit 1 ;;
esac
echo "$token" >> "$dir/accepted"
echo 'a warning' >&2
echo "Submitted batch job $(wc -l < "$dir/accepted")"
`

func newLab(t testing.TB) *lab {
	t.Helper()
	l := &lab{t: t, dir: t.TempDir(), ended: map[string]bool{}}
	if real, err := filepath.EvalSymlinks(l.dir); err == nil {
		l.dir = real
	}
	for _, d := range []string{"vault", "jobs", "sets", "sets/mammo", "sets/lungs", "sets/private"} {
		l.must(os.Mkdir(filepath.Join(l.dir, d), 0o700))
	}
	l.must(os.WriteFile(filepath.Join(l.dir, "sluice"), fmt.Appendf(nil, standIn, l.dir), 0o700))
	l.open()
	return l
}

func (l *lab) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// open opens the vault, again if it was open.
func (l *lab) open() {
	l.t.Helper()
	if l.s != nil {
		l.s.vault.close()
	}
	site := etc.Default()
	site.Paths.Jobs = filepath.Join(l.dir, "jobs")
	site.Data.Account, site.Data.Root = "sluice-data", filepath.Join(l.dir, "vault")
	site.Data.Owners = []etc.DataOwner{{User: "hanna", Folder: filepath.Join(l.dir, "sets")}, {User: "ada", Folder: filepath.Join(l.dir, "sets")}}
	site.Data.Numbers, site.Data.Log = 1000, 100_000
	v, err := openVault(site.Data.Root, time.Now)
	l.must(err)
	l.t.Cleanup(func() { v.close() })
	l.s = &service{vault: v, site: site, config: filepath.Join(l.dir, "sluice.toml"), uid: uint32(os.Geteuid()), slurm: l, sluice: filepath.Join(l.dir, "sluice"),
		accounts: testAccounts{}, books: newBooks(), log: zerolog.Nop(), submissions: newPace(1000, time.Millisecond), tasks: newPace(1000, time.Millisecond), denials: newPace(1000, time.Millisecond)}
	l.must(l.s.tidy())
}

// Jobs lists what the stand-in accepted.
func (l *lab) Jobs(context.Context) ([]slurm.Job, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	raw, err := os.ReadFile(filepath.Join(l.dir, "accepted"))
	if l.silent || err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, errors.New("slurmctld does not answer")
	}
	var all []slurm.Job
	for i, token := range strings.Fields(string(raw)) {
		state := slurm.Running
		if l.ended[token] {
			state = slurm.Completed
		}
		tag := elastic.Tag{Spec: elastic.Spec{Token: token, Min: 1}}
		all = append(all, slurm.Job{ID: slurm.JobID(i + 1), UID: uint32(os.Geteuid()), State: state, Comment: tag.String(), Completing: state == slurm.Completed && l.cleaned > 0})
	}
	l.cleaned--
	if l.gone {
		all = nil
	}
	return all, nil
}

// Cancel ends a job.
func (l *lab) Cancel(_ context.Context, id slurm.JobID) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stuck {
		return errors.New("slurmctld does not answer")
	}
	l.killed = append(l.killed, id)
	return nil
}

// Charging says what the site's accounting says.
func (l *lab) Charging(context.Context, ...string) (slurm.Charging, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.booked++
	switch {
	case l.silent:
		return slurm.Charging{}, errors.New("slurmdbd does not answer")
	case l.charging != nil:
		return *l.charging, nil
	}
	return slurm.Charging{Partitions: []slurm.Partition{{Name: "gpu", Default: true}}}, nil
}

// end ends a job.
func (l *lab) end(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended[id] = true
	l.s.listed.forget()
}

// accepted reports whether the stand-in accepted the job.
func (l *lab) accepted(id string) bool {
	raw, _ := os.ReadFile(filepath.Join(l.dir, "accepted"))
	return strings.Contains(string(raw), id)
}

// mode is how the next 'sluice submit' goes.
func (l *lab) mode(mode string) {
	l.must(os.WriteFile(filepath.Join(l.dir, "mode"), []byte(mode), 0o600))
}

// ask serves a request and returns the answer with its raw bytes.
func (l *lab) ask(uid uint32, q wire.Request, body ...string) (wire.Answer, string, error) {
	l.t.Helper()
	who, err := l.s.caller(uid)
	if err != nil {
		return wire.Answer{}, "", err
	}
	a, err := l.s.do(l.t.Context(), who, q, strings.NewReader(strings.Join(body, "")))
	if err != nil || a.body == nil {
		return a.Answer, "", err
	}
	defer a.body.Close()
	raw, err := io.ReadAll(io.LimitReader(a.body, a.Size))
	if err == nil && int64(len(raw)) != a.Size {
		l.t.Errorf("%d bytes instead of %d", len(raw), a.Size)
	}
	return a.Answer, string(raw), err
}

// get is ask without an error.
func (l *lab) get(uid uint32, q wire.Request, body ...string) (wire.Answer, string) {
	l.t.Helper()
	a, raw, err := l.ask(uid, q, body...)
	if err != nil {
		l.t.Fatalf("%s: %v", q.Do, err)
	}
	return a, raw
}

// refused wants an error with that code and these words.
func (l *lab) refused(code error, words string, uid uint32, q wire.Request, body ...string) {
	l.t.Helper()
	a, raw, err := l.ask(uid, q, body...)
	if !errors.Is(err, code) || !strings.Contains(err.Error(), words) {
		l.t.Errorf("%s %s as %d: %v, %+v, want %v: %s", q.Do, q.Name+q.Job, uid, err, a, code, words)
	}
	if raw != "" {
		l.t.Errorf("%s as %d: refused, and %q", q.Do, uid, raw)
	}
}

// add makes a data set of hanna's, which ada and the group radiology read.
func (l *lab) add(name, release string, kinds ...string) {
	l.t.Helper()
	l.get(hanna, wire.Request{Do: wire.Add, Set: &wire.Set{Name: name, Path: filepath.Join(l.dir, "sets", name), Readers: []string{"ada", "@radiology"}, Release: release, Kinds: kinds}})
}

const script = "#!/bin/sh\n#SLUICE --data=mammo --min-gpus=1 --max-gpus=4\ntrain\n"

// submission is a request to submit the script with a bundle.
func submissionOf(code string, options ...string) (wire.Request, []string) {
	return wire.Request{Do: wire.Submit, Data: []string{"mammo"}, Options: options, Script: "train.sh", ScriptSize: int64(len(script)), BundleSize: int64(len(code))}, []string{script, code}
}

// submit submits a job and returns its ID.
func (l *lab) submit(uid uint32, options ...string) string {
	l.t.Helper()
	q, body := submissionOf(codeOf(l.t), options...)
	a, _ := l.get(uid, q, body...)
	return a.ID
}

// args are those of the last call of 'sluice submit'.
func (l *lab) args() []string {
	l.t.Helper()
	data, err := os.ReadFile(filepath.Join(l.dir, "args"))
	l.must(err)
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

// codeOf is a bundle with one file.
func codeOf(t testing.TB) string {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	text := "print(1)\n"
	if err := errors.Join(w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "train.py", Size: int64(len(text)), Mode: 0o644})); err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, text)
	w.Close()
	return b.String()
}

// put writes a file of a job: of its output, or its log.
func (l *lab) put(id, name, text string) {
	l.t.Helper()
	path := filepath.Join(l.s.vault.jobFolder(id), name)
	l.must(os.MkdirAll(filepath.Dir(path), 0o700))
	l.must(os.WriteFile(path, []byte(text), 0o600))
}

// files are the files of a tar.
func (l *lab) files(raw string) map[string]string {
	l.t.Helper()
	all := map[string]string{}
	if raw == "" {
		return all
	}
	r := tar.NewReader(strings.NewReader(raw))
	for {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		l.must(err)
		text, err := io.ReadAll(r)
		l.must(err)
		all[head.Name] = string(text)
	}
}

// states are the states of files.
func states(files []wire.File) map[string]string {
	all := map[string]string{}
	for _, f := range files {
		all[f.Name] = f.State
	}
	return all
}

// counted is what the record counts for a job.
func (l *lab) counted(id string) int64 {
	l.s.vault.mu.Lock()
	defer l.s.vault.mu.Unlock()
	return l.s.vault.state.Job(id).Counted
}

// entries are those of the record on the disk, which must hold.
func (l *lab) entries() (all []vault.Entry) {
	l.t.Helper()
	raw, err := os.ReadFile(filepath.Join(l.dir, "vault", recordName))
	l.must(err)
	_, err = vault.Verify(bytes.NewReader(raw), func(e vault.Entry, _ []byte) error { all = append(all, e); return nil })
	l.must(err)
	return all
}
