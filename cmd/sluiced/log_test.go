package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/sluice-hpc/sluice/elastic/control"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/etc"
)

// hostile is what users can put into a job's name, and nodes into theirs: colours
// and titles for a terminal, lines that look like the log's own.
const hostile = "x\x1b[31m\x1b]0;pwned\x07\r\n2026-01-01T00:00:00Z ERR sluiced stops\x00\x7f\u009b2J\u202e\u2028\xff\t\U000e0041y"

// Whatever is logged is one line without a byte that a terminal acts upon.
func TestLogIsOneLineOfText(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			file, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			d := &daemon{log: newLog(etc.Log{Level: "debug", Format: format}, file)}
			d.logEvent(event.Event{Kind: hostile, Job: 41, Text: hostile})
			d.logDenial(control.Denial{Caller: control.Caller{UID: 7, Name: hostile}, From: hostile, Verb: hostile, Job: 41, Why: hostile, Missed: 3})
			d.log.Error().Err(os.ErrNotExist).Msg(hostile)
			d.log.Info().Str("node", hostile).AnErr("result", &wire.Error{Message: hostile}).Msg("trust")
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
			if len(lines) != 4 {
				t.Errorf("%d lines, want 4:\n%q", len(lines), raw)
			}
			for _, line := range lines {
				if format == "json" && !json.Valid([]byte(line)) {
					t.Errorf("not JSON: %s", line)
				}
				if i := strings.IndexFunc(line, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }); i >= 0 {
					t.Errorf("%q at %d of %q", line[i:i+1], i, line)
				}
			}
		})
	}
}
