// Command man writes sluice's manual pages, as roff: section 1 from the help of the built
// programs, section 5 from the documented configuration, section 7 from the guides in
// etc/doc. The help, the configuration and the guides are what users read elsewhere, so no
// page says anything else. Section 8 is written by hand.
//
// usage: man -programs DIR -to DIR [-version V] [-at SECONDS], in the root of the source tree
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

func main() {
	programs := flag.String("programs", "bin", "folder of the built programs")
	to := flag.String("to", "", "folder for man1, man5, man7 and man8")
	version := flag.String("version", "", "release, for the foot of the pages")
	at := flag.Int64("at", 0, "date of the pages, in seconds since 1970")
	flag.Parse()
	if *to == "" {
		fmt.Fprintln(os.Stderr, "man: give the folder to write to: -to DIR")
		os.Exit(2)
	}
	w := writer{to: *to, foot: foot{version: *version, date: time.Unix(*at, 0).UTC().Format(time.DateOnly)}}
	if err := errors.Join(w.verbs(*programs), w.configuration("etc/sluice.toml"), w.guides("etc/doc"), w.daemon("etc/sluiced.8")); err != nil {
		fmt.Fprintln(os.Stderr, "man:", err)
		os.Exit(1)
	}
}

// foot is what stands below each page.
type foot struct{ version, date string }

// writer writes pages below a folder.
type writer struct {
	to string
	foot
}

// write writes a page, NAME.SECTION.
func (w writer) write(name string, section int, text string) error {
	dir := filepath.Join(w.to, fmt.Sprintf("man%d", section))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	text = twice.ReplaceAllString(text, "$1")
	return os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s.%d", name, section)), []byte(text), 0o644)
}

// twice is a request for a paragraph directly below a heading, which begins one itself.
var twice = regexp.MustCompile(`(?m)^(\.S[HS] .*)\n\.PP$`)
