package lab

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestReserve(t *testing.T) {
	a, err := reserve("/tmp/a", 5)
	if err != nil {
		t.Fatal(err)
	}
	defer a.release()
	b, err := reserve("/tmp/a", 5) // the same start of the search, already taken
	if err != nil {
		t.Fatal(err)
	}
	defer b.release()
	seen := map[int]bool{}
	for _, port := range append(a.ports, b.ports...) {
		if seen[port] || port < firstPort || port >= lastPort {
			t.Errorf("port %d twice or out of range: %v %v", port, a.ports, b.ports)
		}
		seen[port] = true
	}
	// A daemon binds beside the reservation; Go sets SO_REUSEADDR as Slurm does.
	for _, port := range a.ports {
		ln, err := net.Listen("tcp4", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			t.Fatal(err)
		}
		if !listening("127.0.0.1", port) {
			t.Errorf("port %d: listener not seen", port)
		}
		ln.Close()
	}
	if listening("127.0.0.1", b.ports[0]) {
		t.Error("a reservation looks like a listener")
	}
}

func TestLockIsExclusive(t *testing.T) {
	dir := t.TempDir()
	unlock, err := lock(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := lock(short, dir); !errors.Is(err, ErrInUse) {
		t.Errorf("second lock: %v", err)
	}
	unlock()
	again, err := lock(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	again()
}

func TestClaim(t *testing.T) {
	me := account{UID: os.Geteuid()}
	base := t.TempDir()
	fresh := filepath.Join(base, "a", "b")
	made, unlock, err := claim(fresh, me)
	if err != nil || !made {
		t.Fatalf("fresh directory: %v, %v", made, err)
	}
	unlock()
	if made, unlock, err = claim(fresh, me); err != nil || made {
		t.Fatalf("empty directory: %v, %v", made, err)
	}
	unlock()
	if err := os.WriteFile(filepath.Join(fresh, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := claim(fresh, me); !errors.Is(err, ErrInUse) {
		t.Errorf("foreign files: %v", err)
	}
	if _, err := os.Stat(filepath.Join(fresh, "mine")); err != nil {
		t.Error(err)
	}
}

func TestClaimNeedsAnOpenPath(t *testing.T) {
	closed := filepath.Join(t.TempDir(), "closed")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(closed, "lab")
	other := account{Name: "somebody", UID: os.Geteuid() + 1}
	if _, _, err := claim(dir, other); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "closed to account somebody") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the refused directory was left: %v", err)
	}
}

func TestRecordIsTrustedOnlyFromItsOwner(t *testing.T) {
	dir, err := realPath(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	good := record{Format: recordFormat, Owner: os.Geteuid(), Config: Config{Dir: dir}.complete()}
	if err := good.write(); err != nil {
		t.Fatal(err)
	}
	if l, err := Open(dir); err != nil || l.Dir() != dir {
		t.Fatalf("good record: %v", err)
	}
	for name, change := range map[string]func(*record){
		"another's uid":      func(r *record) { r.Owner++ },
		"another's place":    func(r *record) { r.Config.Dir = "/" },
		"a later format":     func(r *record) { r.Format++ },
		"an earlier nothing": func(r *record) { *r = record{} },
	} {
		bad := good
		change(&bad)
		text, err := json.Marshal(bad)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(layout(dir).record(), text, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if err := os.WriteFile(layout(dir).record(), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || errors.Is(err, ErrNoLab) {
		t.Errorf("torn record: %v", err)
	}
}

func TestFoldersOwnersAndModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lab")
	d := layout(dir)
	me := account{UID: os.Geteuid(), GID: os.Getegid()}
	if err := d.makeFolders([]string{"gpu1"}, me); err != nil {
		t.Fatal(err)
	}
	for _, f := range d.folders([]string{"gpu1"}) {
		st, err := os.Stat(f.path)
		if err != nil {
			t.Fatal(err)
		}
		if got := st.Mode() &^ fs.ModeDir; got != f.mode {
			t.Errorf("%s: mode %v, want %v", f.path, got, f.mode)
		}
	}
	gpu := d.gpu("gpu1", 0)
	if _, err := makeGPU(gpu); err != nil {
		t.Fatal(err)
	}
	if !opensAsDevice(gpu) {
		t.Errorf("%s is no usable character device", gpu)
	}
}

func TestMissingNamesProgramsAndPackages(t *testing.T) {
	err := Missing(t.TempDir())
	if !errors.Is(err, ErrMissing) {
		t.Fatal(err)
	}
	for _, want := range []string{"munged", "slurmctld", "slurmstepd", "sbatch"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q not named in: %v", want, err)
		}
	}
}

func TestInTreeFollowsLinksInside(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"usr/sbin", "etc/alternatives"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	real := filepath.Join(root, "usr/sbin/slurmd-wlm")
	err := errors.Join(
		os.WriteFile(real, nil, 0o755),
		os.Symlink("/etc/alternatives/slurmd", filepath.Join(root, "usr/sbin/slurmd")),
		os.Symlink("/usr/sbin/slurmd-wlm", filepath.Join(root, "etc/alternatives/slurmd")))
	if err != nil {
		t.Fatal(err)
	}
	if got := inTree(root, "/usr/sbin/slurmd"); got != real {
		t.Errorf("%s, want %s", got, real)
	}
}
