package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// TestJobFolderHangs: the file system of one job's folder stops answering. The other job starts, grows,
// shrinks and ends as usual, and users' requests are answered. The job itself keeps its size, the
// status names it, and it follows its user's order once the file system answers.
func TestJobFolderHangs(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(2, 4))
	j := s.submit("hangs", "", 30, []string{"--max-gpus=4", "--hold"})
	v := j.until("to be seen", func(v wire.Job) bool { return v.Token != "" })
	h := hang(t, filepath.Join(s.Jobs, v.Token))
	s.as("", "sluice", "release", fmt.Sprint(j.id))
	s.as("", "sluice", "resize", fmt.Sprint(j.id), "--gpus", "2")
	v = j.runsOn(2)
	j.until("to train", func(now wire.Job) bool { return now.Done > v.Done })

	h.stops()
	begun := s.status().Cycles
	s.as("", "sluice", "resize", fmt.Sprint(j.id), "--gpus", "1")
	other := s.submit("other", "", 12, []string{"--max-gpus=4"})
	for _, gpus := range []int{1, 4, 2} {
		s.as("", "sluice", "resize", fmt.Sprint(other.id), "--gpus", fmt.Sprint(gpus))
		other.runsOn(gpus)
	}
	s.as("", "sluice", "show", fmt.Sprint(j.id))
	s.as("", "sluice", "queue")
	for s.status().Unread != 1 { // until the test's time is over
		time.Sleep(100 * time.Millisecond)
	}
	if cycles := s.status().Cycles - begun; cycles < 10 {
		t.Errorf("%d cycles since", cycles)
	}
	s.as("", "sluice", "resize", fmt.Sprint(other.id), "--gpus", "auto")
	other.completes()
	if now := j.view(); now.State != "RUNNING" || now.GPUs != 2 {
		t.Errorf("the job whose folder hangs is %s on %d GPUs", now.State, now.GPUs)
	}

	h.goesOn()
	j.runsOn(1)
	if got := s.status(); got.Unread != 0 {
		t.Errorf("%d jobs' folders are still said not to answer", got.Unread)
	}
	s.as("", "sluice", "resize", fmt.Sprint(j.id), "--gpus", "auto")
	j.completes()
}

func (s *scene) status() wire.Status {
	s.t.Helper()
	got, err := s.Control().Status(s.ctx)
	s.must(err)
	return got
}

// hanging is a file system that shows a folder, and stops answering on request, as one on
// a failed server does: a caller waits in the kernel.
type hanging struct {
	fuse.RawFileSystem
	gate sync.RWMutex
}

func (h *hanging) stops()  { h.gate.Lock() }
func (h *hanging) goesOn() { h.gate.Unlock() }

func (h *hanging) wait() {
	h.gate.RLock()
	defer h.gate.RUnlock()
}

// hang lays such a file system over the folder.
func hang(t *testing.T, dir string) *hanging {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: needs root to mount a file system that hangs")
	}
	behind := t.TempDir()
	if out, err := exec.Command("cp", "-a", dir+"/.", behind).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	root, err := fs.NewLoopbackRoot(behind)
	if err != nil {
		t.Fatal(err)
	}
	none := time.Duration(0)
	h := &hanging{RawFileSystem: fs.NewNodeFS(root, &fs.Options{AttrTimeout: &none, EntryTimeout: &none})}
	server, err := fuse.NewServer(h, dir, &fuse.MountOptions{DirectMountStrict: true, AllowOther: true, Options: []string{"default_permissions"}})
	if err != nil {
		t.Skipf("LOUD SKIP: no file system that hangs can be mounted here: %v", err)
	}
	go server.Serve()
	if err := server.WaitMount(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !h.gate.TryLock() { // a test that failed meanwhile
			h.goesOn()
		}
		_ = exec.Command("umount", "--lazy", dir).Run()
	})
	return h
}

func (h *hanging) Lookup(cancel <-chan struct{}, header *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	h.wait()
	return h.RawFileSystem.Lookup(cancel, header, name, out)
}

func (h *hanging) GetAttr(cancel <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	h.wait()
	return h.RawFileSystem.GetAttr(cancel, in, out)
}

func (h *hanging) Open(cancel <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	h.wait()
	return h.RawFileSystem.Open(cancel, in, out)
}

func (h *hanging) OpenDir(cancel <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	h.wait()
	return h.RawFileSystem.OpenDir(cancel, in, out)
}

func (h *hanging) Create(cancel <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	h.wait()
	return h.RawFileSystem.Create(cancel, in, name, out)
}

func (h *hanging) Read(cancel <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	h.wait()
	return h.RawFileSystem.Read(cancel, in, buf)
}

func (h *hanging) Write(cancel <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	h.wait()
	return h.RawFileSystem.Write(cancel, in, data)
}
