package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const sweepSample = `{"sweep":4711,"name":"sweep.sh","metric":{"name":"val_acc","max":true},"goal":0.9,"trials":[
{"trial":1,"state":"done","params":{"lr":"0.001","opt":"sgd","depth":"2"},"epochs":[1,2],"values":[0.5,0.8]},
{"trial":2,"state":"paused","params":{"lr":"0.1","opt":"adamw","depth":"4"},"epochs":[1],"values":[0.3]},
{"trial":3,"state":"failed","params":{"lr":"0.01","opt":"sgd","depth":"2"},"epochs":[],"values":[]}]}`

// TestSweepPicture: a sweep is drawn with its curves and each parameter that varies, as PNG and SVG.
func TestSweepPicture(t *testing.T) {
	for _, name := range []string{"sweep.png", "sweep.svg"} {
		file := filepath.Join(t.TempDir(), name)
		var errs bytes.Buffer
		if code := run([]string{"--sweep", "-o", file}, strings.NewReader(sweepSample), &errs); code != 0 {
			t.Fatal(errs.String())
		}
		data, err := os.ReadFile(file)
		if err != nil || len(data) < 2000 {
			t.Fatalf("%d bytes, %v", len(data), err)
		}
		for _, word := range []string{"val_acc", "depth", "lr (power of 10)", "adamw", "sweep 4711, sweep.sh"} {
			if strings.HasSuffix(name, "svg") && !bytes.Contains(data, []byte(word)) {
				t.Errorf("%q is not in the picture", word)
			}
		}
	}
}

// TestNoSweepPicture: what cannot be drawn is an error, and leaves no file.
func TestNoSweepPicture(t *testing.T) {
	for _, text := range []string{`{"sweep":1,"metric":{"name":"a"},"trials":[]}`, `[`, ``} {
		file := filepath.Join(t.TempDir(), "x.png")
		var errs bytes.Buffer
		if code := run([]string{"--sweep", "-o", file}, strings.NewReader(text), &errs); code != 1 || !strings.Contains(errs.String(), "error") {
			t.Errorf("%q: %d, %s", text, code, errs.String())
		}
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%q left a file", text)
		}
	}
}
