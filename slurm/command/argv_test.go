package command

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/slurm"
)

// hostileValues are names that a user may give.
var hostileValues = []string{"-h", "--help", "--", "-", "--comment=x", "", " ", "a b", "a\nb", "$(id)", "`id`", ";reboot", "'", "\"", "\\", "*", "~", "|:@|", "=", "Comment=x",
	"JobId=1", "\x1b[2J", "\u202e", "\xff", "a,b", "gpu[1-9]", "../x", "/etc/passwd", "@file", "<x", ">x", "&", "SLURM_CONF=/x", "LD_PRELOAD=/x", "%n", strings.Repeat("x", 5000)}

// updateKeys are all keys that an update may contain, once each.
var updateKeys = []string{"StartTime", "NumNodes", "NumTasks", "NumCPUs", "ReqNodeList", "TresPerNode", "TresPerJob", "Comment"}

// wellFormed checks that the arguments after "update JobId=7" are key=value, each key
// once and known, whatever the values contain.
func wellFormed(fields []string) string {
	seen := map[string]bool{}
	for _, f := range fields {
		key, _, ok := strings.Cut(f, "=")
		if !ok || !slices.Contains(updateKeys, key) || seen[key] {
			return f
		}
		seen[key] = true
	}
	return ""
}

// argvOf checks one update as far as possible without running a program. It reports
// whether the update was accepted.
func argvOf(t interface{ Fatalf(string, ...any) }, comment, node, gpu string, shape uint8) bool {
	u := slurm.Update{Comment: &comment, GPUType: gpu, GPUsPerNode: 1}
	if shape&1 != 0 {
		u.Nodes = []string{"gpu1", node}
	}
	if err := checkUpdate(u); err != nil {
		return false
	}
	fields := updateFields(u, "gres:gpu")
	plain := u
	text := "mine"
	plain.Comment, plain.GPUType = &text, ""
	if u.Nodes != nil {
		plain.Nodes = []string{"gpu1", "gpu2"}
	}
	if want := len(updateFields(plain, "gres:gpu")); len(fields) != want {
		t.Fatalf("%d arguments, %d for plain words: %q", len(fields), want, fields)
	}
	if bad := wellFormed(fields); bad != "" {
		t.Fatalf("argument %q", bad)
	}
	if fields[len(fields)-1] != "Comment="+comment {
		t.Fatalf("the comment came out as %q", fields[len(fields)-1])
	}
	for _, f := range fields[:len(fields)-1] {
		if strings.ContainsAny(f, " \n\t'\"\\$`;&|<>*?()[]{}\x00\x1b") {
			t.Fatalf("%q has more than a word in it", f)
		}
	}
	if strings.HasPrefix(node, "-") && u.Nodes != nil || strings.HasPrefix(gpu, "-") {
		t.Fatalf("a value that is an option was taken: %q, %q", node, gpu)
	}
	return true
}

// FuzzArgv: whatever the values contain, the number of arguments and the limits of each
// stay the same; values that Slurm would read as something else are refused.
func FuzzArgv(f *testing.F) {
	for i, v := range hostileValues {
		f.Add(v, "gpu2", "", uint8(0))
		f.Add("mine", v, "", uint8(1))
		f.Add("mine", "gpu2", v, uint8(i))
	}
	f.Fuzz(func(t *testing.T, comment, node, gpu string, shape uint8) {
		argvOf(t, comment, node, gpu, shape)
		name := strings.TrimPrefix(strings.ToUpper(node), "SIG")
		if signalName().MatchString(name) && (strings.HasPrefix(name, "-") || strings.ContainsAny(name, " \n=/,;")) {
			t.Fatalf("signal %q", name)
		}
	})
}

// recorder makes programs that record their arguments, each ended by a zero byte.
func recorder(t *testing.T) (stubs, *Client, func() [][]string) {
	t.Helper()
	s := newStubs(t)
	text := "#!/bin/sh\n{ printf '%s\\0' \"$@\"; printf '\\0'; } >>" + filepath.Join(s.dir, "argv") + "\n[ \"$1\" = --version ] && echo 'slurm 24.11.5'\n" +
		"case $* in *show*config*) echo 'SLURM_VERSION           = 24.11.5';; esac\nenv >" + filepath.Join(s.dir, "env") + "\n[ ${0##*/} != sbatch ] || echo 7\nexit 0\n"
	for _, name := range programs {
		s.program(name, text)
	}
	return s, s.client(Config{}), func() [][]string {
		raw := s.read("argv")
		_ = os.Remove(filepath.Join(s.dir, "argv"))
		var calls [][]string
		for _, call := range strings.Split(strings.TrimSuffix(raw, "\x00\x00"), "\x00\x00") {
			calls = append(calls, strings.Split(call, "\x00"))
		}
		return calls
	}
}

// The arguments that a started program gets are those that were checked: no shell is
// between, and no environment variable changes the query.
func TestArgvReachesTheProgram(t *testing.T) {
	for _, kv := range []string{"SBATCH_HOLD=1", "SQUEUE_FORMAT=%i", "SQUEUE_STATES=R", "SINFO_FORMAT=x", "SCONTROL_ALL=1", "SLURM_CONF_SERVER=evil", "SLURM_CLUSTERS=evil",
		"SLURM_TIME_FORMAT=relative", "SLURM_DEBUG=9", "SLURM_JSON=x", "LD_PRELOAD=", "LD_LIBRARY_PATH=/evil", "LD_AUDIT=", "BASH_ENV=/evil", "ENV=/evil", "IFS=x", "MUNGE_SOCKET=/evil"} {
		name, value, _ := strings.Cut(kv, "=")
		t.Setenv(name, value)
	}
	s, c, calls := recorder(t)
	ctx := context.Background()
	if err := c.Update(ctx, 7, slurm.Update{GPUsPerNode: 1, StartAfter: time.Second}); err != nil { // learns the version
		t.Fatal(err)
	}
	calls()
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.SampledFrom(hostileValues), rapid.StringMatching(`[^\x00]{0,12}`)).Draw(t, "value")
		if strings.IndexByte(value, 0) >= 0 {
			t.Skip()
		}
		err := c.Update(ctx, 7, slurm.Update{Comment: &value})
		got := calls()
		if value == "" && err == nil && len(got) == 1 && slices.Equal(got[0], []string{"update", "JobId=7", "Comment="}) {
			return
		}
		if err != nil || len(got) != 1 || !slices.Equal(got[0], []string{"update", "JobId=7", "Comment=" + value}) {
			t.Fatalf("%v: %q", err, got)
		}
		err = c.Signal(ctx, 7, value, false)
		switch {
		case errors.Is(err, slurm.ErrRefused):
		case err != nil:
			t.Fatalf("%v", err)
		default:
			if got := calls(); len(got) != 1 || len(got[0]) != 2 || got[0][1] != "7" {
				t.Fatalf("%q", got)
			}
		}
		taken++
	})
	for _, line := range strings.Split(s.read("env"), "\n") {
		name, _, _ := strings.Cut(line, "=")
		if isSmuggled(name) && name != "SLURM_TIME_FORMAT" && name != "SLURM_CONF" || name == "BASH_ENV" || name == "ENV" || name == "MUNGE_SOCKET" {
			t.Errorf("the program saw %s", line)
		}
		if strings.HasPrefix(line, "SLURM_TIME_FORMAT=") && line != "SLURM_TIME_FORMAT=%s" {
			t.Errorf("the program saw %s", line)
		}
	}
	t.Logf("%d calls recorded", taken)
}

// TestHostileStrings is FuzzArgv without the fuzzing engine: random values made of
// typical injection strings, as many as SLUICE_STRINGS says.
func TestHostileStrings(t *testing.T) {
	total := 100_000
	if text := os.Getenv("SLUICE_STRINGS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		total = n
	}
	rng := rand.New(rand.NewPCG(5, 4))
	words := hostileValues[:len(hostileValues)-1] // without the long one
	word := func() string {
		var b strings.Builder
		for range rng.IntN(4) {
			b.WriteString(words[rng.IntN(len(words))])
			if rng.IntN(3) == 0 {
				b.WriteByte(byte(rng.IntN(256)))
			}
		}
		return b.String()
	}
	node := func() string {
		if rng.IntN(2) == 0 {
			return word()
		}
		return "gpu" + string("0aZ-._ ,\n"[rng.IntN(9)])
	}
	taken, started := 0, time.Now()
	for range total {
		gpu := ""
		if rng.IntN(3) == 0 {
			gpu = node()
		}
		if argvOf(t, word(), node(), gpu, uint8(rng.IntN(2))) {
			taken++
		}
	}
	t.Logf("%d strings of three, %d taken, %.0f a second", total, taken, float64(total)/time.Since(started).Seconds())
	if taken == 0 || taken == total {
		t.Errorf("%d of %d taken", taken, total)
	}
}
