package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/client"
)

// swapper is one attacker who exchanges what is in his own job's folder, and the
// folder itself, for everything an account can make, as fast as the kernel lets him.
type swapper struct {
	job     string // <jobs>/<token>, his own
	store   string // a folder of his on the same file system: what is exchanged in
	a       attack
	names   []string
	entries map[string][]string // of the job's folder: what each name is exchanged for
	whole   []string            // what the folder itself is exchanged for
	made    map[string]int      // kinds
	refused map[string]int      // what the kernel did not let him make
}

// swapped is what came of it.
type swapped struct {
	Swaps, Failed int
	Kinds         map[string]int
	Refused       map[string]int
}

// swap prepares everything and exchanges until the time is over.
func (a attack) swap() (swapped, error) {
	w := swapper{job: filepath.Join(a.Jobs, a.Own), store: filepath.Join(a.Jobs, "store-"+a.Own), a: a,
		entries: map[string][]string{}, made: map[string]int{}, refused: map[string]int{}}
	if err := os.MkdirAll(w.store, 0o755); err != nil {
		return swapped{}, err
	}
	for _, name := range []string{"runner.json", "progress.jsonl", "request.json", "manifest.json", "checkpoints", "gauge"} {
		if _, err := os.Lstat(filepath.Join(w.job, name)); err != nil {
			if err := os.WriteFile(filepath.Join(w.job, name), []byte(a.honest(name)), 0o644); err != nil {
				return swapped{}, err
			}
		}
		w.prepare(name)
	}
	w.prepareFolders()
	out := swapped{Kinds: w.made, Refused: w.refused}
	go a.wake()
	for end := time.Now().Add(a.For); time.Now().Before(end); {
		for range 1000 {
			w.one(&out)
		}
	}
	return out, nil
}

// wake makes the daemon look as often as it lets a user make it: every look is a chance.
func (a attack) wake() {
	c := client.Dial(a.Socket)
	for {
		_ = c.Event(context.Background(), elastic.JobID(a.OwnJob), "submit")
		time.Sleep(200 * time.Millisecond)
	}
}

// one exchanges something of the job's folder, or now and then the folder itself, for
// a moment.
func (w *swapper) one(out *swapped) {
	if rand.IntN(16) > 0 && !w.a.Folder {
		name := w.names[rand.IntN(len(w.names))]
		all := w.entries[name]
		out.exchange(filepath.Join(w.job, name), all[rand.IntN(len(all))])
		return
	}
	other := w.whole[rand.IntN(len(w.whole))]
	if w.a.Folder && rand.IntN(4) > 0 { // opening it waits for a writer
		other = filepath.Join(w.store, "whole.fifo")
	}
	out.exchange(w.job, other)
	for range rand.IntN(50) {
		_ = syscall.Getpid() // so long it stays away
	}
	out.exchange(w.job, other)
}

func (s *swapped) exchange(a, b string) {
	if unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE) == nil {
		s.Swaps++
	} else {
		s.Failed++
	}
}

// add keeps one variant, if the kernel let him make it.
func (w *swapper) add(list *[]string, kind, path string, err error) {
	if err != nil {
		w.refused[kind]++
		return
	}
	w.made[kind]++
	*list = append(*list, path)
}

// prepare makes what a file of the job's folder is exchanged for.
func (w *swapper) prepare(name string) {
	var list []string
	n := 0
	path := func() string { n++; return filepath.Join(w.store, fmt.Sprintf("%s.%d", name, n)) }
	for _, text := range append(w.a.forgeries(name), w.a.honest(name), w.a.honest(name), w.a.honest(name)) {
		p := path()
		w.add(&list, "file", p, os.WriteFile(p, []byte(text), 0o666))
	}
	for _, to := range append([]string{w.a.Canaries + "/open", w.a.Victim + "/" + name, w.a.State + "/sluice.db", "../../../canary/open", "/dev/zero", "/proc/self/mem", name}, w.a.Secrets...) {
		p := path()
		w.add(&list, "symlink", p, os.Symlink(to, p))
	}
	for _, to := range []string{w.a.Canaries + "/open", w.a.Canaries + "/secret", w.a.Victim + "/" + name} {
		p := path()
		w.add(&list, "hard link", p, os.Link(to, p))
	}
	own := path()
	w.add(&list, "file", own, os.WriteFile(own, []byte(w.a.honest(name)), 0o600))
	twin := path()
	w.add(&list, "hard link of his own", twin, os.Link(own, twin))
	p := path()
	w.add(&list, "FIFO", p, syscall.Mkfifo(p, 0o666))
	p = path()
	w.add(&list, "device", p, unix.Mknod(p, syscall.S_IFCHR|0o666, int(unix.Mkdev(1, 5))))
	p = path()
	w.add(&list, "socket", p, unix.Mknod(p, syscall.S_IFSOCK|0o666, 0))
	p = path()
	w.add(&list, "folder", p, os.Mkdir(p, 0o755))
	p = path()
	err := os.WriteFile(p, nil, 0o644)
	if err == nil {
		err = os.Truncate(p, 1<<40)
	}
	w.add(&list, "sparse terabyte", p, err)
	w.names, w.entries[name] = append(w.names, name), list
}

// prepareFolders makes what the job's folder itself is exchanged for.
func (w *swapper) prepareFolders() {
	at := func(name string) string { return filepath.Join(w.store, "whole."+name) }
	for name, to := range map[string]string{"victim": w.a.Victim, "outside": w.a.Canaries, "root": "/", "self": w.store, "state": w.a.State} {
		w.add(&w.whole, "folder as symlink", at(name), os.Symlink(to, at(name)))
	}
	w.add(&w.whole, "folder as FIFO", at("fifo"), syscall.Mkfifo(at("fifo"), 0o666))
	w.add(&w.whole, "folder as file", at("file"), os.WriteFile(at("file"), nil, 0o644))
	w.add(&w.whole, "closed folder", at("closed"), os.Mkdir(at("closed"), 0))
	w.add(&w.whole, "other folder", at("other"), os.Mkdir(at("other"), 0o755))
}

// honest is what such a file says in a job that means well.
func (a attack) honest(name string) string {
	now := time.Now().UTC().Format(time.RFC3339)
	switch name {
	case "runner.json":
		return fmt.Sprintf(`{"version":1,"job":%d,"restarts":0,"incarnation":1,"state":"training","host":"gpu1","pid":1,"first_line":%q,"beat":%q}`, a.OwnJob, now, now)
	case "progress.jsonl":
		return fmt.Sprintf("{\"time\":%d,\"event\":\"hello\",\"done\":0}\n{\"time\":%d,\"event\":\"progress\",\"done\":1,\"seconds\":1,\"gpus\":1,\"nodes\":1}\n", time.Now().Unix(), time.Now().Unix())
	}
	return "{}"
}

// forgeries are lies: another's job, places outside, words for terminals, what no
// parser should survive.
func (a attack) forgeries(name string) []string {
	evil, _ := json.Marshal(evilWords)
	later := time.Now().UTC().Add(300 * 24 * time.Hour).Format(time.RFC3339)
	lie := func(more string) string {
		return fmt.Sprintf(`{"version":1,"job":%d,"restarts":0,"incarnation":9,"state":"waiting","host":%s,"pid":1,"first_line":%q,"beat":%q%s}`, a.VictimJob, evil, later, later, more)
	}
	own := strings.Replace(a.honest("runner.json"), `"beat"`, `"note":`+string(evil)+`,"skipped":[`+string(evil)+`],"last_words":{"why":`+string(evil)+`,"lines":[`+string(evil)+`]},"beat"`, 1)
	own = own[:len(own)-1] + `,"output":"` + a.Canaries + `/secret","errors":"/etc/shadow"}`
	all := []string{
		lie(""), lie(`,"answer":{"request":"x","checkpoint":"00000001","step":1}`), lie(`,"answer":{"request":"x","checkpoint":"../../etc","step":1}`),
		own, strings.Replace(own, "training", "exited", 1), "", "null", "[]", "\x00", "\xff\xfe", strings.Repeat("[", 60_000), strings.Repeat(`{"a":`, 10_000), strings.Repeat("x", 70_000),
		strings.Repeat("\x1b[2J\n", 10_000),
	}
	if name == "progress.jsonl" {
		all = append(all, fmt.Sprintf("{\"time\":1e308,\"event\":%s,\"done\":1e308}\n", evil), "{\"time\":1,\"event\":\"finished\",\"done\":1e9,\"seconds\":1e-300,\"gpus\":1}\n",
			fmt.Sprintf("{\"job\":%d,\"time\":1,\"event\":\"progress\",\"done\":-1}\n", a.VictimJob), strings.Repeat("{\"time\":1,\"event\":\"progress\",\"done\":1}\n", 3000))
	}
	return all
}

// evilWords are what a terminal acts upon, in every way it can be written.
const evilWords = "x\x1b[31m\x1b]0;pwned\x07\r\nsluice: all is well\x7f\u009b2J\u202e\u2028;$(touch /tmp/pwned)`id`"
