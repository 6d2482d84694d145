package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/vault/wire"
)

// vaultStandIn plays sluice-vaultd: it notes what it is asked, and gives fixed answers.
type vaultStandIn struct {
	dir string

	mu     sync.Mutex
	asked  []wire.Request
	sent   [][]byte // what followed each request
	answer func(wire.Request) (wire.Answer, []byte)
}

// newStandIn starts one, at a site whose service account is the one that runs the test, or the one that is named. Slurm's programs there
// note how they were called.
func newStandIn(t *testing.T, account string) *vaultStandIn {
	t.Helper()
	if account == "" {
		me, err := user.Current()
		if err != nil {
			t.Fatal(err)
		}
		account = me.Username
	}
	s := &vaultStandIn{dir: t.TempDir(), answer: func(wire.Request) (wire.Answer, []byte) { return wire.Answer{}, nil }}
	socket := filepath.Join(s.dir, "vault")
	for _, sub := range []string{"bin", "jobs", "outbox", "home", "work"} {
		if err := os.Mkdir(filepath.Join(s.dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	fake := "#!/bin/sh\n{ echo \"$0\" \"$@\"; env; } >>'" + filepath.Join(s.dir, "slurm.log") + "'\necho Submitted batch job 12\n"
	for _, program := range []string{"sbatch", "scancel"} {
		if err := os.WriteFile(filepath.Join(s.dir, "bin", program), []byte(fake), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	text := fmt.Sprintf("[paths]\nsocket = %q\njobs = %q\noutbox = %q\nsluice = \"/opt/sluice\"\n[slurm]\nbin = %q\n[data]\naccount = %q\nsocket = %q\n", filepath.Join(s.dir, "none"),
		filepath.Join(s.dir, "jobs"), filepath.Join(s.dir, "outbox"), filepath.Join(s.dir, "bin"), account, socket)
	if err := os.WriteFile(filepath.Join(s.dir, "sluice.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SLUICE_CONF", filepath.Join(s.dir, "sluice.toml"))
	t.Setenv("HOME", filepath.Join(s.dir, "home"))
	t.Chdir(filepath.Join(s.dir, "work"))
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() { l.Close(); all.Wait() })
	return s
}

func (s *vaultStandIn) serve(conn net.Conn) {
	defer conn.Close()
	from := bufio.NewReader(conn)
	q, err := wire.ReadRequest(from)
	if err != nil {
		return
	}
	raw := make([]byte, q.ScriptSize+q.BundleSize)
	if _, err := io.ReadFull(from, raw); err != nil {
		return
	}
	s.mu.Lock()
	s.asked, s.sent = append(s.asked, q), append(s.sent, raw)
	answer := s.answer
	s.mu.Unlock()
	a, body := answer(q)
	if a.Size < 0 {
		return // it is killed
	}
	a.Version = wire.Version
	if a.Size == 0 {
		a.Size = int64(len(body))
	}
	line, _ := json.Marshal(a)
	_, _ = conn.Write(append(append(line, '\n'), body...))
}

// last is the newest request of a kind.
func (s *vaultStandIn) last(do wire.Verb) (wire.Request, []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.asked) - 1; i >= 0; i-- {
		if s.asked[i].Do == do {
			return s.asked[i], s.sent[i]
		}
	}
	return wire.Request{}, nil
}

// slurm is how Slurm's programs were called, and their environment.
func (s *vaultStandIn) slurm() string {
	raw, _ := os.ReadFile(filepath.Join(s.dir, "slurm.log"))
	return string(raw)
}

// sluice runs the program.
func sluice(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e strings.Builder
	code = run(args, &o, &e)
	return code, o.String(), e.String()
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestSubmissionBrokenOff: nobody is told to submit again what may be submitted, nor to look for what was refused.
func TestSubmissionBrokenOff(t *testing.T) {
	s := newStandIn(t, "")
	write(t, "train.sh", trainScript)
	for _, c := range []struct {
		answer wire.Answer
		doubt  bool
	}{{wire.Answer{Size: -1}, true}, {wire.Answer{Error: wire.Fail(wire.Unavailable, "try again", "slurmdbd does not answer")}, false}} {
		s.mu.Lock() // one that is killed writes nothing that its client could wait for
		s.answer = func(wire.Request) (wire.Answer, []byte) { return c.answer, nil }
		s.mu.Unlock()
		code, out, errs := sluice(t, "submit", "train.sh")
		if code == 0 || out != "" || strings.Contains(errs, "may or may not be submitted") != c.doubt || strings.Contains(errs, "look with: sluice queue") != c.doubt || strings.Contains(errs, "try again;") {
			t.Errorf("%d, %q, %q", code, out, errs)
		}
	}
	if err := os.Remove(filepath.Join(s.dir, "vault")); err != nil {
		t.Fatal(err)
	}
	if _, _, errs := sluice(t, "submit", "train.sh"); strings.Contains(errs, "may or may not") {
		t.Errorf("%q", errs)
	}
}

const trainScript = "#!/bin/bash\n#SLUICE --data=mammo --max-gpus=4\n#SBATCH -p gpu\nsrun python3 train.py \"$@\"\n"

// TestSubmitConfined: the script, the options that are not in it and its folder go to sluice-vaultd; sbatch is not called, and what is printed is what
// it would print.
func TestSubmitConfined(t *testing.T) {
	s := newStandIn(t, "")
	s.answer = func(q wire.Request) (wire.Answer, []byte) {
		return wire.Answer{ID: strings.Repeat("a", 32), JobID: 4711, Output: "sluice: warning: beware\n"}, nil
	}
	write(t, "job/train.sh", trainScript)
	write(t, "job/train.py", "import sluice")
	write(t, "job/.git/config", "secret")
	write(t, "other", "x")
	t.Setenv("SBATCH_ACCOUNT", "bio")
	code, out, errs := sluice(t, "submit", "-t", "60", "job/train.sh", "--lr", "0.1")
	if code != 0 || out != "Submitted batch job 4711\n" || errs != "sluice-vaultd: sluice: warning: beware\n" {
		t.Errorf("%d, %q, %q", code, out, errs)
	}
	q, raw := s.last(wire.Submit)
	if q.Script != "train.sh" || !slices.Equal(q.Data, []string{"mammo"}) || !slices.Equal(q.Arguments, []string{"--lr", "0.1"}) ||
		strings.Join(q.Options, " ") != "--job-name=train.sh --account=bio -t 60" {
		t.Errorf("%+v", q)
	}
	if script := string(raw[:q.ScriptSize]); script != trainScript {
		t.Errorf("the script: %q", script)
	}
	if got := strings.Join(entries(t, raw[q.ScriptSize:]), " "); got != "train.py train.sh" {
		t.Errorf("the code: %s", got)
	}
	if called := s.slurm(); called != "" {
		t.Errorf("Slurm was called: %s", called)
	}
	if _, out, _ := sluice(t, "submit", "--parsable", "--code=job/train.py,other", "job/train.sh"); out != "4711\n" {
		t.Errorf("--parsable: %q", out)
	}
	q, raw = s.last(wire.Submit)
	if got := strings.Join(entries(t, raw[q.ScriptSize:]), " "); got != "job/ job/train.py other" {
		t.Errorf("--code: %s", got)
	}
	if _, out, _ := sluice(t, "submit", "-Q", "job/train.sh"); out != "" {
		t.Errorf("-Q: %q", out)
	}
	if code, out, errs := sluice(t, "submit", "--data=mammo", "--max-gpus=1", "--code=other", "--wrap", "cat other"); code != 0 || out != "Submitted batch job 4711\n" {
		t.Errorf("--wrap: %q, %q", out, errs)
	}
	if q, raw := s.last(wire.Submit); !strings.HasSuffix(string(raw[:q.ScriptSize]), "\ncat other\n") || q.Script != "--wrap" || slices.ContainsFunc(q.Options, func(o string) bool { return strings.Contains(o, "cat") }) {
		t.Errorf("--wrap: %+v", q)
	}
}

func entries(t *testing.T, raw []byte) (names []string) {
	t.Helper()
	r := tar.NewReader(bytes.NewReader(raw))
	for {
		h, err := r.Next()
		if err == io.EOF {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
	}
}

// TestSubmitConfinedFails: nothing is submitted, and the message says what to type.
func TestSubmitConfinedFails(t *testing.T) {
	s := newStandIn(t, "")
	write(t, "job/train.sh", trainScript)
	s.answer = func(wire.Request) (wire.Answer, []byte) {
		return wire.Answer{Error: wire.Fail(wire.Denied, "ask hanna", "you may not train on mammo")}, nil
	}
	if code, out, errs := sluice(t, "submit", "job/train.sh"); code != 1 || out != "" || errs != "sluice: error: you may not train on mammo (ask hanna)\n" {
		t.Errorf("%d, %q, %q", code, out, errs)
	}
	s.answer = func(wire.Request) (wire.Answer, []byte) { return wire.Answer{ID: "x"}, nil }
	if code, _, errs := sluice(t, "submit", "job/train.sh"); code != 1 || !strings.Contains(errs, "may or may not be submitted") {
		t.Errorf("%d, %q", code, errs)
	}
	before := len(s.asked)
	if err := os.Symlink("/etc/passwd", "job/link"); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := sluice(t, "submit", "job/train.sh"); code != 1 || !strings.Contains(errs, `"link" is a link`) || !strings.Contains(errs, "--code=") {
		t.Errorf("%d, %q", code, errs)
	}
	if err := os.Remove("job/link"); err != nil {
		t.Fatal(err)
	}
	for _, options := range []string{"--user", "--sweep=random", "--output=x", "--nodes=2"} {
		if code, _, errs := sluice(t, "submit", "--data=mammo", "--max-gpus=2", options, "--wrap", "true"); code != 1 || !strings.Contains(errs, "leave it out") {
			t.Errorf("%s: %d, %q", options, code, errs)
		}
	}
	if code, _, errs := sluice(t, "profile", "--data=mammo", "--max-gpus=2", "--sizes=1,2", "job/train.sh"); code != 1 || !strings.Contains(errs, "--data: runs that only measure") {
		t.Errorf("profile: %d, %q", code, errs)
	}
	if len(s.asked) != before || s.slurm() != "" {
		t.Errorf("it was asked %+v; Slurm: %s", s.asked[before:], s.slurm())
	}
	conf := filepath.Join(s.dir, "sluice.toml")
	raw, err := os.ReadFile(conf)
	if err != nil {
		t.Fatal(err)
	}
	write(t, conf, strings.Replace(string(raw), "/vault\"", "/gone\"", 1))
	if code, _, errs := sluice(t, "submit", "--data=mammo", "--max-gpus=2", "--wrap", "true"); code != 1 || !strings.Contains(errs, "sluice-vaultd does not run") {
		t.Errorf("%d, %q", code, errs)
	}
	write(t, conf, string(raw[:bytes.Index(raw, []byte("[data]"))]))
	for _, args := range [][]string{{"submit", "--data=mammo", "--max-gpus=2", "--wrap", "true"}, {"data", "list"}, {"results", "7"}} {
		if code, _, errs := sluice(t, args...); code != 1 || !strings.Contains(errs, "this site has no data sets") {
			t.Errorf("%v: %d, %q", args, code, errs)
		}
	}
}

// TestSubmitForAnother: as the service account, sluice submits a job for a user: with the token, the fence and the user in the tag, no line of the user's
// in the batch script, and none of the variables in sbatch's environment.
func TestSubmitForAnother(t *testing.T) {
	s := newStandIn(t, "")
	token := strings.Repeat("0a", 16)
	vault := filepath.Join(s.dir, "vault-jobs", token)
	write(t, filepath.Join(vault, "script"), trainScript)
	for name, value := range map[string]string{"LD_PRELOAD": "/nowhere.so", "SBATCH_OUTPUT": "/x", "SLUICE_MIN_GPUS": "3", "SLURM_EXPORT_ENV": "NONE"} {
		t.Setenv(name, value)
	}
	args := []string{"submit", "--fence=" + vault + "/fence.json", "--token=" + token, "--output=" + vault + "/log", "--chdir=" + vault, "--for=ada", "--job-name=train.sh", "-t", "60", vault + "/script", "1"}
	code, out, errs := sluice(t, args...)
	if code != 0 || out != "Submitted batch job 12\n" {
		t.Fatalf("%d, %q, %q", code, out, errs)
	}
	called := s.slurm()
	for _, want := range []string{"id=" + token, "nodes=1", " for=ada ", " --output=" + vault + "/log", " --chdir=" + vault, " -p gpu ", " -t 60 ", "\nPATH="} {
		if !strings.Contains(called, want) {
			t.Errorf("no %q in %s", want, called)
		}
	}
	for _, no := range []string{"LD_PRELOAD", "SBATCH_", "SLUICE_", "EXPORT_ENV", "min=3"} {
		if strings.Contains(called, no) {
			t.Errorf("%q in %s", no, called)
		}
	}
	batch, err := os.ReadFile(filepath.Join(s.dir, "jobs", token, "batch"))
	if err != nil || !strings.Contains(string(batch), "'--fence="+vault+"/fence.json'") || strings.Contains(string(batch), "SBATCH") {
		t.Errorf("%q, %v", batch, err)
	}
	if code, _, errs := sluice(t, append(slices.Clone(args[:len(args)-2]), "other")...); code != 1 || !strings.Contains(errs, "other") {
		t.Errorf("another script: %d, %q", code, errs)
	}
	write(t, "evil.sh", "#!/bin/sh\ntrue\n")
	if code, _, errs := sluice(t, append(slices.Clone(args[:len(args)-2]), "--max-gpus=1", "./evil.sh")...); code != 1 || !strings.Contains(errs, "the script of a confined job is") {
		t.Errorf("another script: %d, %q", code, errs)
	}
}

// TestNobodyElseSubmitsForAnother: the options are refused for any other account.
func TestNobodyElseSubmitsForAnother(t *testing.T) {
	other := "daemon"
	if os.Getuid() == 1 {
		other = "root"
	}
	s := newStandIn(t, other)
	write(t, "script", "#!/bin/sh\n#SLUICE --max-gpus=1\ntrue\n")
	dir := filepath.Join(s.dir, "work")
	code, _, errs := sluice(t, "submit", "--fence="+dir+"/fence.json", "--token="+strings.Repeat("0a", 16), "--output="+dir+"/log", "--for=ada", dir+"/script")
	if code != 1 || !strings.Contains(errs, "only the service account") || s.slurm() != "" {
		t.Errorf("%d, %q; %s", code, errs, s.slurm())
	}
}

// parcel is a tar of files, and what sluice-vaultd says of them.
func parcel(t *testing.T, names ...string) ([]byte, []wire.File) {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	var said []wire.File
	for _, name := range names {
		body := "body of " + name
		sum := sha256.Sum256([]byte(body))
		said = append(said, wire.File{Name: name, Size: int64(len(body)), Digest: hex.EncodeToString(sum[:]), State: wire.FileReleased})
		if err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(body))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), said
}

// TestResults: what left is written, and what did not is listed with what to type. A file that is there stays, unless --force.
func TestResults(t *testing.T) {
	s := newStandIn(t, "")
	raw, said := parcel(t, "model.pt", "a/metrics.json")
	said = append(said, wire.File{Name: "plot.png", Size: 2500, State: wire.FileKept}, wire.File{Name: "big.pt", Size: 3e9, State: wire.FileOver}, wire.File{Name: "l", State: wire.FileRefused})
	s.answer = func(q wire.Request) (wire.Answer, []byte) {
		if q.Do == wire.Jobs {
			return wire.Answer{Jobs: []wire.Job{{ID: strings.Repeat("a", 32), JobID: 7, Data: []string{"mammo", "ct"}}}}, nil
		}
		return wire.Answer{Files: said, More: true}, raw
	}
	code, out, errs := sluice(t, "results", "7")
	want := `STATE                   SIZE  FILE
here                    16 B  results-7/model.pt
here                    22 B  results-7/a/metrics.json
waits for the owner  2.50 KB  plot.png
over the budget      3.00 GB  big.pt
refused                  0 B  l
`
	if code != 0 || out != want {
		t.Errorf("%d, got\n%swant\n%s", code, out, want)
	}
	for _, w := range []string{"sluice data review mammo or ct", "sluice results 7 --file NAME", "further files"} {
		if !strings.Contains(errs, w) {
			t.Errorf("no %q in %s", w, errs)
		}
	}
	if q, _ := s.last(wire.Results); q.Job != "7" || q.File != "" {
		t.Errorf("%+v", q)
	}
	if got, err := os.ReadFile("results-7/a/metrics.json"); err != nil || string(got) != "body of a/metrics.json" {
		t.Errorf("%q, %v", got, err)
	}
	write(t, "results-7/model.pt", "mine")
	if code, out, errs := sluice(t, "results", "7"); code != 1 || !strings.Contains(out, "not written             16 B  model.pt\n") || !strings.Contains(errs, `"model.pt": a file of that name is there; write it elsewhere with -o DIR, or over it with --force`) {
		t.Errorf("%d, %s", code, errs)
	}
	if got, _ := os.ReadFile("results-7/model.pt"); string(got) != "mine" {
		t.Errorf("written over: %q", got)
	}
	if code, _, errs := sluice(t, "results", "7", "--force"); code != 0 {
		t.Errorf("%d, %s", code, errs)
	}
	if got, _ := os.ReadFile("results-7/model.pt"); string(got) != "body of model.pt" {
		t.Errorf("--force: %q", got)
	}
	if code, _, errs := sluice(t, "results", strings.Repeat("a", 32), "-o", "elsewhere", "--file", "model.pt"); code != 0 {
		t.Errorf("%d, %s", code, errs)
	}
	if q, _ := s.last(wire.Results); q.Job != strings.Repeat("a", 32) || q.File != "model.pt" {
		t.Errorf("%+v", q)
	}
	raw, said = nil, nil
	s.answer = func(wire.Request) (wire.Answer, []byte) { return wire.Answer{}, nil }
	if code, _, errs := sluice(t, "results", "7"); code != 1 || errs != "sluice: error: job 7: there is no file in $SLUICE_OUTPUT yet\n" {
		t.Errorf("%d, %s", code, errs)
	}
}

// TestHostileResults: of what a false sluice-vaultd sends nothing is written, neither in the folder nor outside.
func TestHostileResults(t *testing.T) {
	s := newStandIn(t, "")
	good, said := parcel(t, "model.pt")
	other := slices.Clone(said)
	other[0].Digest = strings.Repeat("0", 64)
	longer := slices.Clone(said)
	longer[0].Size++
	kept := slices.Clone(said)
	kept[0].State = wire.FileKept
	up, upSaid := parcel(t, "../../evil")
	absolute, absoluteSaid := parcel(t, filepath.Join(s.dir, "evil"))
	escape, escapeSaid := parcel(t, "a\x1b]0;x\x07")
	twice, twiceSaid := parcel(t, "m", "m")
	for what, a := range map[string]struct {
		raw  []byte
		said []wire.File
		size int64
	}{
		"up": {up, upSaid, 0}, "absolute": {absolute, absoluteSaid, 0}, "escapes": {escape, escapeSaid, 0}, "twice": {twice, twiceSaid, 0},
		"another digest": {good, other, 0}, "another size": {good, longer, 0}, "not released": {good, kept, 0}, "not announced": {good, nil, 0},
		"broken off": {good[:700], said, int64(len(good))}, "a huge length": {good, said, 1 << 62}, "no tar": {bytes.Repeat([]byte("x"), 4096), said, 0},
	} {
		s.answer = func(wire.Request) (wire.Answer, []byte) { return wire.Answer{Files: a.said, Size: a.size}, a.raw }
		code, out, errs := sluice(t, "results", "7", "-o", "in")
		if code == 0 || evil(out+errs) != "" {
			t.Errorf("%s: %d, %q, %q", what, code, out, errs)
		}
		if what != "not released" { // which an owner looks at
			if code, out, errs := sluice(t, "data", "review", "mammo", "7", "model.pt", "-o", "in"); code == 0 || evil(out+errs) != "" {
				t.Errorf("%s, to an owner: %d, %q, %q", what, code, out, errs)
			}
		}
		if _, err := os.Lstat("in"); err == nil {
			t.Errorf("%s: the folder was left", what)
		}
		if _, err := os.Lstat(filepath.Join(s.dir, "evil")); err == nil {
			t.Fatalf("%s: written outside", what)
		}
	}
}

// TestReviewLook: an owner gets the file that waits, into a folder, and learns of no order.
func TestReviewLook(t *testing.T) {
	s := newStandIn(t, "")
	raw, said := parcel(t, "plots/loss.png")
	said[0].State = wire.FileKept
	s.answer = func(wire.Request) (wire.Answer, []byte) { return wire.Answer{Files: said}, raw }
	args := []string{"data", "review", "mammo", "7", "plots/loss.png", "-o", "look"}
	code, out, errs := sluice(t, args...)
	if code != 0 || out != "look/plots/loss.png\nSHA-256 "+said[0].Digest+"\n" {
		t.Errorf("%d, %q, %s", code, out, errs)
	}
	if got, err := os.ReadFile("look/plots/loss.png"); err != nil || string(got) != "body of plots/loss.png" {
		t.Errorf("%q, %v", got, err)
	}
	if q, _ := s.last(wire.Review); q.Job != "7" || q.File != "plots/loss.png" || q.Order != "" {
		t.Errorf("%+v", q)
	}
	if code, _, errs := sluice(t, args...); code != 1 || !strings.Contains(errs, "a file of that name is there") {
		t.Errorf("%d, %s", code, errs)
	}
	if code, _, errs := sluice(t, append(args, "--force")...); code != 0 {
		t.Errorf("%d, %s", code, errs)
	}
	s.answer = func(wire.Request) (wire.Answer, []byte) { return wire.Answer{}, nil }
	if code, _, errs := sluice(t, "data", "review", "mammo", "7", "x", "-o", "none"); code != 1 || !strings.Contains(errs, "sent no file") {
		t.Errorf("%d, %s", code, errs)
	}
}

// TestLogsConfined: the log comes in parts; -n and --segment choose; what the budget holds back is said.
func TestLogsConfined(t *testing.T) {
	s := newStandIn(t, "")
	id := strings.Repeat("b", 32)
	log := "== sluice: segment 0 of job 7 · 1 GPU on n1:1 · 2026-11-28T10:00:00Z ==\none\ntwo\n== sluice: segment 1 of job 7 · 2 GPUs on n1:2 · 2026-11-28T10:00:00Z ==\nthree\x1b[2J\nfour\n"
	over := false
	s.answer = func(q wire.Request) (wire.Answer, []byte) {
		if q.Do == wire.Jobs {
			return wire.Answer{Jobs: []wire.Job{{ID: strings.Repeat("c", 32), JobID: 7, Submitted: time.Unix(1, 0)}, {ID: id, JobID: 7, Submitted: time.Unix(2, 0)}}}, nil
		}
		if q.Job != id {
			return wire.Answer{Error: wire.Fail(wire.NotFound, "", "no job %s", q.Job)}, nil
		}
		part := log[q.From:min(len(log), int(q.From)+50)]
		return wire.Answer{Next: q.From + int64(len(part)), Ended: int(q.From)+len(part) == len(log), Over: over && part == ""}, []byte(part)
	}
	shown := strings.Replace(log, "\x1b", `\x1b`, 1)
	for _, c := range []struct{ args, want string }{
		{"logs 7", shown}, {"logs -f 7", shown}, {"logs -n 2 7", shown[strings.Index(shown, "three"):]}, {"logs -n 99 7", shown},
		{"logs --segment 0 7", shown[:strings.Index(shown, "== sluice: segment 1")]}, {"logs --segment last -f 7", shown[strings.Index(shown, "== sluice: segment 1"):]},
	} {
		if code, out, errs := sluice(t, strings.Fields(c.args)...); code != 0 || out != c.want || errs != "" {
			t.Errorf("%s: %d, got\n%s%swant\n%s", c.args, code, out, errs, c.want)
		}
	}
	over = true
	if code, _, errs := sluice(t, "logs", "7"); code != 0 || !strings.Contains(errs, "more of the log does not leave") {
		t.Errorf("%d, %q", code, errs)
	}
	if code, _, errs := sluice(t, "logs", "--stderr", "7"); code != 1 || !strings.Contains(errs, "no file of their own") {
		t.Errorf("%d, %q", code, errs)
	}
	if code, _, errs := sluice(t, "logs", "--segment", "9", "7"); code != 1 || !strings.Contains(errs, "of run 9") {
		t.Errorf("%d, %q", code, errs)
	}
}

// TestLongLogConfined: the end of a log that is longer than what is taken at once; only the end is kept.
func TestLongLogConfined(t *testing.T) {
	s := newStandIn(t, "")
	const last = "== sluice: segment 1 of job 7 · 2 GPUs on n1:2 · 2026-11-28T10:00:00Z ==\nthree\nfour\n"
	log := "== sluice: segment 0 of job 7 · 1 GPU on n1:1 · 2026-11-28T10:00:00Z ==\n" + strings.Repeat(strings.Repeat("x", 99)+"\n", mostLog/100+10_000) + last
	s.answer = func(q wire.Request) (wire.Answer, []byte) {
		if q.Do == wire.Jobs {
			return wire.Answer{Jobs: []wire.Job{{ID: "b", JobID: 7}}}, nil
		}
		part := log[q.From:min(len(log), int(q.From)+mostLog/3)]
		return wire.Answer{Next: q.From + int64(len(part)), Ended: int(q.From)+len(part) == len(log)}, []byte(part)
	}
	for args, want := range map[string]string{"logs -n 2 7": "three\nfour\n", "logs --segment last 7": last} {
		if code, out, errs := sluice(t, strings.Fields(args)...); code != 0 || out != want {
			t.Errorf("%s: %d, %d bytes, %q", args, code, len(out), errs)
		}
	}
}

// TestHostileLog: an answer that never moves on, or that moves on without a byte, ends the command.
func TestHostileLog(t *testing.T) {
	s := newStandIn(t, "")
	for _, next := range []int64{0, -5, 1 << 62} {
		s.answer = func(q wire.Request) (wire.Answer, []byte) {
			return wire.Answer{Next: next, Jobs: []wire.Job{{ID: "b", JobID: 7}}}, nil
		}
		if code, out, errs := sluice(t, "logs", "7"); code != 0 || out != "" {
			t.Errorf("%d: %d, %q, %q", next, code, out, errs)
		}
	}
	s.answer = func(q wire.Request) (wire.Answer, []byte) {
		return wire.Answer{Size: mostLog + 1, Jobs: []wire.Job{{ID: "b", JobID: 7}}}, make([]byte, mostLog+1)
	}
	if code, _, errs := sluice(t, "logs", "7"); code != 1 || !strings.Contains(errs, "longer than 64 MiB") {
		t.Errorf("%d, %q", code, errs)
	}
}

// TestCancelConfined: a confined job is cancelled by sluice-vaultd, any other by scancel, also if sluice-vaultd is gone.
func TestCancelConfined(t *testing.T) {
	s := newStandIn(t, "")
	s.answer = func(q wire.Request) (wire.Answer, []byte) {
		return wire.Answer{Jobs: []wire.Job{{ID: strings.Repeat("b", 32), JobID: 7}}}, nil
	}
	if code, _, errs := sluice(t, "cancel", "7", "8"); code != 0 {
		t.Errorf("%d, %q", code, errs)
	}
	if q, _ := s.last(wire.Cancel); q.Job != strings.Repeat("b", 32) {
		t.Errorf("%+v", q)
	}
	if called := s.slurm(); !strings.Contains(called, "scancel 8\n") || strings.Contains(called, "scancel 7") {
		t.Errorf("Slurm: %s", called)
	}
	s.answer = func(wire.Request) (wire.Answer, []byte) {
		return wire.Answer{Error: wire.Fail(wire.Internal, "", "no")}, nil
	}
	if code, _, errs := sluice(t, "cancel", "9"); code != 0 || !strings.Contains(s.slurm(), "scancel 9\n") {
		t.Errorf("%d, %q", code, errs)
	}
}

// TestNumberUsedAgain: once a confined job has ended Slurm may give its number to an ordinary one, which is meant then.
func TestNumberUsedAgain(t *testing.T) {
	s := newStandIn(t, "")
	s.answer = func(q wire.Request) (wire.Answer, []byte) {
		if q.Do == wire.Logs {
			return wire.Answer{Next: 4, Ended: true}, []byte("old\n")[min(q.From, 4):]
		}
		return wire.Answer{Jobs: []wire.Job{{ID: strings.Repeat("b", 32), JobID: 7, State: wire.StateEnded}}}, nil
	}
	if code, _, errs := sluice(t, "cancel", "7"); code != 0 || !strings.Contains(s.slurm(), "scancel 7\n") {
		t.Errorf("%d, %q", code, errs)
	}
	if q, _ := s.last(wire.Cancel); q.Job != "" {
		t.Errorf("%+v", q)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "bin", "scancel"), []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := sluice(t, "cancel", "7"); code != 0 {
		t.Errorf("%d, %q", code, errs)
	}
	if q, _ := s.last(wire.Cancel); q.Job == "" {
		t.Error("sluice-vaultd is not asked about a job that Slurm does not cancel")
	}
	if code, out, errs := sluice(t, "logs", "7"); code != 0 || out != "old\n" {
		t.Errorf("%d, %q, %q", code, out, errs)
	}
}

// TestVaultThatHangs: an ordinary job is cancelled though sluice-vaultd does not answer.
func TestVaultThatHangs(t *testing.T) {
	s := newStandIn(t, "")
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	s.answer = func(wire.Request) (wire.Answer, []byte) { <-hang; return wire.Answer{}, nil }
	began := time.Now()
	if code, _, errs := sluice(t, "cancel", "9"); code != 0 || !strings.Contains(s.slurm(), "scancel 9\n") {
		t.Errorf("%d, %q", code, errs)
	}
	if took := time.Since(began); took > 50*time.Second { // a request has a minute
		t.Errorf("after %v", took)
	}
}

// TestAuditOfAttempts: the newest count of each job in words, and nothing of the record that a terminal would obey.
func TestAuditOfAttempts(t *testing.T) {
	s := newStandIn(t, "")
	lines := `{"n":2,"event":"submitted","by":"ada","job":"aa"}
{"n":3,"event":"attempted","by":"ada","job":"aa","job_id":7,"attempts":[{"call":"ptrace","process":"python3","count":2,"first":"2026-03-01T12:00:00Z","last":"2026-03-01T12:00:00Z"}]}
{"n":4,"event":"attempted","by":"ada","job":"bb","uncounted":"the kernel\u001b[31m"}
{"n":5,"event":"attempted","by":"ada","job":"aa","job_id":7,"attempts":[{"call":"ptrace","process":"py\u001b[3m","count":9,"first":"2026-03-01T12:00:00Z","last":"2026-03-01T12:00:00Z"}]}
`
	s.answer = func(wire.Request) (wire.Answer, []byte) { return wire.Answer{Whole: true, Lines: 5}, []byte(lines) }
	code, out, errs := sluice(t, "data", "audit", "mammo", "--attempts", "-h")
	fields := strings.Fields(strings.ReplaceAll(out, "\n", " "))
	if code != 0 || strings.Contains(out, "\x1b") || strings.Contains(out, "submitted") || !strings.HasPrefix(out, "7 ") || strings.Join(fields[:3], " ") != "7 ada ptrace" || fields[4] != "9" ||
		!strings.Contains(out, "bb  ada  not counted: the kernel") || strings.Count(out, "\n") != 2 {
		t.Errorf("%d, %s%s", code, out, errs)
	}
	if code, out, errs := sluice(t, "data", "audit", "mammo"); code != 0 || strings.Count(out, "\n") != 4 || !strings.Contains(errs, "calls of 2 jobs were denied, or not counted: sluice data audit mammo --attempts") {
		t.Errorf("%d, %s%s", code, out, errs)
	}
}

// TestSiteNetworkIsSaid: the owner reads of jobs whose programs could send bytes that are not counted.
func TestSiteNetworkIsSaid(t *testing.T) {
	s := newStandIn(t, "")
	s.answer = func(wire.Request) (wire.Answer, []byte) {
		return wire.Answer{Set: &wire.Set{Name: "mammo"}, Whole: true, Lines: 3, Uses: []wire.Use{{User: "ada", Jobs: 3, Open: 2}}},
			[]byte(`{"n":1,"event":"submitted","job":"a","network":"site"}` + "\n" + `{"n":2,"event":"submitted","job":"b","network":"relay"}` + "\n" +
				`{"n":3,"event":"submitted","job":"c","network":"site"}` + "\n")
	}
	for verb, want := range map[string]string{
		"show":  "2 jobs could reach the network of the site ([data] network = \"site\"). What they sent\nthere is not counted: it is not in LEFT, and no budget bounds it.\n",
		"audit": "sluice: 2 jobs could reach the network of the site; what they sent there is not counted\n",
	} {
		if code, out, errs := sluice(t, "data", verb, "mammo"); code != 0 || !strings.Contains(out+errs, want) {
			t.Errorf("%s: %d, %s%s", verb, code, out, errs)
		}
	}
}

// TestConfinedArray: each task is handed in by itself, all but the first without script and code; when one is refused, what was
// submitted is cancelled.
func TestConfinedArray(t *testing.T) {
	s := newStandIn(t, "")
	conf := "#!/bin/sh\necho 'MaxArraySize = 1001'; echo 'MaxJobCount = 10000'\n"
	if err := os.WriteFile(filepath.Join(s.dir, "bin", "scontrol"), []byte(conf), 0o700); err != nil {
		t.Fatal(err)
	}
	token := func(index int) string { return fmt.Sprintf("%032x", index) }
	refused := -1
	s.answer = func(q wire.Request) (wire.Answer, []byte) {
		if q.Do != wire.Submit || q.Task == nil {
			return wire.Answer{}, nil
		}
		if q.Task.Index == refused {
			return wire.Answer{Error: &wire.Error{Code: "over_budget", Text: "the budgets leave you 3 bytes"}}, nil
		}
		return wire.Answer{ID: token(q.Task.Index), JobID: int64(100 + q.Task.Index)}, nil
	}
	write(t, "job/train.sh", trainScript)
	code, out, errs := sluice(t, "submit", "--data=mammo", "--max-gpus=2", "--array=3-7:2", "job/train.sh", "x")
	if code != 0 || out != "Submitted array of 3 jobs 103,105,107\n" {
		t.Fatalf("%d, %s%s", code, out, errs)
	}
	if len(s.asked) != 3 {
		t.Fatalf("it was asked %+v", s.asked)
	}
	for i, q := range s.asked {
		first := i == 0
		if q.Task == nil || q.Task.Index != 3+2*i || (q.Task.Of == "") != first || (q.ScriptSize > 0) != first || (q.BundleSize > 0) != first || !slices.Contains(q.Options, "--array=3-7:2") ||
			!first && q.Task.Of != token(3) || !slices.Equal(q.Arguments, []string{"x"}) {
			t.Errorf("task %d: %+v %+v", i, q, q.Task)
		}
	}
	if code, out, _ := sluice(t, "submit", "--data=mammo", "--max-gpus=2", "--array=0,1", "--parsable", "job/train.sh"); code != 0 || out != "100:101\n" {
		t.Errorf("--parsable: %d, %s", code, out)
	}
	refused = 2
	before := len(s.asked)
	code, out, errs = sluice(t, "submit", "--data=mammo", "--max-gpus=2", "--array=0-3", "job/train.sh")
	if code != 1 || out != "" || !strings.Contains(errs, "task 2: ") || !strings.Contains(errs, "the budgets leave you 3 bytes") || !strings.Contains(errs, "(2 jobs) was cancelled") {
		t.Errorf("%d, %s%s", code, out, errs)
	}
	var cancelled []string
	for _, q := range s.asked[before:] {
		if q.Do == wire.Cancel {
			cancelled = append(cancelled, q.Job)
		}
	}
	if !slices.Equal(cancelled, []string{token(1), token(0)}) {
		t.Errorf("cancelled: %q; the first task is the last: without it sluiced starts the others", cancelled)
	}
}

// TestArrayBreaksOff: a further task of an array waits until its user may submit again. While one may live on that cannot be
// cancelled, the first is left, so that sluiced starts none.
func TestArrayBreaksOff(t *testing.T) {
	pause := pacePause
	t.Cleanup(func() { pacePause = pause })
	pacePause = time.Millisecond
	for _, c := range []struct {
		name      string
		kind      wire.Code
		times     int  // that task 2 is refused
		stays     bool // task 1 cannot be cancelled
		code      int
		said      string
		cancelled []string
	}{
		{"too many for a while", wire.TooMany, 3, false, 0, "Submitted array of 4 jobs 100-103", nil},
		{"refused", wire.Refused, 99, false, 1, "(2 jobs) was cancelled", []string{"1", "0"}},
		{"not known", wire.Unavailable, 99, false, 1, "it may be submitted, so job 100 was left", []string{"1"}},
		{"one stays", wire.Refused, 99, true, 1, "none starts as long as job 100 waits; type: sluice cancel 100 101", []string{"1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStandIn(t, "")
			if err := os.WriteFile(filepath.Join(s.dir, "bin", "scontrol"), []byte("#!/bin/sh\necho 'MaxArraySize = 1001'; echo 'MaxJobCount = 10000'\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			times := c.times
			var cancelled []string
			s.answer = func(q wire.Request) (wire.Answer, []byte) {
				switch {
				case q.Do == wire.Cancel:
					if cancelled = append(cancelled, strings.TrimLeft(q.Job[:31], "0")+q.Job[31:]); c.stays {
						return wire.Answer{Error: &wire.Error{Code: wire.Unavailable, Text: "slurmctld does not answer"}}, nil
					}
				case q.Do == wire.Submit && q.Task.Index == 2 && times > 0:
					times--
					return wire.Answer{Error: &wire.Error{Code: c.kind, Text: "not now"}}, nil
				case q.Do == wire.Submit:
					return wire.Answer{ID: fmt.Sprintf("%032x", q.Task.Index), JobID: int64(100 + q.Task.Index)}, nil
				}
				return wire.Answer{}, nil
			}
			write(t, "job/train.sh", trainScript)
			code, out, errs := sluice(t, "submit", "--data=mammo", "--max-gpus=2", "--array=0-3", "job/train.sh")
			if code != c.code || !strings.Contains(out+errs, c.said) || !slices.Equal(cancelled, c.cancelled) {
				t.Errorf("%d, %s%s; cancelled %q", code, out, errs, cancelled)
			}
		})
	}
}

// TestListTooLate: a confined job is cancelled by its number, though sluice-vaultd's list of jobs cannot be had.
func TestListTooLate(t *testing.T) {
	s := newStandIn(t, "")
	if err := os.WriteFile(filepath.Join(s.dir, "bin", "scancel"), []byte("#!/bin/sh\necho 'scancel: error: Kill job error on job id 7: Access/permission denied' >&2; exit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, knows := range []bool{true, false} {
		s.answer = func(q wire.Request) (wire.Answer, []byte) {
			if q.Do == wire.Jobs || !knows {
				return wire.Answer{Error: &wire.Error{Code: wire.Unavailable, Text: "squeue does not answer"}}, nil
			}
			return wire.Answer{JobID: 7}, nil
		}
		code, out, errs := sluice(t, "cancel", "7")
		if q, _ := s.last(wire.Cancel); q.Job != "7" || (code == 0) != knows {
			t.Errorf("sluice-vaultd knows it: %v; it was asked about %q; %d, %s%s", knows, q.Job, code, out, errs)
		}
	}
}

// TestData: what the verbs ask and print.
func TestData(t *testing.T) {
	s := newStandIn(t, "")
	set := wire.Set{Name: "mammo", Owner: "hanna", Path: "/vault/mammo", Readers: []string{"@radiology", "ada"}, Release: "200MB/job,1GB/week", Nodes: "safe"}
	s.answer = func(q wire.Request) (wire.Answer, []byte) {
		return wire.Answer{Set: &set, Sets: []wire.Set{set}, Whole: true, Lines: 7, Uses: []wire.Use{{User: "ada", Jobs: 3, Released: 1234567, Window: 12}},
			Kept: []wire.Kept{{Job: strings.Repeat("b", 32), User: "ada", Name: "loss.png", Size: 99, Digest: strings.Repeat("d", 64)}}}, []byte(`{"n":3}` + "\n")
	}
	sheet := "name     mammo\nowner    hanna\nfolder   /vault/mammo\nreaders  @radiology, ada\nrelease  200MB/job,1GB/week\nnodes    safe\n"
	for _, c := range []struct {
		args, out, errs string
		want            wire.Request
	}{
		{"data add mammo --path /vault/mammo --readers @radiology,ada --release 200MB/job,1GB/week --nodes safe --kinds *.pt", sheet, "", wire.Request{Do: wire.Add,
			Set: &wire.Set{Name: "mammo", Path: "/vault/mammo", Readers: set.Readers, Release: set.Release, Nodes: "safe", Kinds: []string{"*.pt"}}}},
		{"data list", "NAME   OWNER  RELEASE             NODES\nmammo  hanna  200MB/job,1GB/week  safe\n", "", wire.Request{Do: wire.List}},
		{"data show mammo", sheet + "\nUSER  JOBS     LEFT  LEFT-NOW  LAST\nada      3  1.23 MB      12 B  -\n", "", wire.Request{Do: wire.Show, Name: "mammo"}},
		{"data grant mammo bob,eve @all", sheet, "", wire.Request{Do: wire.Grant, Name: "mammo", Readers: []string{"bob", "eve", "@all"}}},
		{"data revoke mammo ada", sheet, "", wire.Request{Do: wire.Revoke, Name: "mammo", Readers: []string{"ada"}}},
		{"data audit mammo", `{"n":3}` + "\n", "sluice: the record holds: 7 lines verified\n", wire.Request{Do: wire.Audit, Name: "mammo"}},
		{"data review mammo", "JOB                               USER  SIZE  SHA-256                                                           FILE\n" + strings.Repeat("b", 32) + "  ada   99 B  " +
			strings.Repeat("d", 64) + "  loss.png\n", "", wire.Request{Do: wire.Review, Name: "mammo"}},
		{"data review mammo 7 loss.png --allow", "", "", wire.Request{Do: wire.Review, Name: "mammo", Job: "7", File: "loss.png", Order: wire.Allow}},
		{"data review mammo 7 loss.png --allow --digest AB12", "", "", wire.Request{Do: wire.Review, Name: "mammo", Job: "7", File: "loss.png", Order: wire.Allow, Digest: "ab12"}},
		{"data review mammo 7 loss.png --refuse", "", "", wire.Request{Do: wire.Review, Name: "mammo", Job: "7", File: "loss.png", Order: wire.Refuse}},
	} {
		code, out, errs := sluice(t, strings.Fields(c.args)...)
		if code != 0 || out != c.out || errs != c.errs {
			t.Errorf("%s: %d, got\n%s%swant\n%s", c.args, code, out, errs, c.out)
		}
		c.want.Version = wire.Version
		if got := s.asked[len(s.asked)-1]; !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: asked %+v, want %+v", c.args, got, c.want)
		}
	}
	for args, want := range map[string]string{
		"data add mammo":                         "--path=FOLDER",
		"data add mammo --path /x":               "--release=200MB/job,1GB/week",
		"data show":                              "which data set?",
		"data grant mammo":                       "which users?",
		"data review mammo 7 x":                  "--allow or --refuse",
		"data review mammo --allow":              "which file?",
		"data review mammo --digest ab":          "which file?",
		"data review mammo -o x":                 "which file?",
		"data review mammo 7 x --allow --refuse": "",
		"data frobnicate":                        "",
	} {
		if code, _, errs := sluice(t, strings.Fields(args)...); code != 1 || !strings.Contains(errs, want) {
			t.Errorf("%s: %d, %s", args, code, errs)
		}
	}
	s.answer = func(wire.Request) (wire.Answer, []byte) { return wire.Answer{Broken: 5}, nil }
	if code, _, errs := sluice(t, "data", "audit", "mammo"); code != 1 || !strings.Contains(errs, "does not hold from line 5 on") {
		t.Errorf("%d, %s", code, errs)
	}
}

// TestDataIsCompleted: names of data sets and numbers of confined jobs, but no word that is more than one to a shell.
func TestDataIsCompleted(t *testing.T) {
	s := newStandIn(t, "")
	s.answer = func(q wire.Request) (wire.Answer, []byte) {
		return wire.Answer{Sets: []wire.Set{{Name: "mammo"}, {Name: "ct"}, {Name: "$(id)"}}, Jobs: []wire.Job{{JobID: 7}, {JobID: 9}, {ID: "x"}}}, nil
	}
	for args, want := range map[string]string{
		"data show ": "mammo\nct\n", "data grant m": "mammo\n", "data review ": "mammo\nct\n", "results ": "9\n7\n",
		"submit --data=": "mammo\nct\n", "submit --data=ct,m": "ct,mammo\n", "data show mammo ": "",
	} {
		_, out, _ := sluice(t, append([]string{"__completeNoDesc"}, strings.Split(args, " ")...)...)
		if got := out[:strings.LastIndex(out, ":")]; got != want {
			t.Errorf("%q: got %q, want %q", args, got, want)
		}
	}
}

// TestHostileVault: no text of an answer or of an error reaches the terminal as it is.
func TestHostileVault(t *testing.T) {
	s := newStandIn(t, "")
	write(t, "train.sh", trainScript)
	a := wire.Answer{Set: &wire.Set{Readers: []string{""}, Kinds: []string{""}}, Sets: []wire.Set{{}}, Uses: []wire.Use{{}}, Jobs: []wire.Job{{Data: []string{""}}}, Files: []wire.File{{}}, Kept: []wire.Kept{{}}}
	poison(reflect.ValueOf(&a))
	a.Jobs[0].JobID, a.JobID, a.Whole = 7, 12, true
	failed := wire.Answer{Error: &wire.Error{Code: hostileWords, Text: hostileWords, Hint: hostileWords}}
	seen := 0
	for _, line := range []string{"data list", "data show x", "data add x --path /x --release 1/job", "data grant x y", "data revoke x y", "data audit x", "data review x", "data review x 7 y --allow",
		"results 7", "submit train.sh", "logs 7", "logs -n 3 7", "cancel 7", "data show " + "HOSTILE", "submit --data=HOSTILE --max-gpus=1 train.sh"} {
		for _, answer := range []wire.Answer{a, failed} {
			s.answer = func(q wire.Request) (wire.Answer, []byte) {
				if q.Do == wire.Results {
					return answer, nil
				}
				return answer, []byte(hostileWords + "\n")
			}
			args := strings.Fields(line)
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "HOSTILE", strings.ReplaceAll(hostileWords, "\x00", ""))
			}
			_, out, errs := sluice(t, args...)
			if wrong := evil(strings.ReplaceAll(out+errs, "\t", " ")); wrong != "" || strings.Contains("\n"+errs, "\nsluice: all is well") {
				t.Errorf("%s: %s\n%s", line, wrong, out+errs)
			}
			seen += len(out) + len(errs)
		}
	}
	if seen < 1000 {
		t.Errorf("%d bytes only", seen)
	}
}
