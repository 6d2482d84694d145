package story

import (
	"strings"

	"github.com/sluice-hpc/sluice/slurm"
)

// lines are malformed or implausible lines of a progress log.
var lines = []string{
	"", " ", "{", "}", "null", "[]", `"hello"`, "NaN", "0", "garbage", "\x00\x00\x00\x00", "\xff\xfe{", "\ufeff{}",
	`{"time":1e9,"restarts":0,"event":"progress","done":`, `{"time":1e9,"restarts":0,"event":"progress","done":-3}`,
	`{"time":1e9,"restarts":0,"event":"progress","done":1e999}`, `{"time":1e9,"restarts":-1,"event":"progress","done":1}`,
	`{"time":1e9,"restarts":0,"event":"dance","done":1}`, `{"time":"now","restarts":0,"event":"progress","done":1}`,
	`{"time":1e9,"time":2e9,"restarts":0,"event":"progress","done":1}`, `{"time":1e9,"restarts":99999999999999999999,"event":"progress","done":1}`,
	`{"time":1e9,"restarts":0,"event":"progress","done":1,"unknown":{"a":[1,2,{"b":null}]}}`, `{"time":1e9,"restarts":0,"event":"finished","done":0}`,
	`{"time":1e9,"restarts":0,"event":"hello","done":0}{"time":1e9,"restarts":0,"event":"hello","done":0}`,
	`{"time":1e9,"restarts":0,"event":"progress","done":1,"seconds":-1,"gpus":-4,"nodes":1000000}`, `{"time":1e9,"restarts":0,"event":"progress","done":1,"metric":{"` + strings.Repeat("x", 5000) + `":1}}`,
	strings.Repeat("[", 2000), strings.Repeat("x", 100000), "\x1b[31m\x1b]0;title\x07", `{"time":0,"restarts":0,"event":"progress","done":0.5}`,
}

// garbles are malformed or implausible runner status files.
var garbles = []string{
	"", "{", "null", "[]", "garbage", "\x00", `{"version":1}`, `{"version":99,"job":1,"state":"training"}`, `{"version":1,"job":-1,"state":"training"}`,
	`{"version":1,"job":1,"state":"bored"}`, `{"version":1,"job":1,"restarts":-5,"state":"waiting"}`,
	`{"version":1,"job":1,"state":"waiting","answer":{"request":"../../x","checkpoint":"00000001"}}`,
	`{"version":1,"job":1,"state":"waiting","answer":{"request":"1.1.1","checkpoint":"../../../etc"}}`,
	`{"version":1,"job":1,"state":"training","resumed":"latest"}`, `{"version":1,"job":1,"state":"exited","exit":{"code":-1}}`,
	`{"version":1,"job":1,"state":"training","split":[{"node":"","gpus":-1}]}`, `{"version":1,"job":1,"state":"training"`,
	`{"version":1,"job":1,"state":"training","beat":"yesterday"}`, strings.Repeat(" ", 70000), strings.Repeat("{\"a\":", 5000),
}

// comments look like sluice's and are not valid. TOKEN is replaced by a job's token.
var comments = []string{
	"sluice/1", "sluice/1 ", "sluice/1 min=1", "sluice/1 id=x inc=0 min=1", "sluice/1 id=../../../../../../../../etc/passwd inc=0 min=1",
	"sluice/1 id=TOKEN inc=0 min=1 max=4", "sluice/1 id=TOKEN inc=-1 min=1", "sluice/1 id=TOKEN inc=0 min=4 max=1", "sluice/1 id=TOKEN inc=0 min=1 min=2",
	"sluice/1 id=TOKEN inc=0 min=99999999999999999999", "sluice/1 id=TOKEN inc=0 min=1 signal=KILL;reboot", "sluice/1 id=TOKEN inc=0 min=1 total=NaN",
	"sluice/1 id=TOKEN inc=0 min=1 grace=-5s", "sluice/1 id=TOKEN inc=0 min=1 what=ever", "sluice/2 id=TOKEN inc=0 min=1", "sluice/1 \x1b[31m",
	"sluice/1 id=0123456789ABCDEF0123456789ABCDEF inc=0 min=1", "sluice/1 id=TOKEN inc=0 min=1 " + strings.Repeat("x", 5000),
	"sluice/1 id=TOKEN inc=1000000000 min=1 max=1", "SLUICE/1 id=TOKEN inc=0 min=1",
}

func pick(from []string, way uint64) string { return from[way%uint64(len(from))] }

// scribbles returns one to eight lines, selected by way.
func scribbles(way uint64) (out []string) {
	for n := way % 8; ; n-- {
		out = append(out, pick(lines, way>>3+n*7))
		if n == 0 {
			return out
		}
	}
}

// stranger submits a job that sluice must not manage, with a comment that looks like sluice's. Check
// reports if sluice changes it.
func (p *play) stranger(a Act) {
	comment := pick(comments, a.Way)
	for _, job := range p.jobs {
		if job != nil && len(job.Runs()) > 0 { // from then on its user owns its folder
			comment = strings.ReplaceAll(comment, "TOKEN", job.Token)
			break
		}
	}
	if strings.Contains(comment, "TOKEN") { // no token to copy yet; "TOKEN" itself could be adopted as a valid one
		comment = "sluice/1"
	}
	_, _, err := p.w.User("mallory").Submit(p.ctx, slurm.Submission{
		Args:  []string{"--job-name=stranger", "--nodes=1", "--gpus=1", "--comment=" + comment},
		Stdin: []byte("#!/bin/sh\nsleep 60\n"),
	})
	if err != nil {
		p.note("stranger refused: %v", err)
	}
}
