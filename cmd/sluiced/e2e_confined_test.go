package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/confine"
	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// The accounts of TestConfined: the service account, the data's owner, a reader, and one who may not read.
var vaulters = []string{"sluice-test-v1", "sluice-test-o1", "sluice-test-r1", "sluice-test-n1"}

// confinedSite is a site with data sets: the service account's folders, and its sluice-vaultd.
type confinedSite struct {
	*scene
	service, owner, reader, other string // accounts
	vault, data                   string
	python                        string
}

// playConfined starts a site with data sets, without its sluice-vaultd yet (furnish). accounts are the service
// account, the data's owner, a reader, and one who may not read; python is the interpreter of their jobs, software
// the folder that these can read beside the system.
func playConfined(t *testing.T, accounts []string, python, software string, settings ...setting) *confinedSite {
	t.Helper()
	withVault := func(c *site.Config) {
		c.Accounts = accounts
		c.Config = quick + fmt.Sprintf("[data]\naccount = %q\nroot = %q\nsocket = %q\nowners = [%q]\nsoftware = [%q, %q]\n", accounts[0],
			c.Lab.Dir+"/vault/sluice", c.Lab.Dir+"/vault/run/sock", accounts[1]+"="+c.Lab.Dir+"/vault", software, c.Lab.Dir+"/python")
	}
	s := play(t, append([]setting{withNodes(1, 4), withVault}, settings...)...)
	return &confinedSite{scene: s, service: accounts[0], owner: accounts[1], reader: accounts[2], other: accounts[3],
		vault: s.Path("vault", "sluice"), data: s.Path("vault", "mammo"), python: python}
}

// TestConfined: a user trains a PyTorch program on a data set that the user cannot read, on 1 to 4 GPUs and
// back. The user gets the model, which is that of a run without confinement, and no picture of the data; nobody
// else gets anything. The GPUs are emulated.
func TestConfined(t *testing.T) {
	t.Parallel()
	python := frameworks(t, "torch")
	needsFence(t)
	s := playConfined(t, vaulters, python, filepath.Dir(filepath.Dir(python)))
	s.furnish()
	plain := s.plainly()
	s.as(s.owner, "sluice", "data", "add", "mammo", "--path", s.data, "--readers", s.reader, "--release", "20MB/job,30MB/week")
	if out, err := s.Run(s.ctx, s.reader, "cat", s.data+"/pictures.json"); err == nil {
		t.Fatalf("the data can be read by anybody: %.100s", out)
	}
	if _, err := s.Submit(s.ctx, s.other, s.script(s.other)); err == nil || !strings.Contains(err.Error(), "mammo") {
		t.Errorf("one who is no reader submitted: %v", err)
	}
	id, err := s.Submit(s.ctx, s.reader, s.script(s.reader))
	s.must(err)
	j := &job{s: s.scene, id: id, user: s.reader}
	v := j.until("to train", func(v wire.Job) bool { return v.State == "RUNNING" && v.Move == nil && v.Done > 0 })
	if v.User != s.reader {
		t.Errorf("its owner is %s, want %s", v.User, s.reader)
	}
	number := fmt.Sprint(id)
	for _, gpus := range []int{4, 1} {
		s.as(s.reader, "sluice", "resize", number, "--gpus", fmt.Sprint(gpus))
		j.runsOn(gpus)
	}
	s.refusals(number)
	s.as(s.reader, "sluice", "resize", number, "--gpus", "auto")
	if state := j.ends(); state != "COMPLETED" {
		t.Errorf("it ended as %s", state)
	}
	t.Logf("log:\n%s", s.as(s.reader, "sluice", "logs", number))
	said, err := s.Run(s.ctx, s.reader, "sluice", "results", number, "-o", "got")
	t.Logf("results (%v):\n%s", err, said)
	model, err := os.ReadFile(filepath.Join(s.Home(s.reader), "got", "model.json"))
	if err != nil || !bytes.Equal(model, plain) {
		t.Errorf("the model is not that of a run without confinement: %v\n%.200s\n%.200s", err, model, plain)
	}
	if _, err := os.Stat(filepath.Join(s.Home(s.reader), "got", "picture.png")); err == nil {
		t.Error("a picture left without a review")
	}
	audit := s.as(s.owner, "sluice", "data", "audit", "mammo")
	t.Logf("audit:\n%s", audit)
	t.Logf("shown:\n%s", s.as(s.owner, "sluice", "data", "show", "mammo"))
	s.as(s.owner, "sluice", "data", "revoke", "mammo", s.reader)
	if _, err := s.Submit(s.ctx, s.reader, s.script(s.reader)); err == nil {
		t.Error("a user submitted after the grant was revoked")
	}
}

// needsFence skips a test where bubblewrap cannot fence in a process of an ordinary account.
func needsFence(t *testing.T) {
	t.Helper()
	program, err := confine.Program()
	if err == nil && os.Geteuid() == 0 {
		cmd := exec.CommandContext(t.Context(), program, "--unshare-all", "--ro-bind", "/", "/", "true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		err = cmd.Run()
	}
	if err != nil {
		t.Skipf("SKIPPED, NOT TESTED: confined jobs on a real Slurm: bubblewrap does not work here: %v", err)
	}
}

// furnish makes the data, and starts sluice-vaultd.
func (s *confinedSite) furnish() {
	s.t.Helper()
	s.must(os.MkdirAll(s.Path("vault", "run"), 0o755))
	s.must(os.Chmod(s.Path("vault"), 0o755))
	for _, dir := range []string{s.vault, s.data} {
		s.must(os.Mkdir(dir, 0o700))
	}
	s.give(s.vault, s.data, s.Path("vault", "run"))
	s.addData("pictures.json", pictures(200, 64))
	vaultd, err := s.Command(s.ctx, s.service, "sluice-vaultd", "--config", s.Conf)
	s.must(err)
	var log bytes.Buffer
	vaultd.Stdout, vaultd.Stderr = &log, &log
	s.must(vaultd.Start())
	s.t.Cleanup(func() {
		_ = vaultd.Process.Kill()
		_ = vaultd.Wait()
		if s.t.Failed() {
			s.t.Logf("sluice-vaultd:\n%s", log.String())
		}
	})
	s.must(site.Until(s.ctx, time.Minute, "sluice-vaultd to answer", func() (bool, error) {
		_, err := s.Run(s.ctx, s.owner, "sluice", "data", "list")
		return err == nil, nil
	}))
}

// give makes the service account the owner of files and folders.
func (s *confinedSite) give(names ...string) {
	s.t.Helper()
	u, err := user.Lookup(s.service)
	s.must(err)
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	for _, name := range names {
		s.must(os.Chown(name, uid, gid))
	}
}

// addData writes a file of the data set, which the service account alone can read.
func (s *confinedSite) addData(name string, content []byte) {
	s.t.Helper()
	name = filepath.Join(s.data, name)
	s.must(os.WriteFile(name, content, 0o600))
	s.give(name)
}

// pictures are so many pictures of so many pixels each, and which of two kinds each is.
func pictures(n, pixels int) []byte {
	type picture struct {
		Pixels []int `json:"pixels"`
		Label  int   `json:"label"`
	}
	draw := rand.New(rand.NewPCG(1, 2))
	var out []picture
	for range n {
		p, sum := picture{}, 0
		for i := range pixels {
			v := draw.IntN(256)
			p.Pixels, sum = append(p.Pixels, v-128), sum+(v-128)*(i%5-2)
		}
		if p.Label = 1; sum < 0 {
			p.Label = -1
		}
		out = append(out, p)
	}
	text, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	return text
}

// plainly trains without Slurm, sluice and confinement, as root, and returns the model.
func (s *confinedSite) plainly() []byte {
	s.t.Helper()
	folder := s.t.TempDir()
	s.must(os.Mkdir(filepath.Join(folder, "data"), 0o755))
	s.must(os.Symlink(s.data, filepath.Join(folder, "data", "mammo")))
	program, err := filepath.Abs("testdata/confined_train.py")
	s.must(err)
	cmd := exec.CommandContext(s.ctx, s.python, program)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+s.Path("python"), "SLUICE_DATA="+filepath.Join(folder, "data"), "SLUICE_OUTPUT="+folder, "EPOCH_SECONDS=0",
		"RANK=0", "WORLD_SIZE=1", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=29517")
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%v\n%s", err, out)
	}
	model, err := os.ReadFile(filepath.Join(folder, "model.json"))
	s.must(err)
	return model
}

// script writes TestConfined's script and program for a user, and returns the script's path.
func (s *confinedSite) script(name string) string {
	s.t.Helper()
	return s.study(name, "confined_train.py", "#SLUICE --data=mammo --epochs=25 --max-gpus=4\nexport OMP_NUM_THREADS=1\nsrun \"$SLUICE\" ranks -- "+s.python+" train.py")
}

// study makes a folder of a user's with a program of testdata, as train.py, and a script of these lines. It returns
// the script's path.
func (s *confinedSite) study(name, program, lines string) string {
	s.t.Helper()
	folder := filepath.Join(s.Home(name), "study")
	s.must(os.MkdirAll(folder, 0o755))
	text, err := os.ReadFile(filepath.Join("testdata", program))
	s.must(err)
	s.must(site.Put(filepath.Join(folder, "train.py"), text, 0o644))
	script := filepath.Join(folder, "train.sh")
	s.must(site.Put(script, []byte("#!/bin/bash\n"+lines+"\n"), 0o755))
	return script
}

// refusals: what others, and the reader by Slurm's own means, cannot do while the job runs.
func (s *confinedSite) refusals(number string) {
	s.t.Helper()
	for _, c := range []struct {
		who  string
		args []string
	}{
		{s.other, []string{"sluice", "resize", number, "--gpus", "2"}},
		{s.other, []string{"sluice", "results", number}},
		{s.other, []string{"sluice", "logs", number}},
		{s.other, []string{"sluice", "cancel", number}},
		{s.other, []string{"sluice", "data", "show", "mammo"}},
		{s.other, []string{"sluice", "data", "grant", "mammo", s.other}},
		{s.other, []string{"sluice", "data", "add", "mine", "--path", s.data, "--readers", s.other, "--release", "1MB/job"}},
		{s.reader, []string{"sluice", "data", "audit", "mammo"}},
		{s.reader, []string{"sluice", "data", "grant", "mammo", s.other}},
		{s.reader, []string{"scontrol", "update", "JobId=" + number, "Comment=x"}},
		{s.reader, []string{"srun", "--overlap", "--jobid=" + number, "cat", s.data + "/pictures.json"}},
		{s.reader, []string{"ls", s.vault}},
	} {
		if out, err := s.Run(s.ctx, c.who, c.args[0], c.args[1:]...); err == nil {
			s.t.Errorf("%s may do %q: %.300s", c.who, c.args, out)
		}
	}
}
