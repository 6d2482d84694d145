package etc_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// TestCampaign: what a command says is shown, kept whole with how it ended, and its
// exit status handed on.
func TestCampaign(t *testing.T) {
	script, err := filepath.Abs("campaign")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		code int
		kept string // expression for all that is kept; "" = nothing
	}{
		{"good", []string{"conform", "echo", "conform: kept=1"}, 0,
			`^# campaign conform commit \S+ began \S+Z: echo conform: kept=1\nconform: kept=1\n# campaign ended \S+Z exit 0\n$`},
		{"bad", []string{"soak", "sh", "-c", "echo half; echo aside >&2; exit 3"}, 3, `^# campaign soak .*\nhalf\n# campaign ended \S+ exit 3\n$`},
		{"not there", []string{"x", "/nonexistent/program"}, 127, `\n# campaign ended \S+ exit 127\n$`},
		{"no command", []string{"x"}, 64, ""},
		{"no name", []string{"../x", "true"}, 64, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "kept")
			cmd := exec.CommandContext(t.Context(), script, c.args...)
			cmd.Env = append(os.Environ(), "CAMPAIGNS="+dir)
			said, _ := cmd.Output()
			if code := cmd.ProcessState.ExitCode(); code != c.code {
				t.Errorf("exit %d, want %d: %s", code, c.code, said)
			}
			files, _ := filepath.Glob(filepath.Join(dir, "*"))
			if c.kept == "" {
				if len(files) > 0 {
					t.Errorf("kept %v", files)
				}
				return
			}
			if len(files) != 1 {
				t.Fatalf("kept %v", files)
			}
			if text := read(t, files[0]); !regexp.MustCompile(c.kept).MatchString(text) {
				t.Errorf("kept\n%s", text)
			}
		})
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
