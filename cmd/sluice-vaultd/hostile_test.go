package main

import (
	"archive/tar"
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode"

	"github.com/sluice-hpc/sluice/elastic/vault"
	"github.com/sluice-hpc/sluice/elastic/vault/wire"
	"github.com/sluice-hpc/sluice/slurm"
)

// ofData is what must not leave: a word of the data.
const ofData = "Q7PATIENT7Q"

// siege is one attempt: a job of ada's whose program wrote what it wanted, and what its user and others then get of it.
type siege struct {
	*lab
	id, out, secret string
	k               *took
	said            strings.Builder // all answers as they are, without the names and contents that were counted
}

// wayOut is one way out of the vault.
type wayOut struct {
	name, what string
	try        func(s *siege) string // what was got that must not be; "" = nothing
}

// results asks for files as that user, and adds what was got.
func (s *siege) results(uid uint32, file string) (wire.Answer, map[string]string, error) {
	a, raw, err := s.ask(uid, wire.Request{Do: wire.Results, Job: s.id, File: file})
	files := s.files(raw)
	s.k.file(s.t, s.id, files)
	fmt.Fprintf(&s.said, "%v %v\n", a.Error, err)
	return a, files, err
}

// reads asks for the log as that user until nothing more comes.
func (s *siege) reads(uid uint32) (text string, err error) {
	for range 30 {
		s.s.logged.Delete(s.id) // its pace has a test of its own
		a, part, err := s.ask(uid, wire.Request{Do: wire.Logs, Job: s.id, From: int64(len(text))})
		if err != nil {
			return text, err
		}
		s.k.log(s.t, s.id, int64(len(text)), part)
		if text += part; part == "" && (a.Ended || a.Over) {
			break
		}
	}
	return text, nil
}

// wrote puts a file into the output of a job that has ended.
func (s *siege) wrote(name, text string) { s.put(s.id, "out/"+name, text) }

// none says that a word of the data is among files, whatever their names.
func none(files map[string]string) string {
	for name, text := range files {
		if has(name + text) {
			return fmt.Sprintf("%.60q in %.60q", text, name)
		}
	}
	return ""
}

func has(text string) bool {
	for _, form := range []string{ofData, hex.EncodeToString([]byte(ofData)), strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(ofData)), "=")} {
		if strings.Contains(text, form) {
			return true
		}
	}
	return false
}

// only demands that a file is refused, kept or over, and that nothing came.
func (s *siege) only(name, state string) string {
	s.end(s.id)
	a, files, err := s.results(ada, "")
	if err != nil {
		return err.Error()
	}
	if got := states(a.Files)[name]; got != state {
		return fmt.Sprintf("%s is %q, want %q", name, got, state)
	}
	return none(files)
}

var waysOut = []wayOut{
	{"link", "a symbolic link to the data", func(s *siege) string {
		s.must(os.Symlink(s.secret, s.out+"/a.pt"))
		return s.only("a.pt", wire.FileRefused)
	}},
	{"link_to_folder", "a symbolic link to the folder of the data", func(s *siege) string {
		s.must(os.Symlink(filepath.Dir(s.secret), s.out+"/a.pt"))
		return s.only("a.pt", wire.FileRefused)
	}},
	{"link_to_record", "a symbolic link to the vault's record", func(s *siege) string {
		s.must(os.Symlink(filepath.Join(s.dir, "vault", recordName), s.out+"/a.json"))
		return s.only("a.json", wire.FileRefused)
	}},
	{"second_name", "a second name of a file of the data", func(s *siege) string {
		s.must(os.Link(s.secret, s.out+"/a.pt"))
		return s.only("a.pt", wire.FileRefused)
	}},
	{"fifo", "a fifo that nobody writes", func(s *siege) string {
		s.must(syscall.Mkfifo(s.out+"/a.pt", 0o600))
		return s.only("a.pt", wire.FileRefused)
	}},
	{"socket", "a Unix socket", func(s *siege) string {
		s.t.Chdir(s.out) // its path is too long for one
		l, err := net.Listen("unix", "a.pt")
		s.must(err)
		defer l.Close()
		return s.only("a.pt", wire.FileRefused)
	}},
	{"sparse", "a sparse file of 1 TB", func(s *siege) string {
		s.wrote("a.pt", ofData)
		s.must(os.Truncate(s.out+"/a.pt", 1<<40))
		return s.only("a.pt", wire.FileOver)
	}},
	{"too_large", "a file of one byte more than the budget", func(s *siege) string {
		s.wrote("a.pt", strings.Repeat(ofData, 3000/len(ofData)+1))
		return s.only("a.pt", wire.FileOver)
	}},
	{"kind", "a picture", func(s *siege) string {
		s.wrote("a.png", ofData)
		return s.only("a.png", wire.FileKept)
	}},
	{"setuid", "a setuid file: its mode, owner and times", func(s *siege) string {
		s.wrote("a.pt", "model")
		s.must(os.Chmod(s.out+"/a.pt", 0o755|os.ModeSetuid|os.ModeSetgid))
		s.end(s.id)
		_, raw := s.get(ada, wire.Request{Do: wire.Results, Job: s.id})
		s.k.file(s.t, s.id, s.files(raw))
		head, err := tar.NewReader(strings.NewReader(raw)).Next()
		if err != nil || head.Mode != 0o644 || head.Uid != 0 || head.ModTime.Unix() > 0 || len(head.PAXRecords) > 0 {
			return fmt.Sprintf("%+v, %v", head, err)
		}
		return ""
	}},
	{"name_escapes", "control characters in a file's name", func(s *siege) string {
		s.wrote("\x1b]0;"+ofData+"\a.pt", "x")
		s.end(s.id)
		a, files, err := s.results(ada, "")
		if err != nil || len(a.Files) > 0 || !a.More {
			return fmt.Sprintf("%+v, %v", a, err)
		}
		return none(files)
	}},
	{"names", "data in 300 names of empty files", func(s *siege) string {
		for i := range 300 {
			s.wrote(fmt.Sprintf("%s-%05d.pt", strings.Repeat("n", 150), i), "")
		}
		s.end(s.id)
		a, _, err := s.results(ada, "")
		if err != nil || len(a.Files) == 0 || len(a.Files) > 3000/(64+159) || !a.More {
			return fmt.Sprintf("%d names, %v", len(a.Files), err)
		}
		return ""
	}},
	{"names_guessed", "names asked for one by one, once the budget is spent", func(s *siege) string {
		s.wrote("0.pt", strings.Repeat("m", 3000-100-64-4-50))
		for i := 1; i < 40; i += 2 {
			s.wrote(fmt.Sprintf("%d.pt", i), "x")
		}
		s.end(s.id)
		if _, _, err := s.results(ada, "0.pt"); err != nil {
			return err.Error()
		}
		var said []string
		for i := 1; i < 40; i++ {
			a, _, err := s.results(ada, fmt.Sprintf("%d.pt", i))
			said = append(said, fmt.Sprintf("%+v %v", a, err))
			if said[i-1] != said[0] {
				return fmt.Sprintf("that it is there can be told: %s; %s", said[0], said[i-1])
			}
		}
		return ""
	}},
	{"deep", "a file below 40 folders", func(s *siege) string {
		s.wrote(strings.Repeat("d/", 40)+ofData+".pt", ofData)
		s.end(s.id)
		a, files, err := s.results(ada, "")
		if err != nil || len(a.Files) > 0 {
			return fmt.Sprintf("%+v, %v", a, err)
		}
		return none(files)
	}},
	{"sizes_in_mid_run", "sizes that change, asked for in mid-run", func(s *siege) string {
		for i := range 5 {
			s.wrote("a.pt", strings.Repeat("x", i))
			if a, _, err := s.results(ada, "a.pt"); err == nil || len(a.Files) > 0 {
				return fmt.Sprintf("%+v", a)
			}
		}
		return ""
	}},
	{"twice", "results fetched twice, the file another one in between", func(s *siege) string {
		s.wrote("a.pt", "model")
		s.end(s.id)
		s.results(ada, "")
		counted := s.counted(s.id)
		s.wrote("a.pt", ofData)
		_, files, err := s.results(ada, "")
		if err != nil || s.counted(s.id) != counted+vault.ChangeCost { // that it is another one is told
			return fmt.Sprintf("%d bytes count, then %d; %v", counted, s.counted(s.id), err)
		}
		return none(files)
	}},
	{"reviewed_then_other", "another file in the place of one that the owner allowed", func(s *siege) string {
		s.wrote("a.txt", "notes")
		s.end(s.id)
		s.results(ada, "")
		s.get(hanna, wire.Request{Do: wire.Review, Name: "mammo", Job: s.id, File: "a.txt", Order: wire.Allow})
		s.wrote("a.txt", ofData)
		_, files, _ := s.results(ada, "")
		return none(files)
	}},
	{"another_reader", "another reader of the data set asks for files and log", func(s *siege) string {
		s.wrote("a.pt", ofData)
		s.put(s.id, logName, ofData+"\n")
		s.end(s.id)
		for _, uid := range []uint32{bob, eve, hanna} {
			_, files, err := s.results(uid, "")
			text, err2 := s.reads(uid)
			if err == nil || err2 == nil || len(files) > 0 || text != "" {
				return fmt.Sprintf("user %d got %v %q", uid, files, text)
			}
		}
		return ""
	}},
	{"revoked", "a grant revoked in mid-run", func(s *siege) string {
		s.wrote("a.pt", ofData)
		s.put(s.id, logName, ofData+"\n")
		s.get(hanna, wire.Request{Do: wire.Revoke, Name: "mammo", Readers: []string{"ada"}})
		text, _ := s.reads(ada)
		s.end(s.id)
		_, files, err := s.results(ada, "")
		if err == nil || len(files) > 0 || text != "" || len(s.killed) != 1 {
			return fmt.Sprintf("%v %q, cancelled %v", files, text, s.killed)
		}
		return ""
	}},
	{"revoked_between_looks", "a grant revoked after the log was asked for once", func(s *siege) string {
		s.put(s.id, logName, "epoch 1\n")
		s.reads(ada)
		s.get(hanna, wire.Request{Do: wire.Revoke, Name: "mammo", Readers: []string{"ada"}})
		_, text, err := s.ask(ada, wire.Request{Do: wire.Logs, Job: s.id})
		if err == nil || text != "" {
			return text
		}
		return ""
	}},
	{"log_escapes", "window titles, clipboards, C1 and bidirectional controls in the log", func(s *siege) string {
		w := ofData
		s.put(s.id, logName, "a\x1b]0;"+w+"\a\x1b]52;c;"+base64.StdEncoding.EncodeToString([]byte(w))+"\x1b\\\x1bP"+w+"\x1b\\\x1b[31m\xc2\x9b2J\u202e\u2066\u200b\x00\b\x7fb\n")
		s.end(s.id)
		text, err := s.reads(ada)
		for _, r := range text {
			if !unicode.IsPrint(r) && r != '\n' && r != '\t' {
				return fmt.Sprintf("%q", text)
			}
		}
		if err != nil || has(text) || !strings.HasPrefix(text, "a") {
			return fmt.Sprintf("%q, %v", text, err)
		}
		return ""
	}},
	{"log_huge", "a log of 3 MB", func(s *siege) string {
		s.put(s.id, logName, strings.Repeat("0123456789abcde\n", 200_000))
		s.end(s.id)
		if text, err := s.reads(ada); err != nil || len(text) > 3000-100 || len(text) < 1000 {
			return fmt.Sprintf("%d bytes, %v", len(text), err)
		}
		return ""
	}},
	{"log_rewritten", "a log with another beginning each time", func(s *siege) string {
		for i := range 20 {
			s.put(s.id, logName, strings.Repeat(fmt.Sprint(i%10), 400*(i+1)))
			s.reads(ada)
		}
		return ""
	}},
	{"log_linked", "a link to the data in the place of the log", func(s *siege) string {
		s.must(os.Symlink(s.secret, filepath.Join(s.s.vault.jobFolder(s.id), logName)))
		text, err := s.reads(ada)
		if err == nil || text != "" {
			return text
		}
		return ""
	}},
	{"many_jobs", "20 jobs of one user", func(s *siege) string {
		total := int64(0)
		for range 20 {
			q, body := submissionOf("")
			a, _, err := s.ask(ada, q, body...)
			if err != nil {
				break // no room for its numbers
			}
			s.id = a.ID
			s.wrote("a.pt", strings.Repeat("x", 2000))
			s.put(s.id, logName, strings.Repeat("y", 900))
			s.end(s.id)
			s.results(ada, "")
			s.reads(ada)
			total += s.counted(s.id)
		}
		if total > 7000 || s.k.bytes("") > 7000 {
			return fmt.Sprintf("%d bytes count, %d left", total, s.k.bytes(""))
		}
		return ""
	}},
	{"two_sets", "a second data set with a larger budget", func(s *siege) string {
		s.add("lungs", "1MB/job,9MB/week")
		text := strings.Replace(script, "--data=mammo", "--data=mammo,lungs", 1)
		a, _, err := s.ask(ada, wire.Request{Do: wire.Submit, Data: []string{"mammo", "lungs"}, Script: "train.sh", ScriptSize: int64(len(text))}, text)
		s.must(err)
		s.id, s.out = a.ID, filepath.Join(s.s.vault.jobFolder(a.ID), "out")
		s.wrote("a.pt", strings.Repeat(ofData, 1000))
		return s.only("a.pt", wire.FileOver)
	}},
	{"data_exchanged", "a link in the place of the data set's folder", func(s *siege) string {
		set := filepath.Join(s.dir, "sets/mammo")
		s.must(os.Rename(set, set+"-away"))
		s.must(os.Symlink(filepath.Join(s.dir, "sets/private"), set))
		q, body := submissionOf("")
		if _, _, err := s.ask(ada, q, body...); err == nil {
			return "submitted"
		}
		return ""
	}},
	{"data_taken", "the same folder as another's data set", func(s *siege) string {
		for _, of := range []string{"sets/mammo", "sets", "vault"} {
			set := wire.Set{Name: "mine", Path: filepath.Join(s.dir, of), Readers: []string{"eve"}, Release: "1TB/job,1TB/week"}
			for _, uid := range []uint32{ada, eve} {
				if _, _, err := s.ask(uid, wire.Request{Do: wire.Add, Set: &set}); err == nil {
					return fmt.Sprintf("user %d has %s", uid, of)
				}
			}
		}
		return ""
	}},
	{"orders_of_others", "grants, reviews and audits by who does not own the data", func(s *siege) string {
		s.wrote("a.png", ofData)
		s.end(s.id)
		s.results(ada, "")
		for _, q := range []wire.Request{{Do: wire.Grant, Name: "mammo", Readers: []string{"eve"}}, {Do: wire.Revoke, Name: "mammo", Readers: []string{"@radiology"}}, {Do: wire.Audit, Name: "mammo"},
			{Do: wire.Review, Name: "mammo"}, {Do: wire.Review, Name: "mammo", Job: s.id, File: "a.png"}, {Do: wire.Review, Name: "mammo", Job: s.id, File: "a.png", Order: wire.Allow}} {
			for _, uid := range []uint32{ada, bob, eve} {
				if _, raw, err := s.ask(uid, q); err == nil || raw != "" {
					return fmt.Sprintf("user %d: %s", uid, q.Do)
				}
			}
		}
		return ""
	}},
	{"cancel_of_others", "a job of another user cancelled", func(s *siege) string {
		for _, uid := range []uint32{bob, eve, hanna} {
			if _, _, err := s.ask(uid, wire.Request{Do: wire.Cancel, Job: s.id}); err == nil || len(s.killed) > 0 {
				return fmt.Sprintf("by user %d", uid)
			}
		}
		return ""
	}},
	{"bundles", "bundles of code with links, devices, fifos, names that leave, and more than may be", func(s *siege) string {
		for what, heads := range map[string][]tar.Header{
			"link":      {{Typeflag: tar.TypeSymlink, Name: "a", Linkname: s.secret}},
			"hard link": {{Typeflag: tar.TypeLink, Name: "a", Linkname: "/etc/passwd"}},
			"device":    {{Typeflag: tar.TypeBlock, Name: "a", Devmajor: 8}}, "character device": {{Typeflag: tar.TypeChar, Name: "a", Devmajor: 1, Devminor: 3}},
			"fifo": {{Typeflag: tar.TypeFifo, Name: "a"}}, "above": {{Name: "../../../sets/mammo/a"}}, "absolute": {{Name: "/etc/a"}}, "kind": {{Typeflag: tar.TypeCont, Name: "a"}},
		} {
			var b bytes.Buffer
			w := tar.NewWriter(&b)
			for _, h := range heads {
				s.must(w.WriteHeader(&h))
			}
			s.must(w.Close())
			q, body := submissionOf(b.String())
			if _, _, err := s.ask(ada, q, body...); err == nil {
				return what
			}
		}
		return ""
	}},
	{"options", "options that act outside of the fence, and those of the service", func(s *siege) string {
		for _, o := range []string{"--output=/tmp/x", "--error=/tmp/x", "--export=ALL", "--chdir=/", "--wrap=id", "--get-user-env", "--propagate=ALL", "--for=eve", "--token=x", "--fence=/x", "--prolog=/x", "--checkpoint-glob=/*"} {
			q, body := submissionOf("", o)
			if _, _, err := s.ask(ada, q, body...); err == nil {
				return o
			}
		}
		return ""
	}},
	{"slurm_away", "files asked for while Slurm does not say whether the job has ended", func(s *siege) string {
		s.wrote("a.pt", ofData)
		s.silent = true
		s.s.listed.forget()
		if _, files, err := s.results(ada, ""); err == nil || len(files) > 0 {
			return fmt.Sprint(files)
		}
		return ""
	}},
	{"forged_answer", "a job of another account with the tag of this one", func(s *siege) string {
		s.wrote("a.pt", ofData)
		forged := []slurm.Job{{ID: 1, UID: uint32(os.Geteuid()) + 7, State: slurm.Completed, Comment: "sluice/1 id=" + s.id + " inc=0 min=1"}}
		if has := s.s.tokens(forged); len(has) > 0 {
			return fmt.Sprint(has)
		}
		return ""
	}},
}

// TestHostileProgramAndUser: a program that has read the data and its user try to get more of them than the budget says, by files,
// names, logs, links, requests and submissions. Bytes that left are counted, and never more than the budgets.
func TestHostileProgramAndUser(t *testing.T) {
	left, counted, open := int64(0), int64(0), 0
	for _, w := range waysOut {
		t.Run(w.name, func(t *testing.T) {
			s := &siege{lab: newLab(t), k: newTook()}
			s.s.site.Data.Numbers = 100
			s.add("mammo", "3KB/job,7KB/week")
			s.secret = filepath.Join(s.dir, "sets/mammo/image.pt")
			s.must(os.WriteFile(s.secret, []byte(ofData), 0o600))
			s.id = s.submit(ada)
			s.out = filepath.Join(s.s.vault.jobFolder(s.id), "out")
			what := w.try(s)
			outcome := "closed"
			if what != "" {
				outcome, open = "open", open+1
				t.Error(what)
			}
			t.Logf("way: user %s: %-22s %s; ", outcome, w.name, w.what) // etc/confined reads it
			if has(s.said.String()) {
				t.Errorf("a word of the data in an answer: %s", s.said.String())
			}
			all := int64(0)
			for _, j := range s.s.vault.state.Jobs() {
				if got := s.k.bytes(j.ID); j.Counted > 3000 || got > j.Counted {
					t.Errorf("%d bytes left, %d count, 3000 may", got, j.Counted)
				}
				all += j.Counted
			}
			if all > 7000 {
				t.Errorf("%d bytes count, 7000 may", all)
			}
			left, counted = left+s.k.bytes(""), counted+all
			s.entries() // the record holds
		})
	}
	t.Logf("%d bytes left, %d were counted", left, counted)
	t.Logf("reliability: confined-left %d", left)
	t.Logf("reliability: confined-budget %d", 7000*len(waysOut))
	t.Logf("reliability: confined-ways %d", len(waysOut))
	t.Logf("reliability: confined-open %d", open)
}
