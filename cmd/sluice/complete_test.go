package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluice-hpc/sluice/elastic/control/controltest"
)

// takesNoWords says of verbs with arguments why nothing but files, or nothing, is offered for them.
var takesNoWords = map[string]string{
	"run": "called by job scripts, not typed: its words are a script and its arguments", "ranks": "its words are a command and its arguments",
	"lane": "called by sluice run, not typed", "init": "its words are files", "queue": "its words are any text",
	"sweep":      "its verbs are cobra's, and complete the user's sweeps",
	"data":       "its verbs are cobra's, and complete the user's data sets",
	"completion": "cobra's own", "help": "cobra's own",
}

// openValues says of options that take a text why none is offered.
var openValues = map[string]string{
	"--config": "a file", "nodes --reason": "free text", "report --until": "a time", "ranks --and-word": "any word",
	"run --outbox": "a folder", "run --glob": "a pattern of files", "run --marker": "the name of a file", "run --progress": "an expression",
	"run --trial": "written by a lane alone", "lane --outbox": "a folder", "lane --sweep": "a folder", "lane --stand-in": "written by a lane alone",
	"run --fence":   "written by sluice-vaultd alone",
	"run --profile": "two numbers", "run --array": "written by submit alone", "speed --plot": "a file", "results --output": "a folder", "results --file": "a file of the job",
}

// TestEverythingIsCompleted: a verb's arguments and the options that take a text have
// completion, or a reason why they have none. Numbers and times are open.
func TestEverythingIsCompleted(t *testing.T) {
	root := newCommand(nil)
	known, text := map[string]bool{}, map[string]bool{"string": true, "strings": true, "stringSlice": true, "stringArray": true}
	for _, c := range root.Commands() {
		arguments := strings.ContainsAny(strings.NewReplacer("[OPTION]", "", "N|auto", "", "N|last", "", "--since TIME", "").Replace(c.Use), "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
		if why := takesNoWords[c.Name()]; c.ValidArgsFunction == nil && arguments && why == "" && c.Annotations == nil && !c.DisableFlagParsing {
			t.Errorf("the arguments of %q are neither completed nor open", c.Use)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			name := c.Name() + " --" + f.Name
			known[name] = true
			closed := text[f.Value.Type()] || !strings.Contains("bool int int64 uint float64 duration count intSlice", f.Value.Type())
			_, has := c.GetFlagCompletionFunc(f.Name)
			if closed && !has && openValues[name] == "" {
				t.Errorf("%s takes a text (%s) that is neither completed nor open", name, f.Value.Type())
			}
		})
	}
	for verb, options := range optionWords {
		for name := range options {
			if !known[verb+" --"+name] {
				t.Errorf("there is no option %s --%s to complete", verb, name)
			}
		}
	}
	for name := range openValues {
		if !known[name] && name != "--config" {
			t.Errorf("there is no option %s", name)
		}
	}
	for verb, l := range listedOptions {
		if len(l.names()) < 20 {
			t.Errorf("%s: only the options %q are found in its help", verb, l.names())
		}
	}
}

// TestListedOptionsAreOpenOrCompleted: so are the options of submit, which only its help lists.
func TestListedOptionsAreOpenOrCompleted(t *testing.T) {
	open := map[string]string{"min-gpus": "", "max-gpus": "", "gpu-step": "", "cpus-per-gpu": "", "epochs": "", "steps": "", // numbers
		"mem-per-gpu": "", "deadline": "", "grace": "", "checkpoint-still": "", // amounts and times
		"checkpoint-glob": "", "checkpoint-marker": "", "config": "", "progress-regex": "", // files and an expression
		"metric": "", "metric-regex": "", "param": "", "where": "", "try": "", "searcher": "", // expressions of a sweep
		"trials": "", "goal": "", "sweep-time": "", "max-failures": "", "keep-gb": "", "seed": "", "rungs": "", "reduction": "", "repeats": "", // its numbers and times
		"code":    "",                                              // files
		"profile": "", "allow-uneven": "", "user": "", "array": ""} // numbers, or no value
	for _, name := range (listed{help: submitHelp}).names() {
		name = strings.Trim(name, "-=")
		if _, is := open[name]; !is && submitWords[name] == nil {
			t.Errorf("submit --%s is neither completed nor open", name)
		}
	}
}

// TestHostileNamesAreNotOffered: a name that would be more than a word in a shell, or a line
// of its own in what the shell reads, is left out.
func TestHostileNamesAreNotOffered(t *testing.T) {
	got := startingWith([]cobra.Completion{"good\tplain\x1b[31m", "a b", "$(reboot)", "x\ny", "`id`", "q\x1b"}, "")
	if len(got) != 1 || got[0] != `good	plain\x1b[31m` {
		t.Errorf("offered %q", got)
	}
}

// TestSilentDaemon: a sluiced that accepts and never answers costs completion its bounded
// time, and neither words nor messages.
func TestSilentDaemon(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conf := filepath.Join(dir, "sluice.toml")
	if err := os.WriteFile(conf, fmt.Appendf(nil, "[paths]\nsocket = %q\n", socket), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SLUICE_CONF", conf)
	var out, errs strings.Builder
	if code := run([]string{"__completeNoDesc", "show", ""}, &out, &errs); code != 0 || out.String() != ":36\n" || strings.Contains(errs.String(), "error") {
		t.Errorf("exit code %d, %q, %q", code, out.String(), errs.String())
	}
}

// bashStub is what bash's completion needs of Debian's bash-completion, where that is missing.
const bashStub = `_get_comp_words_by_ref() { cur=${COMP_WORDS[COMP_CWORD]}; prev=${COMP_WORDS[COMP_CWORD-1]}; words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; }
__ltrim_colon_completions() { :; }
`

// TestBash completes command lines in a real bash, against the canned daemon.
func TestBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("NOT TESTED: completion in bash; there is no bash")
	}
	dir := t.TempDir()
	conf, socket := filepath.Join(dir, "sluice.toml"), filepath.Join(dir, "s")
	d := &cannedDaemon{service: controltest.New(), socket: socket}
	if err := d.start(); err != nil {
		t.Fatal(err)
	}
	defer d.stop()
	if err := os.WriteFile(conf, fmt.Appendf(nil, "[paths]\nsocket = %q\n", socket), 0o644); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "sluice")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	helpers := bashStub
	const installed = "/usr/share/bash-completion/bash_completion"
	if _, err := os.Stat(installed); err == nil {
		helpers = "source " + installed + "\n"
	}
	const read = `source <(sluice completion bash)
complete_line() {
	COMP_LINE=$1 COMP_POINT=${#1} COMP_TYPE=9 COMP_KEY=9
	read -ra COMP_WORDS <<<"$1"; [[ $1 == *' ' ]] && COMP_WORDS+=('')
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=()
	__start_sluice 2>/dev/null
	printf '%s|' "${COMPREPLY[@]%% *}"; echo
}
while IFS= read -r line; do complete_line "$line"; done
`
	lines := []struct{ typed, want string }{
		{"sluice sho", "show|"},
		{"sluice explain 4", "41|42|43|44|45|40|"},
		{"sluice show 41 4", "42|43|44|45|40|"},
		{"sluice release ", "44|"},
		{"sluice nodes --drain ", "gpu1|gpu2|"},
		{"sluice nodes --resume ", "gpu3|"},
		{"sluice queue --users b", "bob|"},
		{"sluice speed r", "resnet50|"},
		{"sluice report --by a", "account|"},
		{"sluice submit --gpu-st", "--gpu-step=|"},
		{"sluice submit --model l", "llama|"},
	}
	var typed strings.Builder
	for _, l := range lines {
		typed.WriteString(l.typed + "\n")
	}
	cmd := exec.CommandContext(t.Context(), bash, "--norc", "-c", helpers+read)
	cmd.Stdin = strings.NewReader(typed.String())
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "SLUICE_CONF="+conf, "HOME="+dir)
	out, err := cmd.Output()
	got := strings.Split(string(out), "\n")
	if err != nil || len(got) != len(lines)+1 {
		t.Fatalf("%v: %q", err, out)
	}
	for i, l := range lines {
		if got[i] != l.want {
			t.Errorf("%q: bash offers %q, want %q", l.typed, got[i], l.want)
		}
	}
}
