package sbatch

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/message"
)

// TestMails: what Slurm would mail at each resize is asked of sluiced, wherever it stands; the rest stays
// Slurm's, and Slurm adds up what it is given.
func TestMails(t *testing.T) {
	for _, c := range []struct {
		script, args string
		slurm        []string // what sbatch is given in arguments
		lines        string   // and in the script
		want         elastic.Notices
	}{
		{"", "--max-gpus=4 --mail-type=END,FAIL", []string{"--mail-type=END,FAIL"}, "", elastic.Notices{}},
		{"", "--max-gpus=4 --mail-type=begin", nil, "", elastic.Notices{Begin: true}},
		{"", "--max-gpus=4 --mail-type ALL --mail-user=a@b.c", []string{"--mail-type=END,FAIL,INVALID_DEPEND,STAGE_OUT", "--mail-user=a@b.c"}, "", elastic.Notices{Begin: true, Requeue: true, To: "a@b.c"}},
		{"", "--max-gpus=4 --mail-type=REQUEUE,TIME_LIMIT_90,nonsense", []string{"--mail-type=TIME_LIMIT_90,nonsense"}, "", elastic.Notices{Requeue: true}},
		{"", "--max-gpus=4 --mail-type=BEGIN,NONE", []string{"--mail-type=BEGIN,NONE"}, "", elastic.Notices{}},
		{"", "--gpus=4 --mail-type=BEGIN,END", []string{"--mail-type=END"}, "", elastic.Notices{Begin: true}},
		{"#SBATCH --mail-type=BEGIN,END -t 5", "--max-gpus=4", []string{"--mail-type=END"}, "#SBATCH -t 5", elastic.Notices{Begin: true}},
		{"#SBATCH --mail-type=BEGIN,END", "--max-gpus=4 --mail-type=FAIL", []string{"--mail-type=END", "--mail-type=FAIL"}, "", elastic.Notices{Begin: true}},
		{"#SBATCH --mail-type=FAIL", "--max-gpus=4 --mail-type=BEGIN", nil, "#SBATCH --mail-type=FAIL", elastic.Notices{Begin: true}},
		{"#SLUICE --notify=mail", "--max-gpus=4 --mail-user=-x --mail-type=END", nil, "", elastic.Notices{}},
		{"", "--max-gpus=4 --notify=mail,webhook:https://a/b,c", nil, "", elastic.Notices{Mail: true, Webhook: true}},
	} {
		line, err := ParseCommandLine(append(strings.Fields(c.args), "job"))
		if err != nil {
			t.Fatal(err)
		}
		script, err := ParseScript("job", []byte("#!/bin/sh\n"+c.script+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		r, err := Merge(line, nil, script)
		if strings.Contains(c.args, "-x") {
			if err == nil || !strings.Contains(err.Error(), "--mail-user=-x: sluiced sends mails to it") {
				t.Errorf("%s: %v", c.args, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", c.args, err)
		}
		args, err := r.Args(Job{Token: token, Batch: "/b"})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i, a := range args {
			if strings.HasPrefix(a, "--mail-") {
				if got = append(got, a); !strings.Contains(a, "=") {
					got[len(got)-1] += "=" + args[i+1]
				}
			}
		}
		batch := string(r.Batch(Job{Sluice: "/s", Script: "/x"}))
		if !slices.Equal(got, c.slurm) || r.notices != c.want || strings.Contains(batch, "BEGIN") || !strings.Contains(batch, c.lines) {
			t.Errorf("%s, %s: sbatch is given %q, sluiced %+v, in\n%s", c.script, c.args, got, r.notices, batch)
		}
	}
}

func TestParseNotify(t *testing.T) {
	for value, want := range map[string]string{
		"mail": "", "webhook:https://h.example.org:8443/a?b=c,d": "", "mail,webhook:https://h/": "",
		"": "want mail", "mails": "want mail", "mail,": "want mail", "webhook": "want mail", "mail;webhook:https://h/": "want mail", "webhook:": "https://HOST/",
		"webhook:http://h/": "https://HOST/", "webhook:https:///a": "https://HOST/", "webhook:https://h/\n": "https://HOST/", "webhook:file:///etc/passwd": "https://HOST/",
		"webhook:https://u:p@h/": "without a user", "webhook:https://h/#x": "without #", "webhook:https://h/" + strings.Repeat("x", message.MaxURL): "bytes",
	} {
		_, _, err := parseNotify(value)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", value, err, want)
		}
	}
}

// FuzzNotify: what is accepted names a channel, and a URL only of https, on one line, without a password.
func FuzzNotify(f *testing.F) {
	for _, value := range []string{"mail", "mail,webhook:https://h:1/a?b", "webhook:https://[::1]/", "webhook:https://u@h/", "webhook:webhook:https://h"} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		mail, hook, err := parseNotify(value)
		if err == nil && (!mail && hook == "" || hook != "" && (!strings.HasPrefix(strings.ToLower(hook), "https://") || strings.ContainsAny(hook, " \n\x00#") || len(hook) > message.MaxURL)) {
			t.Errorf("%q: %v, %q", value, mail, hook)
		}
	})
}
