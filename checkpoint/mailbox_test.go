package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestMailboxPlaces(t *testing.T) {
	base := t.TempDir()
	for what, pair := range map[string][2]string{
		"relative jobs":   {"jobs", base + "/outbox"},
		"relative outbox": {base + "/jobs", "outbox"},
		"outbox in jobs":  {base + "/jobs", base + "/jobs/outbox"},
		"jobs in outbox":  {base + "/x/jobs", base + "/x"},
		"the same":        {base + "/x", base + "/x/"},
	} {
		if _, err := NewMailbox(pair[0], pair[1]); err == nil {
			t.Errorf("%s: accepted", what)
		}
	}
	if _, err := NewMailbox(base+"/jobs", base+"/jobs-outbox"); err != nil {
		t.Errorf("neighbours with a common beginning: %v", err)
	}
}

func TestAskWithdrawAim(t *testing.T) {
	_, outbox, m := bases(t)
	p := filepath.Join(outbox, token, RequestFile)
	for range 2 { // repeatable
		if err := m.Ask(token, exampleRequest()); err != nil {
			t.Fatal(err)
		}
		if err := m.Aim(token, exampleTarget()); err != nil {
			t.Fatal(err)
		}
	}
	r, err := ParseRequest([]byte(slurp(t, p)))
	if err != nil || r.ID != "17-3" || r.Version != Version {
		t.Errorf("%+v, %v", r, err)
	}
	if info, err := os.Stat(outbox); err != nil || info.Mode().Perm() != 0o711 {
		t.Errorf("%s: %v, %v: folders in it are to be opened by name, and not listed", outbox, info.Mode(), err)
	}
	for _, readable := range []string{filepath.Dir(p), p} {
		if info, err := os.Stat(readable); err != nil || info.Mode().Perm()&0o004 == 0 {
			t.Errorf("%s is closed to the job's user: %v, %v", readable, info.Mode(), err)
		}
	}
	for range 2 {
		if err := m.Withdraw(token); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(p); !os.IsNotExist(err) {
		t.Errorf("the request stands: %v", err)
	}
	for range 2 {
		if err := m.Forget(token); err != nil {
			t.Fatal(err)
		}
	}
	if left, _ := os.ReadDir(outbox); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

func TestPostRefusesNonsense(t *testing.T) {
	_, _, m := bases(t)
	bad := exampleRequest()
	bad.ID = "../../x"
	if err := m.Ask(token, bad); !errors.Is(err, ErrMalformed) {
		t.Errorf("%v", err)
	}
	for _, tok := range []string{"", "..", "../" + token[3:], strings.ToUpper(token), token + "0"} {
		_, _, run := m.Runner(tok, me())
		_, _, _, progress := m.Progress(tok, me(), 0)
		for verb, err := range map[string]error{"ask": m.Ask(tok, exampleRequest()), "withdraw": m.Withdraw(tok),
			"aim": m.Aim(tok, exampleTarget()), "forget": m.Forget(tok), "runner": run, "progress": progress} {
			if !errors.Is(err, ErrName) {
				t.Errorf("%s %q: %v", verb, tok, err)
			}
		}
	}
}

func TestRunner(t *testing.T) {
	jobs, _, m := bases(t)
	if _, ok, err := m.Runner(token, me()); ok || err != nil {
		t.Errorf("no folder yet: %v, %v", ok, err)
	}
	p := filepath.Join(jobs, token, RunnerFile)
	mkdir(t, filepath.Dir(p))
	if _, ok, err := m.Runner(token, me()); ok || err != nil {
		t.Errorf("no word yet: %v, %v", ok, err)
	}
	put(t, p, string(encode(t, exampleRunner())))
	if r, ok, err := m.Runner(token, me()); !ok || err != nil || r.State != Waiting {
		t.Errorf("%+v, %v, %v", r, ok, err)
	}
	if _, ok, err := m.Runner(token, me()+1); ok || !errors.Is(err, ErrOwner) {
		t.Errorf("another's folder: %v, %v", ok, err)
	}
	put(t, p, `{"version":1,"job":42,"state":"bored"}`)
	_, ok, err := m.Runner(token, me())
	var fe *FormatError
	if ok || !errors.As(err, &fe) || fe.Line != 1 || fe.Column != 23 || !strings.Contains(err.Error(), token) {
		t.Errorf("%v, %v", ok, err)
	}
	put(t, p, strings.Repeat(" ", maxSmallFile+1))
	if _, ok, err := m.Runner(token, me()); ok || !errors.Is(err, ErrTooLarge) {
		t.Errorf("huge: %v, %v", ok, err)
	}
}

func TestJobFolderALink(t *testing.T) {
	jobs, _, m := bases(t)
	elsewhere := t.TempDir()
	put(t, filepath.Join(elsewhere, RunnerFile), string(encode(t, exampleRunner())))
	os.Symlink(elsewhere, filepath.Join(jobs, token))
	if _, ok, err := m.Runner(token, me()); ok || !errors.Is(err, ErrNotRegular) {
		t.Errorf("followed a link: %v, %v", ok, err)
	}
}

func line(done float64) string {
	return fmt.Sprintf(`{"time":1e9,"restarts":0,"event":"progress","done":%g}`+"\n", done)
}

// TestHook: the URL of a job's user is read from a file of that user's own, of bounded size, and through no link.
func TestHook(t *testing.T) {
	jobs, _, m := bases(t)
	dir := filepath.Join(jobs, token)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	me := uint32(os.Geteuid())
	path := filepath.Join(dir, Hook)
	if _, err := m.Hook(token, me); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without one: %v", err)
	}
	put := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("https://h/x\n")
	if url, err := m.Hook(token, me); err != nil || url != "https://h/x" {
		t.Errorf("%q %v", url, err)
	}
	if _, err := m.Hook(token, me+1); !errors.Is(err, ErrOwner) {
		t.Errorf("of another user: %v", err)
	}
	put(strings.Repeat("x", maxHook+1))
	if _, err := m.Hook(token, me); !errors.Is(err, ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	if err := errors.Join(os.Remove(path), os.Symlink("/etc/hostname", path)); err != nil {
		t.Fatal(err)
	}
	if text, err := m.Hook(token, me); err == nil {
		t.Errorf("through a link: %q", text)
	}
}

func TestProgress(t *testing.T) {
	jobs, _, m := bases(t)
	p := filepath.Join(jobs, token, ProgressFile)
	if lines, next, bad, err := m.Progress(token, me(), 0); len(lines)+len(bad) > 0 || next != 0 || err != nil {
		t.Error(lines, next, bad, err)
	}
	put(t, p, line(1)+"garbage\n"+line(2)+"\n"+line(-3)+`{"time":1e9,"ev`)
	lines, next, bad, err := m.Progress(token, me(), 0)
	if err != nil || len(lines) != 2 || lines[1].Done != 2 || len(bad) != 2 {
		t.Fatalf("%v, %v, %v", lines, bad, err)
	}
	var fe *FormatError
	if !errors.As(bad[0], &fe) || fe.Line != 2 || fe.Column != 1 {
		t.Errorf("%v", bad[0])
	}
	if !errors.As(bad[1], &fe) || fe.Line != 5 || fe.Column < 40 {
		t.Errorf("%v", bad[1])
	}
	whole := slurp(t, p) + `ent":"finished","done":4}` + "\n"
	put(t, p, whole)
	lines, next, bad, err = m.Progress(token, me(), next)
	if err != nil || len(lines) != 1 || lines[0].Event != "finished" || len(bad) != 0 || next != int64(len(whole)) {
		t.Errorf("%v, %d, %v, %v", lines, next, bad, err)
	}
	put(t, p, line(9)) // replaced
	lines, _, bad, err = m.Progress(token, me(), next)
	if err != nil || len(lines) != 1 || lines[0].Done != 9 || len(bad) != 1 {
		t.Errorf("replaced: %v, %v, %v", lines, bad, err)
	}
}

func TestProgressIsBounded(t *testing.T) {
	jobs, _, m := bases(t)
	p := filepath.Join(jobs, token, ProgressFile)
	giant := strings.Repeat("x", 700<<10)
	put(t, p, line(1)+giant+"\n"+strings.Repeat(line(2), 5000))
	var got, calls int
	for offset := int64(0); ; calls++ {
		lines, next, bad, err := m.Progress(token, me(), offset)
		if err != nil || len(lines) > maxLines || next-offset > maxChunk || len(bad) > maxBad+1 {
			t.Fatal(len(lines), next-offset, len(bad), err)
		}
		got += len(lines)
		if next == offset {
			break
		}
		offset = next
	}
	if got != 5001 || calls > 20 {
		t.Errorf("%d lines in %d calls, want 5001", got, calls)
	}
}

// TestProgressInParts: however the file grows and wherever it is cut, every good
// line is read once and in order.
func TestProgressInParts(t *testing.T) {
	jobs, _, m := bases(t)
	p := filepath.Join(jobs, token, ProgressFile)
	rapid.Check(t, func(rt *rapid.T) {
		var file bytes.Buffer
		want := 0
		for range rapid.IntRange(1, 40).Draw(rt, "lines") {
			if rapid.Bool().Draw(rt, "good") {
				want++
				file.WriteString(line(float64(want)))
				continue
			}
			file.WriteString(strings.Repeat("{", rapid.IntRange(0, maxLine+10).Draw(rt, "junk")) + "\n")
		}
		content := file.String()
		got, offset := 0, int64(0)
		for at := 0; ; {
			put(t, p, content[:at])
			lines, next, _, err := m.Progress(token, me(), offset)
			if err != nil {
				rt.Fatal(err)
			}
			for _, l := range lines {
				if got++; l.Done != float64(got) {
					rt.Fatalf("line %d came as number %d", int(l.Done), got)
				}
			}
			if next == offset && at == len(content) {
				break
			}
			offset, at = next, min(len(content), at+rapid.IntRange(1, 9000).Draw(rt, "growth"))
		}
		if got != want {
			rt.Fatalf("%d of %d good lines", got, want)
		}
	})
}

func TestAnswersAreSmall(t *testing.T) {
	r := exampleRequest()
	for i := range 2000 {
		r.Target = append(r.Target, r.Target[0])
		r.Target[len(r.Target)-1].Node = fmt.Sprintf("a-node-with-a-long-name-%d", i)
	}
	_, _, m := bases(t)
	data, _ := json.Marshal(r)
	if err := m.Ask(token, r); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%d bytes posted, which no runner would read: %v", len(data), err)
	}
}
