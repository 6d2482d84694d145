package sbatch

import (
	"errors"
	"strings"
	"testing"
)

func TestParseScript(t *testing.T) {
	s, err := ParseScript("dir/train.sh", []byte(`#!/bin/bash -l
# a comment with --gpus=4 in it
#SBATCH --time=10 -p gpu   # while testing
#SBATCH --comment="for #3"

   # indented
  #SBATCH --gpus=4 (an indented line is a comment)
##SBATCH --array=1-3
#SLUICE --min-gpus 2
#SLUICE --model=resnet
export X=1
#SBATCH --exclusive
`))
	if err != nil {
		t.Fatal(err)
	}
	want := "time=10 partition=gpu comment=for #3 min-gpus=2 model=resnet"
	if got := show(s.settings); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if at := s.settings[3].at.String(); at != "dir/train.sh:9:9" {
		t.Errorf("--min-gpus is at %s", at)
	}
}

func TestParseScriptRefuses(t *testing.T) {
	for body, want := range map[string]string{
		"":                                 "stdin:1:1: the script is empty",
		" \n\t\n":                          "stdin:1:1: the script is empty",
		"echo hi\n":                        "stdin:1:1: this does not look like a job script: the first line has to name its interpreter; begin it with #!/bin/sh or #!/bin/bash",
		"\n#!/bin/sh\n":                    "stdin:1:1: this does not look like a job script: the first line has to name its interpreter; begin it with #!/bin/sh or #!/bin/bash",
		"#!/bin/sh\nab\x00\n":              "stdin:2:3: the script contains a NUL character; is it a program? then use --wrap",
		"#!/bin/sh\necho\r\n":              "stdin:2:5: the script has DOS line ends; convert it with 'dos2unix'",
		"#!/bin/sh\n#SBATCHtime=1\n":       "stdin:2:8: time=1: not an option; write options only, and quote values that contain spaces",
		"#!/bin/sh\n#SBATCH -- --time=1\n": "stdin:2:9: --: not an option; write options only, and quote values that contain spaces",
		"#!/bin/sh\n#SBATCH -\n":           "stdin:2:9: -: not an option; write options only, and quote values that contain spaces",
	} {
		_, err := ParseScript("", []byte(body))
		if err == nil || err.Error() != want {
			t.Errorf("%q: got %v\nwant %s", body, err, want)
		}
	}
	_, err := ParseScript("big.sh", append([]byte("#!/bin/sh\n"), make([]byte, MaxScript)...))
	if err == nil || !strings.Contains(err.Error(), "Slurm takes at most 4194304") {
		t.Errorf("a script beyond the limit: %v", err)
	}
}

// TestValuesMayStandOnTheNextLine: sbatch concatenates the words of all lines.
func TestValuesMayStandOnTheNextLine(t *testing.T) {
	s := mustScript(t, "#!/bin/sh\n#SBATCH --time\n# between\n#SBATCH 10 --site-thing\n#SBATCH value --hold\n")
	if got := show(s.settings); got != "time=10 site-thing hold" {
		t.Errorf("got %q", got)
	}
}

func TestMessagesHideControlCharacters(t *testing.T) {
	_, err := ParseScript("evil\x1b[2J\nname.sh", []byte("#!/bin/sh\n#SBATCH \x1b[31m\n"))
	if got := err.Error(); strings.ContainsAny(got, "\x1b\n") {
		t.Errorf("%q", got)
	}
}

func FuzzParseScript(f *testing.F) {
	for _, seed := range []string{
		"#!/bin/sh\n#SBATCH --time=1\n#SLUICE --min-gpus=2\ndate\n", "#!/bin/sh\n#SBATCH --wait -O --comment='a b'\n",
		"#!/bin/sh\n#SBATCH --time", "#!", "#!\n#SLUICE --grace=5:00 --gpu-sizes=pow2", "#!/x\n#PBS -l a\n#BSUB\n#SBATCH hetjob", "#!\n#SBATCH \\\n#SBATCH \"\"",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		s, err := ParseScript("f", []byte(body))
		for _, e := range split(err) {
			var place *Error
			if !errors.As(e, &place) || place.At.Line < 1 || place.At.Column < 1 || place.At.Line > strings.Count(body, "\n")+1 {
				t.Fatalf("%q: an error without a place: %v", body, e)
			}
		}
		if err != nil {
			return
		}
		r, err := Merge(CommandLine{}, nil, s)
		if err != nil {
			for _, e := range split(err) {
				if !strings.HasPrefix(e.Error(), "f:") {
					t.Fatalf("%q: an error without a place: %v", body, e)
				}
			}
			return
		}
		sameAgain(t, r)
	})
}

// sameAgain parses the rendered script and expects the same options.
func sameAgain(t interface{ Fatalf(string, ...any) }, r Request) {
	batch := r.Batch(Job{Sluice: "/usr/bin/sluice", Script: "/jobs/x/script"})
	again, err := ParseScript("f", batch)
	if err != nil {
		t.Fatalf("%q does not parse: %v", batch, err)
	}
	var kept []setting
	for _, s := range r.script.settings {
		if !dropped(s) {
			kept = append(kept, s)
		}
	}
	if got, want := show(again.settings), show(kept); got != want {
		t.Fatalf("rendered %q\nwith %q\nfrom %q", batch, got, want)
	}
}

// split splits joined errors.
func split(err error) []error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		return many.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}
