package sbatch

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSplitWords(t *testing.T) {
	for _, tc := range []struct {
		line string
		want []string
	}{
		{``, nil},
		{`  --time=10   -n4	x `, []string{"--time=10", "-n4", "x"}},
		{`--comment="a b" 'c d'`, []string{"--comment=a b", "c d"}},
		{`a"b'c"d'e"f'`, []string{`ab'cde"f`}},
		{`--x="q\"r" \"y`, []string{`--x=q"r`, `"y`}},
		{`'it\'s' "\\"`, []string{"it's", `\`}},
		{`--time=1 # --gpus=4`, []string{"--time=1"}},
		{`--job-name=a#b --gpus=4`, []string{"--job-name=a"}},
		{`--job-name=a\#b "c#d"`, []string{"--job-name=a#b", "c#d"}},
		{`--x=$HOME --y=$(id) ~`, []string{"--x=$HOME", "--y=$(id)", "~"}},
		{`--comment=`, []string{"--comment="}},
		{"a\r", []string{"a"}},
	} {
		words, err := splitWords(tc.line, 0, "s", 1)
		if err != nil {
			t.Errorf("%q: %v", tc.line, err)
		}
		if got := texts(words); !slices.Equal(got, tc.want) {
			t.Errorf("%q: got %q, want %q", tc.line, got, tc.want)
		}
	}
}

func TestSplitWordsRefuses(t *testing.T) {
	for line, want := range map[string]string{
		`--x="a b`:     `s:7:5: the quote " is not closed on this line`,
		`a 'b`:         `s:7:3: the quote ' is not closed on this line`,
		`--x=a\ b`:     `s:7:6: \: Slurm releases read a backslash before a space differently; put the value in quotes`,
		`--x=1 \`:      `s:7:7: \: a directive does not continue on the next line; repeat the directive there`,
		`--comment ""`: `s:7:11: sbatch stops reading at an empty word; leave it out, or attach it to its option: --comment=`,
		`hetjob`:       `s:7:1: hetjob: ` + hetWhy + "; " + hetDo,
		`-n4 PackJob`:  `s:7:5: PackJob: ` + hetWhy + "; " + hetDo,
		`-n4 :`:        `s:7:5: :: ` + hetWhy + "; " + hetDo,
	} {
		if _, err := splitWords(line, 0, "s", 7); err == nil || err.Error() != want {
			t.Errorf("%q: got %v\nwant %v", line, err, want)
		}
	}
}

func texts(words []word) (out []string) {
	for _, w := range words {
		out = append(out, w.text)
	}
	return out
}

// TestQuoteWordReadsBack: a rewritten word has the same meaning.
func TestQuoteWordReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.StringMatching(`[^\n\x00]{1,12}`), 1, 5).Draw(t, "words")
		quoted := make([]string, len(want))
		for i, w := range want {
			quoted[i] = quoteWord(w)
		}
		words, err := splitWords(strings.Join(quoted, " "), 0, "s", 1)
		if err != nil || !slices.Equal(texts(words), want) {
			t.Fatalf("%q came back as %q, %v", quoted, texts(words), err)
		}
	})
}

func FuzzSplitWords(f *testing.F) {
	for _, seed := range []string{``, `--a "b c" \# d`, `"`, `\`, `\ `, `''`, "\x00", `a"b`, `: hetjob`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if strings.Contains(line, "\n") {
			return
		}
		words, err := splitWords(line, 0, "s", 3)
		if err != nil && (err.At.Line != 3 || err.At.Column < 1 || err.At.Column > len(line)+1) {
			t.Fatalf("%q: error at %v", line, err.At)
		}
		last := 0
		for _, w := range words {
			if w.text == "" || w.at.Column <= last || w.at.Column > len(line) {
				t.Fatalf("%q: word %q at %v", line, w.text, w.at)
			}
			last = w.at.Column
		}
	})
}

// realSbatch runs the installed sbatch on a script up to its options: with its own
// configuration, and an invalid option at the end that makes it stop.
func realSbatch(t testing.TB, script string, args ...string) string {
	t.Helper()
	sbatch, err := exec.LookPath("sbatch")
	if err != nil {
		t.Skip("no sbatch here to compare with")
	}
	dir := t.TempDir()
	conf := filepath.Join(dir, "slurm.conf")
	write(t, conf, "ClusterName=x\nSlurmctldHost=localhost\nNodeName=n1\nPartitionName=p Nodes=n1\n")
	cmd := exec.Command(sbatch, args...)
	if script != "" {
		write(t, filepath.Join(dir, "script"), script)
		cmd.Args = append(cmd.Args, filepath.Join(dir, "script"))
	}
	cmd.Env = []string{"SLURM_CONF=" + conf, "PATH=/usr/bin:/bin"}
	out, _ := cmd.CombinedOutput()
	return string(out)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestWordsAgreeWithSbatch checks how the installed sbatch reads generated lines, which
// it prints with -v.
func TestWordsAgreeWithSbatch(t *testing.T) {
	realSbatch(t, "") // skips where there is none
	if strings.Contains(realSbatch(t, "#!/bin/sh\n#SBATCH --zzz\n", "-vvvvv"), "configuration source") {
		t.Skip("this sbatch wants another configuration")
	}
	rapid.Check(t, func(rt *rapid.T) {
		line := rapid.StringMatching(`(--[a-z]=|-v | |"|'|\\[ -~]|[a-zé#\t]){0,12}`).Draw(rt, "line")
		words, wrong := splitWords(line, 0, "s", 1)
		if wrong != nil {
			return // stricter than sbatch, deliberately
		}
		var got []string
		out := realSbatch(t, "#!/bin/sh\n#SBATCH "+line+"\n#SBATCH --zzz\nsleep 1\n", "-vvvvv")
		for _, l := range strings.Split(out, "\n") {
			if _, rest, ok := strings.Cut(l, `Found in script, argument "`); ok {
				got = append(got, strings.TrimSuffix(rest, `"`))
			}
		}
		if want := append(texts(words), "--zzz"); !slices.Equal(got, want) {
			rt.Fatalf("%q: sbatch reads %q, sluice %q\n%s", line, got, want, out)
		}
	})
}
