package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/notify/deliver"
)

// TestSecret: S10. A key that others could read or change, or that is too short, is refused with what to type.
func TestSecret(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	long := strings.Repeat("k", leastSecret)
	good := put("good", " "+long+"\n", 0o600)
	link := filepath.Join(dir, "link")
	if err := os.Symlink(good, link); err != nil {
		t.Fatal(err)
	}
	if secret, err := readSecret(good); err != nil || string(secret) != long {
		t.Errorf("%q %v", secret, err)
	}
	for path, want := range map[string]string{
		put("group", long, 0o640): "chmod 600", put("world", long, 0o604): "chmod 600", put("short", "k\n", 0o600): "fewer than 16 bytes",
		put("empty", "", 0o600): "fewer than 16 bytes", put("large", strings.Repeat("k", mostSecret+1), 0o600): "at most 4096", link: "too many levels", dir: "not a file", dir + "/none": "no such file",
	} {
		if _, err := readSecret(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", filepath.Base(path), err, want)
		}
	}
}

// TestMailSettingsAreAskedSeldom: Slurm is asked once for many mails.
func TestMailSettingsAreAskedSeldom(t *testing.T) {
	asked := 0
	m := mailSettings{ask: func(context.Context) (deliver.Mailer, error) {
		asked++
		return deliver.Mailer{Program: "/bin/mail"}, nil
	}}
	for range 100 {
		if got, err := m.get(t.Context()); err != nil || got.Program != "/bin/mail" {
			t.Fatal(got, err)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}
