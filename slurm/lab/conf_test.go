package lab

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden files; read the diff before committing it")

// golden sites: one for each release in Debian, and one for each variant of the
// configuration.
var sites = map[string]site{
	"20.11": {Config: Config{Dir: "/lab", Nodes: 1}, Release: release{20, 11, "20.11.4"}, Loopback: true},
	"22.05": {Config: Config{Dir: "/lab"}, Release: release{22, 5, "22.05.8"}, Loopback: true},
	"24.11": {Config: Config{Dir: "/lab", Root: "/trees/trixie"}, Release: release{24, 11, "24.11.5"}, Loopback: true,
		Plugins: "/trees/trixie/usr/lib/x86_64-linux-gnu/slurm-wlm"},
	"26.05": {Config: Config{Dir: "/lab"}, Release: release{26, 5, "26.05.5"}},
	"turns": {Release: release{22, 5, "22.05.8"}, Config: Config{
		Dir: "/lab", Nodes: 2, NodePrefix: "edge", GPUs: 1, GPUType: "a100", CPUs: 4, MemoryMB: 1000,
		MinJobAge: 10 * time.Second, SlurmdTimeout: 5 * time.Second,
		Partitions: []Partition{{Name: "main", Nodes: []string{"edge1"}}, {Name: "all", Options: "PriorityTier=2"}},
		ExtraConf:  "schedulerparameters=defer\nEpilog=/lab/epilog\n",
	}},
	"two types":       {Release: release{22, 5, "22.05.8"}, Config: Config{Dir: "/lab", GPUType: "a", GPUTypes: []string{"", "b"}}},
	"types on a node": {Release: release{22, 5, "22.05.8"}, Config: Config{Dir: "/lab", Nodes: 2, GPUTypes: []string{"a:3+b:1", "b"}}},
	"accounting":      {Config: Config{Dir: "/lab", Nodes: 1, Accounting: true}, Release: release{22, 5, "22.05.8"}, DbdPort: 20009},
	"backup":          {Config: Config{Dir: "/lab", Nodes: 1, Backup: true}, Release: release{22, 5, "22.05.8"}},
	"fast":            {Release: release{22, 5, "22.05.8"}, Config: Config{Dir: "/lab", Nodes: 1, FastScheduling: true}},
	"no GPUs":         {Release: release{22, 5, "22.05.8"}, Config: Config{Dir: "/lab", Nodes: 1, GPUs: -1}},
}

func TestConfGolden(t *testing.T) {
	for name, s := range sites {
		t.Run(name, func(t *testing.T) {
			s.Config = s.Config.complete()
			s.Cluster, s.Host, s.Slurm, s.Slurmd, s.CtldPort = "lab0", "host", "slurm", "root", 20000
			for i := range s.Config.Nodes {
				s.Ports = append(s.Ports, 20001+i)
			}
			got := s.slurmConf() + "--- gres.conf\n" + s.gresConf() + "--- cgroup.conf\n" + s.cgroupConf()
			if dbd := s.slurmdbdConf(); dbd != "" {
				got += "--- slurmdbd.conf\n" + dbd
			}
			if backup := s.backupConf(); backup != "" {
				got += "--- backup.conf\n" + backup
			}
			path := filepath.Join("testdata", strings.ReplaceAll(name, " ", "-")+".golden")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s differs; if that is meant, run with -update and read the diff. Got:\n%s", path, got)
			}
		})
	}
}

func TestConfigCheck(t *testing.T) {
	for _, tc := range []struct {
		name string
		cfg  Config
		want string // part of the error; "" = accepted
	}{
		{"defaults", Config{Dir: "/tmp/x"}, ""},
		{"relative", Config{Dir: "x"}, "absolute"},
		{"blank in path", Config{Dir: "/tmp/a b"}, "absolute path of letters"},
		{"Slurm syntax in path", Config{Dir: "/tmp/%n"}, "absolute path of letters"},
		{"path too long", Config{Dir: "/tmp/" + strings.Repeat("x", 80)}, "bytes too long"},
		{"too many nodes", Config{Dir: "/tmp/x", Nodes: 65}, "1 to 64"},
		{"negative nodes", Config{Dir: "/tmp/x", Nodes: -1}, "1 to 64"},
		{"prefix", Config{Dir: "/tmp/x", NodePrefix: "a[1]"}, "node prefix"},
		{"GPUs", Config{Dir: "/tmp/x", GPUs: 65}, "at most 64"},
		{"no GPUs", Config{Dir: "/tmp/x", GPUs: -1}, ""},
		{"GPU type", Config{Dir: "/tmp/x", GPUType: "a:b"}, "GPU type"},
		{"GPU types", Config{Dir: "/tmp/x", GPUTypes: []string{"a", "b c"}}, "GPU type"},
		{"GPU types of a node", Config{Dir: "/tmp/x", GPUTypes: []string{"a:2+b:2"}}, ""},
		{"too few of a node", Config{Dir: "/tmp/x", GPUTypes: []string{"a:2+b:1"}}, "add up to 4"},
		{"a type twice", Config{Dir: "/tmp/x", GPUTypes: []string{"a:2+a:2"}}, "a:2+a:2"},
		{"CPUs", Config{Dir: "/tmp/x", CPUs: -2}, "CPUs"},
		{"memory", Config{Dir: "/tmp/x", MemoryMB: -2}, "MB"},
		{"slurmd timeout", Config{Dir: "/tmp/x", SlurmdTimeout: time.Second}, "slurmd timeout"},
		{"job age", Config{Dir: "/tmp/x", MinJobAge: time.Second}, "job age"},
		{"partition name", Config{Dir: "/tmp/x", Partitions: []Partition{{Name: "a b"}}}, "partition"},
		{"partition twice", Config{Dir: "/tmp/x", Partitions: []Partition{{Name: "a"}, {Name: "a"}}}, "new name"},
		{"partition's node", Config{Dir: "/tmp/x", Partitions: []Partition{{Name: "a", Nodes: []string{"gpu4"}}}}, `no node "gpu4"`},
		{"partition's options", Config{Dir: "/tmp/x", Partitions: []Partition{{Name: "a", Options: "A=B\nC=D"}}}, "one line"},
	} {
		err := tc.cfg.complete().check()
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("%s: %v", tc.name, err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s: error %v, want one with %q", tc.name, err, tc.want)
		}
	}
}

func TestDefaultDir(t *testing.T) {
	t.Setenv("SLUICE_LAB_DIR", "/somewhere")
	if got := DefaultDir(); got != "/somewhere" {
		t.Errorf("with SLUICE_LAB_DIR: %s", got)
	}
	t.Setenv("SLUICE_LAB_DIR", "")
	t.Setenv("XDG_RUNTIME_DIR", "/run/user/7")
	want := "/run/user/7/sluice-lab"
	if os.Geteuid() == 0 {
		want = "/tmp/sluice-lab-0" // others could not reach root's runtime directory
	}
	if got := DefaultDir(); got != want {
		t.Errorf("default %s, want %s", got, want)
	}
}
