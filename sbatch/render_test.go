package sbatch

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"pgregory.net/rapid"
)

const token = "0123456789abcdef0123456789abcdef"

func TestBatchKeepsTheHeader(t *testing.T) {
	r := merge(t, "job a b", nil, "# why: see the wiki", "#SBATCH --time=10   # short", "#SLUICE --min-gpus=2",
		"#BB create_persistent name=x", "", "module load cuda", "#SBATCH --late")
	want := `#!/bin/sh
# why: see the wiki
#SBATCH --time=10   # short
#SLUICE --min-gpus=2
#BB create_persistent name=x

exec '/opt/sluice' run '--outbox=/o x' -- '/jobs/t/script' "$@"
`
	if got := string(r.Batch(Job{Sluice: "/opt/sluice", Run: []string{"--outbox=/o x"}, Script: "/jobs/t/script"})); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestBatchOnSeveralNodes: the runner, which sees the GPUs of its own node only, is told the size with which the
// job is submitted.
func TestBatchOnSeveralNodes(t *testing.T) {
	r := merge(t, "job", nil, "#SLUICE --min-gpus=8")
	for nodes, want := range map[int]string{0: "run -- ", 1: "run -- ", 2: "run '--gpus=8' -- "} {
		if got := string(r.Batch(Job{Sluice: "/s", Script: "/x", Nodes: nodes})); !strings.Contains(got, "\nexec '/s' "+want) {
			t.Errorf("on %d nodes: %s", nodes, got)
		}
	}
}

// TestBatchTakesWaitBack: sbatch must not wait itself; the rest of the line stays.
func TestBatchTakesWaitBack(t *testing.T) {
	r := merge(t, "job", nil, `#SBATCH -WO --comment="a \"b\" c" # note`, "#SBATCH --wait", "#SBATCH --mail-type", "#SBATCH ALL")
	want := `#!/bin/sh
#SBATCH -O "--comment=a \"b\" c"
#SBATCH --mail-type ALL
exec '/s' run -- '/x' "$@"
`
	if got := string(r.Batch(Job{Sluice: "/s", Script: "/x"})); got != want || !r.Wait {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestArgs(t *testing.T) {
	j := Job{Token: token, Batch: "/jobs/t/batch", Abandon: 2 * time.Hour}
	for _, tc := range []struct {
		args  string
		lines string
		want  string
	}{
		{"dir/train.sh --lr 1", "", "--begin=now+7200 --requeue --open-mode=append --nodes=1 --ntasks=1 --gres=gpu:1 " +
			"--comment=sluice/1_id=" + token + "_inc=0_min=1_script=dcdf954b6ca1_defer=1 --job-name=train.sh /jobs/t/batch --lr 1"},
		{"-t 5 -Jx --min-gpus=4 --cpus-per-gpu=2 --mem-per-gpu=1G -O --parsable j.sh", "", "--begin=now+7200 --requeue --open-mode=append --nodes=1 --ntasks=1 --gres=gpu:4 " +
			"--comment=sluice/1_id=" + token + "_inc=0_min=4_script=dcdf954b6ca1_cpus=2_mem=1024_defer=1 --cpus-per-gpu=2 --mem-per-gpu=1024M -t 5 -Jx -O --parsable /jobs/t/batch"},
		{"-Jx --min-gpus=4 --cpus-per-gpu=1 --mem-per-gpu=1 j.sh", "", "--begin=now+7200 --requeue --open-mode=append --nodes=1 --ntasks=1 --gres=gpu:4 " +
			"--comment=sluice/1_id=" + token + "_inc=0_min=4_script=dcdf954b6ca1_cpus=1_mem=1_defer=1 --cpus-per-gpu=1 --mem-per-gpu=1M -Jx /jobs/t/batch"},
		{"-H j.sh", "#SBATCH --job-name=n --comment=c", "--hold --begin=now+7200 --requeue --open-mode=append --nodes=1 --ntasks=1 --gres=gpu:1 " +
			"--comment=sluice/1_id=" + token + "_inc=0_min=1_script=71b77a4523c1_hold=1_defer=1_;_c /jobs/t/batch"},
		{"-b now+1hour j.sh", "", "--requeue --open-mode=append --nodes=1 --ntasks=1 --gres=gpu:1 " +
			"--comment=sluice/1_id=" + token + "_inc=0_min=1_script=dcdf954b6ca1_defer=1_begin=sbatch --job-name=j.sh -b now+1hour /jobs/t/batch"},
		{"-Jx j.sh", "#SBATCH --begin=16:00", "--requeue --open-mode=append --nodes=1 --ntasks=1 --gres=gpu:1 " +
			"--comment=sluice/1_id=" + token + "_inc=0_min=1_script=b22729bc46f3_defer=1_begin=sbatch -Jx /jobs/t/batch"},
		{"--test-only j.sh :", "", "--test-only --requeue --open-mode=append --nodes=1 --ntasks=1 --gres=gpu:1 " +
			"--comment=sluice/1_id=" + token + "_inc=0_min=1_script=dcdf954b6ca1_defer=1 --job-name=j.sh /jobs/t/batch"},
	} {
		c, err := ParseCommandLine(strings.Fields(tc.args))
		if err != nil {
			t.Fatal(err)
		}
		s, err := ParseScript(c.Script, []byte("#!/bin/sh\n"+tc.lines))
		if err != nil {
			t.Fatal(err)
		}
		r, err := Merge(c, nil, s)
		if err != nil {
			t.Fatal(err)
		}
		args, err := r.Args(j)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], " ", "_")
		}
		if got := strings.Join(args, " "); err != nil || got != tc.want {
			t.Errorf("%s: %v\ngot  %s\nwant %s", tc.args, err, got, tc.want)
		}
	}
}

// TestSmallestSizeOnSeveralNodes: a size that no single node has is spread, in equal parts if it can be.
func TestSmallestSizeOnSeveralNodes(t *testing.T) {
	for want, r := range map[string]struct {
		min, nodes int
		types      []string
	}{
		"--nodes=1 --ntasks=1 --gres=gpu:4":      {4, 1, nil},
		"--nodes=2 --ntasks=2 --gres=gpu:4":      {8, 2, nil},
		"--nodes=2 --ntasks=2 --gres=gpu:a100:3": {6, 2, []string{"a100"}},
		"--nodes=2 --ntasks=2 --gpus=5":          {5, 2, nil},
		"--nodes=2 --ntasks=2 --gpus=a100:5":     {5, 2, []string{"a100"}},
		"--nodes=3 --ntasks=3 --gres=gpu:2":      {6, 3, []string{"a100", "h100"}},
	} {
		if got := strings.Join((Request{Spec: elastic.Spec{Min: r.min, Types: r.types}}).smallest(r.nodes), " "); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestJobNames(t *testing.T) {
	wrap := "date"
	for want, r := range map[string]Request{
		"wrap":      {wrapped: true, script: Script{Name: "--wrap"}},
		"sbatch":    {},
		"job.sh":    {script: Script{Name: "/a b/job.sh"}},
		"a?b?.sh":   {script: Script{Name: "x/a\nb\x1b.sh"}},
		"caf\u00e9": {script: Script{Name: "caf\u00e9"}},
	} {
		if got := r.jobName(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if body := string(WrapScript(wrap)); body != "#!/bin/sh\n# This script was created by sluice submit --wrap.\n\ndate\n" {
		t.Errorf("%q", body)
	}
}

func TestCommentsHaveAnEnd(t *testing.T) {
	c, _ := ParseCommandLine([]string{"--comment=" + strings.Repeat("x", 892), "j"})
	r, err := Merge(c, nil, mustScript(t, "#!/bin/sh\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = r.Args(Job{Token: token}); err == nil || err.Error() != "--comment: 892 bytes; Slurm keeps 1024, and sluice needs all but 891 of them; shorten it" {
		t.Errorf("got %v", err)
	}
	r.comment = r.comment[:891]
	args, err := r.Args(Job{Token: token})
	if err != nil {
		t.Fatal(err)
	}
	r.Spec.Total = 1 // it may get a deadline: room for it is kept
	if _, err := r.Args(Job{Token: token}); err == nil || !strings.Contains(err.Error(), "all but 861 of them") {
		t.Errorf("got %v", err)
	}
	tag, err := elastic.ParseTag(strings.TrimPrefix(args[6], "--comment="))
	if err != nil || tag.Comment != r.comment || tag.Spec.Token != token {
		t.Errorf("%q: %+v, %v", args[6], tag, err)
	}
	tag.Incarnation, tag.Directive, tag.Begin = 1_000_000_000, elastic.Directive{Pin: 1_000_000, Hold: true}, time.Unix(7_258_118_400, 0)
	if n := len(tag.String()); n > maxComment {
		t.Errorf("the comment can grow to %d bytes", n)
	}
	c, _ = ParseCommandLine([]string{"--gpu-sizes=" + manySizes(), "j"})
	if r, err = Merge(c, nil, mustScript(t, "#!/bin/sh\n")); err != nil {
		t.Fatal(err)
	}
	if _, err = r.Args(Job{Token: token}); err == nil || !strings.Contains(err.Error(), "list fewer sizes") {
		t.Errorf("got %v", err)
	}
}

// manySizes is a list that is too long for any comment.
func manySizes() string {
	var sizes []string
	for n := 1; n <= 300; n++ {
		sizes = append(sizes, strconv.Itoa(n))
	}
	return strings.Join(sizes, ",")
}

// TestArgumentsSurviveTheShell runs the rendered script in a real shell with difficult
// names.
func TestArgumentsSurviveTheShell(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's a \"dir\" $HOME `id` \\ \n; *")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	sluice := filepath.Join(dir, "slu'ice")
	write(t, sluice, "#!/bin/sh\nfor a; do printf '%s\\0' \"$a\"; done\n")
	if err := os.Chmod(sluice, 0o700); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		args := rapid.SliceOfN(rapid.OneOf(rapid.Just(":"), rapid.StringMatching(`[^\x00]{0,8}`), rapid.SampledFrom([]string{"$x", "'", `\`, "-", "--", "", "a b"})), 0, 4).Draw(rt, "args")
		r := Request{script: Script{}, args: args}
		job := Job{Token: token, Sluice: sluice, Script: dir + "/script", Batch: filepath.Join(dir, "batch")}
		r.Spec.Min = 1
		write(t, job.Batch, string(r.Batch(job)))
		argv, err := r.Args(job)
		if err != nil {
			rt.Fatal(err)
		}
		if slices.Contains(argv, ":") {
			rt.Fatalf("sbatch would drop the colon in %q", argv)
		}
		after := argv[slices.Index(argv, job.Batch)+1:]
		out, err := exec.Command("/bin/sh", append([]string{job.Batch}, after...)...).Output()
		if err != nil {
			rt.Fatal(err)
		}
		want := strings.Join(append([]string{"run", "--", job.Script}, args...), "\x00") + "\x00"
		if string(out) != want {
			rt.Fatalf("got %q, want %q", out, want)
		}
	})
}

// TestRenderedMeansTheSame: any header, rendered and read again, sets the same.
func TestRenderedMeansTheSame(t *testing.T) {
	lines := []string{"#SBATCH --wait", "#SBATCH -W -O -t 5", `#SBATCH --comment="x # y" --mail-user='a b'`, "#SBATCH --mail-type", "#SBATCH ALL",
		"#SLUICE --model=m", "# text", "", "#SBATCH --nice --hold # end", "#SLUICE --grace", "#SLUICE 90"}
	rapid.Check(t, func(t *rapid.T) {
		body := "#!/bin/sh\n" + strings.Join(rapid.SliceOf(rapid.SampledFrom(lines)).Draw(t, "lines"), "\n")
		s, err := ParseScript("f", []byte(body))
		if err != nil {
			return // a value without its option, or the other way round
		}
		sameAgain(t, Request{script: s})
	})
}
