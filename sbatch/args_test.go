package sbatch

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// show writes settings as name=value, one a word.
func show(settings []setting) string {
	var out []string
	for _, s := range settings {
		text := s.name
		if s.given {
			text += "=" + s.value
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

func TestParseCommandLine(t *testing.T) {
	for _, tc := range []struct {
		args     string
		settings string
		script   string
		rest     string
	}{
		{"job.sh", "", "job.sh", ""},
		{"--time=10 --mem 4G job.sh --time=20", "time=10 mem=4G", "job.sh", "--time=20"},
		{"-n4 -t 5 -HQ job.sh", "ntasks=4 time=5 hold quiet", "job.sh", ""},
		{"-HQn4 job.sh", "hold quiet ntasks=4", "job.sh", ""},
		{"--nice job.sh", "nice", "job.sh", ""},
		{"--nice=5 -k -koff job.sh", "nice=5 no-kill no-kill=off", "job.sh", ""},
		{"--part gpu --min-g 2 job.sh", "partition=gpu min-gpus=2", "job.sh", ""},
		{"--time --hold job.sh", "time=--hold", "job.sh", ""},
		{"--hold -- --odd-name a", "hold", "--odd-name", "a"},
		{"--site-thing=3 job.sh", "site-thing=3", "job.sh", ""},
		{"--site-thing job.sh", "site-thing", "job.sh", ""},
		{"--output= job.sh", "output=", "job.sh", ""},
		{"--wait --parsable", "wait parsable", "", ""},
		{"job.sh : --gpus=4", "", "job.sh", ": --gpus=4"},
		{"- job", "", "-", "job"},
	} {
		c, err := ParseCommandLine(strings.Fields(tc.args))
		if err != nil {
			t.Errorf("%s: %v", tc.args, err)
		}
		if got := show(c.settings); got != tc.settings || c.Script != tc.script || strings.Join(c.Args, " ") != tc.rest {
			t.Errorf("%s: got %q script %q args %q", tc.args, got, c.Script, c.Args)
		}
	}
}

func TestParseCommandLineRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"--time":                   "--time: needs a value",
		"-n":                       "-n: needs a value",
		"--hold=yes job.sh":        "--hold=yes: takes no value; write --hold",
		"--gp=4 job.sh":            "--gp=4: could be --gpu-bind, --gpu-freq, --gpus, --gpus-per-node, --gpus-per-socket, --gpus-per-task, --gpu-sizes, --gpu-step, --gpu-types; write it in full",
		"-zz job.sh":               "-zz: sbatch has no option -z; see 'man sbatch'",
		"--time=1 : -n1 job.sh":    ":: " + hetWhy + "; " + hetDo,
		"--comment : job.sh":       ":: " + hetWhy + "; " + hetDo,
		"--wrap=date job.sh":       "job.sh: a script and --wrap exclude each other; leave one out; write the arguments of a wrapped command inside of it",
		"--ma=4 --hold=x job.sh":   "--ma=4: could be --mail-type, --mail-user, --max-failures, --max-gpus; write it in full\n--hold=x: takes no value; write --hold",
		"--cpus-per=4 job.sh":      "--cpus-per=4: could be --cpus-per-gpu, --cpus-per-task; write it in full",
		"--checkpoint=/tmp job.sh": "--checkpoint=/tmp: could be --checkpoint-dir, --checkpoint-every, --checkpoint-glob, --checkpoint-marker, --checkpoint-signal, --checkpoint-still; write it in full",
	} {
		if _, err := ParseCommandLine(strings.Fields(args)); err == nil || err.Error() != want {
			t.Errorf("%s: got %v\nwant %s", args, err, want)
		}
	}
}

// TestResolveAgreesWithSbatch: every option, and every prefix of one, has the same
// meaning for the installed sbatch as here. Options of other releases are unknown to it.
// Prefixes that are ambiguous only because of sluice's options, or of those of other
// releases, are not compared.
func TestResolveAgreesWithSbatch(t *testing.T) {
	realSbatch(t, "")
	said := regexp.MustCompile(`option '--(\S+)' (requires an argument|doesn't allow an argument|is ambiguous)|unrecognized option`)
	for _, o := range options {
		if o.is == own || o.name == "help" || o.name == "usage" || o.name == "version" || o.name == "autocomplete" {
			continue
		}
		out := realSbatch(t, "", "--"+o.name+"=", "--zzz")
		m := said.FindStringSubmatch(out)
		switch {
		case m == nil: // the error is about the value, so it takes one
			if o.takes == bare {
				t.Errorf("--%s= was taken by sbatch: %s", o.name, out)
			}
		case strings.Contains(out, "unrecognized option '--zzz'"):
			if o.takes == bare {
				t.Errorf("--%s= was taken by sbatch: %s", o.name, out)
			}
		case m[2] == "doesn't allow an argument":
			if o.takes == valued {
				t.Errorf("--%s takes no value for sbatch", o.name)
			}
		}
		out = realSbatch(t, "", "--"+o.name)
		needs := strings.Contains(out, "requires an argument")
		if known := !strings.Contains(out, "unrecognized") && !strings.Contains(out, "ambiguous"); known && needs != (o.takes == valued) {
			t.Errorf("--%s: sbatch needs a value: %v, here: %v\n%s", o.name, needs, o.takes == valued, out)
		}
	}
}

// TestOptionsAreOrdered keeps the table readable and without duplicates.
func TestOptionsAreOrdered(t *testing.T) {
	names := map[string]bool{}
	shorts := map[byte]string{}
	for i, o := range options {
		if names[o.name] {
			t.Errorf("--%s stands twice", o.name)
		}
		names[o.name] = true
		if o.short != 0 && shorts[o.short] != "" {
			t.Errorf("-%c is --%s and --%s", o.short, shorts[o.short], o.name)
		}
		shorts[o.short] = o.name
		if o.short != 0 && !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", rune(o.short)) {
			t.Errorf("--%s has %q for a letter", o.name, o.short)
		}
		if i > 0 && options[i-1].name > o.name && (options[i-1].is == own) == (o.is == own) {
			t.Errorf("--%s stands before --%s", options[i-1].name, o.name)
		}
	}
	for _, o := range options {
		if why, _ := refusal(o.name, ""); why != "" && o.is == passed {
			t.Errorf("the rule for --%s watches an option that passes unseen", o.name)
		}
	}
	for _, v := range variables {
		if byName(v.option) == nil {
			t.Errorf("%s stands for --%s, which is not an option", v.name, v.option)
		}
	}
}

// TestPassedWordsSurvive: sbatch's own options reach it in their order, word by word.
func TestPassedWordsSurvive(t *testing.T) {
	var pass []option
	for _, o := range options {
		if o.is == passed {
			pass = append(pass, o)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		var args []string
		for range rapid.IntRange(0, 6).Draw(t, "n") {
			o := rapid.SampledFrom(pass).Draw(t, "option")
			value := rapid.StringMatching(`[^:\x00][^\x00]{0,5}`).Draw(t, "value")
			if o.name == "profile" { // with other values it is sluice's own
				value = rapid.SampledFrom(sbatchProfiles).Draw(t, "kind")
			}
			switch {
			case o.takes == bare:
				args = append(args, "--"+o.name)
			case o.takes == valued && rapid.Bool().Draw(t, "apart"):
				args = append(args, "--"+o.name, value)
			default:
				args = append(args, "--"+o.name+"="+value)
			}
		}
		rest := rapid.SliceOf(rapid.String()).Draw(t, "rest")
		c, err := ParseCommandLine(slices.Concat(args, []string{"job"}, rest))
		if err != nil {
			t.Fatal(err)
		}
		r, err := Merge(c, nil, mustScript(t, "#!/bin/sh\n"))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(r.options, args) || c.Script != "job" || !slices.Equal(c.Args, rest) {
			t.Fatalf("%q became %q, script %q, args %q", args, r.options, c.Script, c.Args)
		}
	})
}

func mustScript(t interface{ Fatal(...any) }, body string) Script {
	s, err := ParseScript("job.sh", []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func FuzzParseCommandLine(f *testing.F) {
	for _, seed := range []string{"job", "-n\x004\x00job", "--time\x00", "--=x", "-", "--", ":", "-W--\x00x", "--gpus=4\x00j", "--wrap=a", "-k\x00-kx"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, joined string) {
		args := strings.Split(joined, "\x00")
		c, err := ParseCommandLine(args)
		if err != nil {
			for _, e := range split(err) {
				if e.Error() == "" {
					t.Fatal("an error without words")
				}
			}
			return
		}
		if r, err := Merge(c, nil, mustScript(t, "#!/bin/sh\n")); err == nil {
			if _, err := r.Args(Job{Token: strings.Repeat("a", 32), Batch: "/j"}); err == nil && r.Spec.Min < 1 {
				t.Fatal("a job without GPUs")
			}
		}
	})
}
