package process

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMemoryGroup(t *testing.T) {
	for text, want := range map[string]string{
		"0::/system.slice/slurmstepd.scope/job_42/step_batch/user/task_0\n":       "/system.slice/slurmstepd.scope/job_42 memory.events",
		"9:name=systemd:/\n4:memory:/slurm/uid_1000/job_42/step_0/task_1\n0::/\n": "memory/slurm/uid_1000/job_42 memory.oom_control",
		"5:cpu,memory:/user.slice\n":                                              "memory/user.slice memory.oom_control",
		"0::/user.slice/session-1.scope\n":                                        "/user.slice/session-1.scope memory.events",
		"0::/../../etc\n":                                                         "/etc memory.events", // below the mount point all the same
		"4:memory:/\n0::/\n":                                                      " ",
		"":                                                                        " ",
		"garbage\n::\n0:memory\n0:memory:no\n":                                    " ",
	} {
		folder, file := memoryGroup(text)
		if got := folder + " " + file; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func FuzzMemoryGroup(f *testing.F) {
	f.Add("0::/job_1/x\n")
	f.Fuzz(func(t *testing.T, text string) { memoryGroup(text) })
}

func TestCountKills(t *testing.T) {
	job := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(job, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, known := countKills(job, "memory.events"); known {
		t.Error("nothing counts, and it is known")
	}
	write("memory.events", "low 0\noom 4\noom_kill 3\noom_group_kill 0\n")
	write("step_0/memory.events", "oom_kill 2\n")
	if n, known := countKills(job, "memory.events"); n != 3 || !known {
		t.Errorf("version 2: %d, %v", n, known)
	}
	write("step_batch/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n")
	write("step_0/task_1/memory.oom_control", "oom_kill 5\n")
	write("step_1/memory.oom_control", "oom_kill many\n")
	if n, known := countKills(job, "memory.oom_control"); n != 6 || !known {
		t.Errorf("version 1: %d, %v", n, known)
	}
	OOMKills(Cgroups) // whatever this machine has
}
